"""What a mean of paired differences is worth: interval, p-value, and how many queries it would take."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import special  # scipy.stats takes a second to import

from radii.data.embeddings import Floats
from radii.errors import InputError

_BATCH = 2_000_000  # signs drawn at a time: bounds the memory of flipping them


@dataclass(frozen=True)
class Estimate:
    """A mean over queries with its interval and its p-value.

    Attributes
    ----------
    mean, low, high : float
        The mean paired difference and its interval.
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
    """Mean of (n_queries,) paired differences, Student's interval, sign-flip permutation p-value.

    mean ± stretch · t · sd / √n, with t the quantile of n − 1 degrees of freedom. `stretch` ≥ 1 is for spread
    that the differences at hand cannot show. Raises InputError on fewer than two queries.

    Most differences are exactly 0 when an exponent is mild, and the rest are few: bootstrap intervals (BCa)
    of such a mean cover too seldom, down to 70 % where 95 % are claimed (benchmarks/calibration.py).

    Source: Phipson and Smyth (2010), doi:10.2202/1544-6115.1585, for (1 + b) / (1 + m).
    """
    n = len(differences)
    if n < 2:
        raise InputError(f"{n} judged queries", fix="judge at least two queries")
    mean = float(differences.mean())
    if np.ptp(differences) <= 1e-12 * np.abs(differences).max():
        # Equal but for rounding: nothing is known of the spread, and only two patterns are as extreme.
        return Estimate(mean, mean, mean, 1.0 if mean == 0 else 2.0 ** (1 - n), n, level)
    half = stretch * float(student_half(differences.std(ddof=1), n, level))
    return Estimate(mean, mean - half, mean + half, sign_flip_p(differences, seed, resamples), n, level)


def student_half(sd: npt.ArrayLike, n: int, level: float) -> Floats:
    """Half the width of Student's interval of a mean of n: t · sd / √n, for one or many sd.

    >>> float(student_half(1.0, 4, 0.95).round(3))
    1.591
    """
    half: Floats = np.asarray(sd) / np.sqrt(n) * special.stdtrit(n - 1, (1 + level) / 2)
    return half


def sign_flip_p(differences: Floats, seed: int, resamples: int) -> float:
    """Two-sided p-value of the mean of (n,) differences when every sign might as well be the other.

    All 2^n patterns where there are no more than `resamples`; else (1 + b) / (1 + resamples), with b the
    random patterns whose mean is as far from 0.
    """
    # Zeros have no sign, and most differences are zero.
    unit = differences[differences != 0] / np.abs(differences).max()
    n = len(unit)
    least = abs(unit.sum()) - 1e-9  # patterns that tie with the observed one must count
    if n < 60 and 2**n <= resamples:
        patterns = (np.arange(2**n)[:, None] >> np.arange(n)) & 1
        return float((np.abs((2 * patterns - 1) @ unit) >= least).mean())
    rng, step, extreme = np.random.default_rng([seed, 1]), max(1, _BATCH // n), 0
    for at in range(0, resamples, step):
        rows = min(step, resamples - at)
        bits = np.frombuffer(rng.bytes(rows * -(-n // 8)), dtype=np.uint8).reshape(rows, -1)
        # Σ ±d = 2 Σ of the positive ones − Σ d.
        kept = np.unpackbits(bits, axis=1, count=n)
        sums = 2.0 * np.einsum("ij,j->i", kept, unit) - unit.sum()
        extreme += int((np.abs(sums) >= least).sum())
    return (1 + extreme) / (1 + resamples)


def queries_needed(sd: float, effect: float, *, level: float = 0.95, power: float = 0.8) -> int:
    """Queries for a paired test to see `effect`: n = ((z_level + z_power) · sd / effect)².

    >>> queries_needed(sd=0.1, effect=0.02)
    197
    """
    z = special.ndtri((1 + level) / 2) + special.ndtri(power)
    return int(np.ceil((z * sd / effect) ** 2))
