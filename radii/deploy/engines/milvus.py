"""Milvus Lite: one file, a FLAT index with metric IP."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from radii.data.embeddings import Embeddings
from radii.data.files import StrPath
from radii.deploy.engines.base import Array, Engine, Hits, Metric, batches
from radii.deploy.sources.milvus import MilvusSource

_FILE, _COLLECTION, _PAGE = "milvus.db", "docs", 1000


class Milvus(Engine):
    """One collection; the key is the row, because Milvus Lite cannot page by keys that hold quotes."""

    name = "milvus"
    forms = ("ip", "unit")
    why = "FLAT with IP ranks raw inner products; its HNSW loses them when norms vary (issue 51821)"
    exact = True
    package, extra = "pymilvus", "milvus"
    snippet = (
        "import pymilvus\n"
        'client = pymilvus.MilvusClient("{location}/milvus.db")\n'
        'client.search("docs", data=queries, limit=10, search_params={{"metric_type": "IP"}})'
    )

    def fill(self, target: Path, served: Embeddings, metric: Metric) -> None:
        """The metric belongs to the index."""
        types = self.library().DataType
        with self._client(target) as client:
            schema = client.create_schema(auto_id=False)
            schema.add_field("row", types.INT64, is_primary=True)
            schema.add_field("id", types.VARCHAR, max_length=65_535)
            schema.add_field("vector", types.FLOAT_VECTOR, dim=served.dim)
            index = client.prepare_index_params()
            index.add_index("vector", index_type="FLAT", metric_type=metric.upper())
            client.create_collection(_COLLECTION, schema=schema, index_params=index)
            for at, ids, block in batches(served):
                rows = [
                    {"row": at + row, "id": name, "vector": vector.tolist()}
                    for row, (name, vector) in enumerate(zip(ids, block, strict=True))
                ]
                client.insert(_COLLECTION, rows)

    def search(self, location: StrPath, queries: Array, k: int) -> Hits:
        """As `Engine.search`."""
        with self._client(location) as client:
            client.load_collection(_COLLECTION)
            asked = [query.tolist() for query in queries]
            found = client.search(_COLLECTION, data=asked, limit=k, output_fields=["id"])
            return Hits(
                [[hit["entity"]["id"] for hit in one] for one in found],
                [[float(hit["distance"]) for hit in one] for one in found],
            )

    def source(self, location: StrPath) -> MilvusSource:
        """As `Engine.source`."""
        return MilvusSource(Path(location) / _FILE, _COLLECTION, id="id")

    @contextmanager
    def _client(self, location: StrPath) -> Iterator[Any]:
        client = self.library().MilvusClient(str(Path(location) / _FILE))
        try:
            yield client
        finally:
            client.close()
