"""The radial chain: the stationary law of a norm whose single steps are not small.

The closed form of `radii.stationary_norm` treats R as constant. Where one step changes R a lot (sparse
updates, strong damping) the one-dimensional recursion

    R²⁺ = (1−α)² R² + 2 (1−α) η d R^(1−p) + η² s R^(−2p)

is run instead, with (d, s) = (⟨ẑ, u⟩, ‖u‖²) resampled from measured steps.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from radii.data.embeddings import Floats
from radii.dynamics.checks import check_step, finite, require
from radii.dynamics.stationary import relaxation_time, stationary_norm
from radii.errors import InputError, NumericalError

LEAST_STEPS = 30  # a law resampled from fewer is the law of chance
_BURN, _LENGTH = 12, 60  # in relaxation times
_LEAST, _MOST = 4096, 400_000  # steps of one chain
_TOUCHES = 400  # steps that move an item, in one chain
_KEPT = 512  # norms kept of every chain, for the quantiles


@dataclass(frozen=True, eq=False)
class RadialLaw:
    """Stationary distribution of the norm of every item.

    Attributes
    ----------
    mean, mean_square : (n_items,) float64
        E R and E R².
    standard_error : (n_items,) float64
        Of `mean`, by Monte Carlo: from the spread between independent chains. It does not hold the error of
        the samples themselves.
    levels : (n_levels,) float64
    quantiles : (n_levels, n_items) float64
        Of R.
    chains : int
    steps : (n_items,) int64
        Steps of one chain after burn-in.
    """

    mean: Floats
    mean_square: Floats
    standard_error: Floats
    levels: Floats
    quantiles: Floats
    chains: int
    steps: npt.NDArray[np.int64]


def radial_chain(
    *,
    eta: npt.ArrayLike,
    alpha: npt.ArrayLike,
    drift_samples: npt.ArrayLike,
    square_samples: npt.ArrayLike,
    power: float = 1,
    seed: int = 0,
    chains: int = 8,
    levels: Sequence[float] = (0.05, 0.25, 0.5, 0.75, 0.95),
) -> RadialLaw:
    """Stationary law of R under R²⁺ = (1−α)²R² + 2(1−α)ηd R^(1−p) + η²s R^(−2p), (d, s) drawn from samples.

    Parameters
    ----------
    eta, alpha : scalar or (n_items,) array
        Learning rate η > 0 and damping α in [0, 1).
    drift_samples, square_samples : (n_steps, n_items) array
        d = ⟨ẑ, u⟩ and s = ‖u‖² of each measured step, zeros where a step did not move the item. Drawn
        together, independently from step to step.
    power : float
        p in [0, 1], as in `radii.stationary_norm`.
    seed : int
        The same seed gives the same law, item by item, whatever the other items are.
    chains : int
        Independent walks of an item, at least 2.
    levels : sequence of float
        Of the quantiles, between 0 and 1.

    Raises
    ------
    InputError
        On what `radii.stationary_norm` refuses, fewer than 30 steps, s < d² (no displacement has that), items
        without an equilibrium above 0, and items moved in a share q ≤ 1 − (1−α)^p of the steps, whose norm
        has no mean: it decays between moves, and the longer it does the further the next move throws it.
    NumericalError
        When a walk reaches 0 or infinity.
    """
    d, s = finite("drift_samples", drift_samples), finite("square_samples", square_samples)
    if d.ndim != 2 or d.shape != s.shape:
        found = f"shapes {d.shape} and {s.shape}"
        raise InputError(
            found, where="drift_samples, square_samples", fix="give two (n_steps, n_items) arrays"
        )
    if len(d) < LEAST_STEPS:
        raise InputError(
            f"{len(d)} steps", where="drift_samples", fix=f"measure at least {LEAST_STEPS} steps of training"
        )
    require("square_samples", s, s >= d * d * (1 - 1e-6) - 1e-300, "give s = ‖u‖², at least d² = ⟨ẑ, u⟩²")
    if chains < 2:
        raise InputError(f"{chains}", where="chains", fix="give 2 or more, to know the standard error")
    at = finite("levels", levels)
    require("levels", at, (at >= 0) & (at <= 1), "give quantile levels between 0 and 1")
    rates, dampings = (_per_item(name, v, d.shape[1]) for name, v in (("eta", eta), ("alpha", alpha)))
    check_step(rates, dampings, power)
    return _walk(rates, dampings, d, s, power, seed, chains, at)


def _walk(
    eta: Floats, alpha: Floats, d: Floats, s: Floats, power: float, seed: int, chains: int, levels: Floats
) -> RadialLaw:
    from radii.dynamics.kernels import walk_radii

    moments = {"eta": eta, "alpha": alpha, "drift": d.mean(axis=0), "second_moment": s.mean(axis=0)}
    start = stationary_norm(**moments, power=power)
    moved = (s > 0).mean(axis=0)
    require(
        "samples", start, np.isfinite(start) & (start > 0), "leave out items without an equilibrium above 0"
    )
    # Between moves R falls like (1−α)^n and the next move takes it to R^(−p): the mean over gaps n diverges.
    require(
        "share of steps that move an item",
        moved,
        moved > 1 - (1 - alpha) ** power,
        "leave out items that decay faster than they are moved: E R is infinite",
    )
    # Rarely moved items need time for many moves, whatever their relaxation.
    length = np.maximum(_LENGTH * relaxation_time(**moments, power=power), _TOUCHES / moved)
    steps = np.clip(length, _LEAST, _MOST).astype(np.int64)
    every = -(-steps // _KEPT)
    n = d.shape[1]
    sums, quantiles = np.empty((n, chains, 2)), np.empty((len(levels), n))
    kept = np.empty((chains, _KEPT))
    for item in range(n):
        columns = np.ascontiguousarray(d[:, item]), np.ascontiguousarray(s[:, item])
        # By the item's own samples and not its place, so that dropping other items changes nothing.
        key = np.random.SeedSequence([seed, *np.frombuffer(columns[1][:8].tobytes(), dtype=np.uint32)])
        fine = walk_radii(
            float(eta[item]),
            float(alpha[item]),
            *columns,
            float(power),
            float(start[item]),
            key.generate_state(1, np.uint64)[0],
            int(steps[item] * _BURN // _LENGTH),
            int(every[item]),
            sums[item],
            kept,
        )
        if not fine:
            raise NumericalError(
                f"the radial chain of item {item} left the positive numbers: a step undid the norm"
            )
        quantiles[:, item] = np.quantile(kept, levels)
    spread = sums[:, :, 0].std(axis=1, ddof=1) / np.sqrt(chains)
    return RadialLaw(
        mean=sums[:, :, 0].mean(axis=1),
        mean_square=sums[:, :, 1].mean(axis=1),
        standard_error=spread,
        levels=levels,
        quantiles=quantiles,
        chains=chains,
        steps=every * _KEPT,
    )


def _per_item(name: str, values: npt.ArrayLike, n: int) -> Floats:
    array = finite(name, values)
    if array.shape not in ((), (1,), (n,)):
        raise InputError(
            f"shape {array.shape} for {n} items", where=name, fix="give one number, or one per item"
        )
    return np.broadcast_to(array, (n,))
