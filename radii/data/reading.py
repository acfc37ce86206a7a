"""One file of vectors, and several of them put together."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import cast

import numpy as np

from radii.data.embeddings import Embeddings, Vectors, check_vectors
from radii.data.files import Stamp, readable
from radii.data.formats import Read, read_npy, read_npz, read_safetensors
from radii.data.ids import Gathered, RowNumbers, first_repeat
from radii.data.listing import refuse_suffix
from radii.data.parquet import IN_MEMORY, read_parquet
from radii.data.shards import Shards, Stamps
from radii.errors import InputError

_AT_ONCE = 8192  # ids of a file that are passed on together

READERS: dict[str, Callable[[Path, bool], Read]] = {
    ".npy": read_npy,
    ".npz": read_npz,
    ".safetensors": read_safetensors,
    ".parquet": read_parquet,
}


@dataclass(eq=False)
class Part:
    """One file as read.

    Attributes
    ----------
    name : str
        For messages.
    vectors : (n, dim) array
    ids : sequence of str, optional
        One per row, where the file or one beside it has some.
    stamp : Stamp, optional
        Of the file that is mapped.
    """

    name: str
    vectors: Vectors
    ids: Sequence[str] | None
    stamp: Stamp | None


def read(path: Path, with_ids: bool, among: int = 1) -> Part:
    """Read one file, which may be one of `among` shards; shape and ids are not checked yet.

    Raises InputError on what is no file, and as its reader does.
    """
    path = readable(path)
    if not path.is_file():
        raise InputError("not a regular file", where=path, cause="a pipe", fix="write the vectors to a file")
    refuse_suffix(path.suffix, str(path))
    reader = READERS[path.suffix.lower()]
    stamp = Stamp.of(path)
    if reader is read_parquet:
        vectors, names = read_parquet(path, with_ids, IN_MEMORY // among)
    else:
        vectors, names = reader(path, with_ids)
    if vectors.dtype.kind == "f" and not (vectors.dtype.isnative and vectors.flags.aligned):
        vectors = np.array(vectors, dtype=vectors.dtype.newbyteorder("="))
    stamp.check()
    if not isinstance(vectors, np.memmap):
        return Part(str(path), vectors, names, None)
    mapped = Path(str(vectors.filename))
    own = mapped == path.resolve()  # and not what was unpacked from it
    return Part(str(path), vectors, names, stamp if own else Stamp.of(mapped))


def empty(part: Part) -> bool:
    """Whether it has no rows, as the files that Spark writes for empty partitions."""
    return part.vectors.ndim == 2 and len(part.vectors) == 0 and part.vectors.dtype.kind == "f"


def joined(parts: Sequence[Part], source: str, ids: Sequence[str] | None = None) -> Embeddings:
    """Rows of several files, one file below the other, mapped where the files are; `ids` are of all of them.

    Raises InputError where dtypes or dims differ, where some files have ids and others none, and on an id
    that two rows bear.
    """
    first = parts[0]
    for part in parts[1:]:
        if part.vectors.shape[1] != first.vectors.shape[1]:
            raise InputError(
                f"{part.vectors.shape[1]} dimensions, {first.vectors.shape[1]} in {first.name}",
                where=part.name,
                cause="vectors of two models in one folder",
                fix="keep those of one model",
            )
        if part.vectors.dtype != first.vectors.dtype:
            raise InputError(
                f"dtype {part.vectors.dtype}, {first.vectors.dtype} in {first.name}",
                where=part.name,
                cause="files of two exports in one folder",
                fix="save all of them as one type",
            )
        if (part.ids is None) != (first.ids is None):
            without, other = (part, first) if part.ids is None else (first, part)
            raise InputError(
                f"has no ids, {other.name} has",
                where=without.name,
                cause="a file of ids that was not copied",
                fix="give every file its ids, or all of them in one file by ids=",
            )
    shards = Shards([part.vectors for part in parts], [part.name for part in parts])
    stamps = tuple(part.stamp for part in parts if part.stamp is not None)
    if ids is None:
        ids = RowNumbers(len(shards)) if first.ids is None else _all_ids(parts)
    try:
        return Embeddings(ids, cast(Vectors, shards), source, Stamps(stamps) if stamps else None)
    except InputError:
        _refuse_twice(ids, shards)
        raise


def _all_ids(parts: Sequence[Part]) -> Sequence[str]:
    gathered = Gathered()
    every = [part.ids or () for part in parts]
    try:
        for names in every:
            for at in range(0, len(names), _AT_ONCE):
                gathered.add(names[at : at + _AT_ONCE])
    except UnicodeEncodeError:  # lone surrogates, which only a list can hold
        return [name for names in every for name in names]
    return gathered.ids()


def check_rows(part: Part) -> None:
    """Refuse what is no (n, dim) array of floats; see `Embeddings`."""
    check_vectors(part.vectors, part.name)


def _refuse_twice(ids: Sequence[str], shards: Shards) -> None:
    twice = first_repeat(ids)
    if twice is not None:
        raise InputError(
            f"id {ids[twice[0]]!r} again, first in {shards.place(twice[0])}",
            where=shards.place(twice[1]),
            cause="the same document was exported twice",
            fix="make ids unique over all files",
        )
