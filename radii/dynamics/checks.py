"""Checks at the door of the dynamics: numbers that are finite and lie where the equation makes sense."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from radii.data.embeddings import Floats
from radii.errors import InputError


def check_step(eta: Floats, alpha: Floats, power: float) -> None:
    """Raise InputError unless η > 0, α in [0, 1) and p in [0, 1]."""
    require("eta", eta, eta > 0, "give a learning rate above 0")
    require("alpha", alpha, (alpha >= 0) & (alpha < 1), "give a damping in [0, 1): ηλ for an embedding table")
    if not 0 <= power <= 1:
        raise InputError(f"{power:g}", where="power", fix="give p in [0, 1]: 1 plain gradients, 0 normalised")


def finite(name: str, values: npt.ArrayLike) -> Floats:
    """`values` as a float64 array; InputError with their `name` where they are no finite numbers."""
    try:
        array = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"{values!r:.60}", where=name, fix="give numbers") from error
    require(name, array, np.isfinite(array), "give finite numbers")
    return array


def require(name: str, array: Floats, good: npt.NDArray[np.bool_], fix: str) -> None:
    """Raise InputError with the first entry of `array` that is not `good`."""
    if not np.all(good):
        bad = np.flatnonzero(~np.atleast_1d(good))
        found = f"{np.atleast_1d(array).flat[bad[0]]:g}"
        raise InputError(found if array.ndim == 0 else f"{found} at position {bad[0]}", where=name, fix=fix)
