"""Choosing γ on some queries and judging it on the others, many times over."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from radii.data.embeddings import Floats
from radii.errors import InputError
from radii.evidence.intervals import Estimate, estimate
from radii.ranking.steps import Curves, nearest_zero, representative


@dataclass(frozen=True)
class Protocol:
    """How evidence is made. Recorded in every report.

    Attributes
    ----------
    folds, repeats : int
        The queries are dealt into `folds` parts, `repeats` times; each part is judged by the exponent
        chosen on the others.
    resamples : int
        Bootstrap resamples, and sign flips.
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
    """

    gamma: float
    chosen: Floats
    gains: Floats
    estimate: Estimate


def choose(curves: Curves, low: float, high: float) -> float:
    """The exponent nearest 0 whose mean is within one standard error of the best on [low, high].

    The standard error is that of the paired difference from the best exponent, query by query: with few or
    noisy queries the choice stays at cosine.

    Source: Breiman, Friedman, Olshen, Stone (1984), section 3.4.3, for the one-standard-error rule.
    """
    rows = np.arange(len(curves))
    curves = curves.part(rows, low, high)
    n = len(curves)
    best = curves.values(curves.mean().best().gamma)
    before, after = curves.before - best[curves.query], curves.after - best[curves.query]
    loss = -curves.sums(curves.start - best, after - before) / n
    squares = curves.sums((curves.start - best) ** 2, after**2 - before**2) / n
    error = np.sqrt(np.maximum(squares - loss**2, 0.0) / max(n - 1, 1))
    # Sums taken in another order differ by rounding: the best itself must never fail its own test.
    good = np.flatnonzero(loss <= error + 1e-12)
    return representative(curves.edges, nearest_zero(curves.edges, good))


def held_out(curves: Curves, low: float, high: float, seed: int, protocol: Protocol) -> HeldOut:
    """Repeated K-fold by query: choose γ in [low, high] on the training part, gain over γ = 0 on the rest.

    Raises InputError when there are fewer queries than folds, or when the range leaves out 0.
    """
    n = len(curves)
    if n < protocol.folds:
        raise InputError(f"{n} judged queries for {protocol.folds} folds", fix="judge more queries")
    if not low <= 0.0 <= high:
        raise InputError(f"γ range [{low:g}, {high:g}]", fix="let the range hold 0, which is cosine")
    cosine = curves.values(0.0)
    rng = np.random.default_rng([seed, 0])
    chosen = np.empty((protocol.repeats, protocol.folds))
    gains = np.zeros(n)
    for repeat in range(protocol.repeats):
        fold = rng.permutation(n) % protocol.folds
        for part in range(protocol.folds):
            gamma = choose(curves.part(np.flatnonzero(fold != part)), low, high)
            chosen[repeat, part] = gamma
            judged = fold == part
            gains[judged] += (curves.values(gamma) - cosine)[judged]
    gains /= protocol.repeats
    worth = estimate(gains, seed, level=protocol.level, resamples=protocol.resamples)
    return HeldOut(choose(curves, low, high), chosen, gains, worth)
