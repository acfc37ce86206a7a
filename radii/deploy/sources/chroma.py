"""Reading a Chroma collection. Space `cosine` keeps raw vectors: the distance divides by their lengths."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from radii.data.files import StrPath
from radii.deploy.sources.base import PAGE, Batch, Cursor, Source, chosen, there
from radii.errors import InputError


class ChromaSource(Source):
    """A collection of a PersistentClient."""

    engine, package, extra = "chroma", "chromadb", "chroma"

    def __init__(self, path: StrPath, collection: str | None = None) -> None:
        self.path, self._named = path, collection

    def open(self) -> None:
        """As `Source.open`."""
        chromadb = self.library()
        there(Path(self.path) / "chroma.sqlite3", "the folder of a PersistentClient, with its chroma.sqlite3")
        settings = chromadb.config.Settings(anonymized_telemetry=False)
        client = chromadb.PersistentClient(str(self.path), settings=settings)
        names = [one.name for one in client.list_collections()]
        name = chosen(self._named, names, "collection", self.path, "docs")
        self._held = client.get_collection(name, embedding_function=None)
        self.count = self._held.count()
        told = self._held.configuration_json if hasattr(self._held, "configuration_json") else None
        told = told or self._held._model.configuration_json
        told = json.loads(told) if isinstance(told, str) else told
        self.metric = (told.get("hnsw") or told.get("spann") or {}).get("space")
        first = self._held.get(limit=1, include=["embeddings"])["embeddings"]
        if first is None or not len(first):
            raise InputError("an empty collection", where=self.path, fix="load it first")
        self.dim = len(first[0])

    def batches(self, after: Cursor = None) -> Iterator[Batch]:
        """As `Source.batches`; the cursor is an offset in the order of insertion."""
        for at in range(int(after or 0), self.count, PAGE):
            page = self._held.get(limit=PAGE, offset=at, include=["embeddings"])
            vectors = np.asarray(page["embeddings"], dtype=np.float32)
            yield Batch(page["ids"], vectors, at + len(page["ids"]))
