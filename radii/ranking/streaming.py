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
from radii.ranking import kernels
from radii.ranking.family import Group, distinct
from radii.ranking.score import Ints
from radii.ranking.search import Sizes
from radii.ranking.segments import Arm, Sides, chunks, rounding
from radii.ranking.survivors import found_by, unit_rows
from radii.ranking.threads import Run, available_threads, cuts, threads

GROWTH = 1.5  # buffers are compacted whenever the documents seen have grown by this factor
_TILE = 1 << 20  # similarities computed and scanned together: four megabytes


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
        return found_by(run, docs, groups, parts, count)


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
