"""Hubness: how often a document is among the nearest of a query, and how unequally that is shared out.

Throughout N is the (n_docs,) k-occurrence and N̄ = n_queries · k / n_docs its mean: what each document would
have if all were retrieved equally often. Where the queries are the documents N̄ = k.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from radii.data.embeddings import Floats
from radii.errors import InputError, shown
from radii.ranking.score import Ints


def k_occurrence(top: npt.ArrayLike, n_docs: int) -> Floats:
    """In how many queries' first k every document is: (n_docs,) float64, summing to n_queries · k.

    N(d) = |{q : d in top(q)}|. As a multiplier of a score take 1 + N: most documents may have N = 0.

    Parameters
    ----------
    top : (n_queries, k) integers
        Rows of the k nearest documents of each query; a query that is itself a document left out of its own
        list.
    n_docs : int
        Documents in the corpus.

    Raises
    ------
    InputError
        On anything but a filled 2-D integer array, a row outside the corpus (also −1, where an approximate
        index found fewer than k), a document twice in one list.

    Source: Radovanović, Nanopoulos and Ivanović (2010), Hubs in space, JMLR 11:2487-2531.

    >>> k_occurrence([[0, 1], [0, 2], [0, 1]], n_docs=4)
    array([3., 2., 1., 0.])
    """
    lists = _checked(np.asarray(top), n_docs)
    return np.bincount(lists.ravel(), minlength=n_docs).astype(np.float64)


def skewness(counts: Floats) -> float:
    """Skewness of the k-occurrence: mean((N − N̄)³) / sd³, biased; 0 where all counts are equal.

    Right-skewed, far above 0: a few hubs, many documents that are seldom retrieved. Equal counts are the
    opposite of that; their third moment is 0, and so is their skewness by definition here.

    Source: as for `k_occurrence`.

    >>> round(skewness(np.array([3.0, 2.0, 1.0, 0.0, 9.0])), 3)
    1.138
    """
    if np.ptp(counts) == 0:
        return 0.0
    apart = counts - counts.mean()
    return float((apart**3).mean() / (apart**2).mean() ** 1.5)


def robin_hood(counts: Floats) -> float:
    """Robin Hood (Hoover) index: ½ Σ |N − N̄| / Σ N, in [0, 1).

    The share of all places in the lists that would have to change hands for equal k-occurrence.

    Raises InputError when nothing was retrieved.

    Source: Feldbauer, Leodolter, Plant and Flexer (2018), Fast approximate hubness reduction for large
    high-dimensional data, IEEE ICBK.

    >>> robin_hood(np.array([3.0, 2.0, 1.0, 0.0]))
    0.3333333333333333
    """
    total = counts.sum()
    if not total > 0:
        raise InputError(
            f"{len(counts)} counts that sum to {total:g}",
            where="k-occurrence",
            cause="no query retrieved anything",
            fix="count over at least one query",
        )
    return float(0.5 * np.abs(counts - counts.mean()).sum() / total)


def hubs(counts: Floats) -> int:
    """How many documents are hubs: N > 2 N̄, which is N > 2k where the queries are the documents.

    Source: scikit-hubness, Feldbauer, Rattei and Flexer (2020), doi:10.21105/joss.01957. Its code (and that
    of its successor kiez) counts N ≥ 2k where its documentation says N > 2k; radii does as documented.

    >>> hubs(np.array([5.0, 1.0, 0.0, 2.0]))
    1
    """
    return int((counts * len(counts) > 2 * counts.sum()).sum())


def antihubs(counts: Floats) -> int:
    """How many documents no query retrieves: N = 0.

    Source: as for `k_occurrence`.

    >>> antihubs(np.array([5.0, 1.0, 0.0, 2.0]))
    1
    """
    return int((counts == 0).sum())


@dataclass(frozen=True)
class Hubness:
    """How unequally the documents of a corpus are retrieved; each by the function of its name.

    Attributes
    ----------
    skewness, robin_hood : float
    hubs, antihubs : int
        Documents.
    expected, largest : float
        N̄ and the k-occurrence of the largest hub.
    """

    skewness: float
    robin_hood: float
    hubs: int
    antihubs: int
    expected: float
    largest: float


def summarise(counts: Floats) -> Hubness:
    """All measures of an (n_docs,) k-occurrence; raises as `robin_hood` does.

    >>> summarise(np.array([5.0, 1.0, 0.0, 2.0])).largest
    5.0
    """
    return Hubness(
        skewness=skewness(counts),
        robin_hood=robin_hood(counts),
        hubs=hubs(counts),
        antihubs=antihubs(counts),
        expected=float(counts.mean()),
        largest=float(counts.max()),
    )


def _checked(top: npt.NDArray[np.generic], n_docs: int) -> Ints:
    """Neighbour lists as int64, once they are what `k_occurrence` asks for."""
    if top.ndim != 2 or top.dtype.kind not in "iu" or top.size == 0:
        raise InputError(
            f"an array of shape {top.shape} and dtype {top.dtype}",
            where="neighbour lists",
            cause="scores given for rows, or a single list",
            fix="give integers of shape (n_queries, k)",
        )
    lists = top.astype(np.int64)
    outside = (lists < 0) | (lists >= n_docs)
    if outside.any():
        queries = np.flatnonzero(outside.any(axis=1)).tolist()
        raise InputError(
            f"rows outside 0 … {n_docs - 1} for queries {shown(queries)}",
            where="neighbour lists",
            cause="an approximate index that found fewer than k, or another corpus",
            fix="give k documents of this corpus for every query",
        )
    ordered = np.sort(lists, axis=1)
    twice = np.flatnonzero((ordered[:, 1:] == ordered[:, :-1]).any(axis=1)).tolist()
    if twice:
        raise InputError(
            f"a document twice in the lists of queries {shown(twice)}",
            where="neighbour lists",
            cause="merged lists of several shards",
            fix="remove repeats before cutting at k",
        )
    return lists
