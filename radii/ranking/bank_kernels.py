"""Numba kernels of the bank of queries: the nearest queries of a document, the first documents of a query.

As in `kernels.py` each is the work of one thread, which releases the interpreter's lock.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from radii.ranking.kernels import CHUNK

_LOOKS = 30  # halvings of an interval of cosines, after which ties are all that is left in it


@njit(nogil=True, cache=True)  # type: ignore[untyped-decorator]
def _reaching(values: Any, level: Any) -> Any:
    """How many values reach a level."""
    reached = np.int32(0)
    for i in range(len(values)):
        reached += np.int32(values[i] >= level)
    return reached


@njit(nogil=True, cache=True)  # type: ignore[untyped-decorator]
def _near(values: Any, fewest: int, most: int, level: Any) -> Any:
    """A level in [−1.5, 1.5] that at least `fewest` values reach and, but for ties, `most`; from a guess."""
    low, high = np.float32(-1.5), np.float32(1.5)  # cosines that are rounded, and then some
    for _ in range(_LOOKS):
        reached = _reaching(values, level)
        if reached < fewest:
            high = level
        else:
            low = level
            if reached <= most:
                return level
        # Neighbours in a file resemble each other: look near the last row's level first.
        level = np.float32(0.5) * (max(low, level - np.float32(0.1)) + min(high, level + np.float32(0.1)))
    return low


@njit(nogil=True, cache=True)  # type: ignore[untyped-decorator]
def nearest_queries(cosines: Any, fold: Any, k: int, near: Any, last: Any) -> None:
    """The mean and the least of every document's k largest cosines with the queries of all folds but one.

    Parameters
    ----------
    cosines : (n_rows, n_queries) float32
    fold : (n_queries,) int64
        Of each query.
    near, last : (n_folds, n_rows) float64 and float32
        Filled; 0 and infinity where no other fold has a query, of all there are where these are fewer than k.
    """
    m, n_folds = cosines.shape[1], len(near)
    others = np.full(n_folds, m)
    for q in range(m):
        others[fold[q]] -= 1
    values, owner = np.empty(m, np.float32), np.empty(m, np.int64)
    level = np.float32(0.0)
    for i in range(len(cosines)):
        row = cosines[i]
        wanted = min(2 * k, m)
        while True:
            # The largest of all queries, in descending order: enough that k are of other folds, whichever.
            level = _near(row, wanted, 2 * wanted, level) if wanted < m else np.float32(-np.inf)
            n = 0
            for q in range(m):
                if row[q] >= level:
                    at = n
                    while at > 0 and values[at - 1] < row[q]:
                        values[at], owner[at] = values[at - 1], owner[at - 1]
                        at -= 1
                    values[at], owner[at] = row[q], fold[q]
                    n += 1
            enough = True
            for f in range(n_folds):
                total, taken = 0.0, 0
                least = np.float32(np.inf)
                for j in range(n):
                    if owner[j] != f:
                        total += values[j]
                        least = values[j]
                        taken += 1
                        if taken == k:
                            break
                enough = enough and taken == min(k, others[f])
                near[f, i] = total / max(taken, 1)
                last[f, i] = least
            if enough:
                break
            wanted = min(2 * wanted, m)
        if wanted == m:
            level = np.float32(0.0)


# The compiler may sum in another order than written, so as to use vector registers, but always in the same.
@njit(nogil=True, cache=True, fastmath={"reassoc", "nsz"})  # type: ignore[untyped-decorator]
def fold_sums(terms: Any, cuts: Any, sums: Any) -> None:
    """sums[i, f] = Σ terms[i, q] over the queries of fold f, in float64.

    terms (n_rows, n_queries) float32, fold by fold; cuts (n_folds + 1,) where these begin.
    """
    for i in range(len(terms)):
        for f in range(len(cuts) - 1):
            total = 0.0
            part = terms[i, cuts[f] : cuts[f + 1]]
            for q in range(len(part)):
                total += np.float64(part[q])
            sums[i, f] = total


@njit(nogil=True, cache=True)  # type: ignore[untyped-decorator]
def _insert(ascending: Any, value: Any) -> int:
    """Put a value larger than the first into an ascending array, in the first's stead; where it went."""
    at = 0
    while at + 1 < len(ascending) and ascending[at + 1] < value:
        ascending[at] = ascending[at + 1]
        at += 1
    ascending[at] = value
    return at


@njit(nogil=True, cache=True)  # type: ignore[untyped-decorator]
def nearest_documents(cosines: Any, first_row: int, best: Any, rows: Any) -> None:
    """Raise the k best documents of every query by those of a block; of equal ones the earlier row stays.

    Parameters
    ----------
    cosines : (n_rows, n_queries) float32
        Documents `first_row`, `first_row` + 1 ...
    best, rows : (n_queries, k) float32 and int64
        Ascending by cosine, and among equals by descending row.
    """
    least = best[:, 0].copy()
    for i in range(len(cosines)):
        line = cosines[i]
        for first in range(0, len(line), CHUNK):
            last = min(first + CHUNK, len(line))
            reached = np.int32(0)
            for q in range(first, last):
                reached += np.int32(line[q] > least[q])
            if reached:
                for q in range(first, last):
                    if line[q] > least[q]:
                        at = _insert(best[q], line[q])
                        for j in range(at):
                            rows[q, j] = rows[q, j + 1]
                        rows[q, at] = first_row + i
                        least[q] = best[q, 0]
