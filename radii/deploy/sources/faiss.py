"""Reading a FAISS index: its rows, rebuilt from what it stores."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from radii.data.files import StrPath
from radii.deploy.sources.base import PAGE, Batch, Cursor, Source, file_stamp, names_of
from radii.errors import InputError


class FaissSource(Source):
    """An index in a file; the ids of an IndexIDMap, or row numbers, or ids.txt beside it.

    Indexes that compress return what their codes decode to.
    """

    engine, package, extra = "faiss", "faiss", "faiss"

    def __init__(self, path: StrPath) -> None:
        self.path = path

    def open(self) -> None:
        """As `Source.open`."""
        faiss = self.library()
        self.stamp = file_stamp(self.path)
        try:
            index = faiss.read_index(str(self.path))
        except RuntimeError as error:
            raise InputError(
                "not a FAISS index", where=self.path, fix="name the file that write_index wrote"
            ) from error
        self.count, self.dim = int(index.ntotal), int(index.d)
        kinds = {faiss.METRIC_INNER_PRODUCT: "ip", faiss.METRIC_L2: "l2"}
        self.metric = kinds.get(index.metric_type)
        self._outer = index  # frees what it wraps
        keys = range(self.count)
        if hasattr(index, "id_map"):
            keys = faiss.vector_to_array(index.id_map).tolist()
            index = faiss.downcast_index(index.index)
        if hasattr(index, "make_direct_map"):
            index.make_direct_map()
        self._index, self._ids = index, names_of(self.path, keys, self.count)

    def batches(self, after: Cursor = None) -> Iterator[Batch]:
        """As `Source.batches`; the cursor is a row."""
        for at in range(int(after or 0), self.count, PAGE):
            stop = min(at + PAGE, self.count)
            try:
                vectors = self._index.reconstruct_n(at, stop - at)
            except RuntimeError as error:
                raise InputError(
                    "an index that cannot give its vectors back",
                    where=self.path,
                    fix="read them from where they were loaded from",
                ) from error
            yield Batch(self._ids[at:stop], np.asarray(vectors, dtype=np.float32), stop)
