"""From collected moments to the report: correlations, prediction, regime."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from radii.data.embeddings import Floats
from radii.dynamics.stationary import dominance, stationary_norm
from radii.probing.checks import Exponent
from radii.probing.moments import Estimates, Moments
from radii.probing.protocol import Protocol
from radii.probing.regime import regime
from radii.probing.relate import by_radius, go_with, rank_correlation
from radii.probing.report import Power, Predicted, Probe, ProbeReport, Reliability, Setup, Tangency

_ESTIMATED = ("drift", "second", "raw", "scaled", "angular")
_COLUMNS = ("drift", "second_moment", "heat_raw", "heat_scaled", "heat_angular")
_RANKED = ("drift", "raw", "scaled", "angular")


@dataclass(frozen=True, eq=False)
class Collected:
    """What the minibatches said.

    Attributes
    ----------
    moments : Moments
    alpha : (n,) float64
        Damping per unit of ηλ.
    power : Exponent
    turn : float or None
        See `radii.probing.checks.token_turn`.
    radial : float
        Share of ∂L/∂z along z.
    stopped : bool
        Whether the interval was narrow enough before the last minibatch.
    """

    moments: Moments
    alpha: Floats
    power: Exponent
    turn: float | None
    radial: float
    stopped: bool


def correlation_errors(moments: Moments) -> dict[str, float | None]:
    """Jackknife standard error over minibatches of Spearman(norm, ·), for each heat and drift.

    None where some minibatches left out make a quantity constant.
    """

    def correlations(found: Estimates) -> Floats:
        rhos: Floats = np.array([rank_correlation(moments.norms, getattr(found, name)) for name in _RANKED])
        return rhos

    errors = moments.jackknife(correlations).error
    return {n: float(e) if np.isfinite(e) else None for n, e in zip(_RANKED, errors, strict=True)}


@dataclass(frozen=True, eq=False)
class _Balance:
    """Stationary norms of the inputs that settle, and the share of them that drift alone holds up."""

    settles: npt.NDArray[np.bool_]
    norms: Floats
    power: float
    drift_share: float | None


def _balance(found: Collected, drift: Floats, second: Floats, weight_decay: float) -> _Balance:
    eta, norms = found.moments.eta, found.moments.norms
    power = 1.0 if found.power.value is None else float(np.clip(found.power.value, 0, 1))
    alpha = found.alpha * eta * weight_decay
    settles = (alpha > 0) & (alpha < 1)
    if not settles.any():
        return _Balance(settles, np.empty(0), power, None)
    # D and S are of R Δz / η; the equation of power p takes those of R^p Δz / η.
    outward = (drift * norms ** (power - 1))[settles]
    moment = (second * norms ** (2 * power - 2))[settles]
    predicted = stationary_norm(
        eta=eta, alpha=alpha[settles], drift=outward, second_moment=moment, power=power
    )
    held_up = dominance(eta=eta, alpha=alpha[settles], drift=outward, second_moment=moment, power=power)
    return _Balance(settles, predicted, power, float((held_up == "drift").mean()))


def judge(
    found: Collected,
    setup: Setup,
    ids: list[str],
    length: Floats | None,
    signals: Mapping[str, Floats],
    how: Protocol,
    began: float,
) -> Probe:
    """Report and columns of a probe; `began` is the time it started, of time.perf_counter."""
    moments = found.moments
    norms = moments.norms
    known = moments.jackknife(lambda e: np.stack([getattr(e, name) for name in _ESTIMATED]))
    value = dict(zip(_ESTIMATED, known.value, strict=True))
    radial = moments.estimates().radial
    balance = _balance(found, value["drift"], value["second"], how.weight_decay)
    whole = bool(balance.settles.all()) and bool(np.isfinite(balance.norms).all())
    compared = {name: value[name] for name in ("raw", "scaled", "angular", "drift", "second")}
    compared["damping"] = found.alpha
    if found.power.value is not None:
        compared["matched"] = value["raw"] * norms ** (2 * np.clip(found.power.value, -1, 1))
    if length is not None:
        compared["length"] = length
    if whole:
        compared["predicted"] = balance.norms
    norm_with = go_with(norms, compared, length, signals, how.seed)
    reliability = {
        name: Reliability(halves=halves, whole=stepped)
        for name in (*_RANKED, "second")
        for halves, stepped in [moments.reliability(name)]
    }
    report = ProbeReport(
        setup=setup,
        regime=regime(norm_with, reliability, balance.drift_share),
        norm_with=norm_with,
        by_radius=by_radius(norms, value["raw"], how.seed),
        minibatch_error=correlation_errors(moments),
        reliability=reliability,
        tangency=Tangency(
            radial_gradient=found.radial,
            token_turn=found.turn,
            radial_displacement=float(radial.mean()),
        ),
        power=Power(value=found.power.value, spread=found.power.spread, reason=found.power.reason),
        damping=(float(np.quantile(found.alpha, 0.05)), float(np.quantile(found.alpha, 0.95))),
        relative_step=float(np.median(np.sqrt(value["second"]) * moments.eta / norms**2)),
        predicted=_predicted(norms[balance.settles], balance),
        seconds=time.perf_counter() - began,
    )
    columns = {"norm": norms} if length is None else {"norm": norms, "length": length}
    for name, estimate, error in zip(_COLUMNS, known.value, known.error, strict=True):
        columns |= {name: estimate, f"{name}_se": error}
    columns |= {"radial_share": radial, "damping": found.alpha}
    if whole:
        columns["predicted"] = balance.norms
    return Probe(report, ids, columns)


def _predicted(norms: Floats, balance: _Balance) -> Predicted:
    settled = np.isfinite(balance.norms) & (balance.norms > 0)  # 0: no minibatch moves it
    norms, predicted = norms[settled], balance.norms[settled]
    if len(norms) < 3 or np.ptp(predicted) == 0:
        return Predicted(power=balance.power, n=len(norms), rank_correlation=None, median_ratio=None)
    return Predicted(
        power=balance.power,
        n=len(norms),
        rank_correlation=rank_correlation(norms, predicted),
        median_ratio=float(np.median(norms / predicted)),
    )
