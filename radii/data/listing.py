"""Which files of vectors a path stands for: a file, a folder of shards, or a pattern."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path, PurePosixPath
from typing import Protocol

from radii.data.files import StrPath
from radii.data.formats import SUFFIXES
from radii.errors import InputError, shown

_MAGIC = re.compile(r"[*?\[]")
# A letter of a Windows drive is no protocol.
_URL = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+)://.*", re.DOTALL)
_LOOKED_AT = 1000  # folders, to tell that vectors lie deeper


class Place(Protocol):
    """A file of vectors, wherever it lies."""

    @property
    def name(self) -> str:
        """For messages."""

    def file(self) -> Path:
        """The file, fetched if need be."""

    def ids(self) -> Path | None:
        """The text file of ids beside it, fetched if need be."""


@dataclass(frozen=True)
class Local:
    """A file on this machine."""

    path: Path

    @property
    def name(self) -> str:
        """Its path."""
        return str(self.path)

    def file(self) -> Path:
        """Its path."""
        return self.path

    def ids(self) -> Path | None:
        """`<stem>.ids.txt` or `<stem>.txt` beside it."""
        return next((p for p in map(Path, sidecars(str(self.path))) if p.is_file()), None)


def sidecars(path: str) -> list[str]:
    """Where the ids of a file of vectors may lie, best first.

    >>> sidecars("parts/a.npy")
    ['parts/a.ids.txt', 'parts/a.txt']
    """
    stem = path.removesuffix(PurePosixPath(path).suffix)
    return [f"{stem}.ids.txt", f"{stem}.txt"]


def is_url(text: str) -> bool:
    """Whether a text is a URL; the address of an engine is none, but for PostgreSQL's.

    >>> is_url("s3://bucket/docs.npy"), is_url("docs.npy"), is_url("qdrant:http://localhost:6333")
    (True, False, False)
    """
    return _URL.fullmatch(text) is not None


def is_pattern(text: str) -> bool:
    """Whether it has one of the characters `*`, `?` and `[`."""
    return _MAGIC.search(text) is not None


def local_places(path: StrPath) -> list[Local]:
    """The file at a path, or the files of vectors in a folder or under a pattern, in natural order.

    A folder's files are those of the one suffix that radii reads; what lies deeper, and behind links to
    folders, is not among them. Names that begin with a dot or an underscore are left out. A path that exists
    is no pattern.

    Raises InputError where nothing is found, files of several suffixes, one file under two names, or more
    files than the system lets a process open.
    """
    text = os.fspath(path)
    if os.path.isdir(text):
        found = _in_folder(Path(text))
    elif is_pattern(text) and not os.path.lexists(text):
        found = _matching(text)
    else:
        return [Local(Path(text))]
    once: dict[str, Path] = {}
    for one in found:
        other = once.setdefault(os.path.realpath(one), one)
        if other is not one:
            raise InputError(
                f"is the same file as {other}", where=one, cause="a link", fix="keep one of the two names"
            )
    refuse_too_many(len(found), text)
    return [Local(one) for one in found]


def of_one_kind(names: Iterable[str], where: str) -> list[str]:
    """Those of some names that are visible files of vectors, in natural order; InputError on several kinds.

    >>> of_one_kind(["part-10.npy", "part-9.npy", "_SUCCESS", "part-9.ids.txt"], "parts")
    ['part-9.npy', 'part-10.npy']
    """
    held = sorted((name for name in names if visible(name) and _suffix(name) in SUFFIXES), key=natural)
    kinds = {_suffix(name): name for name in reversed(held)}
    if len(kinds) > 1:
        raise InputError(
            f"files of {len(kinds)} kinds: {shown(kinds.values())}",
            where=where,
            cause="two exports in one folder",
            fix=f"name those of one kind with a pattern that ends in *{_suffix(held[0])}",
        )
    return held


def refuse_suffix(suffix: str, where: str) -> None:
    """Raise InputError on one that no reader of vectors has."""
    if suffix.lower() not in SUFFIXES:
        raise InputError(
            f"unknown suffix {suffix!r}",
            where=where,
            cause="vectors saved in another format",
            fix=f"save them as one of {', '.join(SUFFIXES)} (radii never unpickles)",
        )


def natural(name: str) -> tuple[list[str | int], str]:
    """What to sort names by so that 10 follows 9.

    >>> sorted(["a10", "a9", "a"], key=natural)
    ['a', 'a9', 'a10']
    """
    pieces = re.split(r"([0-9]+)", name)
    return [int(piece) if at % 2 else piece for at, piece in enumerate(pieces)], name


def visible(name: str) -> bool:
    """Whether no part of a relative path begins with a dot or an underscore."""
    return not any(part.startswith((".", "_")) for part in PurePosixPath(name).parts)


def nothing(where: str, deeper: str | None) -> InputError:
    """A folder without files of vectors; `deeper` is one that lies in a folder inside."""
    if deeper is None:
        return InputError(
            "holds no file of vectors",
            where=where,
            cause="an export that wrote nothing, or another folder",
            fix=f"name a folder that holds {', '.join(SUFFIXES)}",
        )
    return InputError(
        f"holds no file of vectors, but {deeper} lies deeper",
        where=where,
        cause="a folder per partition",
        fix=f"name all of them: {where.rstrip('/')}/**/*{_suffix(deeper)}",
    )


def also_deeper(where: str, deeper: str) -> InputError:
    """A folder with files of vectors, and more of them in a folder inside."""
    folder = where.rstrip("/")
    return InputError(
        f"holds files of vectors, and {deeper} lies deeper",
        where=where,
        cause="an older export, or a folder per partition",
        fix=f"name these by {folder}/*{_suffix(deeper)}, or all by {folder}/**/*{_suffix(deeper)}",
    )


def unmatched(where: str, matched: Sequence[str] = ()) -> InputError:
    """A pattern that no file of vectors matches."""
    return InputError(
        f"matches {shown(matched, limit=3)}, but no file of vectors" if matched else "no file matches",
        where=where,
        cause="a typing error or another working folder" if not matched else "folders, or another format",
        fix=f"match files that end in one of {', '.join(SUFFIXES)}",
    )


def refuse_too_many(count: int, where: str) -> None:
    """Raise InputError where the files cannot all be mapped at once: each keeps a handle."""
    try:
        import resource
    except ModuleNotFoundError:  # Windows
        return
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    if most != resource.RLIM_INFINITY and count > most - 64:  # what Python, BLAS and pyarrow hold open
        raise InputError(
            f"{count:,} files, and the system lets this process open {most:,}",
            where=where,
            cause="many small shards",
            fix=f"ulimit -n {count + 1024}, or merge some files",
        )


def _suffix(name: str) -> str:
    return PurePosixPath(name).suffix.lower()


def _in_folder(folder: Path) -> list[Path]:
    try:
        names = [name for name in os.listdir(folder) if not os.path.isdir(folder / name)]
    except OSError as error:
        raise InputError(
            "cannot be read", where=folder, cause=error.strerror or str(error), fix="make it readable"
        ) from error
    held, deeper = of_one_kind(names, str(folder)), _deeper(folder)
    if not held:
        raise nothing(str(folder), deeper)
    if deeper is not None:
        raise also_deeper(str(folder), deeper)
    return [folder / name for name in held]


def _deeper(folder: Path) -> str | None:
    """A visible file of vectors in a folder inside."""
    for place, folders, names in islice(os.walk(folder), _LOOKED_AT):
        folders[:] = sorted(filter(visible, folders), key=natural)
        if Path(place) != folder:
            for name in names:
                if visible(name) and _suffix(name) in SUFFIXES:
                    return str(Path(place) / name)
    return None


def _matching(pattern: str) -> list[Path]:
    parts = Path(pattern).parts
    first = next(at for at, part in enumerate(parts) if is_pattern(part))
    root, rest = Path(*parts[:first]), str(Path(*parts[first:]))
    try:
        # Does not follow links to folders under `**`: a loop of them would never end.
        matched = {str(path.relative_to(root)): path.is_dir() for path in root.glob(rest)}
    except (ValueError, OSError) as error:
        raise InputError(
            f"not a pattern ({error})", where=pattern, cause="a typing error", fix="write ** between slashes"
        ) from error
    held = of_one_kind([name for name, folder in matched.items() if not folder], pattern)
    if not held:
        raise unmatched(pattern, sorted(matched))
    return [root / name for name in held]
