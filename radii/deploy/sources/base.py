"""What it is to read vectors out of an engine: in batches, from any point on."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from types import TracebackType
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from radii.data.files import StrPath, numbered_lines, readable
from radii.errors import InputError, MissingExtraError, shown

Array = npt.NDArray[np.float32]
Cursor = int | str | None
PAGE = 1000


@dataclass(frozen=True, eq=False)
class Batch:
    """Some documents in the order of reading.

    Attributes
    ----------
    ids : list of str
    vectors : (n, dim) float32
    after : what `Source.batches` takes to go on behind them; none where there is nothing more
    """

    ids: Sequence[str]
    vectors: Array
    after: Cursor


class Source(ABC):
    """One collection of an engine, to be read; a context manager that opens and closes it.

    Attributes (once it is open)
    ----------------------------
    count, dim : how many vectors of how many columns
    metric : 'cosine', 'ip', 'l2' or another that the engine itself knows; none where it knows none
    stamp : changes whenever the contents do, where that can be known cheaply
    """

    engine: ClassVar[str]
    package: ClassVar[str]
    extra: ClassVar[str]
    count: int
    dim: int
    metric: str | None = None
    stamp: str = ""
    closing: ExitStack

    def __enter__(self) -> Self:
        with ExitStack() as closing:
            self.closing = closing
            self.open()
            self.closing = closing.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.closing.close()

    @abstractmethod
    def open(self) -> None:
        """Connect, set the attributes, and tell `closing` what to close.

        Raises InputError when there is nothing to read, or several things and none was named.
        """

    @abstractmethod
    def batches(self, after: Cursor = None) -> Iterator[Batch]:
        """All documents behind `after`, in an order that stays the same between calls."""

    def library(self, module: str | None = None) -> Any:
        """The engine's package; MissingExtraError names the extra that installs it."""
        return imported(module or self.package, self.extra)


def imported(module: str, extra: str) -> Any:
    """An engine's module; MissingExtraError names the extra that installs it."""
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        raise MissingExtraError(module, extra) from error


def read_all(source: Source) -> tuple[list[str], Array]:
    """Every id and vector, in memory."""
    ids: list[str] = []
    parts = []
    with source:
        for batch in source.batches():
            ids += batch.ids
            parts.append(batch.vectors)
        return ids, np.concatenate(parts) if parts else np.empty((0, source.dim), dtype=np.float32)


def chosen(given: str | None, there: Iterable[str], what: str, where: object, usual: str = "") -> str:
    """The name that was given, or the usual one, or the only one there; InputError otherwise."""
    names = list(there)
    if given is None:
        given = usual if usual in names else names[0] if len(names) == 1 else None
    if given is None or given not in names:
        found = f"no {what} {given!r}" if given is not None else f"{len(names)} {what}s"
        fix = f"name one: ?{what}= one of {shown(sorted(names), 20)}" if names else f"make a {what} first"
        raise InputError(found, where=where, fix=fix)
    return given


def as_matrix(rows: Sequence[Any], ids: Sequence[str], where: object) -> Array:
    """Vectors as (n, dim) float32; InputError names the document that has none, or one of another length."""
    size = len(rows[0]) if rows and rows[0] is not None else 0
    for name, row in zip(ids, rows, strict=True):
        if row is None or len(row) != size or not size:
            raise InputError(
                f"document {name!r} has no vector like the others",
                where=where,
                fix="write its vector, or delete it",
            )
    return np.asarray(rows, dtype=np.float32)


def there(path: StrPath, what: str) -> Path:
    """A path that exists: engines would make a new, empty database of one that does not."""
    place = Path(path)
    if not place.exists():
        raise InputError("no such file or folder", where=path, fix=f"name {what} that exists")
    return place


def file_stamp(path: StrPath) -> str:
    """Size and time of change of a file that can be read; InputError where it cannot."""
    told = readable(path).stat()
    return f"{told.st_size}:{told.st_mtime_ns}"


def names_of(path: StrPath, keys: Iterable[int], rows: int) -> list[str]:
    """Ids of an index that knows numbers only: the lines of ids.txt beside it, else its own keys."""
    beside = Path(path).with_name("ids.txt")
    if not beside.is_file():
        return [str(key) for key in keys]
    lines = [line for _, line in numbered_lines(beside)]
    if len(lines) != rows:
        raise InputError(
            f"{len(lines)} ids for {rows} vectors",
            where=beside,
            cause="ids of another index",
            fix="move the file away, or give --ids",
        )
    return lines
