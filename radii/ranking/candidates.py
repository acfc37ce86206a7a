"""Which documents can reach a query's top k at some γ of a range: all the path ever needs to look at.

The k-th best score as a function of γ is bounded from below by the lowest of any k lines, a concave
function; a document's line minus a concave function is convex, so on an interval it is positive somewhere
only if it is positive at an end. Two tests per interval, at its two ends, therefore rule out almost every
document without missing one (THEORY.md, section 6).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from radii.data.embeddings import Embeddings, Floats
from radii.ranking.backends import streaming
from radii.ranking.family import Family, Group
from radii.ranking.score import Bools, Ints
from radii.ranking.search import Search, Sizes

_SMALL = 8_000_000  # pairs; below this compiling the kernels takes longer than doing without


@dataclass(frozen=True, eq=False)
class Candidates:
    """Per query the documents that may enter its top k, with their cosines: one flat list, query by query.

    Attributes
    ----------
    offsets : (n_queries + 1,) int64
        Query i owns entries offsets[i] to offsets[i+1].
    rows : (n_entries,) int64
        Document rows, ascending within a query.
    cosines : (n_entries,) float64
        cos(q, d) of the stored values, computed in float64 in a fixed order: the same number whatever
        the block size or the thread count. For an affine family, what it puts in the cosine's place.
    """

    offsets: Ints
    rows: Ints
    cosines: Floats

    def of(self, query: int) -> slice:
        """Where the entries of a query row lie."""
        return slice(int(self.offsets[query]), int(self.offsets[query + 1]))


def find_candidates(
    docs: Embeddings,
    queries: Embeddings,
    families: Sequence[Family],
    k: int,
    gamma_range: tuple[float, float],
    excluded: Ints,
    search: Search | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> list[Candidates]:
    """All documents that rank among the first k for some γ in the range, and few others.

    Parameters
    ----------
    docs, queries : Embeddings
    families : sequence of Family
        The products are shared between them.
    k : int
    gamma_range : (low, high)
    excluded : (n_queries,) int64
        For each query the document row that it must not retrieve, or −1.
    search : Search, optional
        How. By default small problems skip streaming and its compilation; see `streaming` for large ones.
    progress : callable, optional
        Called with (documents seen, of how many); by a small problem at its end only.

    Returns
    -------
    list of Candidates, one per family
    """
    group = Group(queries, families, excluded)
    [found] = find_together(docs, [group], k, gamma_range, search, progress)
    return found


def find_together(
    docs: Embeddings,
    groups: Sequence[Group],
    k: int,
    gamma_range: tuple[float, float],
    search: Search | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> list[list[Candidates]]:
    """`find_candidates` of every group. A large problem reads the documents once for all of them."""
    docs, search = docs.moderate(), search or Search()
    groups = [replace(group, queries=group.queries.moderate()) for group in groups]
    n, m = len(docs), sum(len(group.queries) for group in groups)
    if search.sizes is None and search.backend == "auto" and n * m <= _SMALL:
        found = [_all_exhaustive(docs, group, k, gamma_range) for group in groups]
    elif search.parted:
        from radii.ranking.partition import find_in_parts

        found = find_in_parts(docs, groups, k, gamma_range, search, progress)
    else:
        found = search_all(docs, groups, k, gamma_range, search, progress)
    if progress is not None:
        progress(n, n)
    docs.unchanged()
    for group in groups:
        group.queries.unchanged()
    return found


def search_all(
    docs: Embeddings,
    groups: Sequence[Group],
    k: int,
    gamma_range: tuple[float, float],
    search: Search,
    progress: Callable[[int, int], None] | None = None,
) -> list[list[Candidates]]:
    """`find_together` in one pass over these documents, which are a corpus or a part of one."""
    from radii.ranking.exhaustive import exhaustive
    from radii.ranking.survivors import cosines_of  # imports numba

    stream = streaming(search.backend, len(docs) * sum(len(group.queries) for group in groups))
    streamed = stream(docs, groups, k, gamma_range, search.sizes or Sizes(), progress)
    found = []
    for group, parts in zip(groups, streamed, strict=True):
        some = [Candidates(*own) for own in parts]
        left = [np.flatnonzero(np.diff(one.offsets) == 0) for one in some]
        filled = exhaustive(docs, group, left, k, gamma_range, cosines_of(docs, group.queries))
        found.append([_with(*own) for own in zip(some, left, filled, strict=True)])
    return found


def _all_exhaustive(
    docs: Embeddings, group: Group, k: int, gamma_range: tuple[float, float]
) -> list[Candidates]:
    from radii.ranking.exhaustive import exhaustive

    m = len(group.queries)
    every = [np.arange(m)] * len(group.families)
    none = Candidates(np.zeros(m + 1, dtype=np.int64), np.empty(0, np.int64), np.empty(0))
    filled = exhaustive(docs, group, every, k, gamma_range)
    return [_with(none, rows, parts) for rows, parts in zip(every, filled, strict=True)]


def _with(some: Candidates, left: Ints, parts: list[tuple[Ints, Floats]]) -> Candidates:
    """`some`, with the entries of the queries `left`, which had none, filled in."""
    if not parts:
        return some
    counts = np.diff(some.offsets)
    counts[left] = [len(rows) for rows, _ in parts]
    offsets = np.concatenate(([0], np.cumsum(counts)))
    owner = np.repeat(np.arange(len(counts)), counts)
    new = np.isin(owner, left)
    rows, cosines = np.empty(offsets[-1], dtype=np.int64), np.empty(offsets[-1])
    rows[~new], cosines[~new] = some.rows, some.cosines
    rows[new] = np.concatenate([rows for rows, _ in parts])
    cosines[new] = np.concatenate([values for _, values in parts])
    return Candidates(offsets, rows, cosines)


def reachable(low: Floats, high: Floats, slope: Floats, k: int, nodes: Floats) -> Bools:
    """Which lines can be among the k highest somewhere between the first and the last node.

    Parameters
    ----------
    low, high : (n,) float64
        Bounds of each line's height at γ = 0.
    slope : (n,) float64
    k : int
    nodes : (n_nodes,) float64, ascending
    """
    n = len(low)
    if len(nodes) > 3 and n > 8 * k:
        # Three nodes already rule out most, and every test holds for whatever is left.
        some = np.flatnonzero(reachable(low, high, slope, k, nodes[[0, len(nodes) // 2, -1]]))
        keep = np.zeros(n, dtype=bool)
        left = reachable_together(low[None, some], high[None, some], slope[some], k, nodes)
        keep[some[left[0]]] = True
        return keep
    kept: Bools = reachable_together(low[None], high[None], slope, k, nodes)[0]
    return kept


def reachable_together(low: Floats, high: Floats, slope: Floats, k: int, nodes: Floats) -> Bools:
    """`reachable` for several queries over the same lines: low, high and the result are (n_queries, n).

    A line whose `low` is −inf bounds nothing; at least k of each query do, or there are no more than k lines.
    """
    n = low.shape[1]
    if n <= k:
        return np.ones(low.shape, dtype=bool)
    rise = nodes[:, None] * slope  # (n_nodes, n)
    lower = low[:, None] + rise  # (n_queries, n_nodes, n)
    upper = lower if high is low else high[:, None] + rise
    chosen = np.argpartition(lower, n - k, axis=2)[:, :, n - k :]  # k lines high at each node
    # [q, j, i]: the least at node i of the lines chosen at node j.
    bounds = np.take_along_axis(lower[:, None], chosen[:, :, None], axis=3).min(axis=3)
    bounds -= 1e-12 * (1.0 + np.abs(bounds))  # rounding of the sums
    above = upper >= np.diagonal(bounds, axis1=1, axis2=2)[:, :, None]
    if len(nodes) == 1:
        return np.asarray(above[:, 0])
    from_left = above[:, :-1] | (upper[:, 1:] >= np.diagonal(bounds, 1, 1, 2)[:, :, None])
    from_right = (upper[:, :-1] >= np.diagonal(bounds, -1, 1, 2)[:, :, None]) | above[:, 1:]
    return np.asarray((from_left & from_right).any(axis=1))
