"""Reading a sqlite-vec table."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice

import numpy as np

from radii.data.files import StrPath
from radii.deploy.sources.base import PAGE, Batch, Cursor, Source, as_matrix, chosen, file_stamp
from radii.errors import InputError

_VECTOR = re.compile(r"""["`\[]?(\w+)["`\]]?\s+float\[(\d+)\](?:\s+distance_metric\s*=\s*(\w+))?""", re.I)


class SqliteVecSource(Source):
    """A `vec0` table, through apsw; a column `id`, or the one named, gives the ids, else the rowid does."""

    engine, package, extra = "sqlite-vec", "sqlite_vec", "sqlite-vec"

    def __init__(
        self, path: StrPath, table: str | None = None, vector: str | None = None, id: str | None = None
    ) -> None:
        self.path, self._named = path, (table, vector, id)

    def open(self) -> None:
        """As `Source.open`."""
        extension, apsw = self.library().loadable_path(), self.library("apsw")
        self.stamp = file_stamp(self.path)
        table, vector, key = self._named
        try:
            self._db = apsw.Connection(str(self.path), flags=apsw.SQLITE_OPEN_READONLY)
            self.closing.callback(self._db.close)
            self._db.enable_load_extension(True)
            self._db.load_extension(extension)
            self._db.enable_load_extension(False)
            made = dict(self._db.execute("SELECT name, sql FROM sqlite_master WHERE sql LIKE '%vec0%'"))
        except apsw.Error as error:
            raise InputError(f"not a database ({error})", where=self.path, fix="name its file") from error
        self._table = chosen(table, made, "table", self.path, "docs")
        columns = {name: (int(dim), kind or "l2") for name, dim, kind in _VECTOR.findall(made[self._table])}
        self._vector = chosen(vector, columns, "vector", self.path, "vector")
        self.dim, self.metric = columns[self._vector][0], columns[self._vector][1].lower()
        ask = "SELECT name FROM pragma_table_info(?)"
        names = [name for (name,) in self._db.execute(ask, (self._table,))]
        usual = "id" if "id" in names else "rowid"
        self._key = chosen(key, [n for n in names if n not in columns], "id", self.path, usual)
        [[self.count]] = self._db.execute(f"SELECT count(*) FROM {_quoted(self._table)}")

    def batches(self, after: Cursor = None) -> Iterator[Batch]:
        """As `Source.batches`; the cursor is an offset in the order of the table."""
        at = int(after or 0)
        key, vector, table = map(_quoted, (self._key, self._vector, self._table))
        ask = f"SELECT {key}, {vector} FROM {table} LIMIT -1 OFFSET ?"
        rows_of = self._db.execute(ask, (at,))
        while page := list(islice(rows_of, PAGE)):
            ids, rows = [str(name) for name, _ in page], [np.frombuffer(data, "<f4") for _, data in page]
            at += len(page)
            yield Batch(ids, as_matrix(rows, ids, self.path), at)


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
