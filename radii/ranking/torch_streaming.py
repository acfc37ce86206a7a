"""The streaming search in PyTorch: on CUDA, else on Apple's MPS, else on CPU tensors.

The plan is that of `streaming.py`: blocks that double, one threshold per query and segment, buffers that are
pruned whenever the documents seen have grown by half. Here a line is its height in float32, log cos or cos,
so that all families are pruned alike and no multiplier overflows; bounds are the k-th highest lines (topk) at
each node. The device only rules documents out, with a margin that covers its rounding; cosines of survivors
come from `survivors.py`. The result is therefore that of numba to the bit, ties included (`score.py`), but
for a query whose k-th best cosine is within the margin of 0: one of the two may leave it to the exhaustive
search, which sums in another order.

The margin holds for products summed in float32 in any order, not for TensorFloat-32 or bfloat16. Both are
switched off while a search runs, and the first product is held against float64.

Memory on the device, in bytes: `8 · block · dim` for two blocks; `4 · n_queries · dim`; per document and
distinct family 12, and 4 for each column of `Affine.right`; about `9 · queries · block` at work (13 for an
affine family), some 200 MB to prune, and 20 for every entry kept: a few dozen k per query where cosines
differ.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from radii.data.embeddings import Embeddings, Floats
from radii.ranking.devices import Tensor, check_product, choose_device, full_precision
from radii.ranking.family import Family, Group, distinct
from radii.ranking.score import Ints
from radii.ranking.search import Sizes
from radii.ranking.segments import deal, rounding, summits
from radii.ranking.streaming import GROWTH, pieces_of
from radii.ranking.survivors import found_by, unit_rows
from radii.ranking.threads import Run, available_threads, cuts, threads

_HEIGHTS = 1 << 22  # heights of lines looked at together: 16 MB, a few times over
_PENDING = 1 << 22  # entries that wait for pruning before it is forced
_INF = float("inf")


class Arm:
    """One family on the device.

    Attributes
    ----------
    bins : (n_docs,) int32
        Segment of each document.
    first, step : (n_docs,)
        What γ adds to a line's height at the first node, and from one node to the next.
    highest : (n_nodes, n_segments)
        The most that it adds within a segment.
    error : float
        Of a computed cosine, or of what this family puts in its place.
    slack : float
        More than the float32 heights of two lines can be off together, beyond what `error` explains:
        logarithms down to log 2^-39, and a few sums of numbers as large as what γ adds.
    """

    def __init__(self, family: Family, nodes: Floats, segments: int, error: float, place: Any) -> None:
        affine = family.affine
        nodes = nodes[:1] if family.fixed_at_every_node else nodes
        at_nodes = [family.at(node) for node in nodes]
        middle = float(np.mean(at_nodes))  # a common term changes no ranking
        reach = max(float(np.abs(moved - middle).max()) for moved in at_nodes)
        bins = deal(family.slope, segments)
        step = (nodes[1] - nodes[0]) * family.slope if len(nodes) > 1 else np.zeros(len(bins))
        span = 1.0 if affine is None else affine.bound
        self.additive, self.n_nodes = family.additive, len(nodes)
        self.error = error if affine is None else 4.0 * error * span
        self.slack = 4e-5 * span + 2.0**-20 * reach
        self.bins = torch.from_numpy(bins.astype(np.int32)).to(place)
        self.first, self.step = _single(at_nodes[0] - middle, place), _single(step, place)
        self.steps = torch.arange(len(nodes), dtype=torch.float32, device=place)
        self.highest = _single(summits(family, bins, nodes, segments, middle), place)
        self.affine = (
            None
            if affine is None
            else tuple(_single(part, place) for part in (affine.left, affine.right, affine.scale))
        )

    def similarities(self, sims: Tensor, queries: slice, docs: slice) -> Tensor:
        """What this family takes for (n_queries, n_docs) cosines; `sims` stays as it is."""
        if self.affine is None:
            return sims
        left, right, scale = self.affine
        return (sims + left[queries] @ right[docs].T) * scale[docs]

    def heights(self, sims: Tensor) -> tuple[Tensor, Tensor]:
        """Bounds of a line's height at γ = 0; −inf where it may not be positive and has to be."""
        if self.additive:
            return sims - self.error, sims + self.error
        low = torch.where(sims > self.error, torch.log((sims - self.error).clamp_min(1e-30)), -_INF)
        return low, torch.log(sims + 2.0 * self.error)  # no smaller cosine passes than −error

    def thresholds(self, heights: Tensor) -> Tensor:
        """The computed cosines that documents need, given the heights that they need."""
        if self.additive:
            return heights - self.slack - 2.0 * self.error
        return (torch.exp(heights - self.slack) - 2.0 * self.error).clamp_min(-self.error)


class Buffer:
    """What some queries have kept under one family, and their thresholds."""

    def __init__(self, arm: Arm, n_queries: int, k: int) -> None:
        self.arm, self.k, self.n_queries = arm, k, n_queries
        self.unsure = 16 * k + 4096  # entries after which a query of too few positive cosines is given up
        lowest = -_INF if arm.additive else -arm.error
        shape = n_queries, arm.highest.shape[1]
        self.table = torch.full(shape, lowest, dtype=torch.float32, device=arm.bins.device)
        self.parts: list[tuple[Tensor, Tensor, Tensor]] = []  # query, document row, cosine
        self.pending = 0

    def add(self, sims: Tensor, docs: slice, skip: tuple[Tensor, ...] | None) -> None:
        """Keep what passes of (n_queries, n_docs) similarities, but for the (queries, columns) to skip."""
        passes = sims >= self.table.index_select(1, self.arm.bins[docs])
        if skip is not None:
            passes[skip] = False
        query, column = passes.nonzero(as_tuple=True)
        self.parts.append((query, column + docs.start, sims[query, column]))
        self.pending += len(query)
        if self.pending > _PENDING:
            self.compact()

    def compact(self, last: bool = False) -> None:
        """Prune, and raise the thresholds; `last` when no document is to come."""
        owner, rows, cosines = (torch.cat(column) for column in zip(*self.parts, strict=True))
        owner, order = owner.sort(stable=True)  # rows stay ascending within a query
        rows, cosines = rows[order], cosines[order]
        counts = torch.bincount(owner, minlength=self.n_queries)
        keep = torch.zeros(len(owner), dtype=torch.bool, device=owner.device)
        for some, width in self._groups(counts.cpu().numpy()):
            places = torch.arange(width, device=owner.device)
            real = places < counts[some, None]
            at = torch.where(real, (counts.cumsum(0) - counts)[some, None] + places, 0)
            kept = self._judge(some, real, rows[at], cosines[at], last)
            keep[at[real]] = kept[real]
        self.parts, self.pending = [(owner[keep], rows[keep], cosines[keep])], 0

    def _groups(self, counts: Ints) -> Iterator[tuple[Tensor, int]]:
        """Queries of similar counts, as many as may be looked at together, and columns for each of them."""
        order = np.argsort(-counts, kind="stable")
        order = order[counts[order] > 0]
        while len(order):
            width = max(int(counts[order[0]]), self.k)
            many = max(1, _HEIGHTS // (width * self.arm.n_nodes))
            yield torch.from_numpy(order[:many]).to(self.table.device), width
            order = order[many:]

    def _judge(self, some: Tensor, real: Tensor, rows: Tensor, cosines: Tensor, last: bool) -> Tensor:
        """Which entries of some queries stay; their thresholds are rewritten. All are (n_some, width)."""
        arm = self.arm
        low, high = arm.heights(cosines)
        low = low.masked_fill(~real, -_INF)
        moved = arm.first[rows][:, None] + arm.steps[:, None] * arm.step[rows][:, None]
        lower, upper = low[:, None] + moved, high[:, None] + moved  # (n_some, n_nodes, width)
        own, before, after = (bound - arm.slack for bound in _bounds(lower, self.k))
        unknown = (low > -_INF).sum(
            1
        ) < self.k  # too few to bound anything, and what bounds there are is −inf
        given_up = unknown & (real.sum(1) > self.unsure) if not last else unknown
        if arm.n_nodes == 1:
            kept = (upper >= own[:, :, None])[:, 0]
            needed = own - arm.highest
        else:
            # On an interval a line counts only if it does by the bound that is best at either end.
            ends = (own[:, :-1], after), (before, own[:, 1:])
            here, there = upper[:, :-1], upper[:, 1:]
            left, right = ((here >= a[..., None]) | (there >= b[..., None]) for a, b in ends)
            kept = (left & right).any(1)
            here, there = arm.highest[:-1], arm.highest[1:]
            left, right = (torch.minimum(a[..., None] - here, b[..., None] - there) for a, b in ends)
            needed = torch.maximum(left, right).amin(1)
        self.table[some] = arm.thresholds(needed).masked_fill(given_up[:, None], _INF)
        return kept & ~given_up[:, None]

    def survivors(self) -> tuple[Ints, Ints]:
        """Entries of each query, and document rows query by query, ascending within each."""
        [(owner, rows, _)] = self.parts
        return np.bincount(owner.cpu().numpy(), minlength=self.n_queries), rows.cpu().numpy()


def _bounds(lower: Tensor, k: int) -> tuple[Tensor, Tensor, Tensor]:
    """Of the k lines highest at each node the least there, at the node before, and at the one after.

    Each bounds the k-th best from below, at its node. (n, n_nodes), then (n, n_nodes − 1) twice: `before` at
    the first node of each interval for the lines chosen at its last, `after` the other way round.
    """
    values, chosen = lower.topk(k, dim=2, sorted=False)
    before = lower[:, :-1].gather(2, chosen[:, 1:]).amin(2)
    after = lower[:, 1:].gather(2, chosen[:, :-1]).amin(2)
    return values.amin(2), before, after


class Share:
    """Some queries of a group, with their buffers under every family: what is multiplied at once."""

    def __init__(self, queries: slice, unit: Tensor, excluded: Ints, arms: Sequence[Arm], k: int) -> None:
        self.queries, self.unit, self.excluded = queries, unit, excluded
        self.buffers = [Buffer(arm, len(unit), k) for arm in arms]

    def take(self, docs: slice, sims: Tensor, compact: bool, last: bool) -> None:
        """Keep what passes of the cosines with some documents."""
        own = np.flatnonzero((self.excluded >= docs.start) & (self.excluded < docs.stop))
        pairs = own, self.excluded[own] - docs.start
        skip = tuple(torch.from_numpy(side).to(sims.device) for side in pairs) if own.size else None
        for buffer in self.buffers:
            buffer.add(buffer.arm.similarities(sims, self.queries, docs), docs, skip)
            if compact:
                buffer.compact(last)


def stream(
    docs: Embeddings,
    groups: Sequence[Group],
    k: int,
    gamma_range: tuple[float, float],
    sizes: Sizes,
    progress: Callable[[int, int], None] | None = None,
) -> list[list[tuple[Ints, Ints, Floats]]]:
    """As `radii.ranking.streaming.stream`; `sizes.threads` are those of what is left to the CPU.

    Raises
    ------
    NumericalError
        Where the device's products are further from float64 than float32 explains.
    """
    place, nodes = choose_device(), sizes.between(*gamma_range)
    n = len(docs)
    error, count = rounding(docs.dim), sizes.threads or available_threads()
    with threads(count) as run, full_precision(place.type):
        arm_of = {id(own): Arm(own, nodes, sizes.segments, error, place) for own in distinct(groups)}
        shares_of = []
        for group in groups:
            m, arms = len(group.queries), [arm_of[id(family)] for family in group.families]
            unit = np.empty((m, docs.dim), dtype=np.float32)
            unit_rows(run, group.queries, slice(0, m), np.arange(m), unit, count)
            asked = torch.from_numpy(unit).to(place)
            shares_of.append(
                [Share(some, asked[some], group.excluded[some], arms, k) for some in cuts(m, sizes.queries)]
            )
        shares = [share for own in shares_of for share in own]
        pieces = pieces_of(n, max(sizes.first, 2 * k), sizes.block)
        longest = max(piece.stop - piece.start for piece in pieces)
        most = max(len(share.unit) for share in shares)
        space = torch.empty(most * longest, dtype=torch.float32, device=place)
        compacted = 0
        with closing(_blocks(run, docs, pieces, longest, place, count)) as blocks:
            for piece, block in zip(pieces, blocks, strict=True):
                compact = piece.stop >= GROWTH * compacted or piece.stop == n
                for share in shares:
                    sims = space[: len(share.unit) * len(block)].view(len(share.unit), len(block))
                    torch.mm(share.unit, block.T, out=sims)
                    if piece.start == 0 and share is shares[0]:
                        check_product(sims, share.unit, block, error)
                    share.take(piece, sims, compact, last=piece.stop == n)
                compacted = piece.stop if compact else compacted
                if progress is not None:
                    progress(piece.stop, n)
        return found_by(run, docs, groups, shares_of, count)


def _blocks(
    run: Run, docs: Embeddings, pieces: list[slice], longest: int, place: Any, count: int
) -> Generator[Tensor, None, None]:
    """Unit rows of each piece on the device; the next is read while the device works.

    Two buffers take turns. One is filled again only after its piece was scanned, and a scan waits for the
    device, so the copy from it has ended.
    """
    cuda = place.type == "cuda"
    buffers = [torch.empty((longest, docs.dim), dtype=torch.float32, pin_memory=cuda) for _ in range(2)]
    arrays = [buffer.numpy() for buffer in buffers]

    def load(at: int) -> Tensor:
        piece, size = pieces[at], pieces[at].stop - pieces[at].start
        unit_rows(run, docs, piece, np.arange(size), arrays[at % 2][:size], count)
        return buffers[at % 2][:size]

    with ThreadPoolExecutor(1) as reader:
        ahead = reader.submit(load, 0)
        for at in range(len(pieces)):
            block = ahead.result().to(place, non_blocking=cuda)
            if at + 1 < len(pieces):
                ahead = reader.submit(load, at + 1)
            yield block


def _single(values: Floats, place: Any) -> Tensor:
    """In float32 on the device."""
    single: npt.NDArray[np.float32] = np.ascontiguousarray(values, dtype=np.float32)
    return torch.from_numpy(single).to(place)
