"""What a controlled run found, and whether it may be called an equilibrium."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from radii.data.embeddings import Floats
from radii.dynamics.config import Setting
from radii.dynamics.stationary import relaxation_time, stationary_norm
from radii.errors import NumericalError

# A run is stationary when it was let go for this many relaxation times before and during the measurement …
BURN_RELAXATIONS, MEASURED_RELAXATIONS = 5.0, 2.0
# … and the mean over items of log R² differs by less than this between the halves of the measurement.
LARGEST_CHANGE = 0.01

_WRITTEN = (
    *("norm", "square", "drift", "second_moment", "heat", "alpha"),
    *("moved", "gain", "loss", "ambiguity", "weight"),
)


@dataclass(frozen=True)
class Stationarity:
    """Whether a run had reached its equilibrium when it was measured.

    Attributes
    ----------
    reached : bool
    relaxation : float
        Steps, median over items of `radii.dynamics.stationary.relaxation_time`; `inf` without damping.
    burn_in, steps : int
        Before the measurement, and measured.
    change : float
        Mean over items of log R² in the second half of the measurement minus the first.
    reasons : tuple of str
        Why not, in plain words; empty when reached.
    """

    reached: bool
    relaxation: float
    burn_in: int
    steps: int
    change: float
    reasons: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Run:
    """One controlled run, measured after burn-in. Arrays are (n_items,) float64 unless said otherwise.

    Attributes
    ----------
    setting : Setting
    norm, square : mean R and R².
    drift, second_moment, heat : D = E⟨ẑ, u⟩, S = E‖u‖², H = S − ‖E u‖², with u = R^p Δz_task / η.
    alpha : mean radial damping of the decay step.
    moved : share of measured steps that moved the item.
    gain, loss : mean of what the task added to R² per step, and of what decay took.
    fresh_drift, fresh_second : D and S of the newest gradient, as the optimiser sees it; 0 without `lags`.
    lagged : (lags, n_items) autocovariance of it, from lag 1.
    drift_samples, square_samples : (samples, n_items) float32, for `radii.radial_chain`.
    ambiguity, weight : of the items, as the world has them.
    length : words of each item's text, or None.
    stationarity : Stationarity
    """

    setting: Setting
    norm: Floats
    square: Floats
    drift: Floats
    second_moment: Floats
    heat: Floats
    alpha: Floats
    moved: Floats
    gain: Floats
    loss: Floats
    fresh_drift: Floats
    fresh_second: Floats
    lagged: Floats
    drift_samples: Floats = field(repr=False)
    square_samples: Floats = field(repr=False)
    ambiguity: Floats
    weight: Floats
    length: Floats | None
    stationarity: Stationarity

    @property
    def predictable(self) -> npt.NDArray[np.bool_]:
        """Items that the equation speaks of: damped, α in [0, 1). A network's decay may lengthen some."""
        return np.asarray((self.alpha >= 0) & (self.alpha < 1))

    def predicted(self) -> Floats:
        """Norm of every item by the stationary norm equation, from its measured D, S and α.

        Raises InputError unless every item is `predictable`.
        """
        return self._predict(np.ones(len(self.norm), dtype=np.bool_))

    def errors(self) -> Floats:
        """|predicted / trained − 1| of the predictable items, (n_predictable,)."""
        rows = self.predictable
        return np.abs(self._predict(rows) / self.norm[rows] - 1)

    def _predict(self, rows: npt.NDArray[np.bool_]) -> Floats:
        return stationary_norm(
            eta=self.setting.eta,
            alpha=self.alpha[rows],
            drift=self.drift[rows],
            second_moment=self.second_moment[rows],
            power=self.setting.power,
        )

    def equilibrium(self) -> Floats:
        """Mean norm of every item, once it is known to be an equilibrium.

        Raises NumericalError with the reasons when the run has not reached one.
        """
        if not self.stationarity.reached:
            raise NumericalError("no equilibrium: " + "; ".join(self.stationarity.reasons))
        return self.norm

    def to_json(self) -> dict[str, Any]:
        """Plain numbers and lists: the setting, the moments, the prediction and the stationarity."""
        arrays = {name: _plain(getattr(self, name)) for name in _WRITTEN}
        reached = self.stationarity.reached
        return {
            "setting": self.setting.model_dump(),
            "stationarity": {**vars(self.stationarity), "relaxation": _number(self.stationarity.relaxation)},
            "equilibrium": arrays["norm"] if reached else None,
            "predicted": _plain(self.predicted()) if reached and self.predictable.all() else None,
            **arrays,
            "length": None if self.length is None else _plain(self.length),
        }


def judge(
    setting: Setting, alpha: Floats, drift: Floats, second_moment: Floats, blocks: Floats
) -> Stationarity:
    """Stationarity of one run from its (n_items,) moments and its mean R² by block, (n_blocks, n_items)."""
    relaxation = _relaxation(setting, alpha, drift, second_moment)
    half = len(blocks) // 2
    change = float(np.mean(np.log(blocks[half:].mean(axis=0) / blocks[:half].mean(axis=0))))
    reasons = []
    if not np.isfinite(relaxation):
        reasons.append("nothing damps the norm, so it grows without end")
    elif setting.burn_in < BURN_RELAXATIONS * relaxation:
        least = int(np.ceil(BURN_RELAXATIONS * relaxation))
        reasons.append(f"{setting.burn_in} steps of burn-in where relaxation takes {least}")
    if np.isfinite(relaxation) and setting.steps < MEASURED_RELAXATIONS * relaxation:
        least = int(np.ceil(MEASURED_RELAXATIONS * relaxation))
        reasons.append(f"{setting.steps} measured steps where {least} are needed")
    if abs(change) > LARGEST_CHANGE:
        reasons.append(f"R² still changes: by {np.expm1(change):+.1%} from the first to the second half")
    return Stationarity(not reasons, relaxation, setting.burn_in, setting.steps, change, tuple(reasons))


def _relaxation(setting: Setting, alpha: Floats, drift: Floats, second_moment: Floats) -> float:
    """Median relaxation time of the items that are damped and moved; infinity when none is."""
    held = (alpha > 0) & (alpha < 1) & (second_moment > 0)
    if not held.any():
        return float("inf")
    times = relaxation_time(
        eta=setting.eta,
        alpha=alpha[held],
        drift=drift[held],
        second_moment=second_moment[held],
        power=setting.power,
    )
    return float(np.median(times))


def _plain(array: Floats) -> list[float]:
    return [float(f"{value:.8g}") for value in array.tolist()]


def _number(value: float) -> float | None:
    return value if np.isfinite(value) else None
