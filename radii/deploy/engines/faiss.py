"""FAISS: flat (exact), IVF and HNSW. Its indexes know rows; ids lie beside them."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from radii.data.embeddings import Embeddings
from radii.data.files import StrPath
from radii.deploy.engines.base import (
    GRAPH,
    Array,
    Engine,
    Hits,
    Metric,
    batches,
    hits_of_rows,
    read_keys,
    write_keys,
)
from radii.deploy.forms import Form
from radii.deploy.sources.faiss import FaissSource
from radii.errors import InputError

_FILE = "index.faiss"
_LINKS, _EF = 32, 128


class FaissFlat(Engine):
    """IndexFlatIP."""

    name = "faiss"
    forms: ClassVar[tuple[Form, ...]] = ("ip", "unit")
    why = "a flat index looks at every document, so raw inner products come out in order"
    exact = True
    package, extra = "faiss", "faiss"
    snippet = (
        "import faiss\n"
        'index = faiss.read_index("{location}/index.faiss")\n'
        "scores, rows = index.search(queries, 10)  # rows of {location}/ids.txt"
    )

    def index(self, faiss: Any, served: Embeddings, metric: int) -> Any:
        """An empty index, trained where it has to be."""
        return faiss.IndexFlat(served.dim, metric)

    def fill(self, target: Path, served: Embeddings, metric: Metric) -> None:
        """Add every block and write the index."""
        faiss = self.library()
        if metric == "cosine":
            raise InputError("no cosine metric", where=self.name, fix="take ip, on the unit form")
        kind = faiss.METRIC_INNER_PRODUCT if metric == "ip" else faiss.METRIC_L2
        index = self.index(faiss, served, kind)
        for _, _, block in batches(served):
            index.add(block)
        faiss.write_index(index, str(target / _FILE))
        write_keys(target, served.ids)

    def search(self, location: StrPath, queries: Array, k: int) -> Hits:
        """As `Engine.search`."""
        index = self.opened(location)
        scores, rows = index.search(np.ascontiguousarray(queries, dtype=np.float32), k)
        if index.metric_type == self.library().METRIC_L2:
            scores = 1.0 - scores / 2.0
        return hits_of_rows(read_keys(location), rows, scores)

    def source(self, location: StrPath) -> FaissSource:
        """As `Engine.source`."""
        return FaissSource(Path(location) / _FILE)

    def opened(self, location: StrPath) -> Any:
        """The index."""
        return self.library().read_index(str(Path(location) / _FILE))


class FaissIVF(FaissFlat):
    """IndexIVFFlat; half of its lists are searched."""

    name = "faiss-ivf"
    forms = ("centred", "unit", "ip")
    why = (
        "its lists are split by direction and long vectors elsewhere are missed (issue 1496), less so centred"
    )
    exact = False

    def index(self, faiss: Any, served: Embeddings, metric: int) -> Any:
        """Trained on up to 100,000 rows, evenly spaced."""
        lists = max(1, min(int(math.sqrt(len(served))), len(served) // 39))
        index = faiss.IndexIVFFlat(faiss.IndexFlat(served.dim, metric), served.dim, lists, metric)
        step = max(1, len(served) // 100_000)
        index.train(np.ascontiguousarray(served.vectors[::step], dtype=np.float32))
        index.nprobe = max(1, -(-lists // 2))
        return index


class FaissHNSW(FaissFlat):
    """IndexHNSWFlat."""

    name = "faiss-hnsw"
    forms = ("centred", "ip", "unit")
    why = GRAPH
    exact = False

    def index(self, faiss: Any, served: Embeddings, metric: int) -> Any:
        """32 links a node."""
        index = faiss.IndexHNSWFlat(served.dim, _LINKS, metric)
        index.hnsw.efConstruction = index.hnsw.efSearch = _EF
        return index
