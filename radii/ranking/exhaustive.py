"""Candidates from float64 cosines with every document: small problems, and queries of few positives.

A query with fewer than k positive cosines ranks zeros and negatives too; the streaming search does not.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from radii.data.embeddings import Embeddings, Floats
from radii.ranking.candidates import Sizes, reachable
from radii.ranking.family import Family
from radii.ranking.score import Ints, Lines

_BLOCK_BYTES = 64 << 20  # of cosines, and of documents kept in float64 where all of them fit

_FEW = 600  # documents: to look for those that cannot rank takes longer than to keep them

Found = list[tuple[Ints, Floats]]


def exhaustive(
    docs: Embeddings,
    queries: Embeddings,
    which: Sequence[Ints],
    families: Sequence[Family],
    k: int,
    gamma_range: tuple[float, float],
    excluded: Ints,
) -> list[Found]:
    """Rows and cosines of the candidates of some queries under each family.

    Parameters
    ----------
    which : one (m,) int64 per family
        Query rows that this family asks for, ascending.
    others
        As in `find_candidates`.
    """
    found: list[Found] = [[] for _ in families]
    nodes = Sizes().between(*gamma_range)
    asked = [set(rows.tolist()) for rows in which]
    if docs.vectors.size * 8 <= _BLOCK_BYTES:
        docs = docs.widened()
    # |computed − true| of a float64 dot product of unit vectors is below dim · 2^-52, with room to spare.
    error = 2.0 * docs.dim * 2.0**-52
    for row, sims in _cosines(docs, queries, np.array(sorted(set().union(*asked)), dtype=np.int64)):
        allowed = np.arange(len(docs))
        if excluded[row] >= 0:
            allowed = np.delete(allowed, excluded[row])
        wanting = [place for place, rows in enumerate(asked) if row in rows]
        enough = np.count_nonzero(sims[allowed] > error) >= k
        kept = {
            place: _possible(families[place], sims, error, row, allowed, k, nodes)
            for place in wanting
            if enough or families[place].additive
        }
        # Exact cosines once for all families; all of them where signs decide.
        rows = allowed if len(kept) < len(wanting) else np.unique(np.concatenate(list(kept.values())))
        exact = _exact(docs, queries, rows, row)
        for place in wanting:
            if place in kept:
                own = kept[place]
            else:
                own = allowed[_beyond_positives(families[place].lines(exact, allowed), k, nodes)]
            cosines = exact[np.searchsorted(rows, own)]
            found[place].append((own, families[place].similarity(cosines, row, own)))
    return found


def _cosines(docs: Embeddings, queries: Embeddings, which: Ints) -> Iterator[tuple[int, Floats]]:
    """(query row, its (n_docs,) cosines to within rounding), block by block."""
    step = max(1, _BLOCK_BYTES // (8 * len(docs)))
    for at in range(0, len(which), step):
        some = which[at : at + step]
        block = np.asarray(queries.vectors[some], dtype=np.float64)
        sims = np.empty((len(some), len(docs)))
        for first, part in docs.blocks():
            here = slice(first, first + len(part))
            sims[:, here] = (block @ part.T) / (queries.norms[some, None] * docs.norms[None, here])
        yield from zip(some.tolist(), sims, strict=True)


def _exact(docs: Embeddings, queries: Embeddings, rows: Ints, query: int) -> Floats:
    """cos(q, d) of one query with some documents: (n_rows,) float64, each summed in the same order."""
    some = np.asarray(docs.vectors[rows], dtype=np.float64)
    one = np.asarray(queries.vectors[query], dtype=np.float64)
    cosines: Floats = np.einsum("ij,ij->i", some, one[None, :]) / (docs.norms[rows] * queries.norms[query])
    return cosines


def _possible(
    family: Family, sims: Floats, error: float, query: int, allowed: Ints, k: int, nodes: Floats
) -> Ints:
    """Rows that can reach the top k, where every score is a line of its own class, and perhaps more."""
    if family.additive and len(allowed) <= _FEW:
        return allowed
    if family.additive:
        some = family.similarity(sims[allowed], query, allowed)
        if family.affine is not None:
            error, nodes = error * 4.0 * family.affine.bound, nodes[:1]  # the same at every node
        return allowed[reachable(some - error, some + error, family.slope[allowed], k, nodes)]
    rows = allowed[sims[allowed] > -error]
    if len(allowed) <= _FEW:
        return rows
    low = np.log(np.maximum(sims[rows] - error, 1e-300))
    high = np.log(sims[rows] + 2 * error)  # twice: never log of zero
    if family.base is not None:
        low, high = low + family.base[rows], high + family.base[rows]
    return rows[reachable(low, high, family.slope[rows], k, nodes)]


def _beyond_positives(lines: Lines, k: int, nodes: Floats) -> Ints:
    """Candidates when fewer than k cosines are positive: zeros and negatives fill up."""
    positive, zero, negative = (np.flatnonzero(lines.group == sign) for sign in (1, 0, -1))
    keep = [positive, zero[: max(0, k - len(positive))]]
    missing = k - len(positive) - len(zero)
    if missing > 0 and negative.size:
        height, slope = lines.height[negative], lines.slope[negative]
        keep.append(negative[reachable(height, height, slope, missing, nodes)])
    return np.sort(np.concatenate(keep))
