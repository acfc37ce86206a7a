"""Unit rows in float32, divided in float64: what a cosine to within single precision is made of."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from radii.data.embeddings import Embeddings

Single = npt.NDArray[np.float32]


def directions(some: Embeddings, at: Any, out: Single | None = None) -> Single:
    """x / ‖x‖ of some rows, each rounded once: (n_rows, dim) float32, into `out` where it is given.

    Parameters
    ----------
    some : Embeddings
    at : slice or (n_rows,) int64
    """
    from radii.ranking import row_kernels as kernels  # imports numba

    rows = np.asarray(some.vectors[at])
    unit = np.empty(rows.shape, dtype=np.float32) if out is None else out
    if rows.dtype == np.float16:
        kernels.quotients_of_halves(rows.view(np.uint16), some.norms[at], unit)
    else:
        kernels.quotients(rows, some.norms[at], unit)
    return unit
