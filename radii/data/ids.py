"""Ids of millions of documents without an object for each: row numbers, or names in one piece of memory.

A list of ten million strings and a dictionary of their rows take 1.6 GB. Row numbers need no memory at all;
names take their own bytes, 8 for where each ends, and 12 for a table of sorted 64-bit hashes. Every hit of
the table is compared with the name itself, so that no answer depends on the hash. Below `COMPACT_FROM` names
a list and a dictionary are kept: they are faster to ask.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from operator import index
from typing import overload

import numpy as np
import numpy.typing as npt

COMPACT_FROM = 131_072  # names; about 20 MB as a list and a dictionary

Bytes = npt.NDArray[np.uint8]
Ends = npt.NDArray[np.int64]
Hashes = npt.NDArray[np.uint64]

_AT_ONCE = 8192  # names that are turned into strings, or hashed, together


class Ids(Sequence[str]):
    """Ids that are made into strings when asked for; a slice is a list. Equal to any sequence of the same."""

    @overload
    def __getitem__(self, at: int) -> str: ...
    @overload
    def __getitem__(self, at: slice) -> list[str]: ...
    def __getitem__(self, at: int | slice) -> str | list[str]:
        if isinstance(at, slice):
            return self._some(range(*at.indices(len(self))))
        row = index(at)
        if not -len(self) <= row < len(self):
            raise IndexError(f"row {row} of {len(self)} ids")
        return self._one(row % len(self))

    def __iter__(self) -> Iterator[str]:
        for start in range(0, len(self), _AT_ONCE):
            yield from self._some(range(start, min(start + _AT_ONCE, len(self))))

    def __contains__(self, name: object) -> bool:
        return name in self.rows

    def __eq__(self, other: object) -> bool:
        if isinstance(other, str) or not isinstance(other, Sequence):
            return NotImplemented
        return len(self) == len(other) and all(a == b for a, b in zip(self, other, strict=True))

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"<{len(self)} ids: {', '.join([*map(repr, self[:3]), *['...'] * (len(self) > 3)])}>"

    @property
    @abstractmethod
    def rows(self) -> Mapping[str, int]:
        """Row of every id."""

    @abstractmethod
    def _one(self, row: int) -> str:
        """The id of a row that is there."""

    def _some(self, rows: range) -> list[str]:
        return [self._one(row) for row in rows]


class RowNumbers(Ids):
    """The ids of vectors that came without any: "0", "1", ...

    >>> ids = RowNumbers(3)
    >>> ids[1:], ids.rows["2"], "02" in ids
    (['1', '2'], 2, False)
    """

    def __init__(self, count: int) -> None:
        self._count = count

    def __len__(self) -> int:
        return self._count

    @property
    def rows(self) -> Mapping[str, int]:
        """Row of every id."""
        return _Numbered(self._count)

    def _one(self, row: int) -> str:
        return str(row)


class _Numbered(Mapping[str, int]):
    """{"0": 0, "1": 1, ...}; other ways to write a number, such as "+1", "01" or "1_0", are no keys."""

    def __init__(self, count: int) -> None:
        self._count = count

    def __getitem__(self, name: str) -> int:
        # int() reads more than str() writes; the length keeps it from reading pages of digits.
        if isinstance(name, str) and len(name) < 20 and name.isascii() and name.isdigit():
            row = int(name)
            if row < self._count and str(row) == name:
                return row
        raise KeyError(name)

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[str]:
        return map(str, range(self._count))


class Names(Ids):
    """Given ids as one piece of UTF-8, and where each ends.

    Parameters
    ----------
    text : (n_bytes,) uint8
    ends : (n,) int64
        Name i is text[ends[i−1]:ends[i]].
    hashed : callable, optional
        What the table of rows is sorted by; a poor one costs time, and changes nothing else.

    >>> ids = Names.of(["a", "é", "a"])
    >>> ids[1], ids.repeat
    ('é', (0, 2))
    """

    def __init__(
        self, text: Bytes, ends: Ends, hashed: Callable[[Bytes, Ends], Hashes] | None = None
    ) -> None:
        self._text, self._ends, self._hashed = text, ends, hashed or hashes

    @classmethod
    def of(cls, names: Sequence[str], hashed: Callable[[Bytes, Ends], Hashes] | None = None) -> Names:
        """Of any sequence of strings. Raises UnicodeEncodeError on a lone surrogate, which UTF-8 lacks."""
        gathered = Gathered()
        for start in range(0, len(names), _AT_ONCE):
            gathered.add(names[start : start + _AT_ONCE])
        return cls(*gathered.joined(), hashed)

    def __len__(self) -> int:
        return len(self._ends)

    @property
    def rows(self) -> Mapping[str, int]:
        """Row of every id; of one that comes twice, the first."""
        return self._table

    @property
    def repeat(self) -> tuple[int, int] | None:
        """(row of its first place, row) of the first id that was there before; None where all differ."""
        return self._table.repeat

    @cached_property
    def _table(self) -> _Table:
        return _Table(self, self._hashed(self._text, self._ends), self._hashed)

    def encoded(self, row: int) -> bytes:
        """The id in UTF-8."""
        first = self._ends[row - 1] if row else 0
        return self._text[first : self._ends[row]].tobytes()

    def _one(self, row: int) -> str:
        return self.encoded(row).decode()


class _Table(Mapping[str, int]):
    """Rows by sorted hashes of the names."""

    def __init__(self, names: Names, hashes: Hashes, hashed: Callable[[Bytes, Ends], Hashes]) -> None:
        self._names, self._hashed = names, hashed
        order = np.argsort(hashes)
        self._rows = order.astype(np.uint32 if len(order) < 2**32 else np.int64)
        self._sorted = hashes[order]
        self._repeats = self._found_repeats()

    def __getitem__(self, name: str) -> int:
        try:
            sought = name.encode() if isinstance(name, str) else None
        except UnicodeEncodeError:
            sought = None
        if sought is not None:
            text = np.frombuffer(sought, dtype=np.uint8)
            [key] = self._hashed(text, np.array([len(text)], dtype=np.int64))
            at, end = (int(np.searchsorted(self._sorted, key, side)) for side in ("left", "right"))
            for row in self._rows[at:end]:
                if self._names.encoded(int(row)) == sought:
                    return int(row)
        raise KeyError(name)

    def __len__(self) -> int:
        return len(self._names) - len(self._repeats)

    def __iter__(self) -> Iterator[str]:
        repeats = set(self._repeats)
        return (name for row, name in enumerate(self._names) if row not in repeats)

    @property
    def repeat(self) -> tuple[int, int] | None:
        """See `Names.repeat`."""
        again = min(self._repeats, default=None)
        return None if again is None else (self._repeats[again], again)

    def _found_repeats(self) -> dict[int, int]:
        """{row: row of the same name before it}; rows of one hash are put in ascending order on the way."""
        same = np.flatnonzero(self._sorted[1:] == self._sorted[:-1])
        found: dict[int, int] = {}
        for run in np.split(same, np.flatnonzero(np.diff(same) > 1) + 1) if same.size else []:
            here = slice(int(run[0]), int(run[-1]) + 2)
            self._rows[here] = np.sort(self._rows[here])
            first: dict[bytes, int] = {}
            for row in map(int, self._rows[here]):
                before = first.setdefault(self._names.encoded(row), row)
                if before != row:
                    found[row] = before
        return found


class Gathered:
    """Names as they come, batch by batch; in the end a list of few, or `Names` of many."""

    def __init__(self) -> None:
        self._text: list[bytes] = []
        self._lengths: list[npt.NDArray[np.int64]] = []

    def add(self, names: Sequence[str]) -> None:
        """Raises UnicodeEncodeError on a lone surrogate."""
        encoded = [name.encode() for name in names]
        self._text.append(b"".join(encoded))
        self._lengths.append(np.fromiter(map(len, encoded), dtype=np.int64, count=len(encoded)))

    def joined(self) -> tuple[Bytes, Ends]:
        """What `Names` are made of."""
        lengths = np.concatenate(self._lengths) if self._lengths else np.empty(0, dtype=np.int64)
        return np.frombuffer(b"".join(self._text), dtype=np.uint8), np.cumsum(lengths)

    def ids(self) -> Sequence[str]:
        """All of them."""
        names = Names(*self.joined())
        return names if len(names) >= COMPACT_FROM else list(names)


def compact(names: list[str]) -> Sequence[str]:
    """The list itself when it is short, or holds what UTF-8 cannot; else `Names`."""
    try:
        return names if len(names) < COMPACT_FROM else Names.of(names)
    except UnicodeEncodeError:
        return names


def rows_of(ids: Sequence[str]) -> Mapping[str, int]:
    """Row of every id. Fewer entries than ids where some come twice."""
    return ids.rows if isinstance(ids, Ids) else {name: row for row, name in enumerate(ids)}


def first_repeat(ids: Sequence[str]) -> tuple[int, int] | None:
    """(row of its first place, row) of the first id that was there before; None where all differ.

    >>> first_repeat(["a", "b", "a", "b"])
    (0, 2)
    """
    if isinstance(ids, Names):
        return ids.repeat
    first: dict[str, int] = {}
    return next(
        ((at, row) for row, name in enumerate(ids) if (at := first.setdefault(name, row)) != row), None
    )


_ODD = np.uint64(0x9E3779B97F4A7C15)


def hashes(text: Bytes, ends: Ends) -> Hashes:
    """A 64-bit hash of every name: Σ_j (byte_j + 1) a^j modulo 2⁶⁴, mixed with its length; (n,) uint64."""
    starts = np.concatenate(([0], ends[:-1]))
    out = np.zeros(len(ends), dtype=np.uint64)
    longest = int((ends - starts).max(initial=0))
    powers = np.cumprod(np.full(longest, _ODD), dtype=np.uint64)  # wraps, as intended
    for at in range(0, len(ends), _AT_ONCE):
        first, last = starts[at : at + _AT_ONCE], ends[at : at + _AT_ONCE]
        lengths = last - first
        place = np.arange(first[0], last[-1]) - np.repeat(first, lengths)
        terms = (text[first[0] : last[-1]].astype(np.uint64) + np.uint64(1)) * powers[place]
        filled = lengths > 0  # reduceat takes the next where nothing is
        if filled.any():
            out[at : at + _AT_ONCE][filled] = np.add.reduceat(terms, (first - first[0])[filled])
        out[at : at + _AT_ONCE] ^= lengths.astype(np.uint64)
    out ^= out >> np.uint64(32)
    out *= _ODD
    out ^= out >> np.uint64(29)
    return out
