"""Chroma: a graph of hnswlib's kind; its default metric is L2, so the space is always named."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from radii.data.embeddings import Embeddings
from radii.data.files import StrPath
from radii.deploy.engines.base import GRAPH, Array, Engine, Hits, Metric, batches
from radii.deploy.sources.chroma import ChromaSource

_COLLECTION = "docs"


class Chroma(Engine):
    """One collection in a PersistentClient."""

    name = "chroma"
    forms = ("centred", "ip", "unit")
    why = GRAPH
    exact = False
    package, extra = "chromadb", "chroma"
    snippet = (
        "import chromadb\n"
        "settings = chromadb.config.Settings(anonymized_telemetry=False)\n"
        'client = chromadb.PersistentClient("{location}", settings=settings)\n'
        'docs = client.get_collection("docs", embedding_function=None)\n'
        "docs.query(query_embeddings=queries, n_results=10)"
    )

    def fill(self, target: Path, served: Embeddings, metric: Metric) -> None:
        """The ids are Chroma's own."""
        docs = self._client(target).create_collection(
            _COLLECTION, embedding_function=None, configuration={"hnsw": {"space": metric}}
        )
        for _, ids, block in batches(served):
            docs.add(ids=list(ids), embeddings=block)

    def search(self, location: StrPath, queries: Array, k: int) -> Hits:
        """As `Engine.search`; distances are 1 − ⟨q, d⟩."""
        docs = self.opened(location)
        found = docs.query(query_embeddings=queries, n_results=min(k, docs.count()), include=["distances"])
        return Hits(found["ids"], [[1.0 - away for away in one] for one in found["distances"]])

    def source(self, location: StrPath) -> ChromaSource:
        """As `Engine.source`."""
        return ChromaSource(location, _COLLECTION)

    def opened(self, location: StrPath) -> Any:
        """The collection."""
        return self._client(location).get_collection(_COLLECTION, embedding_function=None)

    def _client(self, location: StrPath) -> Any:
        chromadb = self.library()
        settings = chromadb.config.Settings(anonymized_telemetry=False)
        return chromadb.PersistentClient(str(location), settings=settings)
