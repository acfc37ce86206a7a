"""Candidates at the speed of one search: blocked products, pruned as they stream by.

Documents are read once, in blocks that double until they reach a fixed size, for all groups of queries. A
block is turned to unit float32 rows, sorted into segments of similar log r. Each thread has its own queries:
it multiplies them with a tile of the block, and scans the tile at once against one threshold per query and
segment. Families share the largest cosine of every chunk of columns, and look into a chunk only where it may
pass. What passes goes to the query's buffer. Whenever the documents seen have grown by half, buffers are
compacted and thresholds raised. Survivors are computed again in float64, so that the result does not depend
on block size, threads or the BLAS library: float32 only decides with a margin that covers its own rounding.

Memory beyond the stored vectors, in bytes: `block · dim · 4` for the block; per thread a tile of four
megabytes; per document and distinct family 8 for r^γ, 1 for its segment and 8 for log r, in temporary files
where they are large; per query and family 8 times `room(k)`, which grows only where a query really has more
candidates.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from radii.data.embeddings import Embeddings, Floats
from radii.data.scratch import scratch
from radii.ranking import kernels
from radii.ranking.family import Family, Group, distinct
from radii.ranking.score import Ints
from radii.ranking.search import Sizes
from radii.ranking.survivors import unit_rows, with_cosines
from radii.ranking.threads import Run, available_threads, cuts, threads

GROWTH = 1.5  # buffers are compacted whenever the documents seen have grown by this factor
_EMPTY = -69.0  # log 1e-30
_TILE = 1 << 20  # similarities computed and scanned together: four megabytes


class Arm:
    """One family as the kernels want it.

    Attributes
    ----------
    bins : (n_docs,) uint8
        Segment of each document: documents of a segment have similar slopes.
    level : bool
        Whether there is one segment only.
    weight : (n_docs, 2) float32
        What γ does to a cosine at the first node, and from one node to the next: factors, or terms. One row
        where γ does nothing.
    relief : (n_nodes, n_segments) float32
        What turns a bound on the k-th best score into one on a cosine of the segment: a factor, or a term.
    lowest : float
        No smaller cosine can matter.
    error : float
        Of a computed cosine, or of what this family puts in its place.
    own : tuple
        What `sides` depend on: equal for the same affine terms, whichever queries they are for.
    """

    def __init__(self, family: Family, nodes: Floats, segments: int, error: float) -> None:
        self.additive, self.affine, self.error, span = family.additive, family.affine, error, 1.0
        n = len(family.slope)
        if self.affine is not None:
            span = self.affine.bound
            self.error = 4.0 * error * span
        if family.fixed_at_every_node:
            nodes = nodes[:1]
            family = Family(family.slope[:1], additive=True)  # the same for every document
        # A common factor or term changes no ranking: factors are kept near 1, and sums above 0.
        if family.additive:
            ends = family.slope.min(), family.slope.max()
            middle = min(float(node * end) for node in nodes for end in ends) - span - 0.5
        else:
            middle = float(np.mean(nodes) * family.slope.mean())
            middle += 0.0 if family.base is None else float(family.base.mean())
        bins = deal(family.slope, segments)
        self.weight = _weight(family, nodes, middle)
        highest = summits(family, bins, nodes, segments, middle)
        self.bins = bins if len(bins) == n else np.broadcast_to(bins[0], n)
        self.level = bool((bins == bins[0]).all())
        self.own: tuple[int, ...] = (id(self),)
        if self.affine is not None and self.additive:
            self.own = id(self.affine.right), id(self.affine.scale)
        if family.additive:
            self.relief = (-highest - 1e-5).astype(np.float32)
            self.lowest = -span - 1.0
        else:
            self.relief = (np.exp(-highest) * (1.0 - 1e-6)).astype(np.float32)
            self.lowest = -self.error

    def sides(self, rows: Ints) -> Sides:
        """What a scan wants of some documents, in this order."""
        if self.affine is None:
            return Sides(self.bins[rows], _NONE, _NONE[None])
        both = np.empty((self.affine.right.shape[1] + 1, len(rows)), dtype=np.float32)
        both[:-1] = self.affine.right[rows].T
        both[-1] = self.affine.scale[rows]
        ends = np.empty((2, len(both), chunks(len(rows))), dtype=np.float32)
        kernels.chunk_ends(both, ends)
        return Sides(self.bins[rows], both, ends)


class Sides(NamedTuple):
    """What the scan of one family wants of some documents.

    Attributes
    ----------
    bins : (n,) uint8
        Their segments.
    affine : (rank + 1, n) float32
        `Affine.right` and, last, `scale`; empty where there is none.
    ends : (2, rank + 1, n_chunks) float32
        The least and the largest of these in every chunk.
    """

    bins: npt.NDArray[np.uint8]
    affine: npt.NDArray[np.float32]
    ends: npt.NDArray[np.float32]


_NONE = np.empty((0, 0), dtype=np.float32)


def chunks(n: int) -> int:
    """How many chunks n columns have."""
    return -(-n // kernels.CHUNK)


def _weight(family: Family, nodes: Floats, middle: float) -> npt.NDArray[np.float32]:
    """See `Arm`; of some documents at a time, so that nothing in float64 is as long as the corpus."""
    n = len(family.slope)
    weight = scratch((n, 2), np.float32)
    step = nodes[1] - nodes[0] if len(nodes) > 1 else 0.0
    for some in cuts(n):
        slope = family.slope[some]
        first = nodes[0] * slope if family.base is None else family.base[some] + nodes[0] * slope
        both = np.stack((first - middle, step * slope), axis=1)
        weight[some] = both if family.additive else np.exp(both)
    return weight


def deal(slope: Floats, segments: int) -> npt.NDArray[np.uint8]:
    """Segment of each document, in ascending order of slope.

    Half of the cuts leave about equally many documents between them, the others equally much of the range:
    the few in a long tail, of whom γ makes most, share no threshold with the many. So do the many with one
    slope (a count of zero) with nobody else.
    """
    some = slope[:: max(1, len(slope) // 65536)]
    many = segments // 2
    edges = np.quantile(some, np.arange(1, many) / many) if many else np.empty(0)
    even = np.linspace(some.min(), some.max(), segments - many + 2)[1:-1]
    edges = np.sort(np.concatenate((edges, even)))[: segments - 1]
    again = 1 + np.flatnonzero(np.diff(edges) == 0.0)
    edges[again] = np.nextafter(edges[again], np.inf)
    bins = scratch(len(slope), np.uint8)
    for here in cuts(len(slope)):
        bins[here] = np.searchsorted(edges, slope[here], side="right")
    return bins


def summits(
    family: Family, bins: npt.NDArray[np.uint8], nodes: Floats, segments: int, middle: float
) -> Floats:
    """(n_nodes, n_segments): the most that γ adds there to a document of the segment, above `middle`."""
    highest = np.full((len(nodes), segments), -np.inf)
    base = np.empty(0) if family.base is None else family.base
    kernels.segment_maxima(bins, family.slope, base, nodes, highest)
    # An empty segment meets no document: as if γ took almost everything from it.
    return np.where(np.isinf(highest), _EMPTY, highest - middle)


def rounding(dim: int) -> float:
    """|float32 dot product − true| of unit vectors: dim roundings of the sum, a few of the entries."""
    return (dim + 8) * 2.0**-24


class Buffers:
    """What some queries have kept under one family, and their thresholds; one thread works on it."""

    def __init__(self, arm: Arm, queries: slice, k: int, capacity: int) -> None:
        self.arm, self.k, n_queries = arm, k, queries.stop - queries.start
        self.left = None if arm.affine is None else arm.affine.left[queries].astype(np.float32)
        n_nodes, n_segments = arm.relief.shape
        self.seen = np.empty((n_queries, capacity), dtype=np.int32)
        self.cosines = np.empty((n_queries, capacity), dtype=np.float32)
        self.count = np.zeros(n_queries, dtype=np.int64)
        self.levels = np.zeros((n_queries, n_nodes), dtype=np.int32)  # bits of 0.0
        self.table = np.full((n_queries, n_segments), arm.lowest, dtype=np.float32)

    def add(self, tile: Tile, sides: Sides, ordered: bool, skip: Ints) -> None:
        """Scan a tile; compact, then grow, wherever a buffer is full."""
        todo = np.zeros(len(self.count), dtype=np.int64)
        while self._scan(tile, sides, ordered, skip, todo):
            before = self.count.max()
            self.compact()
            if self.count.max() > before // 2:  # real candidates, not thresholds that lag behind
                self.seen = np.concatenate((self.seen, np.empty_like(self.seen)), axis=1)
                self.cosines = np.concatenate((self.cosines, np.empty_like(self.cosines)), axis=1)

    def _scan(self, tile: Tile, sides: Sides, ordered: bool, skip: Ints, todo: Ints) -> int:
        """Queries that stopped before the end of the tile."""
        given = tile.sims, tile.most, tile.rows
        bins = sides.bins[tile.first : tile.first + len(tile.rows)]
        thresholds = bins, ordered or self.arm.level, self.table
        buffers = skip, todo, self.seen, self.cosines, self.count
        if self.left is None:
            stopped: int = kernels.scan(*given, *thresholds, *buffers)
        else:
            affine = self.left, sides.affine, sides.ends, tile.first, self.arm.error
            stopped = kernels.scan_affine(*given, *affine, *thresholds, *buffers)
        return stopped

    def compact(self, last: bool = False) -> None:
        """Prune, and raise the thresholds; `last` when no document is to come."""
        arm = self.arm
        kernels.compact(
            self.seen,
            self.cosines,
            self.count,
            arm.weight,
            arm.relief,
            arm.additive,
            self.k,
            arm.error,
            self.levels,
            self.table,
            last,
        )

    def survivors(self) -> tuple[Ints, Ints]:
        """Entries of each query, and document rows query by query, ascending within each."""
        count = np.maximum(self.count, 0)
        rows = np.empty(count.sum(), dtype=np.int64)
        kernels.survivors(self.seen, self.count, rows)
        return count, rows


class Tile(NamedTuple):
    """Some documents of a block and some of one thread's queries.

    Attributes
    ----------
    sims : (n_queries, n_columns) float32
        Cosines.
    most : (n_queries, n_chunks) float32
        Their `kernels.peaks`.
    rows : (n_columns,) int32
        Document rows.
    first : int
        Where they begin in the block.
    """

    sims: npt.NDArray[np.float32]
    most: npt.NDArray[np.float32]
    rows: npt.NDArray[np.int32]
    first: int

    def of(self, queries: slice) -> Tile:
        """The same of some of the queries."""
        return Tile(self.sims[queries], self.most[queries], self.rows, self.first)


def evenly(n: int, width: int) -> list[slice]:
    """n columns in whole chunks, `width` of them at most at a time, about as many every time."""
    return cuts(n, chunks(-(-n // -(-n // width))) * kernels.CHUNK)


def room(k: int) -> int:
    """Entries that a query's buffer holds at first: several times what it keeps."""
    return 16 * k + 1024


class Part:
    """Some queries of a group with their buffers under every family."""

    def __init__(self, group: Group, queries: slice, arms: Sequence[Arm], k: int) -> None:
        self.skip = group.excluded[queries]
        self.buffers = [Buffers(arm, queries, k, room(k)) for arm in arms]

    def take(self, tile: Tile, block: Block) -> None:
        """Keep what passes of the cosines with a tile."""
        for buffers in self.buffers:
            buffers.add(tile, block.sides[buffers.arm.own], buffers.arm is block.first, self.skip)


class Share:
    """The work of one thread at a time: some queries of every group, multiplied together."""

    def __init__(self, unit: npt.NDArray[np.float32], parts: Sequence[tuple[slice, Part]]) -> None:
        n = len(unit)
        self.unit, self.parts = unit, parts
        self.width = max(256, _TILE // n // kernels.CHUNK * kernels.CHUNK)
        self.sims = np.empty(n * self.width, dtype=np.float32)
        self.most = np.empty(n * chunks(self.width), dtype=np.float32)

    def take(self, block: Block, compact: bool, last: bool) -> None:
        """Multiply these queries with a block, tile by tile, and keep what passes."""
        for columns in evenly(len(block.rows), self.width):
            tile = self._multiplied(block, columns)
            for some, part in self.parts:
                part.take(tile.of(some), block)
        if compact:
            for _, part in self.parts:
                for buffers in part.buffers:
                    buffers.compact(last)

    def _multiplied(self, block: Block, columns: slice) -> Tile:
        n, wide = len(self.unit), columns.stop - columns.start
        sims = self.sims[: n * wide].reshape(n, wide)
        most = self.most[: n * chunks(wide)].reshape(n, -1)
        np.matmul(self.unit, block.unit[columns].T, out=sims)
        kernels.peaks(sims, most)
        return Tile(sims, most, block.rows[columns], columns.start)


class Block:
    """Some documents: unit float32 rows in the order of the segments of the `first` arm.

    `sides` are those of every arm, by `Arm.own`: arms that want the same of documents share them.
    """

    def __init__(self, rows: Ints, unit: npt.NDArray[np.float32], first: Arm, arms: Sequence[Arm]) -> None:
        self.rows, self.unit, self.first = rows.astype(np.int32), unit, first
        self.sides: dict[tuple[int, ...], Sides] = {}
        for arm in arms:
            if arm.own not in self.sides:
                self.sides[arm.own] = arm.sides(rows)


def pieces_of(n: int, first: int, block: int) -> list[slice]:
    """What is read at a time: `first` documents, then as many as were seen so far, up to `block`."""
    pieces, start = [], 0
    while start < n:
        stop = min(n, start + (first if start == 0 else min(block, start)))
        pieces.append(slice(start, stop))
        start = stop
    return pieces


def stream(
    docs: Embeddings,
    groups: Sequence[Group],
    k: int,
    gamma_range: tuple[float, float],
    sizes: Sizes,
    progress: Callable[[int, int], None] | None = None,
) -> list[list[tuple[Ints, Ints, Floats]]]:
    """Candidates of every query of each group under each of its families, from one pass over the documents.

    Returns
    -------
    list over groups of lists over families of
        offsets : (n_queries + 1,) int64
        rows : (n_entries,) int64, ascending within a query
        cosines : (n_entries,) float64
    A query without entries has fewer than k documents with a positive cosine: ask the exhaustive search.
    """
    nodes, n = sizes.between(*gamma_range), len(docs)
    first = max(sizes.first, 2 * k)
    count = sizes.threads or available_threads()
    with threads(count) as run:
        families = distinct(groups)
        made = run(partial(Arm, nodes=nodes, segments=sizes.segments, error=rounding(docs.dim)), families)
        arm_of = dict(zip(map(id, families), made, strict=True))
        arms = [[arm_of[id(family)] for family in group.families] for group in groups]
        shares = _shares(run, groups, arms, k, sizes.queries, count)
        parts = [[share.parts[at][1] for share in shares] for at in range(len(groups))]
        lead = arms[0][0]
        unit = np.empty((max(sizes.block, first), docs.dim), dtype=np.float32)
        compacted = 0
        for piece in pieces_of(n, first, sizes.block):
            rows = piece.start + np.argsort(lead.bins[piece], kind="stable")
            here = slice(0, len(rows))
            unit_rows(run, docs, piece, rows - piece.start, unit[here], count)
            block = Block(rows, unit[here], lead, made)
            compact = piece.stop >= GROWTH * compacted or piece.stop == n
            run(partial(Share.take, block=block, compact=compact, last=piece.stop == n), shares)
            compacted = piece.stop if compact else compacted
            if progress is not None:
                progress(piece.stop, n)
        return [
            [
                with_cosines(
                    run, [part.buffers[place].survivors() for part in own], family, docs, group.queries, count
                )
                for place, family in enumerate(group.families)
            ]
            for group, own in zip(groups, parts, strict=True)
        ]


def _shares(
    run: Run, groups: Sequence[Group], arms: Sequence[Sequence[Arm]], k: int, queries: int, count: int
) -> list[Share]:
    """One for each thread or more, of about as many `queries` at most; each holds some of every group."""
    sizes = [len(group.queries) for group in groups]
    many = -(-sum(sizes) // min(queries, -(-sum(sizes) // count)))
    shares = []
    for place in range(many):
        parts, units, at = [], [], 0
        for group, own, m in zip(groups, arms, sizes, strict=True):
            some = slice(m * place // many, m * (place + 1) // many)
            here = slice(at, at + some.stop - some.start)
            unit = np.empty((some.stop - some.start, group.queries.dim), dtype=np.float32)
            unit_rows(run, group.queries, some, np.arange(len(unit)), unit, count)
            parts.append((here, Part(group, some, own, k)))
            units.append(unit)
            at = here.stop
        if at:
            shares.append(Share(np.concatenate(units), parts))
    return shares
