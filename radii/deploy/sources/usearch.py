"""Reading a USearch index."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from radii.data.files import StrPath
from radii.deploy.sources.base import PAGE, Batch, Cursor, Source, file_stamp, names_of
from radii.errors import InputError

_METRICS = {"IP": "ip", "Cos": "cosine", "L2sq": "l2"}


class USearchSource(Source):
    """An index in a file, by key; keys are ids, or rows of ids.txt beside it."""

    engine, package, extra = "usearch", "usearch", "usearch"

    def __init__(self, path: StrPath) -> None:
        self.path = path

    def open(self) -> None:
        """As `Source.open`; InputError on int8 and bits, which are stored without their lengths."""
        module = self.library("usearch.index")
        self.stamp = file_stamp(self.path)
        try:
            index = module.Index.restore(str(self.path))
        except (RuntimeError, ValueError):
            index = None
        if index is None:
            raise InputError("not a USearch index", where=self.path, fix="name the file that save wrote")
        stored = index.dtype.name.lower()
        if stored not in ("f64", "f32", "f16", "bf16"):
            raise InputError(
                f"vectors stored as {stored}, which normalises them: their lengths are lost",
                where=self.path,
                fix="embed again, and store f32 or f16",
            )
        self.count, self.dim = len(index), int(index.ndim)
        kind = index.metric_kind.name
        self.metric = _METRICS.get(kind, kind.lower())
        # Keys come in the order of insertion, which differs between builds of one index by several threads.
        self._keys = np.sort(np.fromiter(index.keys, dtype=np.uint64, count=len(index)))
        self._index, self._ids = index, names_of(self.path, self._keys.tolist(), self.count)

    def batches(self, after: Cursor = None) -> Iterator[Batch]:
        """As `Source.batches`; the cursor is a position among the keys."""
        for at in range(int(after or 0), self.count, PAGE):
            keys = self._keys[at : at + PAGE]
            # One key at a time where it answers with a tuple of vectors.
            vectors = np.stack([np.asarray(one, dtype=np.float32) for one in self._index.get(keys)])
            yield Batch(self._ids[at : at + PAGE], vectors.reshape(len(keys), -1), at + len(keys))
