"""Vectors that lie in several files, read as one array."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np
import numpy.typing as npt

from radii.data.files import Stamp

Array = npt.NDArray[Any]


class Shards:
    """Several (n_i, dim) arrays of one dtype, one below the other, read as one (n, dim) array.

    Nothing is copied until rows are asked for. A slice that lies in one shard is a view of it, so a memory
    map stays mapped; any other rows are gathered into a new array, shard by shard. Along the first axis it
    takes what numpy takes: an integer, a slice, integers, booleans. The second axis is not indexed.

    Parameters
    ----------
    parts : list of (n_i, dim) arrays
        At least one; dims and dtypes agree.
    names : list of str
        Of the parts, for messages.

    >>> both = Shards([np.eye(2), np.ones((1, 2))], ["a.npy", "b.npy"])
    >>> both.shape, both[[2, 0]].tolist(), both.place(2)
    ((3, 2), [[1.0, 1.0], [1.0, 0.0]], 'b.npy, row 0')
    """

    ndim = 2
    # What numba and BLAS would have to know; row blocks are gathered before either sees them.
    flags = SimpleNamespace(c_contiguous=False, f_contiguous=False, aligned=True, writeable=False)

    def __init__(self, parts: Sequence[Array], names: Sequence[str]) -> None:
        if len({part.dtype for part in parts}) != 1 or len({part.shape[1] for part in parts}) != 1:
            raise ValueError("parts of several dtypes or dims")
        self.parts, self.names = list(parts), list(names)
        self.dtype = parts[0].dtype
        self.starts = np.concatenate(([0], np.cumsum([len(part) for part in parts]))).astype(np.int64)
        self.shape = int(self.starts[-1]), int(parts[0].shape[1])
        self.size = self.shape[0] * self.shape[1]
        self.itemsize = self.dtype.itemsize
        self.nbytes = self.size * self.itemsize

    def __len__(self) -> int:
        return self.shape[0]

    def place(self, row: int) -> str:
        """File of a row, and the row in it."""
        at = self._part_of(row)
        return f"{self.names[at]}, row {row - int(self.starts[at])}"

    def __getitem__(self, key: Any) -> Array:
        if isinstance(key, slice):
            start, stop, step = key.indices(len(self))
            return self._slice(start, stop) if step == 1 else self._gather(np.arange(start, stop, step))
        rows = np.asarray(key)
        if rows.size == 0 and not isinstance(key, np.ndarray):  # an empty list is of floats
            rows = rows.astype(np.int64)
        if rows.dtype == np.bool_:
            if rows.shape != (len(self),):
                raise IndexError(f"a mask of shape {rows.shape} for {len(self)} rows")
            return self._gather(np.flatnonzero(rows))
        if isinstance(key, tuple) or rows.ndim > 1 or rows.dtype.kind not in "iu":
            raise IndexError("rows are asked for by an integer, a slice, integers or booleans")
        rows = rows.astype(np.int64)
        outside = (rows < -len(self)) | (rows >= len(self))
        if outside.any():
            raise IndexError(f"row {rows[outside].flat[0]} of {len(self)}")
        rows = np.where(rows < 0, rows + len(self), rows)
        if rows.ndim == 0:
            at = self._part_of(int(rows))
            one: Array = self.parts[at][int(rows) - int(self.starts[at])]
            return one
        return self._gather(rows)

    def __array__(self, dtype: npt.DTypeLike | None = None, copy: bool | None = None) -> Array:
        if copy is False and len(self.parts) > 1:
            raise ValueError("rows of several files are one array only as a copy")
        whole = self._slice(0, len(self))
        return np.array(whole, dtype=dtype, copy=copy)

    def astype(self, dtype: npt.DTypeLike) -> Array:
        """All rows in memory, as another type: (n, dim)."""
        out = np.empty(self.shape, dtype)
        for start, part in zip(self.starts, self.parts, strict=False):
            out[start : start + len(part)] = part
        return out

    def _part_of(self, row: int) -> int:
        return int(np.searchsorted(self.starts, row, side="right")) - 1

    def _slice(self, start: int, stop: int) -> Array:
        if stop <= start:
            return self.parts[0][:0]
        first, last = self._part_of(start), self._part_of(stop - 1)
        some = [
            part[max(0, start - own) : stop - own]
            for part, own in zip(self.parts[first : last + 1], self.starts[first : last + 1], strict=True)
        ]
        return some[0] if len(some) == 1 else np.concatenate([np.asarray(part) for part in some])

    def _gather(self, rows: npt.NDArray[np.int64]) -> Array:
        out = np.empty((len(rows), self.shape[1]), self.dtype)
        part_of = np.searchsorted(self.starts, rows, side="right") - 1
        order = np.argsort(part_of, kind="stable")
        cuts = np.searchsorted(part_of[order], np.arange(len(self.parts) + 1))
        for at in np.unique(part_of):
            mine = order[cuts[at] : cuts[at + 1]]
            out[mine] = self.parts[at][rows[mine] - self.starts[at]]
        return out


@dataclass(frozen=True)
class Stamps:
    """The files behind shards as they were when they were opened."""

    parts: tuple[Stamp, ...]

    def check(self) -> None:
        """Raise InputError when one of them is not as it was."""
        for stamp in self.parts:
            stamp.check()
