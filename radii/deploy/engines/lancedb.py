"""LanceDB: without an index every search is exhaustive; `dot` distances are 1 − ⟨q, d⟩."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa

from radii.data.embeddings import Embeddings
from radii.data.files import StrPath
from radii.deploy.engines.base import Array, Engine, Hits, Metric, batches
from radii.deploy.sources.lancedb import LanceSource

_TABLE = "docs"


class LanceDB(Engine):
    """One table, no index."""

    name = "lancedb"
    forms = ("ip", "unit")
    why = "`dot` ranks raw inner products, and a table without an index looks at every document"
    exact = True
    package, extra = "lancedb", "lancedb"
    snippet = (
        "import lancedb\n"
        'table = lancedb.connect("{location}").open_table("docs")\n'
        'table.search(queries[0]).distance_type("dot").limit(10).to_list()'
    )

    def fill(self, target: Path, served: Embeddings, metric: Metric) -> None:
        """Columns id and vector; the metric belongs to the search."""
        schema = pa.schema([("id", pa.string()), ("vector", pa.list_(pa.float32(), served.dim))])
        table = self.library().connect(str(target)).create_table(_TABLE, schema=schema)
        for _, ids, block in batches(served):
            column = pa.FixedSizeListArray.from_arrays(pa.array(block.ravel()), served.dim)
            table.add(pa.table([pa.array(ids, pa.string()), column], schema=schema))

    def search(self, location: StrPath, queries: Array, k: int) -> Hits:
        """As `Engine.search`."""
        table, ids, scores = self.opened(location), [], []
        for query in queries:
            found = table.search(query).distance_type("dot").limit(k).select(["id", "_distance"]).to_arrow()
            ids.append(found["id"].to_pylist())
            scores.append((1.0 - found["_distance"].to_numpy()).tolist())
        return Hits(ids, scores)

    def source(self, location: StrPath) -> LanceSource:
        """As `Engine.source`."""
        return LanceSource(location, _TABLE)

    def opened(self, location: StrPath) -> Any:
        """The table."""
        return self.library().connect(str(location)).open_table(_TABLE)
