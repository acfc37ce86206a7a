"""What a bank of queries says about every document, read off one product of all documents with all queries.

Computed on the CPU, by numba where it is large, whatever backend searches for candidates.

Queries are dealt into folds. Those of a fold are judged with what the queries of all other folds say, so that
no query speaks about itself.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from radii.data.embeddings import Embeddings, Floats
from radii.ranking.score import Bools, Ints

NEIGHBOURS = 10
TEMPERATURE = 0.05
_SMALL = 8_000_000  # pairs; below this compiling the kernels takes longer than doing without
_ROWS = 512  # documents of a tile

Single = npt.NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class Bank:
    """Of every document, per fold, from the queries of the other folds: (n_folds, n_docs) each.

    Attributes
    ----------
    near : float64
        Mean cosine to the ten nearest queries (all of them, if there are fewer).
    last : float64
        Cosine to the last of these.
    mass : float64
        τ log Σ_q exp(cos(q, d) / τ), τ = 0.05.
    occurrence : float64
        k-occurrence: how many queries have it among their first ten.
    first : bool
        Whether any query has it first.
    """

    near: Floats
    last: Floats
    mass: Floats
    occurrence: Floats
    first: Bools

    @property
    def total_occurrence(self) -> Floats:
        """k-occurrence over all queries: every query is in the bank of all folds but one."""
        return np.asarray(self.occurrence.sum(axis=0) / (len(self.occurrence) - 1))


def ask_bank(docs: Embeddings, queries: Embeddings, fold: Ints, excluded: Ints) -> Bank:
    """Ask every fold's bank about every document.

    Parameters
    ----------
    docs, queries : Embeddings
    fold : (n_queries,) int64
        0 to n_folds − 1, at least two.
    excluded : (n_queries,) int64
        The document that is the query itself, which neither speaks of the other, or −1.
    """
    order = np.argsort(fold, kind="stable")
    cuts = np.searchsorted(fold[order], np.arange(int(fold.max()) + 2)).astype(np.int64)
    unit = (np.asarray(queries.vectors, dtype=np.float64) / queries.norms[:, None])[order].astype(np.float32)
    skip = np.full(len(docs), -1)
    known = np.flatnonzero(excluded[order] >= 0)
    skip[excluded[order][known]] = known  # column of the query that is this document
    k = min(NEIGHBOURS, len(docs))
    if len(docs) * len(queries) <= _SMALL:
        nearest, mass, tops = _plainly(docs, unit, skip, cuts, k)
    else:
        nearest, mass, tops = _streamed(docs, unit, skip, cuts, k)
    n_folds = len(cuts) - 1
    near, last, total = (np.empty((n_folds, len(docs))) for _ in range(3))
    for f in range(n_folds):
        others = [g for g in range(n_folds) if g != f]
        best = np.sort(nearest[:, others].reshape(len(docs), -1), axis=1)[:, -NEIGHBOURS:].astype(np.float64)
        there = np.isfinite(best)
        near[f] = np.where(there, best, 0.0).sum(axis=1) / np.maximum(there.sum(axis=1), 1)
        last[f] = np.where(there, best, np.inf).min(axis=1)
        total[f] = 1.0 + TEMPERATURE * np.log(np.maximum(mass[:, others].sum(axis=1), 1e-300))
    counts, firsts = (
        np.stack([np.bincount(tops[a:b, column].ravel(), minlength=len(docs)) for a, b in pairwise(cuts)])
        for column in (slice(None), slice(0, 1))
    )
    return Bank(
        near, last, total, (counts.sum(axis=0) - counts).astype(np.float64), firsts.sum(axis=0) - firsts > 0
    )


def ask_all(docs: Embeddings, queries: Embeddings, excluded: Ints) -> Bank:
    """What all queries together say: a Bank of which only the first fold means anything."""
    # The first fold is empty, so that the bank of its queries holds everybody.
    return ask_bank(docs, queries, np.ones(len(queries), dtype=np.int64), excluded)


def _cosines(docs: Embeddings, rows: slice, unit: Single, skip: Ints) -> Single:
    """(n_rows, n_queries) cosines; −1 where a document is the query."""
    block = np.asarray(docs.vectors[rows], dtype=np.float64) / docs.norms[rows, None]
    cosines: Single = block.astype(np.float32) @ unit.T
    own = np.flatnonzero(skip[rows] >= 0)
    cosines[own, skip[rows][own]] = -1.0
    return cosines


def _mass(cosines: Single, cuts: Ints) -> Floats:
    """Σ exp((cos − 1) / τ) per fold: relative to a cosine of 1 nothing overflows."""
    grown = np.exp((cosines - np.float32(1.0)) * np.float32(1.0 / TEMPERATURE))
    total = np.add.reduceat(grown, np.minimum(cuts[:-1], grown.shape[1] - 1), axis=1, dtype=np.float64)
    total[:, np.diff(cuts) == 0] = 0.0  # where nothing is, reduceat takes the next
    return np.asarray(total)


def _plainly(docs: Embeddings, unit: Single, skip: Ints, cuts: Ints, k: int) -> tuple[Single, Floats, Ints]:
    """All at once: nearest (n_docs, n_folds, 10), mass (n_docs, n_folds), tops (n_queries, k) best first."""
    cosines = _cosines(docs, slice(0, len(docs)), unit, skip)
    nearest = np.full((len(docs), len(cuts) - 1, NEIGHBOURS), -np.inf, dtype=np.float32)
    for f, (a, b) in enumerate(pairwise(cuts)):
        some = min(NEIGHBOURS, b - a)
        if some:
            nearest[:, f, :some] = np.partition(cosines[:, a:b], b - a - some, axis=1)[:, b - a - some :]
    by_query = np.ascontiguousarray(-cosines.T)
    tops = np.argsort(by_query, axis=1, kind="stable")[:, :k]
    return nearest, _mass(cosines, cuts), tops


def _streamed(docs: Embeddings, unit: Single, skip: Ints, cuts: Ints, k: int) -> tuple[Single, Floats, Ints]:
    """As `_plainly`, tile by tile; each thread has its own documents and its own lists of every query."""
    from radii.ranking import kernels  # imports numba
    from radii.ranking.threads import available_threads, threads
    from radii.ranking.threads import cuts as parts

    n, n_folds, count = len(docs), len(cuts) - 1, available_threads()
    nearest, mass = np.empty((n, n_folds, NEIGHBOURS), dtype=np.float32), np.empty((n, n_folds))
    best = np.full((count, len(unit), k), -np.inf, dtype=np.float32)
    rows = np.full((count, len(unit), k), -1, dtype=np.int64)
    # Whole tiles for every thread: a product of another shape may round in another way.
    shares = parts(n, _ROWS * -(-n // (_ROWS * count)))

    def work(share: int) -> None:
        for at in range(shares[share].start, shares[share].stop, _ROWS):
            here = slice(at, min(at + _ROWS, n))
            cosines = _cosines(docs, here, unit, skip)
            kernels.nearest_queries(cosines, cuts, nearest[here])
            kernels.nearest_documents(cosines, at, best[share], rows[share])
            mass[here] = _mass(cosines, cuts)

    with threads(count) as run:
        run(work, range(len(shares)))
    flat_rows = rows.transpose(1, 0, 2).reshape(len(unit), -1)
    flat = best.transpose(1, 0, 2).reshape(len(unit), -1)
    order = np.lexsort((flat_rows, -flat), axis=1)[:, :k]
    return nearest, mass, np.take_along_axis(flat_rows, order, axis=1)
