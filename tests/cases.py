"""Small corpora that try to break rankings: ties, duplicates, zeros, opposite directions, wild norms."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from hypothesis import strategies as st


@dataclass(frozen=True)
class Corpus:
    """Documents and queries with a depth and a γ range."""

    docs: npt.NDArray[np.float64]  # (n_docs, dim)
    queries: npt.NDArray[np.float64]  # (n_queries, dim)
    k: int
    low: float
    high: float
    seed: int


@st.composite
def corpora(draw):
    """Integer directions (so that cosines tie exactly) with norms of every kind."""
    dim = draw(st.integers(1, 4))
    seed = draw(st.integers(0, 2**32 - 1))
    rng = np.random.default_rng(seed)
    n, m = draw(st.integers(1, 24)), draw(st.integers(1, 3))
    docs = rng.integers(-2, 3, size=(n, dim)).astype(np.float64)
    docs[~docs.any(axis=1), 0] = 1.0
    queries = rng.integers(-2, 3, size=(m, dim)).astype(np.float64)
    queries[~queries.any(axis=1), 0] = -1.0
    kind = draw(st.sampled_from(["as they are", "equal", "spread", "wild", "continuous"]))
    if kind == "equal":
        signs = rng.choice([-1.0, 1.0], size=(n, dim))
        docs = rng.permuted(np.tile(np.arange(dim) + 1.0, (n, 1)), axis=1) * signs  # norms equal to the bit
    elif kind == "spread":
        docs *= 2.0 ** rng.integers(-2, 3, size=(n, 1))  # powers of two keep cosines exactly equal
    elif kind == "wild":
        docs *= 2.0 ** rng.integers(-20, 21, size=(n, 1))
    elif kind == "continuous":
        docs = rng.normal(size=(n, dim))
    if draw(st.booleans()):
        docs[rng.integers(n)] = docs[rng.integers(n)]
    if draw(st.booleans()):
        docs = -np.abs(docs) * (queries[0] + (queries[0] == 0))  # opposite to the first query
    low = draw(st.sampled_from([-2.0, -1.0, 0.0, 0.25]))
    high = draw(st.sampled_from([low, 0.5, 1.0, 2.0]))
    return Corpus(docs, queries, draw(st.integers(1, 6)), low, max(low, high), seed)
