"""Candidates from float64 cosines with every document: small problems, and queries of few positives.

A query with fewer than k positive cosines ranks zeros and negatives too; the streaming search does not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property, partial

import numpy as np

from radii.data.embeddings import Embeddings, Floats
from radii.ranking.candidates import reachable, reachable_together
from radii.ranking.family import Family, Group
from radii.ranking.score import Bools, Ints, Lines
from radii.ranking.search import Sizes

_BLOCK_BYTES = 64 << 20  # of cosines, and of documents kept in float64 where all of them fit

_FEW = 600  # documents: to look for those that cannot rank takes longer than to keep them

_TOGETHER = 1 << 17  # heights of lines looked at together: a megabyte

Found = list[tuple[Ints, Floats]]


def exhaustive(
    docs: Embeddings,
    group: Group,
    which: Sequence[Ints],
    k: int,
    gamma_range: tuple[float, float],
    exact: Callable[[Ints, int], Floats] | None = None,
) -> list[Found]:
    """Rows and cosines of the candidates of some queries of a group under each family.

    Parameters
    ----------
    which : one (m,) int64 per family
        Query rows that this family asks for, ascending.
    exact : callable, optional
        From document rows and a query row to their cosines: where some come from elsewhere, all have to be
        summed in one order.
    others
        As in `find_candidates`.
    """
    queries, families, excluded = group.queries, group.families, group.excluded
    found: list[Found] = [[] for _ in families]
    nodes = Sizes().between(*gamma_range)
    asked = [set(rows.tolist()) for rows in which]
    if docs.vectors.size * 8 <= _BLOCK_BYTES:
        docs = docs.widened()
    if exact is None:
        exact = partial(_exact, docs, queries)
    # |computed − true| of a float64 dot product of unit vectors is below dim · 2^-52, with room to spare.
    error = 2.0 * docs.dim * 2.0**-52
    for rows, sims in _cosines(docs, queries, np.array(sorted(set().union(*asked)), dtype=np.int64)):
        allowed = np.ones(sims.shape, dtype=bool)
        own = np.flatnonzero(excluded[rows] >= 0)
        allowed[own, excluded[rows[own]]] = False
        block = _Block(rows, sims, allowed, error)
        wanting = [np.array([row in some for row in rows.tolist()]) for some in asked]
        blocks = [
            block.under(family) if want.any() else block
            for family, want in zip(families, wanting, strict=True)
        ]
        enough = [own.enough(family, k) for family, own in zip(families, blocks, strict=True)]
        masks = [
            own.possible(family, want & sure, k, nodes)
            for family, own, want, sure in zip(families, blocks, wanting, enough, strict=True)
        ]
        for at, row in enumerate(rows.tolist()):
            asking = [place for place, want in enumerate(wanting) if want[at]]
            kept = {
                place: blocks[place].reaching(families[place], at, np.flatnonzero(masks[place][at]), k, nodes)
                for place in asking
                if enough[place][at]
            }
            # Exact cosines once for all families; all of them where signs decide.
            every = np.flatnonzero(allowed[at])
            some = every if len(kept) < len(asking) else np.unique(np.concatenate(list(kept.values())))
            precise = exact(some, row)
            for place in asking:
                if place in kept:
                    chosen = kept[place]
                else:
                    family = families[place]
                    lines = family.lines(family.similarity(precise, row, every), every)
                    chosen = every[beyond_positives(lines, k, nodes)]
                cosines = precise[np.searchsorted(some, chosen)]
                found[place].append((chosen, families[place].similarity(cosines, row, chosen)))
    return found


class _Block:
    """Cosines of some queries with every document, or what a family puts in their place; what they rule out.

    Attributes
    ----------
    rows : (n_rows,) int64
        Query rows.
    sims : (n_rows, n_docs) float64
        To within `error`.
    allowed : (n_rows, n_docs) bool
    """

    def __init__(self, rows: Ints, sims: Floats, allowed: Bools, error: float) -> None:
        self.rows, self.sims, self.allowed, self.error = rows, sims, allowed, error

    @cached_property
    def _logs(self) -> tuple[Floats, Floats]:
        """Bounds of log cosine; documents that are not positive are dealt with by `possible`."""
        low = np.log(np.maximum(self.sims - self.error, 1e-300))
        # Twice the error: never log of zero.
        return low, np.log(np.maximum(self.sims + 2 * self.error, 1e-300))

    @cached_property
    def _sure(self) -> Ints:
        """(n_rows,) how many documents are surely positive."""
        positive: Ints = np.count_nonzero((self.sims > self.error) & self.allowed, axis=1)
        return positive

    def under(self, family: Family) -> _Block:
        """The same with what the family takes for the cosines."""
        if family.affine is None:
            return self
        error = 4.0 * self.error * family.affine.bound
        return _Block(self.rows, family.similarities(self.sims, self.rows), self.allowed, error)

    def enough(self, family: Family, k: int) -> Bools:
        """(n_rows,) whether a row has k documents that are surely positive, or needs none to be."""
        if family.additive:
            return np.ones(len(self.rows), dtype=bool)
        return self._sure >= k

    def _heights(self, family: Family, at: Ints | int) -> tuple[Floats, Floats]:
        """Bounds of every document's height at γ = 0, for one or some of the rows."""
        if family.additive:
            return self.sims[at] - self.error, self.sims[at] + self.error
        low, high = (part[at] for part in self._logs)
        return (low, high) if family.base is None else (low + family.base, high + family.base)

    def possible(self, family: Family, which: Bools, k: int, nodes: Floats) -> Bools:
        """(n_rows, n_docs) what can reach the top k, judged at three nodes; for rows in `which` only."""
        here = self.allowed & which[:, None]
        if not family.additive:
            here &= self.sims > -self.error
        n = self.sims.shape[1]
        if n <= _FEW:
            return here
        few = nodes[[0, len(nodes) // 2, -1]] if len(nodes) > 3 else nodes
        few = few[:1] if family.fixed_at_every_node else few
        step = max(1, _TOGETHER // (n * len(few)))
        asked = np.flatnonzero(which)
        for first in range(0, len(asked), step):
            at = asked[first : first + step]
            low, high = self._heights(family, at)
            low = np.where(here[at], low, -np.inf)
            here[at] &= reachable_together(low, high, family.slope, k, few)
        return here

    def reaching(self, family: Family, at: int, some: Ints, k: int, nodes: Floats) -> Ints:
        """Of documents `some` those that can reach the top k of one row, judged at all nodes."""
        if self.sims.shape[1] <= _FEW or len(some) <= 8 * k or family.fixed_at_every_node or len(nodes) <= 3:
            return some
        low, high = (part[None, some] for part in self._heights(family, at))
        left: Ints = some[reachable_together(low, high, family.slope[some], k, nodes)[0]]
        return left


def _cosines(docs: Embeddings, queries: Embeddings, which: Ints) -> Iterator[tuple[Ints, Floats]]:
    """(query rows, their (n_rows, n_docs) cosines to within rounding), block by block."""
    step = max(1, _BLOCK_BYTES // (8 * len(docs)))
    for at in range(0, len(which), step):
        some = which[at : at + step]
        block = np.asarray(queries.vectors[some], dtype=np.float64)
        sims = np.empty((len(some), len(docs)))
        for first, part in docs.blocks():
            here = slice(first, first + len(part))
            sims[:, here] = (block @ part.T) / (queries.norms[some, None] * docs.norms[None, here])
        yield some, sims


def _exact(docs: Embeddings, queries: Embeddings, rows: Ints, query: int) -> Floats:
    """cos(q, d) of one query with some documents: (n_rows,) float64, each summed in the same order."""
    some = np.asarray(docs.vectors[rows], dtype=np.float64)
    one = np.asarray(queries.vectors[query], dtype=np.float64)
    cosines: Floats = np.einsum("ij,ij->i", some, one[None, :]) / (docs.norms[rows] * queries.norms[query])
    return cosines


def beyond_positives(lines: Lines, k: int, nodes: Floats) -> Ints:
    """Candidates when fewer than k cosines are positive: zeros and negatives fill up."""
    positive, zero, negative = (np.flatnonzero(lines.group == sign) for sign in (1, 0, -1))
    keep = [positive, zero[: max(0, k - len(positive))]]
    missing = k - len(positive) - len(zero)
    if missing > 0 and negative.size:
        height, slope = lines.height[negative], lines.slope[negative]
        keep.append(negative[reachable(height, height, slope, missing, nodes)])
    return np.sort(np.concatenate(keep))
