"""USearch: a graph, distances 1 − ⟨q, d⟩. Stored in float32: its int8 storage normalises."""

from __future__ import annotations

from pathlib import Path
from typing import Any

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
from radii.deploy.sources.usearch import USearchSource
from radii.errors import InputError

_FILE = "index.usearch"
_LINKS, _EF = 32, 128
_METRICS = {"ip": "ip", "cosine": "cos", "l2": "l2sq"}


class USearch(Engine):
    """usearch.index.Index."""

    name = "usearch"
    forms = ("centred", "ip", "unit")
    why = GRAPH
    exact = False
    package, extra = "usearch", "usearch"
    snippet = (
        "from usearch.index import Index\n"
        'found = Index.restore("{location}/index.usearch").search(queries, 10)\n'
        "rows, scores = found.keys, 1 - found.distances  # rows of {location}/ids.txt"
    )

    def fill(self, target: Path, served: Embeddings, metric: Metric) -> None:
        """Keys are row numbers."""
        index = self.library("usearch.index").Index(
            ndim=served.dim,
            metric=_METRICS[metric],
            dtype="f32",
            connectivity=_LINKS,
            expansion_add=_EF,
            expansion_search=_EF,
        )
        for at, _, block in batches(served):
            index.add(np.arange(at, at + len(block), dtype=np.uint64), block)
        index.save(str(target / _FILE))
        write_keys(target, served.ids)

    def search(self, location: StrPath, queries: Array, k: int) -> Hits:
        """As `Engine.search`."""
        index = self.opened(location)
        found = index.search(np.atleast_2d(queries), min(k, len(index)))
        keys, away = np.atleast_2d(found.keys), np.atleast_2d(found.distances)
        return hits_of_rows(read_keys(location), keys, 1.0 - away)

    def source(self, location: StrPath) -> USearchSource:
        """As `Engine.source`."""
        return USearchSource(Path(location) / _FILE)

    def opened(self, location: StrPath) -> Any:
        """The index, in memory."""
        path = Path(location) / _FILE
        index = self.library("usearch.index").Index.restore(str(path))
        if index is None:
            raise InputError("not a USearch index", where=path, fix="write the engine with radii export")
        return index
