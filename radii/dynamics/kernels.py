"""Numba kernel of the radial chain. Plain arrays in, plain arrays out; every check happens before."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_MIX1, _MIX2 = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
_S11, _S27, _S30, _S31 = np.uint64(11), np.uint64(27), np.uint64(30), np.uint64(31)
_UNIT = 2.0**-53


@njit(nogil=True, cache=True, inline="always")  # type: ignore[untyped-decorator]
def _uniform(state: Any) -> Any:
    """A number in [0, 1) from a counter: splitmix64, so that no draw depends on threads or on other items."""
    z = state
    z = (z ^ (z >> _S30)) * _MIX1
    z = (z ^ (z >> _S27)) * _MIX2
    z = z ^ (z >> _S31)
    return np.float64(z >> _S11) * _UNIT


@njit(nogil=True, cache=True)  # type: ignore[untyped-decorator]
def walk_radii(
    eta: float,
    alpha: float,
    drifts: Any,
    squares: Any,
    power: float,
    start: float,
    seed: Any,
    burn: int,
    every: int,
    sums: Any,
    kept: Any,
) -> bool:
    """Walk R² of one item in len(sums) chains; False when R reached 0 or left the numbers.

    drifts, squares (n_steps,) are d and s; sums (n_chains, 2) receives the means of R and R² after `burn`
    steps; kept (n_chains, n_kept) receives every `every`-th R after that, which sets the length.
    """
    n, length = len(drifts), kept.shape[1] * every
    state = seed
    for chain in range(len(sums)):
        square, total, total2 = start * start, 0.0, 0.0
        for t in range(burn + length):
            state += _GOLDEN
            row = int(_uniform(state) * n)
            radius = np.sqrt(square)
            if power == 1.0:
                push = eta / radius
            elif power == 0.0:
                push = eta
            else:
                push = eta * radius**-power
            # ‖(1−α) z + push u‖², as outward part squared plus what is sideways: never negative.
            outward = (1.0 - alpha) * radius + push * drifts[row]
            sideways = push * push * max(squares[row] - drifts[row] * drifts[row], 0.0)
            square = outward * outward + sideways
            if not 0.0 < square < np.inf:
                return False
            if t >= burn:
                after = np.sqrt(square)
                total += after
                total2 += square
                if (t - burn + 1) % every == 0:
                    kept[chain, (t - burn) // every] = after
        sums[chain, 0] = total / length
        sums[chain, 1] = total2 / length
    return True
