"""Numba kernels of an export. Plain arrays in, plain arrays out; compiled on first use and cached on disk."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit


@njit(nogil=True, cache=True)  # type: ignore[untyped-decorator]
def scale_to_half(rows: Any, factor: Any, shift: Any, bits: Any) -> None:
    """bits[i, j] = the float16 nearest to rows[i, j] · factor[i] − shift[j], ties to even.

    `rows` (n, dim), `factor` (n,) and `shift` (dim,) are float32, `bits` (n, dim) uint16. Numpy rounds alike,
    at a tenth of the speed. Three cases by size: a float16 below its normal range is what adding ½ leaves in
    the last bits of a float32; in range, 13 bits of the fraction go and the exponent is re-based; above,
    infinity or NaN.
    """
    for i in range(len(rows)):
        row, scale, out = rows[i], factor[i], bits[i]
        for j in range(len(row)):
            value = np.float32(np.float32(row[j] * scale) - shift[j])
            whole = value.view(np.int32)
            size = np.int32(whole & 0x7FFFFFFF)
            tiny = np.int32(np.float32(abs(value) + np.float32(0.5)).view(np.int32) - 0x3F000000)
            usual = np.int32((size - 0x37FFF001 + ((size >> 13) & 1)) >> 13)
            huge = np.int32(0x7E00) if size > 0x7F800000 else np.int32(0x7C00)
            half = tiny if size < 0x38800000 else (usual if size < 0x47800000 else huge)
            out[j] = np.uint16(half | ((whole >> 16) & 0x8000))
