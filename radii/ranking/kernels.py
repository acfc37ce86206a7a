"""Numba kernels of the exponent path. Plain arrays in, plain arrays out; every check happens before.

Each is the work of one thread on its own queries and releases the interpreter's lock: the caller
runs several at once, and no result depends on how many. Compiled on first use and cached on disk.

Inner loops are written so that the compiler can vectorise them: no branches, plain arrays.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

CHUNK = 32  # similarities looked at together
_HUGE = np.float32(3e38)  # stands for infinity where fast maths may not meet one
_HUGE_BITS = _HUGE.view(np.int32)
_DOWN = np.float32(1.0 - 1e-5)  # lowers a threshold by more than float32 rounding can raise it


@njit(nogil=True, cache=True)  # type: ignore[untyped-decorator]
def _passing(values: Any, bins: Any, thresholds: Any) -> Any:
    """How many values reach the threshold of their segment: a count from 0 over a slice is vectorised."""
    reached = np.int32(0)
    for i in range(len(values)):
        reached += np.int32(values[i] >= thresholds[bins[i]])
    return reached


@njit(nogil=True, cache=True)  # type: ignore[untyped-decorator]
def _least_of_segments(thresholds: Any, first: int, last: int) -> Any:
    """The least threshold of these and all segments between."""
    least = thresholds[first]
    for segment in range(first + 1, last + 1):
        least = min(least, thresholds[segment])
    return least


@njit(nogil=True, cache=True)  # type: ignore[untyped-decorator]
def peaks(sims: Any, out: Any) -> None:
    """The largest cosine of every chunk of columns, or 0 where none is positive.

    Parameters
    ----------
    sims : (n_queries, n_columns) float32
    out : (n_queries, n_chunks) float32
        Filled. Whatever is ranked by looks at one number first, and rarely at the chunk.
    """
    n = sims.shape[1]
    for q in range(len(sims)):
        bits = sims[q].view(np.int32)  # see `_level`; those of negative numbers are negative
        largest = out[q].view(np.int32)
        for chunk in range(len(largest)):
            part = bits[chunk * CHUNK : min((chunk + 1) * CHUNK, n)]
            most = np.int32(0)
            for i in range(len(part)):
                most = max(most, part[i])
            largest[chunk] = most


@njit(nogil=True, cache=True)  # type: ignore[untyped-decorator]
def scan(
    sims: Any,
    most: Any,
    rows: Any,
    bins: Any,
    ordered: bool,
    table: Any,
    skip: Any,
    todo: Any,
    seen: Any,
    cosines: Any,
    count: Any,
) -> int:
    """Append to every query's buffer the documents whose cosine passes its threshold.

    Parameters
    ----------
    sims, most : (n_queries, n_columns) and (n_queries, n_chunks) float32
        Cosines with some documents, and their `peaks`.
    rows : (n_columns,) int32
        Document row of each column.
    bins : (n_columns,) uint8
        Segment of each column.
    ordered : bool
        Whether they ascend, so that a chunk has few.
    table : (n_queries, n_segments) float32
        The threshold of each query in each segment.
    skip : (n_queries,) int64
        A row that the query must not retrieve, or −1.
    todo : (n_queries,) int64
        The first chunk not yet scanned. A query stops before a chunk that its buffer may not hold.
    seen, cosines, count : (n_queries, capacity) int32 and float32, (n_queries,) int64
        The buffers. A count of −1 marks a query that is left to the exhaustive search.

    Returns
    -------
    Queries that stopped early.
    """
    n, n_chunks, stopped = len(rows), most.shape[1], 0
    for q in range(len(sims)):
        at, chunk = count[q], todo[q]
        if at < 0:
            todo[q] = n_chunks
            continue
        row, thresholds = sims[q], table[q]
        lowest = thresholds.min()
        while chunk < n_chunks:
            if at + CHUNK > seen.shape[1]:
                stopped += 1
                break
            first, end = chunk * CHUNK, min((chunk + 1) * CHUNK, n)
            least = _least_of_segments(thresholds, bins[first], bins[end - 1]) if ordered else lowest
            if most[q, chunk] >= least and _passing(row[first:end], bins[first:end], thresholds):
                for i in range(first, end):
                    if row[i] >= thresholds[bins[i]] and rows[i] != skip[q]:
                        seen[q, at] = rows[i]
                        cosines[q, at] = row[i]
                        at += 1
            chunk += 1
        todo[q] = chunk
        count[q] = at
    return stopped


@njit(nogil=True, cache=True)  # type: ignore[untyped-decorator]
def chunk_ends(sides: Any, ends: Any) -> None:
    """The smallest and the largest of every chunk: sides (n_sides, n), ends (2, n_sides, n_chunks)."""
    for r in range(len(sides)):
        for chunk in range(ends.shape[2]):
            part = sides[r, chunk * CHUNK : (chunk + 1) * CHUNK]
            ends[0, r, chunk] = part.min()
            ends[1, r, chunk] = part.max()


@njit(nogil=True, cache=True)  # type: ignore[untyped-decorator]
def scan_affine(
    sims: Any,
    most: Any,
    rows: Any,
    left: Any,
    sides: Any,
    ends: Any,
    begin: int,
    error: float,
    bins: Any,
    ordered: bool,
    table: Any,
    skip: Any,
    todo: Any,
    seen: Any,
    cosines: Any,
    count: Any,
) -> int:
    """`scan` of (cos + ⟨left, right⟩) · scale, which is made for those chunks alone that may hold one.

    Parameters
    ----------
    left : (n_queries, rank) float32
    sides, ends : (rank + 1, n) and (2, rank + 1, n_chunks) float32
        `right` and, last, `scale` of a block of documents, with their `chunk_ends`.
    begin : int
        Where the columns of `sims` begin in that block: a multiple of CHUNK.
    error : float
        More than the bound of a chunk can be off by rounding.
    """
    n, n_chunks, rank, stopped = len(rows), most.shape[1], left.shape[1], 0
    changed, slack = np.empty(CHUNK, np.float32), np.float32(error)
    for q in range(len(sims)):
        at, chunk = count[q], todo[q]
        if at < 0:
            todo[q] = n_chunks
            continue
        row, thresholds = sims[q], table[q]
        lowest = thresholds.min()
        while chunk < n_chunks:
            if at + CHUNK > seen.shape[1]:
                stopped += 1
                break
            first, end = chunk * CHUNK, min((chunk + 1) * CHUNK, n)
            least = _least_of_segments(thresholds, bins[first], bins[end - 1]) if ordered else lowest
            place = begin // CHUNK + chunk
            bound = most[q, chunk]
            for r in range(rank):
                bound += max(left[q, r] * ends[0, r, place], left[q, r] * ends[1, r, place])
            bound *= ends[1 if bound > 0 else 0, rank, place]  # no scale is negative
            if bound + slack >= least:
                for i in range(end - first):
                    changed[i] = row[first + i]
                for r in range(rank):
                    side, weight = sides[r, begin + first : begin + end], left[q, r]
                    for i in range(len(side)):
                        changed[i] += weight * side[i]
                scale = sides[rank, begin + first : begin + end]
                for i in range(len(scale)):
                    changed[i] *= scale[i]
                for i in range(len(scale)):
                    if changed[i] >= thresholds[bins[first + i]] and rows[first + i] != skip[q]:
                        seen[q, at] = rows[first + i]
                        cosines[q, at] = changed[i]
                        at += 1
            chunk += 1
        todo[q] = chunk
        count[q] = at
    return stopped


@njit(nogil=True, cache=True)  # type: ignore[untyped-decorator]
def compact(
    seen: Any,
    cosines: Any,
    count: Any,
    weight: Any,
    relief: Any,
    additive: bool,
    k: int,
    error: float,
    levels: Any,
    table: Any,
    last: bool,
) -> None:
    """Drop from every buffer what cannot reach the top k, and raise the thresholds accordingly.

    `radii.ranking.candidates.reachable` is the definition; here each cosine is known to ± `error`, and
    scores c · r^γ stand for their logarithms. A bound of the k-th best score may be too low, never too high.

    Parameters
    ----------
    seen, cosines, count
        As in `scan`; shortened in place.
    weight : (n_docs, 2) float32, or (1, 2) where it is the same for all documents
        What γ does to a cosine at the first node, and from one node to the next: a factor, or a term.
    relief : (n_nodes, n_segments) float32
        The least that a score of a segment must be divided by, or relieved of, to give its cosine, inverted.
    additive : bool
        Terms rather than factors. Either way no score is negative.
    levels : (n_queries, n_nodes) int32
        The bits of a float32, a lower bound of the k-th best score at each node; raised.
    table : (n_queries, n_segments) float32
        Rewritten: a document of segment s whose computed cosine is below it cannot reach the top k.
    last : bool
        No document is to come.
    """
    n_nodes, n_segments = relief.shape
    margin, one = np.float32(error), len(weight) == 1
    for q in range(len(count)):
        n = count[q]
        if n < 0:
            continue
        low, high = np.empty(n, np.float32), np.empty(n, np.float32)
        factor, step = np.empty(n, np.float32), np.empty(n, np.float32)
        sure = 0
        for i in range(n):
            cosine = cosines[q, i]
            sure += additive or cosine > margin
            low[i] = cosine - margin if additive else max(cosine - margin, np.float32(0.0))
            high[i] = cosine + 2 * margin
            row = 0 if one else seen[q, i]
            factor[i] = weight[row, 0]
            step[i] = weight[row, 1]
        if sure < k:
            # Too few to bound anything yet. In the end, or when unsure ones fill the buffer, others decide.
            if last or 2 * n > seen.shape[1]:
                count[q] = -1
            continue
        lower, upper = np.empty((n_nodes, n), np.float32), np.empty((n_nodes, n), np.float32)
        for j in range(n_nodes):
            below, over = lower[j], upper[j]
            if additive:
                for i in range(n):
                    below[i] = low[i] + factor[i]
                    over[i] = high[i] + factor[i]
                    factor[i] += step[i]
            else:
                for i in range(n):
                    below[i] = low[i] * factor[i]
                    over[i] = high[i] * factor[i]
                    factor[i] *= step[i]
        # own[j]: a lower bound of the k-th best at node j; before[j], after[j]: the least that the documents
        # at or above it reach at the node before and after. Each bounds the k-th best score there.
        bits = lower.view(np.int32)
        bounds = np.empty((3, n_nodes), np.int32)
        for j in range(n_nodes):
            level = _level(bits[j], k, levels[q, j])
            levels[q, j] = bounds[0, j] = level
            bounds[1, j] = _least(bits[j], level, bits[max(j - 1, 0)])
            bounds[2, j] = _least(bits[j], level, bits[min(j + 1, n_nodes - 1)])
        own, before, after = bounds.view(np.float32) * _DOWN
        kept = np.zeros(n, np.uint8)
        if n_nodes == 1:
            for i in range(n):
                kept[i] = upper[0, i] >= own[0]
        for j in range(n_nodes - 1):
            here, there = upper[j], upper[j + 1]
            a, b, c, d = own[j], after[j], before[j + 1], own[j + 1]
            for i in range(n):
                kept[i] |= ((here[i] >= a) | (there[i] >= b)) & ((here[i] >= c) | (there[i] >= d))
        at = 0
        for i in range(n):
            if kept[i]:
                seen[q, at] = seen[q, i]
                cosines[q, at] = cosines[q, i]
                at += 1
        count[q] = at
        needed = np.full(n_segments, _HUGE)
        for j in range(max(1, n_nodes - 1)):
            to = min(j + 1, n_nodes - 1)
            for s in range(n_segments):
                if additive:
                    left_here, left_there = own[j] + relief[j, s], after[j] + relief[to, s]
                    right_here, right_there = before[to] + relief[j, s], own[to] + relief[to, s]
                else:
                    left_here, left_there = own[j] * relief[j, s], after[j] * relief[to, s]
                    right_here, right_there = before[to] * relief[j, s], own[to] * relief[to, s]
                needed[s] = min(needed[s], max(min(left_here, left_there), min(right_here, right_there)))
        for s in range(n_segments):
            safe = needed[s] - np.float32(1e-5) if additive else needed[s] * _DOWN
            table[q, s] = safe - 2 * margin


# Numbers that are not negative sort like the integers of their bits, and compilers vectorise minima, maxima
# and halvings of integers, not of floats.


@njit(nogil=True, cache=True)  # type: ignore[untyped-decorator]
def _level(bits: Any, k: int, known: Any) -> Any:
    """A number that at least k of the values reach and few more do, given one that at least k reach.

    Halving an interval costs less than a selection: each look is one vectorised count.
    """
    low, high = np.int32(known), np.int32(0)
    for i in range(len(bits)):
        high = max(high, bits[i])
    for _ in range(24):
        middle = np.int32(low + (high - low) // 2)
        reached = np.int32(0)
        for i in range(len(bits)):
            reached += np.int32(bits[i] >= middle)
        if reached < k:
            high = middle
        else:
            low = middle
            if reached <= k + k // 8:
                break
    return low


@njit(nogil=True, cache=True)  # type: ignore[untyped-decorator]
def _least(bits: Any, level: Any, others: Any) -> Any:
    """The least of `others` where `bits` reach `level`."""
    least = _HUGE_BITS
    for i in range(len(bits)):
        least = min(least, others[i] if bits[i] >= level else _HUGE_BITS)
    return least


@njit(nogil=True, cache=True)  # type: ignore[untyped-decorator]
def segment_maxima(bins: Any, slope: Any, base: Any, nodes: Any, out: Any) -> None:
    """out[j, s] = max of base_i + nodes_j · slope_i over the documents i of segment s.

    `base` is empty where there is none; `out` (n_nodes, n_segments) float64 is raised in place.
    """
    for i in range(len(bins)):
        start = base[i] if len(base) else 0.0
        for j in range(len(nodes)):
            out[j, bins[i]] = max(out[j, bins[i]], start + nodes[j] * slope[i])


@njit(nogil=True, cache=True)  # type: ignore[untyped-decorator]
def survivors(seen: Any, count: Any, rows: Any) -> None:
    """Write the rows of every buffer into `rows`, query by query, ascending within each."""
    at = 0
    for q in range(len(count)):
        if count[q] > 0:
            rows[at : at + count[q]] = np.sort(seen[q, : count[q]])
            at += count[q]
