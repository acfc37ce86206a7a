"""One reader per array format: path → (vectors as stored, ids where the file has some)."""

from __future__ import annotations

import json
import lzma
import tokenize
import warnings
import zipfile
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from math import prod
from pathlib import Path
from typing import IO, Any

import numpy as np

from radii.data.embeddings import Vectors
from radii.data.ids import compact
from radii.errors import InputError

Read = tuple[Vectors, Sequence[str] | None]

SUFFIXES = (".npy", ".npz", ".safetensors", ".parquet")
VECTOR_NAMES = ("vectors", "embeddings", "vector", "embedding")
ID_NAMES = ("id", "_id", "doc_id", "docid", "docno", "ids")

# What numpy and zipfile raise about the bytes of a file; a header is parsed as Python source.
_NPY = (
    *(ValueError, TypeError, ArithmeticError, LookupError, AttributeError, SyntaxError, RecursionError),
    *(EOFError, OSError, tokenize.TokenError),
)
_NPZ = (*_NPY, NotImplementedError, RuntimeError, zipfile.BadZipFile, zlib.error, lzma.LZMAError)


def read_npy(path: Path, with_ids: bool) -> Read:
    """Map the array of an `.npy` file; it has no ids."""
    with readable_as(".npy", path, *_NPY), np.errstate(over="raise"):  # of rows × columns
        # np.load would also take a zip or a pickle under this name for what it is.
        vectors = np.lib.format.open_memmap(path, mode="r")
    if vectors.dtype.names:
        raise InputError(
            f"a structured array with fields {', '.join(vectors.dtype.names)}",
            where=path,
            cause="ids and vectors in one record array",
            fix="save the vectors alone, as a plain float array",
        )
    return vectors, None


def read_npz(path: Path, with_ids: bool) -> Read:
    """Read the 2-D float array of an `.npz` file, and its array `ids`; other arrays stay where they are."""
    with readable_as(".npz", path, *_NPZ), zipfile.ZipFile(path) as archive:
        arrays = {
            i.filename.removesuffix(".npy"): _header(archive.open(i), i.file_size) for i in archive.infolist()
        }
    known = {name: head for name, head in arrays.items() if head is not None}
    holds = {name: f"{dtype} {shape}" for name, (shape, dtype) in known.items()}
    floats = [name for name, (shape, dtype) in known.items() if dtype.kind == "f" and len(shape) == 2]
    chosen = only("2-D float array", floats, holds, path)
    if not with_ids or "ids" not in known:
        return read_arrays(path, [chosen])[chosen], None
    found = read_arrays(path, [chosen, "ids"])  # which may be one and the same
    vectors, ids = found[chosen], found["ids"]
    if ids.ndim != 1 or ids.dtype.kind not in "Uiu":
        raise InputError(
            f"array 'ids' is {holds['ids']}",
            where=path,
            cause="ids saved as bytes, floats or a matrix",
            fix="save ids as a 1-D array of strings or integers",
        )
    return vectors, compact([str(i) for i in ids.tolist()])


def read_arrays(path: Path, names: Sequence[str]) -> dict[str, np.ndarray[Any, Any]]:
    """Read some arrays of an `.npz` file by name; InputError where one is missing or damaged."""
    with readable_as(".npz", path, *_NPZ), open(path, "rb") as file, np.lib.npyio.NpzFile(file) as archive:
        arrays = {name: archive[name] for name in names}
        if not all(isinstance(array, np.ndarray) for array in arrays.values()):
            raise ValueError("a member that is no array")
        return arrays


def _header(member: IO[bytes], size: int) -> tuple[tuple[int, ...], np.dtype[Any]] | None:
    """(shape, dtype) of an array in an archive; None of what is no array.

    Raises ValueError where it promises more or less than the `size` bytes that are there: numpy would
    allocate whatever is promised.
    """
    with member:
        if member.read(6) != b"\x93NUMPY":
            return None
        version = tuple(member.read(2))
        heads = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}
        if version not in heads:
            return None
        shape, _, dtype = heads[version](member)
        held = size - member.tell()
        if not dtype.hasobject and prod(shape) * dtype.itemsize != held:
            raise ValueError(f"a header of {dtype} {shape} in front of {held} bytes")
        return shape, dtype


def read_safetensors(path: Path, with_ids: bool) -> Read:
    """Map the 2-D float tensor of a `.safetensors` file, and read ids from its metadata."""
    from safetensors import SafetensorError, safe_open

    # The library checks header, offsets and length; mapping the tensor here spares a copy of it, and a
    # dependency for bfloat16.
    with readable_as(".safetensors", path, SafetensorError, OSError), safe_open(path, framework="numpy"):
        pass
    with open(path, "rb") as file:
        size = int.from_bytes(file.read(8), "little")
        header = json.loads(file.read(size))
    metadata = header.pop("__metadata__", None) or {}
    holds = {name: f"{t['dtype']} {tuple(t['shape'])}" for name, t in header.items()}
    floats = [name for name, t in header.items() if t["dtype"] in _TENSORS and len(t["shape"]) == 2]
    tensor = header[only("2-D float tensor", floats, holds, path)]
    dtype, shape = np.dtype(_TENSORS[tensor["dtype"]]), tuple(tensor["shape"])
    start = 8 + size + tensor["data_offsets"][0]
    vectors: Vectors = (
        # A map of no bytes is refused by the system.
        np.empty(shape, dtype) if 0 in shape else np.memmap(path, dtype, mode="r", offset=start, shape=shape)
    )
    if tensor["dtype"] == "BF16":
        # A bfloat16 is the upper half of the float32 of the same value.
        vectors = (vectors.astype(np.uint32) << 16).view(np.float32).view(np.ndarray)
    return vectors, _metadata_ids(metadata["ids"], path) if with_ids and "ids" in metadata else None


_TENSORS = {"F16": "<f2", "F32": "<f4", "F64": "<f8", "BF16": "<u2"}


def _metadata_ids(text: str, path: Path) -> Sequence[str]:
    try:
        ids = json.loads(text)
    except (ValueError, RecursionError):
        ids = None
    if not isinstance(ids, list) or not all(type(i) in (str, int) for i in ids):
        raise InputError(
            f"metadata 'ids' is {text[:40]!r}",
            where=path,
            cause="ids written in another form",
            fix="write json.dumps(ids), a list of strings or integers",
        )
    return compact([str(i) for i in ids])


def only(
    what: str,
    possible: Sequence[str],
    holds: Mapping[str, str],
    path: Path,
    names: Sequence[str] = VECTOR_NAMES,
) -> str:
    """Pick the one name to read: the one of the possible names that is known, or the only possible one."""
    known = [name for name in possible if name in names]
    choice = known if known else list(possible)
    if len(choice) == 1:
        return choice[0]
    instead = ", or give ids=" if names is ID_NAMES else ""
    listed = ", ".join(f"{name!r} {kind}" for name, kind in holds.items())
    raise InputError(
        f"{len(choice) or 'no'} {what}{'s' if choice else ''} to choose from, it holds {listed or 'nothing'}",
        where=path,
        cause="another file was meant, or the names are not the usual ones",
        fix=f"keep one, named {names[0]!r}{instead}",
    )


@contextmanager
def readable_as(suffix: str, path: Path, *faults: type[Exception]) -> Iterator[None]:
    """Turn what a library raises about the bytes of a file into an InputError."""
    try:
        with warnings.catch_warnings():
            # numpy warns of headers that Python 2 wrote, and of an older name for strings, and reads them.
            warnings.filterwarnings("ignore", message="Reading `.npy`", category=UserWarning)
            warnings.filterwarnings("ignore", message="Data type alias 'a'", category=DeprecationWarning)
            yield
    except MemoryError as error:
        raise InputError(
            f"more than memory holds ({str(error) or 'no size given'})",
            where=path,
            cause="a header that promises too much, or a machine that is too small",
            fix="export the file again, as float16 or .npy, which is mapped and not loaded",
        ) from error
    except faults as error:
        told = " ".join(str(error).split()).rstrip(".")
        if "object" in told.lower():  # numpy's two refusals to unpickle
            cause, fix = (
                "rows of different lengths, or a pickled array",
                "save a plain float array, ids as strings",
            )
        else:
            cause, fix = "an interrupted copy, or another format under this name", "export the file again"
        raise InputError(f"not a {suffix} file ({told})", where=path, cause=cause, fix=fix) from error
