"""Reading a Milvus collection, of Milvus Lite or of a server."""

from __future__ import annotations

import json
from collections.abc import Iterator

from radii.data.files import StrPath
from radii.deploy.sources.base import PAGE, Batch, Cursor, Source, as_matrix, chosen, there
from radii.errors import InputError

_FLOATS = ("FLOAT_VECTOR", "FLOAT16_VECTOR", "BFLOAT16_VECTOR")
# Milvus Lite goes through the whole collection for every page, and messages have a limit.
_ROWS, _BYTES = 8000, 16 << 20
_METRICS = {"COSINE": "cosine", "IP": "ip", "L2": "l2"}


class MilvusSource(Source):
    """A collection, in the order of its primary key.

    pymilvus pages by a filter over the key and does not escape it: keys that hold quotes cannot be paged by.
    """

    engine, package, extra = "milvus", "pymilvus", "milvus"

    def __init__(
        self, place: StrPath, collection: str | None = None, vector: str | None = None, id: str | None = None
    ) -> None:
        self.place, self._named = str(place), (collection, vector, id)

    def open(self) -> None:
        """As `Source.open`."""
        pymilvus = self.library()
        if "://" not in self.place:
            there(self.place, "a Milvus Lite file")
        try:
            self._client = pymilvus.MilvusClient(self.place)
        except pymilvus.exceptions.MilvusException as error:
            raise InputError(
                f"no answer ({error.message})", where=self.place, fix="start the server, or name its address"
            ) from error
        self.closing.callback(self._client.close)
        collection, vector, key = self._named
        names = self._client.list_collections()
        self._name = chosen(collection, names, "collection", self.place, "docs")
        fields = self._client.describe_collection(self._name)["fields"]
        kinds = {field["name"]: field for field in fields}
        floats = [name for name, field in kinds.items() if field["type"].name in _FLOATS]
        self._vector = chosen(vector, floats, "vector", self.place, "vector")
        [self._primary] = [name for name, field in kinds.items() if field.get("is_primary")]
        self._key = self._primary if key is None else chosen(key, kinds, "id", self.place)
        self._client.load_collection(self._name)
        told = self._client.query(self._name, filter="", output_fields=["count(*)"])
        self.count, self.dim = int(told[0]["count(*)"]), int(kinds[self._vector]["params"]["dim"])
        for index in self._client.list_indexes(self._name, field_name=self._vector):
            kind = self._client.describe_index(self._name, index)["metric_type"]
            self.metric = _METRICS.get(kind, kind.lower())

    def batches(self, after: Cursor = None) -> Iterator[Batch]:
        """As `Source.batches`; the cursor is the last primary key."""
        wanted = sorted({self._primary, self._key, self._vector})
        pages = self._client.query_iterator(
            self._name,
            batch_size=max(PAGE, min(_ROWS, _BYTES // (4 * self.dim))),
            filter="" if after is None else f"{self._primary} > {json.dumps(after, ensure_ascii=False)}",
            output_fields=wanted,
        )
        exceptions = self.library("pymilvus.exceptions")
        try:
            while True:
                try:
                    page = pages.next()
                except exceptions.MilvusException as error:
                    raise InputError(
                        f"cannot be paged by its key {self._primary!r} ({error.message.splitlines()[0]})",
                        where=self.place,
                        cause="keys that hold quotes",
                        fix="read it from where it was loaded from",
                    ) from error
                if not page:
                    return
                ids = [str(row[self._key]) for row in page]
                vectors = as_matrix([row[self._vector] for row in page], ids, self.place)
                yield Batch(ids, vectors, page[-1][self._primary])
        finally:
            pages.close()
