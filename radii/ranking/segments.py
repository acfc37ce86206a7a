"""Families as the kernels want them: segments of similar documents, and what γ does to a bound there."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from radii.data.embeddings import Floats
from radii.data.processors import cuts
from radii.data.scratch import scratch
from radii.ranking import kernels
from radii.ranking.family import Family
from radii.ranking.score import Ints

_EMPTY = -69.0  # log 1e-30


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
