"""What a mean of paired differences is worth: interval, p-value, and how many queries it would take."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import stats

from radii.data.embeddings import Floats
from radii.errors import InputError

_BATCH = 2_000_000  # numbers drawn at a time: bounds the memory of resampling


@dataclass(frozen=True)
class Estimate:
    """A mean over queries with its interval and its p-value.

    Attributes
    ----------
    mean, low, high : float
        The mean paired difference and its bootstrap interval.
    p : float
        Two-sided, by flipping signs: (1 + b) / (1 + m).
    n : int
        Queries.
    level : float
        Of the interval.
    """

    mean: float
    low: float
    high: float
    p: float
    n: int
    level: float = 0.95

    @property
    def above_zero(self) -> bool:
        """The whole interval lies above zero, and the permutation test agrees at the same level."""
        return self.low > 0 and self.p < 1 - self.level

    def __format__(self, spec: str) -> str:
        """Mean and interval, each with this format: `f"{estimate:+.3f}"`."""
        low, high = format(self.low, spec), format(self.high, spec)
        return f"{format(self.mean, spec)} ({self.level * 100:g} % {low} … {high})"


def estimate(
    differences: Floats, seed: int, *, level: float = 0.95, resamples: int = 9999, stretch: float = 1.0
) -> Estimate:
    """Mean of (n_queries,) paired differences, BCa bootstrap interval, sign-flip permutation p-value.

    `stretch` ≥ 1 moves both ends of the interval away from the mean by that factor: for spread that the
    differences at hand cannot show. Raises InputError on fewer than two queries.

    Source: Efron (1987), doi:10.1080/01621459.1987.10478410, for the interval; Phipson and Smyth (2010),
    doi:10.2202/1544-6115.1585, for (1 + b) / (1 + m).
    """
    n = len(differences)
    if n < 2:
        raise InputError(f"{n} judged queries", fix="judge at least two queries")
    mean = float(differences.mean())
    if np.ptp(differences) <= 1e-12 * np.abs(differences).max():
        # Equal but for rounding: every resample is the same, and only all-plus and all-minus are as extreme.
        return Estimate(mean, mean, mean, 1.0 if mean == 0 else 2.0 ** (1 - n), n, level)
    batch = max(1, _BATCH // n)
    rng = np.random.default_rng([seed, 1])
    interval = stats.bootstrap(
        (differences,), np.mean, n_resamples=resamples, confidence_level=level, batch=batch, rng=rng
    ).confidence_interval
    low, high = (mean + stretch * (float(end) - mean) for end in (interval.low, interval.high))
    return Estimate(mean, low, high, sign_flip_p(differences, rng, resamples), n, level)


def sign_flip_p(differences: Floats, rng: np.random.Generator, resamples: int) -> float:
    """Two-sided p-value of the mean of (n,) differences when every sign might as well be the other.

    All 2^n patterns where there are no more than `resamples`; else (1 + b) / (1 + resamples), with b the
    random patterns whose mean is as far from 0.
    """
    n, scale = len(differences), float(np.abs(differences).max())
    unit = (differences / scale).astype(np.float64)
    least = abs(unit.sum()) - 1e-9  # patterns that tie with the observed one must count
    if n < 60 and 2**n <= resamples:
        patterns = (np.arange(2**n)[:, None] >> np.arange(n)) & 1
        return float((np.abs((2 * patterns - 1) @ unit) >= least).mean())
    extreme, step = 0, max(1, _BATCH // n)
    for at in range(0, resamples, step):
        bits = rng.integers(0, 2, size=(min(step, resamples - at), n), dtype=np.int8)
        # Σ ±d = 2 Σ of the positive ones − Σ d.
        sums = bits.astype(np.float32) @ unit.astype(np.float32)
        extreme += int((np.abs(2.0 * sums - unit.sum()) >= least).sum())
    return (1 + extreme) / (1 + resamples)


def queries_needed(sd: float, effect: float, *, level: float = 0.95, power: float = 0.8) -> int:
    """Queries for a paired test to see `effect`: n = ((z_level + z_power) · sd / effect)².

    >>> queries_needed(sd=0.1, effect=0.02)
    197
    """
    z = stats.norm.ppf((1 + level) / 2) + stats.norm.ppf(power)
    return int(np.ceil((z * sd / effect) ** 2))
