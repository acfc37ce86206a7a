"""Numba kernels on rows of vectors: unit rows to multiply, exact products of pairs.

As in `kernels.py` each is the work of one thread, which releases the interpreter's lock.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from radii.data.half import as_single


@njit(nogil=True, cache=True)  # type: ignore[untyped-decorator]
def unit_rows(rows: Any, norms: Any, order: Any, out: Any) -> None:
    """out[i] = rows[order[i]] / norms[order[i]] in float32: rows (n, dim), out (n, dim)."""
    for i in range(len(order)):
        row, unit, scale = rows[order[i]], out[i], 1.0 / norms[order[i]]
        if 1e-30 < scale < 1e30:
            factor = np.float32(scale)
            for j in range(len(row)):
                unit[j] = np.float32(row[j]) * factor
        else:
            for j in range(len(row)):
                unit[j] = row[j] * scale


@njit(nogil=True, cache=True)  # type: ignore[untyped-decorator]
def unit_rows_of_halves(halves: Any, norms: Any, order: Any, out: Any) -> None:
    """`unit_rows` of half precision, given as uint16."""
    for i in range(len(order)):
        row, unit, scale = halves[order[i]], out[i], 1.0 / norms[order[i]]
        if 1e-30 < scale < 1e30:
            factor = np.float32(scale)
            for j in range(len(row)):
                unit[j] = as_single(row[j]) * factor
        else:
            for j in range(len(row)):
                unit[j] = as_single(row[j]) * scale


@njit(nogil=True, cache=True)  # type: ignore[untyped-decorator]
def quotients(rows: Any, norms: Any, out: Any) -> None:
    """out[i] = rows[i] / norms[i], divided in float64: rows (n, dim), out (n, dim) float32."""
    for i in range(len(rows)):
        row, unit, norm = rows[i], out[i], norms[i]
        for j in range(len(row)):
            unit[j] = np.float32(np.float64(row[j]) / norm)


@njit(nogil=True, cache=True)  # type: ignore[untyped-decorator]
def quotients_of_halves(halves: Any, norms: Any, out: Any) -> None:
    """`quotients` of half precision, given as uint16."""
    for i in range(len(halves)):
        row, unit, norm = halves[i], out[i], norms[i]
        for j in range(len(row)):
            unit[j] = np.float32(np.float64(as_single(row[j])) / norm)


# The compiler may sum in another order than written, so as to use vector registers, but always in the same.
_SUM = {"reassoc", "contract", "nsz"}


@njit(nogil=True, cache=True, fastmath=_SUM)  # type: ignore[untyped-decorator]
def _wide_dot(row: Any, query: Any) -> float:
    """⟨row, query⟩ in float64; `query` is float64."""
    total = 0.0
    for j in range(len(row)):
        total += np.float64(row[j]) * query[j]
    return total


@njit(nogil=True, cache=True)  # type: ignore[untyped-decorator]
def pair_dots(docs: Any, queries: Any, rows: Any, owner: Any, out: Any) -> None:
    """out[i] = ⟨docs[rows[i]], queries[owner[i]]⟩ in float64, always summed in the same order."""
    for i in range(len(rows)):
        out[i] = _wide_dot(docs[rows[i]], queries[owner[i]])
