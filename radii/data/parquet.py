"""Vectors of `.parquet` files: in memory where they are few, else unpacked once and mapped."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np

from radii.data.cache import kept
from radii.data.embeddings import Vectors
from radii.data.files import Stamp
from radii.data.formats import ID_NAMES, Read, only, read_npy, readable_as
from radii.data.ids import Gathered
from radii.errors import InputError

IN_MEMORY = 256 << 20  # bytes of vectors; more are unpacked into the cache, and mapped

_BATCH_ROWS = 8192  # a second copy of the vectors, but only of this many rows
_BATCH_BYTES = 8 << 20  # and of this many bytes

Place = Callable[[int], str]  # row → file and row group, for messages


def read_parquet(path: Path, with_ids: bool, in_memory: int = IN_MEMORY) -> Read:
    """Read a list column and an id column of a `.parquet` file, batch by batch.

    Vectors of more than `in_memory` bytes are unpacked into an `.npy` file of the cache, unless that was
    done before, and mapped: memory then holds one batch at a time.
    """
    with _Table.opened(path) as table:
        types = [(field.name, field.type) for field in table.file.schema_arrow]
        lists = [name for name, kind in types if _is_vector(kind)]
        column = only("list<float> column", lists, {name: str(kind) for name, kind in types}, path)
        id_column = _id_column(types, path) if with_ids else None
        row_bytes = table.width(column) * dict(types)[column].value_type.bit_width // 8
        rows = max(1, min(_BATCH_ROWS, _BATCH_BYTES // max(1, row_bytes)))
        vectors = (_unpacked if row_bytes * table.rows > in_memory else _whole)(table, column, rows)
        return vectors, None if id_column is None else _ids(table, id_column)


@dataclass(frozen=True, eq=False)
class _Table:
    """An open file, and where it lies."""

    file: Any
    path: Path

    @classmethod
    @contextmanager
    def opened(cls, path: Path) -> Iterator[_Table]:
        import pyarrow.parquet as pq

        # Mapped: neither are whole row groups held, one beside the other, nor is there room made for a page
        # as long as a damaged header says.
        how: dict[str, Any] = {"memory_map": True, "pre_buffer": False}
        with _readable(path), pq.ParquetFile(path, **how) as file:
            yield cls(file, path)

    @property
    def rows(self) -> int:
        """As its footer says."""
        return int(self.file.metadata.num_rows)

    def batches(self, column: str, rows: int) -> Iterator[Any]:
        """A column, at most `rows` rows at a time; InputError where it has more or fewer than promised."""
        batches, seen = self.file.iter_batches(rows, columns=[column]), 0
        while True:
            # Here, and not around the block that writes what was read: errors of the disk are others.
            with _readable(self.path):
                batch = next(batches, None)
                if batch is None:
                    if seen != self.rows:
                        raise OSError(f"{seen} rows, its footer says {self.rows}")
                    return
            if batch.num_rows:
                yield batch.column(column)
                seen += batch.num_rows

    def width(self, column: str) -> int:
        """How many numbers the first row of a list column holds; 0 where there is no first row.

        By reading it: the footer's own count is looked at by code of Arrow that ends the process on a
        damaged footer.
        """
        with _readable(self.path):
            batch = next(self.file.iter_batches(1, columns=[column]), None)
            lengths = [] if batch is None else batch.column(column).value_lengths().to_pylist()
        return (lengths[0] or 0) if lengths else 0

    def place(self, row: int) -> str:
        """File and row group of a row, for messages."""
        groups = (self.file.metadata.row_group(at) for at in range(self.file.metadata.num_row_groups))
        last = np.cumsum([group.num_rows for group in groups])
        return f"{self.path}, row group {int(np.searchsorted(last, row, side='right'))}"


def _readable(path: Path) -> AbstractContextManager[None]:
    import pyarrow as pa

    return readable_as(".parquet", path, pa.ArrowException, OSError, UnicodeDecodeError)


def _whole(table: _Table, column: str, rows: int) -> Vectors:
    """The list column in memory: (n, dim)."""
    vectors: Vectors | None = None
    for row, block in _blocks(table, column, rows):
        if vectors is None:
            vectors = np.empty((table.rows, block.shape[1]), block.dtype)
        if row + len(block) <= len(vectors):  # more rows than promised are refused when all are read
            vectors[row : row + len(block)] = block
    return np.empty((0, 0), np.float32) if vectors is None else vectors


def _unpacked(table: _Table, column: str, rows: int) -> Vectors:
    """The list column mapped from the `.npy` file that the cache has of it: (n, dim)."""
    stamp = Stamp.of(table.path)

    def write(out: IO[bytes]) -> None:
        for row, block in _blocks(table, column, rows):
            if row == 0:
                shape = table.rows, block.shape[1]
                head = {"descr": block.dtype.str, "fortran_order": False, "shape": shape}
                np.lib.format.write_array_header_1_0(out, head)
            out.write(np.ascontiguousarray(block).data)
        stamp.check()

    version = f"{stamp.inode} {stamp.size} {stamp.modified} {column}"
    return read_npy(kept("unpacked", str(table.path.resolve()), version, ".npy", write), with_ids=False)[0]


def _blocks(table: _Table, column: str, rows: int) -> Iterator[tuple[int, Vectors]]:
    """(first row, (n, dim) vectors) of a list column, at most `rows` at a time."""
    row, dim = 0, None
    for values in table.batches(column, rows):
        block = _block(values, column, row, dim, table.place)
        dim = block.shape[1]
        yield row, block
        row += len(block)


def _ids(table: _Table, column: str) -> Sequence[str]:
    gathered, row = Gathered(), 0
    for values in table.batches(column, _BATCH_ROWS):
        _refuse_null(values, column, row, 1, table.place)
        gathered.add([str(i) for i in values.to_pylist()])
        row += len(values)
    return gathered.ids()


def _is_vector(kind: Any) -> bool:
    import pyarrow.types as of

    lists = of.is_list(kind) or of.is_large_list(kind) or of.is_fixed_size_list(kind)
    return bool(lists and of.is_floating(kind.value_type))


def _id_column(types: Sequence[tuple[str, Any]], path: Path) -> str | None:
    """Pick the column of ids; None where the file has no string or integer column at all."""
    named = [name for name, _ in types if name in ID_NAMES]
    possible = [name for name, kind in types if _is_id(kind) and (name in named or not named)]
    if not named and not possible:
        return None
    return only("id column", possible, {n: str(k) for n, k in types}, path, ID_NAMES)


def _is_id(kind: Any) -> bool:
    import pyarrow.types as of

    if of.is_dictionary(kind):
        kind = kind.value_type
    strings = of.is_string(kind) or of.is_large_string(kind) or of.is_string_view(kind)
    return bool(strings or of.is_integer(kind))


def _block(array: Any, column: str, row: int, dim: int | None, place: Place) -> Vectors:
    """Make a (rows, dim) array of a batch of the list column; `row` is its first row in the file."""
    _refuse_null(array, column, row, 1, place)
    lengths = array.value_lengths().to_numpy(zero_copy_only=False)
    if dim is None:
        dim = int(lengths[0])
    ragged = np.flatnonzero(lengths != dim)
    if ragged.size:
        first = row + int(ragged[0])
        raise InputError(
            f"row {first} of column {column!r} has {lengths[ragged[0]]} values, not {dim}",
            where=place(first),
            cause="vectors of two models in one file",
            fix="write vectors of one length",
        )
    values = array.flatten()
    _refuse_null(values, column, row, dim, place)
    vectors: Vectors = values.to_numpy(zero_copy_only=False).reshape(len(array), dim)
    return vectors


def _refuse_null(array: Any, column: str, row: int, per_row: int, place: Place) -> None:
    nulls = np.flatnonzero(array.is_null().to_numpy(zero_copy_only=False))
    if nulls.size:
        first = row + int(nulls[0]) // per_row
        raise InputError(
            f"row {first} of column {column!r} is null or holds a null",
            where=place(first),
            cause="a document that was never embedded or has no id",
            fix="drop the row or fill it in",
        )
