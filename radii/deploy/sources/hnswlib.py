"""Reading an hnswlib index. Its file does not name its space, of which `cosine` stores unit vectors."""

from __future__ import annotations

import struct
from collections.abc import Iterator

import numpy as np

from radii.data.files import StrPath, open_bytes
from radii.deploy.sources.base import PAGE, Batch, Cursor, Source, file_stamp, names_of
from radii.errors import InputError

_HEADER = "<6Q"  # offset, capacity, count, bytes per element, offset of the label, offset of the vector


class HnswlibSource(Source):
    """An index in a file, by label; labels are ids, or rows of ids.txt beside it."""

    engine, package, extra = "hnswlib", "hnswlib", "hnswlib"

    def __init__(self, path: StrPath) -> None:
        self.path = path

    def open(self) -> None:
        """As `Source.open`; the number of columns stands in the file's header as a difference of offsets."""
        hnswlib = self.library()
        self.stamp = file_stamp(self.path)
        with open_bytes(self.path) as file:
            head = file.read(struct.calcsize(_HEADER))
        fault = InputError("not an hnswlib index", where=self.path, fix="name the file that save_index wrote")
        if len(head) < struct.calcsize(_HEADER):
            raise fault
        _, capacity, count, size, label, vector = struct.unpack(_HEADER, head)
        if not (count <= capacity and vector < label < size < 1 << 30) or (label - vector) % 4:
            raise fault
        self.count, self.dim = count, (label - vector) // 4
        self._index = hnswlib.Index(space="l2", dim=self.dim)
        try:
            self._index.load_index(str(self.path))
        except RuntimeError as error:
            raise fault from error
        self._labels = sorted(self._index.get_ids_list())
        self._ids = names_of(self.path, self._labels, self.count)

    def batches(self, after: Cursor = None) -> Iterator[Batch]:
        """As `Source.batches`; the cursor is a position among the labels."""
        for at in range(int(after or 0), self.count, PAGE):
            labels = self._labels[at : at + PAGE]
            vectors = np.asarray(self._index.get_items(labels), dtype=np.float32)
            yield Batch(self._ids[at : at + PAGE], vectors, at + len(labels))
