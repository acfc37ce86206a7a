"""Whether an engine still has the lengths of the vectors that it was given.

Told from the vectors and the collection's metric together, never from one of them: every length 1 under
`cosine` means that they are gone; under another metric that they were gone before; and `cosine` with lengths
that vary means that this mode of this engine keeps them, whatever others do.
"""

from __future__ import annotations

import numpy as np

from radii.data.embeddings import Floats

ROUNDING = 1e-3
_DOT = {
    "qdrant": "a collection of distance Dot",
    "qdrant-edge": "a shard of distance Dot",
    "hnswlib": "space ip",
    "usearch": "metric ip",
    "chroma": "space ip",
    "milvus": "an index of metric IP",
    "lancedb": "a table searched by dot",
    "postgresql": "a column searched by <#>",
    "sqlite-vec": "the unit form that radii export makes",
    "faiss": "an index of METRIC_INNER_PRODUCT",
}


def all_ones(norms: Floats) -> bool:
    """Every length is 1 to within what float32 and half precision round: |‖d‖ − 1| < 0.001."""
    return bool((np.abs(norms - 1.0) < ROUNDING).all())


def note(norms: Floats, metric: str | None, engine: str) -> str | None:
    """One line when the lengths are lost, or the engine does not rank by those it keeps; none otherwise."""
    fix = f"Fix: embed again without normalising (radii embed strips it), and load {_DOT[engine]}."
    if all_ones(norms):
        if metric == "cosine":
            return (
                f"every vector has length 1 and the metric is cosine: the engine threw the norms away. {fix}"
            )
        if metric is None:
            return (
                "every vector has length 1: the norms were thrown away, by the engine if its metric is "
                f"cosine, else before. {fix}"
            )
        return f"every vector has length 1 though the metric is {metric}: the norms were lost before. {fix}"
    if metric == "cosine":
        told = "the metric is cosine, so the engine does not rank by the norms that it keeps here"
        if engine == "qdrant":
            told += "; a server would have thrown them away (Qdrant issue 4751, client issue 212)"
        return f"{told}."
    return None
