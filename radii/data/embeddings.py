"""Vectors with their ids: what every other room receives."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from radii.data.files import Stamp
from radii.data.ids import RowNumbers, rows_of
from radii.data.processors import SHARED, ahead, share_out
from radii.data.rows import Floats as Floats
from radii.data.rows import Vectors as Vectors
from radii.data.rows import cached, dividing, row_norms, widening
from radii.data.shards import Shards, Stamps
from radii.errors import InputError, shown

# A block of this many bytes in float64 stays near the processor and far below any memory limit.
_BLOCK_BYTES = 8 << 20


@dataclass(frozen=True, eq=False)
class Embeddings:
    """Un-normalised vectors and their ids.

    Attributes
    ----------
    ids : sequence of str
        One id per row, all different.
    vectors : (n, dim) array of float16, float32 or float64
        As stored: a memory map stays one, and is read block by block. Of several files, `Shards`.
    source : str
        Where they came from, for messages and the report.
    stamp : Stamp or Stamps, optional
        Of the files that memory maps show, which must stay as they are: looked at before every block is read.

    Raises
    ------
    InputError
        On anything but a 2-D float array with at least one row and one column, on a count of ids that
        differs from the rows, on duplicate ids, and (when the norms are first read) on rows that hold
        NaN or infinity or only zeros.

    >>> Embeddings.of(np.array([[3.0, 4.0]])).norms
    array([5.])
    """

    ids: Sequence[str]
    vectors: Vectors
    source: str = "array"
    stamp: Stamp | Stamps | None = None

    def __post_init__(self) -> None:
        check_vectors(self.vectors, self.source)
        if len(self.ids) != len(self.vectors):
            raise InputError(
                f"{len(self.ids)} ids for {len(self.vectors)} vectors",
                where=self.source,
                cause="ids and vectors come from different exports",
                fix="give one id per row",
            )
        if len(self.rows) != len(self.ids):
            seen: set[str] = set()
            twice = [i for i in self.ids if i in seen or seen.add(i)]  # type: ignore[func-returns-value]
            raise InputError(
                f"duplicate ids: {shown(dict.fromkeys(twice))}",
                where=self.source,
                cause="the same document was exported twice",
                fix="make ids unique",
            )

    @classmethod
    def of(cls, data: Embeddings | npt.ArrayLike, source: str = "array") -> Embeddings:
        """`data` itself, or a bare (n, dim) array whose ids are its row numbers as strings."""
        if isinstance(data, Embeddings):
            return data
        vectors = np.asanyarray(data)
        rows = len(vectors) if vectors.ndim else 0
        return cls(RowNumbers(rows), vectors, source)

    def __len__(self) -> int:
        return len(self.vectors)

    @property
    def dim(self) -> int:
        """Number of columns."""
        return int(self.vectors.shape[1])

    @cached_property
    def rows(self) -> Mapping[str, int]:
        """Row number of every id."""
        return rows_of(self.ids)

    @cached_property
    def norms(self) -> Floats:
        """‖d‖ of every row: (n,) float64, accumulated in float64, all finite and above zero."""
        norms = row_norms(self.vectors)
        self.unchanged()
        return self.usable(norms)

    @cached_property
    def mean_unit(self) -> Floats:
        """The mean of the unit rows, (1/n) Σ d / ‖d‖: (dim,) float64."""
        sums = share_out(lambda some: self.unit(some).sum(axis=0), cached(self.vectors), self.vectors.size)
        mean: Floats = sum(sums, np.zeros(self.dim)) / len(self)
        return mean

    def unit(self, some: slice) -> Floats:
        """d / ‖d‖ of some rows: (n_rows, dim) float64."""
        self.unchanged()
        return dividing(self.vectors)(self.vectors[some], self.norms[some])

    def usable(self, norms: Floats) -> Floats:
        """`norms` of these rows, wherever they were computed; InputError where one is no direction's."""
        bad = np.flatnonzero(~np.isfinite(norms))
        if bad.size:
            raise InputError(
                f"{bad.size} rows hold NaN or infinity, first row {bad[0]} (id {self.ids[bad[0]]!r})",
                where=self._place(int(bad[0])),
                cause="overflow in half precision, or a failed batch of the encoder",
                fix="embed these rows again or drop them",
            )
        zero = np.flatnonzero(norms == 0.0)
        if zero.size:
            raise InputError(
                f"{zero.size} rows are all zeros, first row {zero[0]} (id {self.ids[zero[0]]!r})",
                where=self._place(int(zero[0])),
                cause="empty texts or rows that were never written",
                fix="drop these rows: a zero vector has no direction to rank by",
            )
        return norms

    def _place(self, row: int) -> str:
        """Where a row lies, for messages: of several files the one, and the row in it."""
        held: Any = self.vectors
        return held.place(row) if isinstance(held, Shards) else self.source

    def part(self, rows: npt.NDArray[np.int64]) -> Embeddings:
        """Some rows, in this order, with their ids."""
        return Embeddings([self.ids[row] for row in rows], self.vectors[rows], self.source)

    def in_order(self) -> Embeddings:
        """The same in the order of their ids, shorter ones first: what is drawn by row is then drawn by id.

        >>> Embeddings(["q10", "q9"], np.eye(2)).in_order().ids
        ['q9', 'q10']
        """
        if isinstance(self.ids, RowNumbers):
            return self
        order = sorted(range(len(self)), key=lambda row: (len(self.ids[row]), self.ids[row]))
        return self if order == list(range(len(self))) else self.part(np.array(order, dtype=np.int64))

    def widened(self) -> Embeddings:
        """The same in float64 and in memory, with the same norms."""
        if self.vectors.dtype == np.float64:
            return self
        wide = Embeddings(self.ids, np.array(self.vectors, dtype=np.float64, order="C"), self.source)
        wide.__dict__.update(norms=self.norms, rows=self.rows)
        return wide

    def unchanged(self) -> None:
        """Raise InputError where the file behind a memory map was written to since it was opened."""
        if self.stamp is not None:
            self.stamp.check()

    def moderate(self) -> Embeddings:
        """The same directions, every row times a power of two where products would leave float64's range.

        Exact: cosines are those of the original rows, to the bit.
        """
        if self.norms.min() > 1e-100 and self.norms.max() < 1e100:
            return self
        powers = -np.frexp(self.norms)[1]
        vectors = np.ldexp(np.asarray(self.vectors, dtype=np.float64), powers[:, None])
        return Embeddings(self.ids, vectors, self.source)

    def blocks(self, rows: int | None = None) -> Iterator[tuple[int, Floats]]:
        """(first row, rows of this block as float64), in order, a few megabytes at a time."""
        step = rows or max(1, _BLOCK_BYTES // (8 * self.dim))
        wide = widening(self.vectors)

        def read(start: int) -> tuple[int, Floats]:
            self.unchanged()
            return start, wide(self.vectors[start : start + step])

        starts = range(0, len(self), step)
        # Of much, the next blocks are read while this one is used.
        yield from ahead(read, starts) if self.vectors.size > SHARED else map(read, starts)


def check_vectors(vectors: Vectors, source: str) -> None:
    """Refuse what is not a 2-D float array with rows and columns; see `Embeddings`."""
    if vectors.dtype.hasobject:
        raise InputError(
            "an object array",
            where=source,
            cause="rows of different lengths, or a pickled array",
            fix="save a plain float array (radii never unpickles)",
        )
    if vectors.ndim != 2:
        raise InputError(
            f"an array of shape {vectors.shape}, {vectors.ndim}-D",
            where=source,
            cause="one vector, or a flattened matrix",
            fix="give shape (n, dim)",
        )
    if vectors.dtype.kind != "f" or vectors.dtype.itemsize > 8:
        raise InputError(
            f"dtype {vectors.dtype}",
            where=source,
            cause="quantised codes, or vectors saved as another type",
            fix="give float16, float32 or float64",
        )
    if 0 in vectors.shape:
        raise InputError(
            f"an empty array of shape {vectors.shape}",
            where=source,
            cause="nothing was exported",
            fix="export at least one vector",
        )
