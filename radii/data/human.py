"""How people label images: CIFAR-10H, about fifty people's answers to every CIFAR-10 test image."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from radii.data.embeddings import Floats
from radii.data.files import StrPath, readable
from radii.data.formats import read_npy
from radii.errors import InputError


@dataclass(frozen=True, eq=False)
class HumanLabels:
    """Labels that people gave.

    Attributes
    ----------
    counts : array
        How many people chose each class, (n_images, n_classes) int64.
    probabilities : array
        The same as shares, (n_images, n_classes) float64; rows sum to 1.
    """

    counts: npt.NDArray[np.int64]
    probabilities: Floats

    def entropy(self) -> Floats:
        """Disagreement −Σ_c p_c log p_c of every image, (n_images,), in nats; 0 where all agree."""
        p = self.probabilities
        found: Floats = 0.0 - np.sum(p * np.log(np.where(p > 0, p, 1.0)), axis=1)
        return found


def read_cifar10h(folder: StrPath) -> HumanLabels:
    """Read cifar10h-counts.npy and cifar10h-probs.npy (arXiv 1908.07086; CC BY-NC-SA 4.0: not for commerce).

    Rows are in the order of CIFAR-10's test images.

    Raises
    ------
    InputError
        When a file is missing or no such array, a row has no answer (the message has the row), or
        probabilities are not the counts' shares.
    """
    path, other = Path(folder) / "cifar10h-counts.npy", Path(folder) / "cifar10h-probs.npy"
    counts, given = _array(path), _array(other)
    if counts.ndim != 2 or counts.dtype.kind not in "iu" or counts.min(initial=0) < 0:
        raise _wrong(path, f"{counts.dtype} of shape {counts.shape}", "whole numbers, images by classes")
    empty = np.flatnonzero(counts.sum(axis=1) == 0)
    if empty.size:
        raise _wrong(path, f"no answer in row {empty[0]} ({empty.size} such rows)", "answers in every row")
    shares = counts / counts.sum(axis=1, keepdims=True)
    if given.shape != shares.shape:
        raise _wrong(other, f"shape {given.shape} against {shares.shape} of the counts", "the same images")
    off = np.flatnonzero(~(np.abs(given - shares) < 1e-6).all(axis=1))
    if off.size:
        raise _wrong(
            other, f"row {off[0]} is not the counts' shares ({off.size} such rows)", "the same images"
        )
    return HumanLabels(counts.astype(np.int64), shares)


def _array(path: Path) -> npt.NDArray[Any]:
    return np.array(read_npy(readable(path), with_ids=False)[0])


def _wrong(path: Path, found: str, wanted: str) -> InputError:
    return InputError(found, where=path, cause="another file, or a changed copy", fix=f"give {wanted}")
