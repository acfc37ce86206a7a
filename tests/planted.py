"""Corpora whose audit is known beforehand.

In `planes` every query has a plane of its own, in which lie its relevant document and one distractor; all
other documents are orthogonal to it. At every γ either of the two is first and the other second, so RR@10 is
1 or 1/2, and it changes at one γ alone: where near · 1 = far · 2^γ, which is γ = ±FLIP.
"""

from __future__ import annotations

from math import log2

import numpy as np

from radii.data.embeddings import Embeddings
from radii.evidence.holdout import Protocol

NEAR, FAR = 0.9, 0.8
FLIP = log2(NEAR / FAR)

# Enough resampling to see that something works, for tests that do not read its figures.
FAST = Protocol(repeats=2, resamples=199)

Corpus = tuple[Embeddings, Embeddings, dict[str, dict[str, int]]]


def planes(relevant_nearer, relevant_norm, distractor_norm) -> Corpus:
    """Documents, queries and judgements; one entry per query in every argument."""
    n = len(relevant_nearer)
    queries, docs = np.zeros((n, 2 * n)), np.zeros((2 * n, 2 * n))
    rows = np.arange(n)
    queries[rows, 2 * rows] = 3.0  # the length of a query must not matter
    cosines = np.where(relevant_nearer, NEAR, FAR), np.where(relevant_nearer, FAR, NEAR)
    for first, (cosine, norm) in enumerate(zip(cosines, (relevant_norm, distractor_norm), strict=True)):
        docs[2 * rows + first, 2 * rows] = cosine * norm
        docs[2 * rows + first, 2 * rows + 1] = np.sqrt(1 - cosine**2) * norm
    doc_ids = [f"{kind}{row}" for row in rows for kind in ("good", "bad")]
    query_ids = [f"q{row}" for row in rows]
    qrels = {f"q{row}": {f"good{row}": 1, f"bad{row}": 0} for row in rows}
    return Embeddings(doc_ids, docs, "docs"), Embeddings(query_ids, queries, "queries"), qrels


def long_distractors(n: int = 40) -> Corpus:
    """RR@10 is 1 below −FLIP, 3/4 up to FLIP (half of the relevant documents are nearer), 1/2 above."""
    return planes(np.arange(n) % 2 == 0, np.ones(n), np.full(n, 2.0))


def long_relevant(n: int = 40) -> Corpus:
    """The mirror image: RR@10 is 1/2 below −FLIP, 3/4 up to FLIP, 1 above."""
    return planes(np.arange(n) % 2 == 0, np.full(n, 2.0), np.ones(n))


def unrelated_norms(n: int = 40) -> Corpus:
    """Nearer and longer are independent: RR@10 is 3/4 at every γ."""
    longer = np.where(np.arange(n) % 4 < 2, 2.0, 1.0)
    return planes(np.arange(n) % 2 == 0, longer, 3.0 - longer)


def random_corpus(n_docs: int = 60, n_queries: int = 30, dim: int = 6, seed: int = 0):
    """Bare arrays of normal numbers, and random judgements with grades −1 to 2; every query has a 2."""
    rng = np.random.default_rng(seed)
    docs, queries = rng.normal(size=(n_docs, dim)), rng.normal(size=(n_queries, dim))
    qrels = {}
    for query in range(n_queries):
        judged = rng.choice(n_docs, size=8, replace=False)
        grades = [2, *rng.integers(-1, 3, size=7)]
        qrels[str(query)] = {str(doc): int(grade) for doc, grade in zip(judged, grades, strict=True)}
    return docs, queries, qrels


def both_moved(change, docs, queries):
    """What a projection makes of the unit vectors of both sides: (n, dim) float64 each."""
    return tuple(change.moved(unit(side.vectors.astype(np.float64))) for side in (docs, queries))


def unit(vectors):
    """Rows divided by their norms."""
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
