"""What a bank of queries says about every document, read off one product of all documents with all queries.

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
from radii.ranking.search import Search

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


def ask_bank(
    docs: Embeddings, queries: Embeddings, fold: Ints, excluded: Ints, search: Search | None = None
) -> Bank:
    """Ask every fold's bank about every document.

    Parameters
    ----------
    docs, queries : Embeddings
    fold : (n_queries,) int64
        0 to n_folds − 1, at least two.
    excluded : (n_queries,) int64
        The document that is the query itself, which neither speaks of the other, or −1.
    search : Search, optional
        Its `work` keeps finished parts of the documents; small problems keep nothing.
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
        nearest, mass, tops = _streamed(docs, unit, skip, cuts, k, search or Search())
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


def _streamed(
    docs: Embeddings, unit: Single, skip: Ints, cuts: Ints, k: int, search: Search
) -> tuple[Single, Floats, Ints]:
    """As `_plainly`, tile by tile and part by part."""
    from radii.ranking.kept import common_digest, part_file, read_arrays, write_arrays
    from radii.ranking.partition import cut, window

    n, n_folds, work = len(docs), len(cuts) - 1, search.work
    nearest, mass = np.empty((n, n_folds, NEIGHBOURS), dtype=np.float32), np.empty((n, n_folds))
    best, rows = np.empty((len(unit), 0), dtype=np.float32), np.empty((len(unit), 0), dtype=np.int64)
    common = b"" if work is None else common_digest("bank", (k, NEIGHBOURS, TEMPERATURE), [unit, cuts])
    # Whole tiles in every part: a product of another shape may round in another way.
    for some in cut(n, n if work is None else _ROWS * -(-search.shard // _ROWS)):
        own = skip[some]
        file = None if work is None else part_file(work, "bank", docs, some, [common, own])
        found = None if file is None else read_arrays(file, 4)
        if found is None:
            found = list(_part(window(docs, some), unit, own, cuts, k))
            if file is not None:
                write_arrays(file, found)
        nearest[some], mass[some] = found[:2]
        best, rows = _first(np.hstack((best, found[2])), np.hstack((rows, found[3] + some.start)), k)
    return nearest, mass, rows


def _part(
    docs: Embeddings, unit: Single, skip: Ints, cuts: Ints, k: int
) -> tuple[Single, Floats, Single, Ints]:
    """Nearest, mass, and per query the cosines and rows of the first k of some documents.

    Each thread has its own documents and its own lists of every query.
    """
    from radii.ranking import kernels  # imports numba
    from radii.ranking.threads import available_threads, threads
    from radii.ranking.threads import cuts as parts

    n, n_folds, count = len(docs), len(cuts) - 1, available_threads()
    nearest, mass = np.empty((n, n_folds, NEIGHBOURS), dtype=np.float32), np.empty((n, n_folds))
    best = np.full((count, len(unit), k), -np.inf, dtype=np.float32)
    rows = np.full((count, len(unit), k), -1, dtype=np.int64)
    # Whole tiles for every thread, too.
    shares = parts(n, _ROWS * -(-n // (_ROWS * count)))

    def work(share: int) -> None:
        for at in range(shares[share].start, shares[share].stop, _ROWS):
            here = slice(at, min(at + _ROWS, n))
            cosines = _cosines(docs, here, unit, skip)
            kernels.nearest_queries(cosines, cuts, nearest[here])
            kernels.nearest_documents(cosines, at, best[share], rows[share])
            mass[here] = _mass(cosines, cuts)

    docs.unchanged()
    with threads(count) as run:
        run(work, range(len(shares)))
    by_query = best.transpose(1, 0, 2).reshape(len(unit), -1), rows.transpose(1, 0, 2).reshape(len(unit), -1)
    return nearest, mass, *_first(*by_query, k)


def _first(values: Single, rows: Ints, k: int) -> tuple[Single, Ints]:
    """Per query (a row of each) the k largest values and their rows; equal values by row."""
    order = np.lexsort((rows, -values), axis=1)[:, :k]
    return np.take_along_axis(values, order, axis=1), np.take_along_axis(rows, order, axis=1)
