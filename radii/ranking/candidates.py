"""Which documents can reach a query's top k at some γ of a range: all the path ever needs to look at.

The k-th best score as a function of γ is bounded from below by the lowest of any k lines, a concave
function; a document's line minus a concave function is convex, so on an interval it is positive somewhere
only if it is positive at an end. Two tests per interval, at its two ends, therefore rule out almost every
document without missing one (THEORY.md, section 6).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from radii.data.embeddings import Embeddings, Floats
from radii.ranking.family import Family
from radii.ranking.score import Bools, Ints, Lines

_SMALL = 8_000_000  # pairs; below this compiling the kernels takes longer than doing without
_BLOCK_BYTES = 64 << 20


@dataclass(frozen=True)
class Sizes:
    """How the search for candidates is cut. No result depends on it.

    Attributes
    ----------
    block, queries : int
        Documents and queries per matrix product.
    first : int
        Documents in the first block; at least twice k are taken.
    segments : int
        Groups of documents with similar log r, each with its own threshold.
    nodes : int
        Exponents at which bounds are taken: more prune harder and cost more.
    threads : int
        0 for all processors that this process may use.
    """

    block: int = 8192
    queries: int = 1024
    first: int = 256
    segments: int = 32
    nodes: int = 9
    threads: int = 0

    def between(self, low: float, high: float) -> Floats:
        """The nodes of a γ range: its two ends at least, or its one point."""
        return np.linspace(low, high, max(2, self.nodes)) if low < high else np.array([low])


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
        the block size or the thread count.
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
    sizes: Sizes | None = None,
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
    sizes : Sizes, optional
        Stream with these sizes. By default small problems skip streaming, and its compilation.

    Returns
    -------
    list of Candidates, one per family
    """
    if sizes is None and len(docs) * len(queries) <= _SMALL:
        nothing = np.zeros(len(queries) + 1, dtype=np.int64), np.empty(0, np.int64), np.empty(0)
        streamed = [nothing] * len(families)
    else:
        from radii.ranking.streaming import stream  # imports numba

        streamed = stream(docs, queries, families, k, gamma_range, excluded, sizes or Sizes())
    found = []
    for family, (offsets, rows, cosines) in zip(families, streamed, strict=True):
        some = Candidates(offsets, rows, cosines)
        left = np.flatnonzero(np.diff(offsets) == 0)
        found.append(_with(some, left, _exhaustive(docs, queries, left, family, k, gamma_range, excluded)))
    return found


def pair_cosines(docs: Embeddings, queries: Embeddings, rows: Ints, query: int) -> Floats:
    """cos(q, d) of one query with some documents: (n_rows,) float64, each summed in the same order."""
    some = np.asarray(docs.vectors[rows], dtype=np.float64)
    one = np.asarray(queries.vectors[query], dtype=np.float64)
    cosines: Floats = np.einsum("ij,ij->i", some, one[None, :]) / (docs.norms[rows] * queries.norms[query])
    return cosines


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


def _exhaustive(
    docs: Embeddings,
    queries: Embeddings,
    which: Ints,
    family: Family,
    k: int,
    gamma_range: tuple[float, float],
    excluded: Ints,
) -> list[tuple[Ints, Floats]]:
    """Rows and cosines of candidates of the query rows `which`, from float64 cosines with every document.

    For small problems, and for queries with fewer than k positive cosines, whose zeros and negatives count.
    """
    n = len(docs)
    nodes = Sizes().between(*gamma_range)
    slope, base = family.slope, np.zeros(n) if family.base is None else family.base
    # |computed − true| of a float64 dot product of unit vectors is below dim · 2^-52, with room to spare.
    error = 2.0 * docs.dim * 2.0**-52
    found = []
    for at in range(0, len(which), max(1, _BLOCK_BYTES // (8 * n))):
        some = which[at : at + max(1, _BLOCK_BYTES // (8 * n))]
        block = np.asarray(queries.vectors[some], dtype=np.float64)
        sims = np.empty((len(some), n))
        for first, part in docs.blocks():
            here = slice(first, first + len(part))
            sims[:, here] = (block @ part.T) / (queries.norms[some, None] * docs.norms[None, here])
        for row, sim in zip(some, sims, strict=True):
            skip = excluded[row]
            allowed = np.arange(n) if skip < 0 else np.delete(np.arange(n), skip)
            if family.additive:
                kept = allowed[
                    reachable(sim[allowed] - error, sim[allowed] + error, slope[allowed], k, nodes)
                ]
                found.append((kept, pair_cosines(docs, queries, kept, int(row))))
            elif (sim[allowed] > error).sum() >= k:
                possible = allowed[sim[allowed] > -error]
                bottom = np.log(np.maximum(sim[possible] - error, 1e-300)) + base[possible]
                top = np.log(sim[possible] + 2 * error) + base[possible]  # twice: never log of zero
                kept = possible[reachable(bottom, top, slope[possible], k, nodes)]
                found.append((kept, pair_cosines(docs, queries, kept, int(row))))
            else:
                exact = pair_cosines(docs, queries, allowed, int(row))
                kept = _beyond_positives(family.lines(exact, allowed), k, nodes)
                found.append((allowed[kept], exact[kept]))
    return found


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
    if n <= k:
        return np.ones(n, dtype=bool)
    upper = high + nodes[:, None] * slope  # (n_nodes, n)
    upper += 1e-12 * (1.0 + np.abs(upper))  # rounding of the sum itself
    lower = low + nodes[:, None] * slope
    chosen = np.argpartition(lower, n - k, axis=1)[:, n - k :]  # (n_nodes, k): k lines high at each node
    bounds = [lower[:, lines].min(axis=1) for lines in chosen]  # bounds[j][i]: bound from node j, at node i
    keep: Bools = upper[0] >= bounds[0][0]
    for j in range(len(nodes) - 1):
        from_left = (upper[j] >= bounds[j][j]) | (upper[j + 1] >= bounds[j][j + 1])
        from_right = (upper[j] >= bounds[j + 1][j]) | (upper[j + 1] >= bounds[j + 1][j + 1])
        keep |= from_left & from_right
    return keep


def _beyond_positives(lines: Lines, k: int, nodes: Floats) -> Ints:
    """Candidates when fewer than k cosines are positive: zeros and negatives fill up."""
    positive, zero, negative = (np.flatnonzero(lines.group == sign) for sign in (1, 0, -1))
    keep = [positive, zero[: max(0, k - len(positive))]]
    missing = k - len(positive) - len(zero)
    if missing > 0 and negative.size:
        height, slope = lines.height[negative], lines.slope[negative]
        keep.append(negative[reachable(height, height, slope, missing, nodes)])
    return np.sort(np.concatenate(keep))
