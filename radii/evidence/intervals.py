"""What a mean of paired differences is worth: interval, p-value, and how many queries it would take."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import stats

from radii.data.embeddings import Floats
from radii.errors import InputError

_BATCH = 2_000_000  # numbers drawn at a time: bounds the memory of resampling
_KEPT = 50_000_000  # of them kept for the next arm on the same queries, in a byte each


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

    The draws depend on n, the seed and `resamples` alone, so that arms on the same queries share them.

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
    low, high = (mean + stretch * (end - mean) for end in bca(differences, seed, level, resamples))
    return Estimate(mean, low, high, sign_flip_p(differences, seed, resamples), n, level)


def bca(differences: Floats, seed: int, level: float, resamples: int) -> tuple[float, float]:
    """Bias-corrected and accelerated bootstrap interval of the mean of (n,) differences, not all equal.

    Ends are the quantiles Φ(z + (z + z_α) / (1 − a (z + z_α))) of the resampled means, with z the normal
    score of the share below the mean (half of those equal to it), and a = Σ(d − d̄)³ / 6 (Σ(d − d̄)²)^1.5.

    Source: Efron (1987), doi:10.1080/01621459.1987.10478410.
    """
    n = len(differences)
    centred = differences - differences.mean()
    means = _sums(centred, _Draws("resamples", n, seed, resamples)) / n
    equal = np.abs(means) <= 1e-12 * np.abs(centred).max()
    below = float(((means < 0) & ~equal).mean() + 0.5 * equal.mean())
    score = stats.norm.ppf(np.clip(below, 1 / (resamples + 1), resamples / (resamples + 1)))
    acceleration = (centred**3).sum() / (6.0 * (centred**2).sum() ** 1.5)
    tails = score + stats.norm.ppf([(1 - level) / 2, (1 + level) / 2])
    shares = stats.norm.cdf(score + tails / (1.0 - acceleration * tails))
    low, high = np.quantile(means, shares) + differences.mean()
    return float(low), float(high)


def sign_flip_p(differences: Floats, seed: int, resamples: int) -> float:
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
    # Σ ±d = 2 Σ of the positive ones − Σ d.
    sums = 2.0 * _sums(unit, _Draws("signs", n, seed, resamples)) - unit.sum()
    return (1 + int((np.abs(sums) >= least).sum())) / (1 + resamples)


class _Draws(NamedTuple):
    """`resamples`: how often each of n queries was drawn. `signs`: whether it keeps its sign."""

    kind: Literal["resamples", "signs"]
    n: int
    seed: int
    times: int

    def batches(self) -> Iterator[npt.NDArray[np.uint8]]:
        """(some, n) at a time, `times` in all."""
        rng = np.random.default_rng([self.seed, 1, self.kind == "signs"])
        step = max(1, _BATCH // self.n)
        for at in range(0, self.times, step):
            shape = min(step, self.times - at), self.n
            if self.kind == "signs":
                yield rng.integers(0, 2, size=shape, dtype=np.uint8)
            else:
                drawn = rng.integers(0, self.n, size=shape) + self.n * np.arange(shape[0])[:, None]
                counts = np.bincount(drawn.ravel(), minlength=shape[0] * self.n)
                yield np.minimum(counts, 255).astype(np.uint8).reshape(shape)


@lru_cache(maxsize=2)
def _kept(draws: _Draws) -> npt.NDArray[np.uint8]:
    return np.concatenate(list(draws.batches()))


def _sums(values: Floats, draws: _Draws) -> Floats:
    """Σ of the (n,) values under every draw: (times,) float64."""
    if draws.n * draws.times > _KEPT:
        return np.concatenate([batch.astype(np.float64) @ values for batch in draws.batches()])
    all_of_them, step = _kept(draws), max(1, _BATCH // draws.n)
    return np.concatenate(
        [all_of_them[at : at + step].astype(np.float64) @ values for at in range(0, draws.times, step)]
    )


def queries_needed(sd: float, effect: float, *, level: float = 0.95, power: float = 0.8) -> int:
    """Queries for a paired test to see `effect`: n = ((z_level + z_power) · sd / effect)².

    >>> queries_needed(sd=0.1, effect=0.02)
    197
    """
    z = stats.norm.ppf((1 + level) / 2) + stats.norm.ppf(power)
    return int(np.ceil((z * sd / effect) ** 2))
