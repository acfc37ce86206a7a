"""Qdrant's embedded engine: the server's own code in this process, so a Cosine shard normalises on write."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from radii.data.embeddings import Embeddings
from radii.data.files import StrPath
from radii.deploy.engines.base import Array, Engine, Hits, Metric, batches
from radii.deploy.sources.qdrant import QdrantEdgeSource

_FOLDER, _PAGE = "shard", 1000
_METRICS = {"ip": "Dot", "cosine": "Cosine", "l2": "Euclid"}


class QdrantEdge(Engine):
    """One shard; a point's number is its row, its id is in the payload."""

    name = "qdrant-edge"
    forms = ("ip", "unit")
    why = "Dot ranks raw inner products, and a shard that was never optimised looks at every document"
    exact = True
    package, extra = "qdrant_edge", "qdrant-edge"
    snippet = (
        "import qdrant_edge\n"
        'shard = qdrant_edge.EdgeShard.load("{location}/shard")\n'
        "nearest = qdrant_edge.Query.Nearest(queries[0].tolist())\n"
        "shard.query(qdrant_edge.QueryRequest(10, query=nearest, with_payload=True))"
    )

    def fill(self, target: Path, served: Embeddings, metric: Metric) -> None:
        """Points in batches; without a write-ahead log, so they last once flushed."""
        edge = self.library()
        kind = edge.EdgeVectorParams(served.dim, getattr(edge.Distance, _METRICS[metric]))
        config = edge.EdgeConfig(vectors=kind, wal_enabled=False)
        (target / _FOLDER).mkdir()
        shard = edge.EdgeShard.create(str(target / _FOLDER), config)
        try:
            for at, ids, block in batches(served):
                points = [
                    edge.Point(at + row, vector.tolist(), {"id": name})
                    for row, (name, vector) in enumerate(zip(ids, block, strict=True))
                ]
                shard.update(edge.UpdateOperation.upsert_points(points))
            shard.flush()
        finally:
            shard.close()

    def search(self, location: StrPath, queries: Array, k: int) -> Hits:
        """As `Engine.search`."""
        edge = self.library()
        with self._shard(location) as shard:
            found = [
                shard.query(edge.QueryRequest(k, query=edge.Query.Nearest(query.tolist()), with_payload=True))
                for query in queries
            ]
        return Hits(
            [[point.payload["id"] for point in one] for one in found],
            [[float(point.score) for point in one] for one in found],
        )

    def source(self, location: StrPath) -> QdrantEdgeSource:
        """As `Engine.source`."""
        return QdrantEdgeSource(Path(location) / _FOLDER, id="id")

    @contextmanager
    def _shard(self, location: StrPath) -> Iterator[Any]:
        shard = self.library().EdgeShard.load(str(Path(location) / _FOLDER))
        try:
            yield shard
        finally:
            shard.close()
