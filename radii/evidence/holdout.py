"""Choosing γ on some queries and judging it on the others, many times over."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from radii.data.embeddings import Floats
from radii.errors import InputError
from radii.evidence.intervals import Estimate, estimate
from radii.ranking.steps import Curves

_GRID = 401


@dataclass(frozen=True)
class Protocol:
    """How evidence is made. Recorded in every report.

    Attributes
    ----------
    folds, repeats : int
        The queries are dealt into `folds` parts, `repeats` times; each part is judged by the exponent
        chosen on the others.
    resamples : int
        Sign flips.
    level : float
        Of the intervals.
    """

    folds: int = 5
    repeats: int = 10
    resamples: int = 9999
    level: float = 0.95

    def __post_init__(self) -> None:
        if self.folds < 2 or self.repeats < 1 or self.resamples < 99 or not 0.5 <= self.level < 1:
            raise InputError(f"{self}", fix="folds ≥ 2, repeats ≥ 1, resamples ≥ 99, 0.5 ≤ level < 1")


@dataclass(frozen=True, eq=False)
class HeldOut:
    """What tuning γ brings to queries that had no say in it.

    Attributes
    ----------
    gamma : float
        Chosen on all queries, by the same rule: the one to use.
    chosen : (repeats, folds) float64
        Chosen on each training part.
    gains : (n_queries,) float64
        Each query's gain over cosine under the exponents chosen without it, averaged over repeats.
    estimate : Estimate
        Of the mean gain.
    which : int
        The path chosen on all queries, where there are several.
    """

    gamma: float
    chosen: Floats
    gains: Floats
    estimate: Estimate
    which: int = 0


def choose(curves: Curves, low: float, high: float) -> float:
    """The exponent of [low, high] whose neighbourhood is best on average: argmax of the smoothed mean path.

    smoothed(γ) = mean of the path over [γ − h, γ + h] within the range, h a twentieth of the range, looked at
    on 401 points; among equals the one nearest 0. The exact path is a rugged sum of steps: its highest point
    is partly luck, and a wide hill beats a narrow spike on queries not yet seen. benchmarks/calibration.py
    measures it beside the one-standard-error rule, whose pull toward 0 biases both the exponent and its gain.
    """
    return _peak(curves, low, high)[0]


def _peak(curves: Curves, low: float, high: float) -> tuple[float, float]:
    """`choose`, and the smoothed mean there."""
    if (low, high) != (curves.low, curves.high):
        curves = curves.part(np.arange(len(curves)), low, high)
    mean = curves.mean()
    if low == high:
        return low, float(mean.values[0])
    area = np.concatenate(([0.0], np.cumsum(mean.values * np.diff(mean.edges))))
    grid, half = np.linspace(low, high, _GRID), (high - low) / 20
    left, right = np.maximum(grid - half, low), np.minimum(grid + half, high)
    smoothed = (np.interp(right, mean.edges, area) - np.interp(left, mean.edges, area)) / (right - left)
    best = grid[smoothed >= smoothed.max() - 1e-12]
    return float(best[np.argmin(np.abs(best))]) + 0.0, float(smoothed.max())


def choose_among(some: Sequence[Curves], low: float, high: float) -> tuple[int, float]:
    """Which of several paths of the same queries has the best neighbourhood, and where; ties to the first."""
    peaks = [_peak(curves, low, high) for curves in some]
    best = max(range(len(peaks)), key=lambda place: (round(peaks[place][1], 12), -place))
    return best, peaks[best][0]


def held_out(
    curves: Curves | Sequence[Curves], low: float, high: float, seed: int, protocol: Protocol
) -> HeldOut:
    """Repeated K-fold by query: choose γ in [low, high] on the training part, gain over γ = 0 on the rest.

    Of several paths of the same queries, which is chosen with γ; γ = 0 on the first is what all are held
    against. The interval is widened for the choice: Nadeau and Bengio (2003), doi:10.1023/A:1024068626366.

    Raises InputError when there are fewer queries than folds, or when the range leaves out 0.
    """
    paths = [curves] if isinstance(curves, Curves) else list(curves)
    n = len(paths[0])
    if n < protocol.folds:
        raise InputError(f"{n} judged queries for {protocol.folds} folds", fix="judge more queries")
    if not low <= 0.0 <= high:
        raise InputError(f"gamma range [{low:g}, {high:g}]", fix="let it hold 0, which is cosine")
    cosine = paths[0].values(0.0)
    rng = np.random.default_rng([seed, 0])
    gains = np.zeros(n)
    chosen = np.empty((protocol.repeats, protocol.folds))
    for repeat in range(protocol.repeats):
        fold = rng.permutation(n) % protocol.folds
        for part in range(protocol.folds):
            training = np.flatnonzero(fold != part)
            which, gamma = choose_among([path.part(training, low, high) for path in paths], low, high)
            chosen[repeat, part] = gamma
            judged = fold == part
            gains[judged] += (paths[which].values(gamma) - cosine)[judged]
    gains /= protocol.repeats
    worth = estimate(
        gains,
        seed,
        level=protocol.level,
        resamples=protocol.resamples,
        # Other training queries would have chosen other exponents, which queries alone do not show: the
        # variance grows by the share of test to training queries. Nadeau and Bengio (2003).
        stretch=float(np.sqrt(1.0 + 1.0 / (protocol.folds - 1))),
    )
    which, gamma = choose_among(paths, low, high)
    return HeldOut(gamma, chosen, gains, worth, which)
