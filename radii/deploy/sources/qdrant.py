"""Reading a Qdrant collection: of a server, of the client's local mode, or of an embedded shard.

A server and the embedded engine normalise on upload to a Cosine collection; the local mode keeps what it was
given (client issue 212).
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from radii.data.files import StrPath
from radii.deploy.sources.base import PAGE, Batch, Cursor, Source, as_matrix, chosen, there
from radii.errors import InputError

_METRICS = {"COSINE": "cosine", "DOT": "ip", "EUCLID": "l2"}
_KEY = "QDRANT_API_KEY"


class QdrantSource(Source):
    """A collection, by scrolling; ids are the points' own, or a key of the payload."""

    engine, package, extra = "qdrant", "qdrant_client", "qdrant"

    def __init__(
        self, place: StrPath, collection: str | None = None, vector: str | None = None, id: str | None = None
    ) -> None:
        self.place, self._named = str(place), (collection, vector, id)

    def open(self) -> None:
        """As `Source.open`; an API key is taken from the environment, QDRANT_API_KEY."""
        client_of = self.library()
        faults = self.library("qdrant_client.http.exceptions")
        remote = "://" in self.place
        try:
            if remote:
                self._client = client_of.QdrantClient(
                    url=self.place, api_key=os.environ.get(_KEY), check_compatibility=False
                )
            else:
                there(Path(self.place) / "meta.json", "the folder of a local client, with its meta.json")
                self._client = client_of.QdrantClient(path=self.place)
            self.closing.callback(self._client.close)
            names = [one.name for one in self._client.get_collections().collections]
        except (faults.ResponseHandlingException, faults.UnexpectedResponse) as error:
            raise InputError(
                f"no answer ({str(error).strip().splitlines()[0]})",
                where=self.place,
                fix=f"start the server, name its address, or set {_KEY}",
            ) from error
        except RuntimeError as error:  # the folder's lock
            raise InputError(
                "in use by another client", where=self.place, fix="close that one, or copy the folder"
            ) from error
        collection, vector, self._id = self._named
        self._name = chosen(collection, names, "collection", self.place, "docs")
        told = self._client.get_collection(self._name)
        kinds = told.config.params.vectors
        kinds = kinds if isinstance(kinds, dict) else {"": kinds}
        self._vector = chosen(vector, kinds, "vector", self.place, "")
        kind = kinds[self._vector]
        if getattr(kind, "multivector_config", None) is not None:
            raise InputError("several vectors per point", where=self.place, fix="name another: ?vector=")
        self.dim, self.metric = int(kind.size), _METRICS.get(kind.distance.name, kind.distance.name.lower())
        self.count = int(self._client.count(self._name, exact=True).count)

    def batches(self, after: Cursor = None) -> Iterator[Batch]:
        """As `Source.batches`; the cursor is the next point's id."""

        def page(at: Cursor) -> tuple[list[Any], Cursor]:
            found = self._client.scroll(
                self._name,
                limit=PAGE,
                offset=at,
                with_vectors=[self._vector] if self._vector else True,
                with_payload=[self._id] if self._id else False,
            )
            return found[0], found[1]

        return _scrolled(page, after, self._vector, self._id, self.place)


class QdrantEdgeSource(Source):
    """An embedded shard, by scrolling."""

    engine, package, extra = "qdrant-edge", "qdrant_edge", "qdrant-edge"

    def __init__(self, place: StrPath, vector: str | None = None, id: str | None = None) -> None:
        self.place, self._named = str(place), (vector, id)

    def open(self) -> None:
        """As `Source.open`."""
        edge = self.library()
        config = Path(self.place) / "edge_config.json"
        there(config, "the folder of a shard, with its edge_config.json")
        kinds = json.loads(config.read_text())["vectors"]
        vector, self._id = self._named
        self._vector = chosen(vector, kinds, "vector", self.place, "")
        kind = kinds[self._vector]
        self.dim, self.metric = int(kind["size"]), _METRICS.get(kind["distance"].upper(), kind["distance"])
        self._shard = edge.EdgeShard.load(self.place)
        self.closing.callback(self._shard.close)
        self.count = int(self._shard.count(edge.CountRequest()))

    def batches(self, after: Cursor = None) -> Iterator[Batch]:
        """As `Source.batches`; the cursor is the next point's id."""
        edge = self.library()

        def page(at: Cursor) -> tuple[list[Any], Cursor]:
            found = self._shard.scroll(
                edge.ScrollRequest(offset=at, limit=PAGE, with_vector=True, with_payload=self._id is not None)
            )
            return found[0], found[1]

        return _scrolled(page, after, self._vector, self._id, self.place)


def _scrolled(
    page: Callable[[Cursor], tuple[list[Any], Cursor]],
    after: Cursor,
    vector: str,
    key: str | None,
    where: str,
) -> Iterator[Batch]:
    at = after
    while True:
        points, following = page(at)
        at = following if following is None or isinstance(following, int) else str(following)
        ids = [str(point.id if key is None else (point.payload or {}).get(key)) for point in points]
        if key is not None and "None" in ids and any(key not in (point.payload or {}) for point in points):
            raise InputError(f"a point without {key!r} in its payload", where=where, fix="leave ?id= out")
        rows = [
            point.vector.get(vector) if isinstance(point.vector, dict) else point.vector for point in points
        ]
        if ids:
            yield Batch(ids, as_matrix(rows, ids, where), at)
        if at is None:
            return
