"""Qdrant in the client's local mode: `Dot` ranks raw products, a `Cosine` collection normalises."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from radii.data.embeddings import Embeddings
from radii.data.files import StrPath
from radii.deploy.engines.base import Array, Engine, Hits, Metric, batches
from radii.deploy.sources.qdrant import QdrantSource

_COLLECTION = "docs"
_METRICS = {"ip": "DOT", "cosine": "COSINE", "l2": "EUCLID"}


class Qdrant(Engine):
    """One collection; a point's number is its row, its id is in the payload.

    The local mode keeps raw values even in a Cosine collection, where a server would normalise (client issue
    212): what is read here says nothing about a server.
    """

    name = "qdrant"
    forms = ("ip", "unit")
    why = "Dot ranks raw inner products; Cosine would normalise on upload and lose the norms (issue 4751)"
    exact = True
    package, extra = "qdrant_client", "qdrant"
    snippet = (
        "import qdrant_client\n"
        'client = qdrant_client.QdrantClient(path="{location}")\n'
        'client.query_points("docs", query=queries[0], limit=10, with_payload=["id"])'
    )

    def fill(self, target: Path, served: Embeddings, metric: Metric) -> None:
        """Points in batches."""
        models = self.library("qdrant_client.models")
        with self._client(target) as client:
            kind = getattr(models.Distance, _METRICS[metric])
            client.create_collection(
                _COLLECTION, vectors_config=models.VectorParams(size=served.dim, distance=kind)
            )
            for at, ids, block in batches(served):
                points = [
                    models.PointStruct(id=at + row, vector=vector.tolist(), payload={"id": name})
                    for row, (name, vector) in enumerate(zip(ids, block, strict=True))
                ]
                client.upsert(_COLLECTION, points)

    def search(self, location: StrPath, queries: Array, k: int) -> Hits:
        """As `Engine.search`."""
        found = []
        with self._client(location) as client:
            for query in queries:
                points = client.query_points(
                    _COLLECTION, query=query.tolist(), limit=k, with_payload=True
                ).points
                found.append([(point.payload["id"], float(point.score)) for point in points])
        return Hits(
            [[name for name, _ in one] for one in found], [[score for _, score in one] for one in found]
        )

    def source(self, location: StrPath) -> QdrantSource:
        """As `Engine.source`."""
        return QdrantSource(location, _COLLECTION, id="id")

    @contextmanager
    def _client(self, location: StrPath) -> Iterator[Any]:
        # The local mode locks its folder until it is closed.
        client = self.library().QdrantClient(path=str(location))
        try:
            yield client
        finally:
            client.close()
