"""sqlite-vec: a virtual table that knows L1, L2 and cosine only, searched exhaustively."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from radii.data.embeddings import Embeddings
from radii.data.files import StrPath
from radii.deploy.engines.base import Array, Engine, Hits, Metric, batches
from radii.deploy.sources.sqlite_vec import SqliteVecSource

_FILE = "docs.sqlite"


class SqliteVec(Engine):
    """One `vec0` table, through apsw: many builds of Python load no SQLite extensions."""

    name = "sqlite-vec"
    forms = ("unit",)
    why = "sqlite-vec has no inner product (issue 52), so lengths have to become one more dimension"
    exact = True
    package, extra = "sqlite_vec", "sqlite-vec"
    snippet = (
        "SELECT id, distance FROM docs WHERE vector MATCH :query AND k = 10 ORDER BY distance"
        "  -- cosine = 1 - distance² / 2"
    )

    def fill(self, target: Path, served: Embeddings, metric: Metric) -> None:
        """Columns id and vector."""
        with self._open(target) as db:
            kind = "distance_metric=cosine" if metric == "cosine" else ""
            db.execute(f"CREATE VIRTUAL TABLE docs USING vec0(vector float[{served.dim}] {kind}, +id text)")
            for _, ids, block in batches(served):
                rows = [(name, vector.tobytes()) for name, vector in zip(ids, block, strict=True)]
                with db:
                    db.executemany("INSERT INTO docs (id, vector) VALUES (?, ?)", rows)

    def search(self, location: StrPath, queries: Array, k: int) -> Hits:
        """As `Engine.search`; k is at most 4096 in sqlite-vec."""
        ask = "SELECT id, distance FROM docs WHERE vector MATCH ? AND k = ? ORDER BY distance"
        with self._open(location) as db:
            found = [list(db.execute(ask, (query.astype("<f4").tobytes(), k))) for query in queries]
        return Hits(
            [[name for name, _ in one] for one in found],
            [[1.0 - away**2 / 2.0 for _, away in one] for one in found],
        )

    def source(self, location: StrPath) -> SqliteVecSource:
        """As `Engine.source`."""
        return SqliteVecSource(Path(location) / _FILE, "docs")

    @contextmanager
    def _open(self, location: StrPath) -> Iterator[Any]:
        path = self.library().loadable_path()
        db = self.library("apsw").Connection(str(Path(location) / _FILE))
        try:
            db.enable_load_extension(True)
            db.load_extension(path)
            db.enable_load_extension(False)
            yield db
        finally:
            db.close()
