"""Vectors and their ids from files, ids from those files, from files beside them or from the row numbers."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from itertools import islice
from pathlib import Path

from radii.data.embeddings import Embeddings
from radii.data.files import StrPath, at_line, atomic_write, numbered_lines
from radii.data.ids import Gathered, RowNumbers, first_repeat
from radii.data.listing import Place, is_url, local_places
from radii.data.reading import Part, check_rows, empty, joined, read
from radii.errors import InputError

_BATCH_LINES = 8192  # read together


def load(
    path: StrPath, *, ids: StrPath | None = None, progress: Callable[[int, int], None] | None = None
) -> Embeddings:
    """Read vectors and their ids from a file, or from several files of one kind as if they were one.

    ==============  ========================================  =====================================
    suffix          vectors                                   ids in the file
    ==============  ========================================  =====================================
    `.npy`          the array, memory-mapped                  none
    `.npz`          `vectors`, `embeddings`, or the only      `ids`, strings or integers
                    2-D float array
    `.safetensors`  the same, memory-mapped; bfloat16         metadata `ids`, a JSON list
                    becomes float32
    `.parquet`      a list column of equal lengths, of one    `id`, `_id`, `doc_id`, `docid`,
                    of these names or the only one; above     `docno`, `ids`, or the only string or
                    256 MiB unpacked once, and mapped         integer column
    ==============  ========================================  =====================================

    Several files are read in natural order (part-9 before part-10), rows of one below those of the other;
    nothing is copied but what is asked for. Files without rows are skipped. What is fetched or unpacked
    lies in the cache, which `radii.data.cache` describes, and the next run finds it there.

    Parameters
    ----------
    path : str or path
        A file; a folder, for the files of vectors in it, which have one suffix; a pattern (`parts/*.npy`,
        `parts/**/*.parquet`); or a URL of any of these (`s3://`, `gs://`, `az://`, `https://`, ..., extra
        `remote`). Vectors are (n, dim), float16, float32 or float64, all of one dim and type. In folders
        and under patterns, names that begin with a dot or an underscore are left out.
    ids : str or path, optional
        A text file of ids, one per line, used instead of ids in the vector files: one for all of them.
        Without it the ids of each file come from the file, or from `<stem>.ids.txt` or `<stem>.txt` beside
        it; where no file has any, they are row numbers.
    progress : callable, optional
        Gets (files read, files there are).

    Returns
    -------
    Embeddings
        Vectors as stored; no value is looked at before `Embeddings.norms`.

    Raises
    ------
    InputError
        On a file that cannot be read as its suffix says or fetched, on anything `Embeddings` refuses, on
        ids that are missing, empty, double or not one per row, and on files that do not go together.
    MissingExtraError
        On a URL, without fsspec.
    """
    source, places = _places(path)
    parts: list[Part] = []
    for count, place in enumerate(places, start=1):
        part = _part(place, ids is None, len(places))
        if len(places) == 1 or not empty(part):
            parts.append(part)
        if progress is not None:
            progress(count, len(places))
    if not parts:
        raise InputError(
            f"{len(places)} files without a row",
            where=source,
            cause="nothing was exported",
            fix="export at least one vector",
        )
    given = None if ids is None else _read_ids(Path(ids), sum(len(part.vectors) for part in parts))
    if len(parts) > 1:
        return joined(parts, source, given)
    [only] = parts
    own = only.ids if given is None else given
    return Embeddings(RowNumbers(len(only.vectors)) if own is None else own, only.vectors, source, only.stamp)


def _places(path: StrPath) -> tuple[str, Sequence[Place]]:
    text = os.fspath(path)
    if is_url(text):
        from radii.data.drivers import shown_url
        from radii.data.remote import remote_places

        return shown_url(text), remote_places(text)
    return str(Path(path)), local_places(path)


def _part(place: Place, with_ids: bool, among: int) -> Part:
    """One of the files, with the ids that lie beside it; errors name the place, not its copy in the cache."""
    file = place.file()
    try:
        part = read(file, with_ids, among)
    except InputError as error:
        where = None if error.where is None else error.where.replace(str(file), place.name)
        raise InputError(error.found, where=where, cause=error.cause, fix=error.fix) from error
    part.name = place.name
    if among > 1 and empty(part):
        return part
    check_rows(part)
    beside = place.ids() if with_ids and part.ids is None else None
    if beside is not None:
        part.ids = _read_ids(beside, len(part.vectors))
    return part


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
