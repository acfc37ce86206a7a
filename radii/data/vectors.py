"""Vectors and their ids from a file, its ids from that file, from one beside it or from the row numbers."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from pathlib import Path

import numpy as np

from radii.data.embeddings import Embeddings, check_vectors
from radii.data.files import Stamp, StrPath, at_line, atomic_write, numbered_lines, readable
from radii.data.formats import READERS
from radii.data.ids import Gathered, RowNumbers, first_repeat
from radii.errors import InputError

_BATCH_LINES = 8192  # read together


def load(path: StrPath, *, ids: StrPath | None = None) -> Embeddings:
    """Read vectors and their ids from a file.

    ==============  ========================================  =====================================
    suffix          vectors                                   ids in the file
    ==============  ========================================  =====================================
    `.npy`          the array, memory-mapped                  none
    `.npz`          `vectors`, `embeddings`, or the only      `ids`, strings or integers
                    2-D float array
    `.safetensors`  the same, memory-mapped; bfloat16         metadata `ids`, a JSON list
                    becomes float32
    `.parquet`      a list column of equal lengths, of one    `id`, `_id`, `doc_id`, `docid`,
                    of these names or the only one            `docno`, `ids`, or the only string or
                                                              integer column
    ==============  ========================================  =====================================

    Parameters
    ----------
    path : str or path
        The file; its vectors are (n, dim), float16, float32 or float64.
    ids : str or path, optional
        A text file of ids, one per line, used instead of ids in the vector file. Without it ids come from
        the file, or from `<stem>.ids.txt` or `<stem>.txt` beside it, or are row numbers.

    Returns
    -------
    Embeddings
        Vectors as stored; no value is looked at before `Embeddings.norms`.

    Raises
    ------
    InputError
        On a file that cannot be read as its suffix says, on anything `Embeddings` refuses, and on ids
        that are missing, empty, double or not one per row.
    """
    path = readable(path)
    if not path.is_file():
        raise InputError("not a regular file", where=path, cause="a pipe", fix="write the vectors to a file")
    reader = READERS.get(path.suffix.lower())
    if reader is None:
        raise InputError(
            f"unknown suffix {path.suffix!r}",
            where=path,
            cause="vectors saved in another format",
            fix=f"save them as one of {', '.join(READERS)} (radii never unpickles)",
        )
    stamp = Stamp.of(path)
    vectors, names = reader(path, ids is None)
    if vectors.dtype.kind == "f" and not (vectors.dtype.isnative and vectors.flags.aligned):
        vectors = np.array(vectors, dtype=vectors.dtype.newbyteorder("="))
    stamp.check()
    check_vectors(vectors, str(path))
    id_file = Path(ids) if ids is not None else _sidecar(path) if names is None else None
    if id_file is not None:
        names = _read_ids(id_file, len(vectors))
    if names is None:
        names = RowNumbers(len(vectors))
    return Embeddings(names, vectors, str(path), stamp if isinstance(vectors, np.memmap) else None)


def ids_path(path: StrPath) -> Path:
    """Where the ids of a vector file stand that cannot hold them itself: `<stem>.ids.txt` beside it.

    >>> ids_path("out/docs.npy").name
    'docs.ids.txt'
    """
    return Path(path).with_suffix(".ids.txt")


def check_writable_ids(ids: Sequence[str], source: str) -> None:
    """Raise InputError on an id that a file of one id per line cannot hold: it would come back changed.

    >>> check_writable_ids(["a", "b c"], "docs.npz")
    """
    for place, name in enumerate(ids):
        broken = "\n" in name or name.endswith("\r") or not name.strip()
        if broken or (place == 0 and name.startswith("\ufeff")):
            raise InputError(
                f"id {name!r} of row {place} is empty, has a line break or starts with a byte order mark",
                where=source,
                cause="a text in place of the id",
                fix="give ids of one line: they are written one per line",
            )


def write_ids(path: StrPath, ids: Sequence[str]) -> None:
    """Write ids, one per line. Raises InputError as `check_writable_ids` and `atomic_write` do."""
    check_writable_ids(ids, str(path))
    with atomic_write(path, mode="w") as file:
        for at in range(0, len(ids), 8192):
            file.write("\n".join(ids[at : at + 8192]) + "\n")


def _sidecar(path: Path) -> Path | None:
    return next((p for p in (ids_path(path), path.with_suffix(".txt")) if p.is_file()), None)


def _read_ids(path: Path, rows: int) -> Sequence[str]:
    gathered, lines = Gathered(), numbered_lines(path)
    while batch := list(islice(lines, _BATCH_LINES)):
        for number, name in batch:
            if not name.strip():
                raise InputError(
                    "an empty line",
                    where=at_line(path, number),
                    cause="a document without an id, or a blank line at the end",
                    fix="give one id per line",
                )
        gathered.add([name for _, name in batch])
    names = gathered.ids()
    twice = first_repeat(names)
    if twice is not None:
        first, again = twice
        raise InputError(
            f"duplicate id {names[again]!r}, first on line {first + 1}",
            where=at_line(path, again + 1),
            cause="the same document was exported twice",
            fix="make ids unique",
        )
    if len(names) != rows:
        raise InputError(
            f"{len(names)} ids for {rows} vectors",
            where=path,
            cause="ids and vectors come from different exports",
            fix="give one id per row",
        )
    return names
