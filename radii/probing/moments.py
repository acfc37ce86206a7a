"""Moments of displacements over minibatches, streaming: heat, drift, and how well both are known.

Displacements are summed in up to `groups` groups, dealt in turns, so that a leave-one-group-out jackknife
and a split into halves need no displacement kept: memory is 16 · groups · n · dim bytes, however many
batches come.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import stats

from radii.data.embeddings import Floats
from radii.errors import InputError, NumericalError

GROUPS = 24


@dataclass(frozen=True, eq=False)
class Estimates:
    """What some minibatches say of each input; every array is (n,) float64.

    With z the vector, R its norm, Δz its displacement by one virtual step of rate η, u = R Δz / η, and means
    over minibatches:

    Attributes
    ----------
    drift : D = ⟨ẑ, E u⟩
        Above 0 where the neighbourhood votes outward.
    second : S = E ‖u‖²
    raw, scaled, angular : heat in three normalisations
        tr Cov(Δz)/η², R² times that (which is tr Cov(u)), and tr Cov(Δẑ)/η²; unbiased.
    radial : E ⟨ẑ, Δz⟩² / E ‖Δz‖²
        The share of displacement that is along the radius; 0 where nothing moves.
    """

    drift: Floats
    second: Floats
    raw: Floats
    scaled: Floats
    angular: Floats
    radial: Floats


NAMES = ("drift", "second", "raw", "scaled", "angular", "radial")


@dataclass(frozen=True, eq=False)
class Known:
    """An estimate with its jackknife standard error, both of one shape."""

    value: Floats
    error: Floats


class Moments:
    """Collects the vectors that virtual steps lead to.

    Parameters
    ----------
    vectors : (n, dim) array
        Where the inputs are, un-normalised.
    eta : float
        Learning rate of the virtual steps.
    groups : int
        Of the jackknife; with no more batches than groups it leaves out one minibatch at a time.

    Raises InputError on fewer than two groups, and on a vector that is zero or not finite.
    """

    def __init__(self, vectors: npt.ArrayLike, eta: float, groups: int = GROUPS) -> None:
        self.vectors = np.asarray(vectors, dtype=np.float64)
        self.norms: Floats = np.linalg.norm(self.vectors, axis=1)
        self.eta, self.batches = eta, 0
        bad = np.flatnonzero(~np.isfinite(self.norms) | (self.norms == 0))
        if bad.size or groups < 2:
            raise InputError(
                f"{bad.size} vectors without a direction, first row {bad[0]}" if bad.size else f"{groups}",
                where="inputs" if bad.size else "groups",
                cause="an empty text, or damaged weights" if bad.size else None,
                fix="drop these inputs" if bad.size else "give 2 or more",
            )
        self.directions: Floats = self.vectors / self.norms[:, None]
        n, dim = self.vectors.shape
        self._count = np.zeros(groups)
        self._sum, self._turn = np.zeros((groups, n, dim)), np.zeros((groups, n, dim))
        self._squares = np.zeros((groups, 3, n))  # of Δz, of Δẑ, of ⟨ẑ, Δz⟩

    def add(self, reached: npt.ArrayLike) -> None:
        """Take in the (n, dim) vectors that one virtual step leads to.

        Raises NumericalError when a vector is zero or not finite: the step was too long.
        """
        places = np.asarray(reached, dtype=np.float64)
        norms = np.linalg.norm(places, axis=1, keepdims=True)
        if not np.isfinite(norms).all() or not norms.all():
            raise NumericalError(
                "a virtual step led to a vector that is zero or not finite: lower the rate, check the weights"
            )
        delta = places - self.vectors
        turn = places / norms - self.directions
        group = self.batches % len(self._count)
        self._sum[group] += delta
        self._turn[group] += turn
        along = np.einsum("nd,nd->n", self.directions, delta)
        self._squares[group] += (_squared(delta), _squared(turn), along**2)
        self._count[group] += 1
        self.batches += 1

    def estimates(self) -> Estimates:
        """From all minibatches. Raises InputError on fewer than two."""
        return self._of(np.ones(len(self._count), dtype=bool))

    def halves(self) -> tuple[Estimates, Estimates]:
        """From every second group and from the others. Raises InputError on fewer than four minibatches."""
        even = np.arange(len(self._count)) % 2 == 0
        return self._of(even), self._of(~even)

    def jackknife(self, statistic: Callable[[Estimates], Floats]) -> Known:
        """A statistic of the estimates and its standard error over minibatches.

        With groups of m_j of M minibatches and h_j = M/m_j, pseudo-values θ_j = h_j θ − (h_j − 1) θ_(−j) and
        Var = (1/G) Σ_j (θ_j − θ_J)² / (h_j − 1), θ_J = Gθ − Σ_j (1 − m_j/M) θ_(−j).

        Source: Busing, Meijer, van der Leeden (1999), doi:10.1023/A:1008800423698. Raises InputError on fewer
        than three minibatches, or groups, that hold any.
        """
        used = np.flatnonzero(self._count)
        if len(used) < 3:
            raise InputError(f"{len(used)}", where="batches", fix="take 3 or more for a standard error")
        whole = np.asarray(statistic(self.estimates()), dtype=np.float64)
        every = np.ones(len(self._count), dtype=bool)
        centre, parts = len(used) * whole, []
        for group in used:
            kept = every.copy()
            kept[group] = False
            left = np.asarray(statistic(self._of(kept)), dtype=np.float64)
            share = self._count[group] / self.batches
            centre = centre - (1 - share) * left
            parts.append((whole / share - (1 / share - 1) * left, 1 / share - 1))
        variance = sum((pseudo - centre) ** 2 / weight for pseudo, weight in parts) / len(used)
        return Known(whole, np.sqrt(variance))

    def reliability(self, name: str) -> tuple[float | None, float | None]:
        """Spearman's ρ across inputs between two halves of the minibatches, and what it makes of the whole.

        The second is the Spearman-Brown step-up 2ρ/(1+ρ); both None where a half is constant, the second also
        where ρ ≤ 0.

        Source: Spearman (1910), doi:10.1111/j.2044-8295.1910.tb00206.x; Brown (1910), ibid. 00207.x.
        """
        first, second = (np.asarray(getattr(half, name)) for half in self.halves())
        if np.ptp(first) == 0 or np.ptp(second) == 0 or len(first) < 3:
            return None, None
        rho = float(stats.spearmanr(first, second).statistic)
        return rho, 2 * rho / (1 + rho) if rho > 0 else None

    def _of(self, groups: npt.NDArray[np.bool_]) -> Estimates:
        count = float(self._count[groups].sum())
        if count < 2:
            raise InputError(f"{count:.0f}", where="batches", fix="take 2 or more per estimate")
        delta = np.tensordot(groups.astype(np.float64), self._sum, 1) / count
        turn = np.tensordot(groups.astype(np.float64), self._turn, 1) / count
        square, turn_square, along = self._squares[groups].sum(axis=0) / count
        unbiased = count / (count - 1) / self.eta**2
        # Rounding can leave a variance just below 0 where every batch moves an input alike.
        raw = np.maximum(unbiased * (square - _squared(delta)), 0.0)
        angular = np.maximum(unbiased * (turn_square - _squared(turn)), 0.0)
        drift = self.norms / self.eta * np.einsum("nd,nd->n", self.directions, delta)
        still = square == 0
        return Estimates(
            drift=drift,
            second=self.norms**2 * square / self.eta**2,
            raw=raw,
            scaled=self.norms**2 * raw,
            angular=angular,
            radial=np.where(still, 0.0, along / np.where(still, 1.0, square)),
        )


def _squared(rows: Floats) -> Floats:
    found: Floats = np.einsum("nd,nd->n", rows, rows)
    return found
