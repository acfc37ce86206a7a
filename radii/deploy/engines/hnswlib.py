"""hnswlib: a graph, distances 1 − ⟨q, d⟩."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

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
from radii.deploy.manifest import read_manifest
from radii.deploy.sources.hnswlib import HnswlibSource

_FILE = "index.hnswlib"
_LINKS, _EF = 32, 128


class Hnswlib(Engine):
    """hnswlib.Index."""

    name = "hnswlib"
    forms = ("centred", "ip", "unit")
    why = GRAPH
    exact = False
    package, extra = "hnswlib", "hnswlib"
    snippet = (
        "import hnswlib\n"
        'index = hnswlib.Index(space="ip", dim=queries.shape[1])\n'
        'index.load_index("{location}/index.hnswlib")\n'
        "rows, away = index.knn_query(queries, k=10)  # rows of {location}/ids.txt"
    )

    def fill(self, target: Path, served: Embeddings, metric: Metric) -> None:
        """One index with room for exactly these documents."""
        index = self.library().Index(space=metric, dim=served.dim)
        index.init_index(max_elements=len(served), M=_LINKS, ef_construction=_EF)
        for at, _, block in batches(served):
            index.add_items(block, np.arange(at, at + len(block)))
        index.save_index(str(target / _FILE))
        write_keys(target, served.ids)

    def search(self, location: StrPath, queries: Array, k: int) -> Hits:
        """As `Engine.search`; hnswlib refuses a k beyond what it can reach, so k is cut here."""
        index = self.opened(location)
        k = min(k, index.get_current_count())
        index.set_ef(max(_EF, k))
        try:
            rows, away = index.knn_query(queries, k=k)
        except RuntimeError:  # fewer than k, for some query
            rows, away = _one_by_one(index, queries, k)
        return hits_of_rows(read_keys(location), rows, 1.0 - away)

    def source(self, location: StrPath) -> HnswlibSource:
        """As `Engine.source`."""
        return HnswlibSource(Path(location) / _FILE)

    def opened(self, location: StrPath) -> Any:
        """The index; its file does not say how many columns it has, the manifest does."""
        index = self.library().Index(space="ip", dim=read_manifest(location).served_dim)
        index.load_index(str(Path(location) / _FILE))
        return index


def _one_by_one(index: Any, queries: Array, k: int) -> tuple[npt.NDArray[np.int64], Array]:
    """Rows and distances of what a graph in pieces can reach, −1 beyond: it gives k or nothing."""
    rows = np.full((len(queries), k), -1)
    away = np.full((len(queries), k), np.inf, dtype=np.float32)
    for at, query in enumerate(queries):
        low, high = 0, k  # low can be had, high + 1 cannot
        while low < high:
            middle = (low + high + 1) // 2
            try:
                rows[at, :middle], away[at, :middle] = index.knn_query(query, k=middle)
                low = middle
            except RuntimeError:
                high = middle - 1
    return rows, away
