"""What a bank of queries says about every document, read off one product of all documents with all queries.

Computed on CPUs, by numba where it is large, whatever backend searches for candidates; with `ray` on those
of a cluster.

Queries are dealt into folds. Those of a fold are judged with what the queries of all other folds say, so that
no query speaks about itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from radii.data.embeddings import Embeddings, Floats
from radii.data.scratch import scratch
from radii.ranking.directions import directions
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
    last : float32
        Cosine to the last of these.
    mass : float64
        τ log Σ_q exp(cos(q, d) / τ), τ = 0.05.
    occurrence : int32
        k-occurrence: how many queries have it among their first ten.
    first : bool
        Whether any query has it first.
    """

    near: Floats
    last: Single
    mass: Floats
    occurrence: npt.NDArray[np.int32]
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
        Its `work` keeps finished parts of the documents, and `backend="ray"` deals parts to a cluster; small
        problems do neither.
    """
    order = np.argsort(fold, kind="stable")
    cuts = np.searchsorted(fold[order], np.arange(int(fold.max()) + 2)).astype(np.int64)
    unit = (np.asarray(queries.vectors, dtype=np.float64) / queries.norms[:, None])[order].astype(np.float32)
    skip = np.full(len(docs), -1)
    known = np.flatnonzero(excluded[order] >= 0)
    skip[excluded[order][known]] = known  # column of the query that is this document
    k = min(NEIGHBOURS, len(docs))
    if len(docs) * len(queries) <= _SMALL:
        (near, last, mass), tops = _plainly(docs, unit, skip, cuts, k)
    else:
        (near, last, mass), tops = _streamed(docs, unit, skip, cuts, k, search or Search())
    occurrence, firsts = (_but_own(tops[:, column], cuts, len(docs)) for column in (slice(None), slice(0, 1)))
    return Bank(near, last, mass, occurrence, firsts > 0)


Told = tuple[Floats, Single, Floats]  # `near`, `last` and `mass` of a Bank
Said = tuple[Floats, Single, Floats, Single, Ints]  # of a part; then cosines and rows of every query's first


def _but_own(rows: Ints, cuts: Ints, n: int) -> npt.NDArray[np.int32]:
    """How often each of n documents is in the lists of all folds but one: (n_folds, n)."""
    counts = scratch((len(cuts) - 1, n), np.int32)
    for f, (a, b) in enumerate(pairwise(cuts)):
        found, times = np.unique(rows[a:b], return_counts=True)
        counts[f] = 0
        counts[f, found] = times
    whole = counts.sum(axis=0, dtype=np.int32)
    for own in counts:
        np.subtract(whole, own, out=own)
    return counts


def ask_all(docs: Embeddings, queries: Embeddings, excluded: Ints) -> Bank:
    """What all queries together say: a Bank of which only the first fold means anything."""
    # The first fold is empty, so that the bank of its queries holds everybody.
    return ask_bank(docs, queries, np.ones(len(queries), dtype=np.int64), excluded)


def _cosines(block: Single, rows: slice, unit: Single, skip: Ints) -> Single:
    """(n_rows, n_queries) cosines of the unit documents of a block; −1 where a document is the query."""
    cosines: Single = block @ unit.T
    own = np.flatnonzero(skip[rows] >= 0)
    cosines[own, skip[rows][own]] = -1.0
    return cosines


def _grown(cosines: Single) -> Single:
    """exp((cos − 1) / τ), in their place: relative to a cosine of 1 nothing overflows."""
    cosines -= np.float32(1.0)
    cosines *= np.float32(1.0 / TEMPERATURE)
    return np.exp(cosines, out=cosines)


def _mass(sums: Floats) -> Floats:
    """`mass` of a Bank, (n_folds, n_rows), of the (n_rows, n_folds) sums of `_grown` over each fold."""
    of_others = np.einsum("if,fg->gi", sums, 1.0 - np.eye(sums.shape[1]))
    mass: Floats = 1.0 + TEMPERATURE * np.log(np.maximum(of_others, 1e-300))
    return mass


def _plainly(docs: Embeddings, unit: Single, skip: Ints, cuts: Ints, k: int) -> tuple[Told, Ints]:
    """All at once: what is told of every document, and the first k of every query, (n_queries, k)."""
    block = (np.asarray(docs.vectors, dtype=np.float64) / docs.norms[:, None]).astype(np.float32)
    cosines = _cosines(block, slice(0, len(docs)), unit, skip)
    near, last, mass = untold(len(cuts) - 1, len(docs))
    for f, (a, b) in enumerate(pairwise(cuts)):
        best = np.delete(cosines, slice(a, b), axis=1)
        some = min(NEIGHBOURS, best.shape[1])
        if some:
            best = np.partition(best, -some, axis=1)[:, -some:]
        near[f] = best.sum(axis=1, dtype=np.float64) / max(some, 1)
        last[f] = best.min(axis=1, initial=np.inf)
    by_query = np.ascontiguousarray(-cosines.T)
    tops = np.argsort(by_query, axis=1, kind="stable")[:, :k]
    grown = _grown(cosines)
    mass[:] = _mass(
        np.stack([grown[:, a:b].sum(axis=1, dtype=np.float64) for a, b in pairwise(cuts)], axis=1)
    )
    return (near, last, mass), tops


@dataclass(eq=False)
class _Gathered:
    """What finished parts say, put in its place, in whatever order they come."""

    told: tuple[npt.NDArray[Any], ...]
    best: Single
    rows: Ints
    k: int

    def put(self, some: slice, said: Sequence[npt.NDArray[Any]]) -> None:
        """Of the documents `some`, what `ask_part` returns."""
        for whole, part in zip(self.told, said[:3], strict=True):
            whole[:, some] = part  # costs nothing where it was computed in its place
        best, rows = np.hstack((self.best, said[3])), np.hstack((self.rows, said[4] + some.start))
        self.best, self.rows = _first(best, rows, self.k)


def _streamed(
    docs: Embeddings, unit: Single, skip: Ints, cuts: Ints, k: int, search: Search
) -> tuple[Told, Ints]:
    """As `_plainly`, tile by tile and part by part: on this machine, or on a cluster."""
    from radii.ranking.kept import common_digest, part_file, read_arrays, write_arrays
    from radii.ranking.partition import window
    from radii.ranking.threads import available_threads
    from radii.ranking.threads import cuts as parts

    n, work, told = len(docs), search.work, untold(len(cuts) - 1, len(docs))
    nobody = np.empty((len(unit), 0), dtype=np.float32), np.empty((len(unit), 0), dtype=np.int64)
    gathered = _Gathered(told, *nobody, k)
    common = b"" if work is None else common_digest("bank", (k, NEIGHBOURS, TEMPERATURE), [unit, cuts])

    def finished(some: slice, said: Said) -> None:
        if work is not None:
            write_arrays(part_file(work, "bank", docs, some, [common, skip[some]]), said)
        gathered.put(some, said)

    missing = []
    # Whole tiles in every part: a product of another shape may round in another way.
    for some in parts(n, _ROWS * -(-search.shard // _ROWS) if search.parted else n):
        kept = None
        if work is not None:
            kept = read_arrays(part_file(work, "bank", docs, some, [common, skip[some]]), 5)
        if kept is None:
            missing.append(some)
        else:
            gathered.put(some, kept)
    if search.backend == "ray":
        from radii.ranking.ray_bank import ask_on_cluster

        ask_on_cluster(docs, unit, skip, cuts, k, missing, finished)
    else:
        for some in missing:
            own, here = window(docs, some), (told[0][:, some], told[1][:, some], told[2][:, some])
            finished(some, ask_part(own, unit, skip[some], cuts, k, here, available_threads()))
    return told, gathered.rows


def untold(n_folds: int, n: int) -> Told:
    """Room for what is told of n documents."""
    return scratch((n_folds, n)), scratch((n_folds, n), np.float32), scratch((n_folds, n))


def ask_part(docs: Embeddings, unit: Single, skip: Ints, cuts: Ints, k: int, told: Told, count: int) -> Said:
    """Fill in what is told of some documents; with it, per query, the cosines and rows of their first k.

    Each of `count` threads has its own documents and its own lists of every query.
    """
    from radii.ranking import bank_kernels as kernels  # imports numba
    from radii.ranking.threads import cuts as parts
    from radii.ranking.threads import threads

    n, n_folds = len(docs), len(cuts) - 1
    near, last, mass = told
    best = np.full((count, len(unit), k), -np.inf, dtype=np.float32)
    rows = np.full((count, len(unit), k), -1, dtype=np.int64)
    fold = np.repeat(np.arange(n_folds), np.diff(cuts))
    # Whole tiles for every thread, too.
    shares = parts(n, _ROWS * -(-n // (_ROWS * count)))

    def work(share: int) -> None:
        sums = np.empty((_ROWS, n_folds))
        for at in range(shares[share].start, shares[share].stop, _ROWS):
            here = slice(at, min(at + _ROWS, n))
            cosines = _cosines(directions(docs, here), here, unit, skip)
            own = sums[: len(cosines)]
            kernels.nearest_queries(cosines, fold, NEIGHBOURS, near[:, here], last[:, here])
            kernels.nearest_documents(cosines, at, best[share], rows[share])
            kernels.fold_sums(_grown(cosines), cuts, own)
            mass[:, here] = _mass(own)

    docs.unchanged()
    with threads(count) as run:
        run(work, range(len(shares)))
    by_query = best.transpose(1, 0, 2).reshape(len(unit), -1), rows.transpose(1, 0, 2).reshape(len(unit), -1)
    return (*told, *_first(*by_query, k))


def _first(values: Single, rows: Ints, k: int) -> tuple[Single, Ints]:
    """Per query (a row of each) the k largest values and their rows; equal values by row."""
    order = np.lexsort((rows, -values), axis=1)[:, :k]
    return np.take_along_axis(values, order, axis=1), np.take_along_axis(rows, order, axis=1)
