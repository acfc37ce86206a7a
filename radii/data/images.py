"""Pictures: the test images of CIFAR-10 as a tar of JPEG files."""

from __future__ import annotations

import io
import tarfile
from dataclasses import dataclass
from pathlib import PurePosixPath

import numpy as np
import numpy.typing as npt

from radii.data.files import StrPath, readable
from radii.data.formats import read_npy
from radii.errors import InputError, MissingExtraError, shown

SIDE = 32


@dataclass(frozen=True, eq=False)
class Pictures:
    """Images of one size with the class of each.

    Attributes
    ----------
    pixels : array
        (n_images, 32, 32, 3) uint8, red, green and blue.
    labels : array
        (n_images,) int64, places in `classes`.
    classes : tuple of str
    """

    pixels: npt.NDArray[np.uint8]
    labels: npt.NDArray[np.int64]
    classes: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.labels)


def read_cifar10(images: StrPath, labels: StrPath) -> Pictures:
    """Read CIFAR-10's test images from a tar of `test/<class>/<number>.jpg`, in the data set's own order.

    The k-th file of a class is the k-th image of that class in `labels`, a .npy of whole numbers whose values
    are places among the classes in alphabetical order. JPEG is lossy: pixels are near those of CIFAR-10.

    Raises
    ------
    InputError
        When a file cannot be read, an image is not 32 × 32, or a class has another number of files than
        labels; the message has the file or the class.
    MissingExtraError
        Without Pillow.
    """
    try:
        from PIL import Image, UnidentifiedImageError
    except ModuleNotFoundError as error:
        raise MissingExtraError("pillow", "collections") from error
    given = _labels(labels)
    found: dict[str, list[tuple[str, npt.NDArray[np.uint8]]]] = {}
    try:
        with tarfile.open(readable(images)) as archive:
            for member in archive:
                name = PurePosixPath(member.name)
                if member.isfile() and name.suffix == ".jpg" and (file := archive.extractfile(member)):
                    with Image.open(io.BytesIO(file.read())) as picture:
                        pixels = np.asarray(picture.convert("RGB"))
                    if pixels.shape != (SIDE, SIDE, 3):
                        raise _wrong(images, f"{name} has {pixels.shape[1]} × {pixels.shape[0]} pixels")
                    found.setdefault(name.parent.name, []).append((name.name, pixels))
    except (tarfile.TarError, UnidentifiedImageError, OSError) as error:
        raise _wrong(images, f"no tar of images that can be read ({error})") from error
    classes = tuple(sorted(found))
    if not classes or given.min() < 0 or given.max() >= len(classes):
        raise _wrong(images, f"classes {shown(classes)} for labels {given.min()} to {given.max()}")
    whole = np.empty((len(given), SIDE, SIDE, 3), dtype=np.uint8)
    for label, name_ in enumerate(classes):
        rows, files = np.flatnonzero(given == label), sorted(found[name_], key=lambda pair: pair[0])
        if len(rows) != len(files):
            raise _wrong(images, f"{len(files)} images of {name_} for {len(rows)} labels")
        if files:
            whole[rows] = [pixels for _, pixels in files]
    return Pictures(whole, given, classes)


def _labels(path: StrPath) -> npt.NDArray[np.int64]:
    found = read_npy(readable(path), with_ids=False)[0]
    if found.ndim != 1 or found.dtype.kind not in "iu" or not found.size:
        raise _wrong(path, "no row of whole numbers")
    return found.astype(np.int64)


def _wrong(path: StrPath, found: str) -> InputError:
    return InputError(
        found, where=path, cause="another file, or a changed copy", fix="give CIFAR-10's test set"
    )
