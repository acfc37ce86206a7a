"""Arithmetic on the rows of stored vectors, in float64, some that fit a processor's cache at a time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from radii.data.processors import cuts, share_out

Vectors = npt.NDArray[Any]  # (n, dim), any float dtype, possibly a memory map
Floats = npt.NDArray[np.float64]

# A block of this many bytes stays in the processor's own cache: twice as fast for sums that read it once.
_CACHED_BYTES = 1 << 20
_COMPILED = 1 << 26  # halves; more than this are widened by a kernel, whose import takes as long as these


def row_norms(vectors: Vectors) -> Floats:
    """‖d‖ = sqrt(Σ_i d_i²) of every row of an (n, dim) array: (n,) float64.

    Squares are summed in float64, so half precision cannot overflow; rows whose squares leave the range
    of float64 are scaled by a power of two first. NaN stays NaN, and a row with an infinity is inf.

    >>> row_norms(np.array([[600, 800]], dtype=np.float16))
    array([1000.])
    """
    norms, wide = np.empty(len(vectors)), widening(vectors)

    def fill(some: slice) -> None:
        with np.errstate(invalid="ignore"):  # a signalling NaN is told from its norm
            norms[some] = _norms(wide(vectors[some]))

    list(share_out(fill, cached(vectors), vectors.size))
    return norms


def cached(vectors: Vectors) -> list[slice]:
    """Cuts of the rows that fit a processor's own cache in float64."""
    return cuts(len(vectors), max(1, _CACHED_BYTES // (8 * vectors.shape[1])))


def _norms(block: Floats) -> Floats:
    """‖d‖ of rows that are float64 already."""
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        squares = np.einsum("ij,ij->i", block, block)
        norms: Floats = np.sqrt(squares)
        # Squares below the smallest normal number have lost digits, above the largest are inf.
        odd = np.flatnonzero((squares < 1e-290) | np.isinf(squares))
        if odd.size:
            largest = np.abs(block[odd]).max(axis=1)
            usable = (largest > 0) & np.isfinite(largest)
            powers = np.frexp(largest[usable])[1]  # of two: scaling rounds nothing
            scaled = np.ldexp(block[odd[usable]], -powers[:, None])
            norms[odd[usable]] = np.ldexp(np.sqrt(np.einsum("ij,ij->i", scaled, scaled)), powers)
    return norms


def _compiled(vectors: Vectors) -> bool:
    """Whether they are halves, and so many that a kernel is worth its import."""
    return bool(vectors.dtype == np.float16 and vectors.size > _COMPILED)


def widening(vectors: Vectors) -> Callable[[Vectors], Floats]:
    """What turns blocks of these (n, dim) vectors into C-contiguous float64, exactly."""
    if not _compiled(vectors):
        return lambda block: np.asarray(block, dtype=np.float64, order="C")
    from radii.data.half import widen  # imports numba

    def wide(block: Vectors) -> Floats:
        out = np.empty(block.shape)
        widen(np.asarray(block).view(np.uint16), out)
        return out

    return wide


def dividing(vectors: Vectors) -> Callable[[Vectors, Floats], Floats]:
    """What makes unit rows in float64 of blocks of these (n, dim) vectors and their norms."""
    if not _compiled(vectors):
        return lambda block, norms: np.asarray(block) / norms[:, None]
    from radii.data.half import divide  # imports numba

    def made(block: Vectors, norms: Floats) -> Floats:
        out = np.empty(block.shape)
        divide(np.asarray(block).view(np.uint16), norms, out)
        return out

    return made
