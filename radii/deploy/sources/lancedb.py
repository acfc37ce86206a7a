"""Reading a LanceDB table."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from radii.data.files import StrPath
from radii.deploy.sources.base import PAGE, Batch, Cursor, Source, chosen, there

_METRICS = {"cosine": "cosine", "dot": "ip", "l2": "l2"}


class LanceSource(Source):
    """A table; the metric is that of the vector column's index, if it has one."""

    engine, package, extra = "lancedb", "lancedb", "lancedb"

    def __init__(
        self, path: StrPath, table: str | None = None, vector: str | None = None, id: str | None = None
    ) -> None:
        self.path, self._named = path, (table, vector, id)

    def open(self) -> None:
        """As `Source.open`."""
        lancedb = self.library()
        db = lancedb.connect(str(there(self.path, "a LanceDB folder")))
        table, vector, key = self._named
        name = chosen(table, db.list_tables().tables, "table", self.path, "docs")
        self._table = db.open_table(name)
        schema = self._table.schema
        lists = [field.name for field in schema if pa.types.is_fixed_size_list(field.type)]
        self._vector = chosen(vector, lists, "vector", self.path, "vector")
        others = [field.name for field in schema if field.name not in lists]
        self._key = chosen(key, others, "id", self.path, "id")
        self.count = self._table.count_rows()
        self.dim = int(schema.field(self._vector).type.list_size)
        self.stamp = f"version {self._table.version}"
        for index in self._table.list_indices():
            if index.columns == [self._vector]:
                told = self._table.index_stats(index.name)
                self.metric = None if told is None else _METRICS.get(told.distance_type, told.distance_type)

    def batches(self, after: Cursor = None) -> Iterator[Batch]:
        """As `Source.batches`; the cursor is a row of this version of the table."""
        for at in range(int(after or 0), self.count, PAGE):
            page = self._table.search().select([self._key, self._vector]).limit(PAGE).offset(at).to_arrow()
            column = page[self._vector].combine_chunks()
            vectors = np.asarray(column.flatten(), dtype=np.float32).reshape(len(page), -1)
            ids = [str(value) for value in page[self._key].to_pylist()]
            yield Batch(ids, vectors, at + len(page))
