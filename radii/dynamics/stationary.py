"""The stationary norm equation: where damping, drift and heat of one input balance.

One training step, seen at one input with norm R = ‖z‖ and direction ẑ, is

    z⁺ = (1 − α) z + η R^(−p) u

with α the damping of the decay step, u the scaled task displacement, D = ⟨ẑ, E u⟩ its drift and S = E‖u‖² its
second moment (heat plus squared mean). The power p is 1 for plain gradients of a loss that reads directions
only, and 0 for optimisers that normalise the gradient. Then

    E‖z⁺‖² = (1 − α)² R² + 2 (1 − α) η D R^(1−p) + η² S R^(−2p)

has no drift of R² where, with x = R^(1+p),

    (2α − α²) x² − 2 (1 − α) η D x − η² S = 0

so the equilibrium is a quadratic's non-negative root for every p.

Source: Su, Ren, Veitch (2026), arXiv 2606.30625, for p = 1; other powers are this package's own.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from radii.data.embeddings import Floats
from radii.dynamics.checks import check_step, finite, require
from radii.errors import InputError, NumericalError


@dataclass(frozen=True, eq=False)
class Sensitivities:
    """How the stationary norm answers to a small change of each cause.

    Attributes
    ----------
    eta, lam, drift, second_moment : float64 arrays
        ∂R/∂η, ∂R/∂λ, ∂R/∂D and ∂R/∂S, of the shape that the arguments broadcast to.
    """

    eta: Floats
    lam: Floats
    drift: Floats
    second_moment: Floats


@dataclass(frozen=True, eq=False)
class _Quadratic:
    """Coefficients of a x² − 2 b x − c = 0 with c = heat², and its root x = R^(1+p)."""

    a: Floats
    b: Floats
    heat: Floats
    root: Floats  # sqrt(b² + a c)
    x: Floats


def stationary_norm(
    *,
    eta: npt.ArrayLike,
    alpha: npt.ArrayLike,
    drift: npt.ArrayLike,
    second_moment: npt.ArrayLike,
    power: float = 1,
) -> Floats:
    """Norm where damping, drift and heat balance: R^(1+p) = (b + √(b² + aη²S)) / a; a = 2α−α², b = (1−α)ηD.

    Parameters
    ----------
    eta : array
        Learning rate, above 0.
    alpha : array
        Damping per step, dimensionless, in [0, 1); ηλ for a free embedding table.
    drift : array
        D = ⟨ẑ, E u⟩, of either sign.
    second_moment : array
        S = E‖u‖², at least 0.
    power : float
        p in [0, 1]: how the displacement falls with the norm, Δz = η R^(−p) u.

    Returns
    -------
    norm : float64 array of the shape that all arguments broadcast to
        `inf` where there is no equilibrium: α = 0 with D > 0, or with D = 0 and S > 0 (the norm grows
        without end, like t^½ by drift and t^¼ by heat when p = 1).

    Raises
    ------
    InputError
        On NaN or infinity, η ≤ 0, α outside [0, 1), S < 0, p outside [0, 1], shapes that do not broadcast,
        and where α = D = S = 0: nothing moves, so every norm is stationary.
    NumericalError
        Where an equilibrium exists and float64 cannot hold it.

    Source: Su, Ren, Veitch (2026), arXiv 2606.30625.

    >>> float(stationary_norm(eta=0.5, alpha=0.0, drift=-1.0, second_moment=4.0))
    1.0
    """
    q = _solve(eta, alpha, drift, second_moment, power)
    norm: Floats = q.x ** (1 / (1 + power))
    return norm


def dominance(
    *,
    eta: npt.ArrayLike,
    alpha: npt.ArrayLike,
    drift: npt.ArrayLike,
    second_moment: npt.ArrayLike,
    power: float = 1,
    tolerance: float = 0.05,
) -> npt.NDArray[np.str_]:
    """What holds the norm up: 'heat', 'drift' or 'neither', elementwise.

    'heat' where the equation without its drift gives R within `tolerance` (relative), 'drift' where the
    equation without its heat does; the closer of the two where both do. 'neither' also where there is no
    equilibrium, and where drift points inwards and heat balances it. Parameters and errors are those of
    `stationary_norm`; `tolerance` lies in (0, 1).

    >>> str(dominance(eta=0.1, alpha=0.01, drift=0.0, second_moment=1.0))
    'heat'
    """
    if not 0 < tolerance < 1:
        raise InputError(f"{tolerance:g}", where="tolerance", fix="give a number between 0 and 1")
    q = _solve(eta, alpha, drift, second_moment, power)
    heated = q.heat > 0
    # t = b / √(a c) tells all: x is t + √(t² + 1) times its heat-only value, (1 + √(1 + 1/t²)) / 2 times its
    # drift-only one.
    scale = np.sqrt(q.a) * q.heat
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        t = np.where(scale > 0, q.b / scale, np.sign(q.b) * np.inf)
        off_heat = np.abs((t + np.hypot(t, 1.0)) ** (-1 / (1 + power)) - 1)
        off_drift = np.abs((2 / (1 + np.sqrt(1 + 1 / t**2))) ** (1 / (1 + power)) - 1)
    settles = np.isfinite(q.x) & (q.a > 0)
    by_heat = settles & heated & (off_heat <= tolerance)
    by_drift = settles & (q.b > 0) & (off_drift <= tolerance)
    by_heat &= ~by_drift | (off_heat <= off_drift)
    by_drift &= ~by_heat
    return np.where(by_heat, "heat", np.where(by_drift, "drift", "neither"))


def relaxation_time(
    *,
    eta: npt.ArrayLike,
    alpha: npt.ArrayLike,
    drift: npt.ArrayLike,
    second_moment: npt.ArrayLike,
    power: float = 1,
) -> Floats:
    """Steps in which a small deviation from the stationary norm falls by 1/e: x / ((1 + p) √(b² + a c)).

    In the notation of the module, a = 2α − α², b = (1 − α)ηD, c = η²S; 1/(4α) where heat dominates, p = 1
    and α is small; 1/a where neither drift nor heat acts. `inf` where there is no equilibrium. Below about
    one step the norm overshoots instead of relaxing. Parameters and errors are those of `stationary_norm`.

    >>> round(float(relaxation_time(eta=0.1, alpha=1e-4, drift=0.0, second_moment=1.0)))
    2500
    """
    q = _solve(eta, alpha, drift, second_moment, power)
    with np.errstate(divide="ignore", invalid="ignore"):
        steps = q.x / ((1 + power) * q.root)
        still = 1 / q.a  # neither drift nor heat: R² just decays
    return np.where(q.root > 0, np.where(np.isfinite(q.x), steps, np.inf), still)


def sensitivities(
    *,
    eta: npt.ArrayLike,
    lam: npt.ArrayLike,
    drift: npt.ArrayLike,
    second_moment: npt.ArrayLike,
    power: float = 1,
) -> Sensitivities:
    """Derivatives of the stationary norm, α = ηλ: dR = R (2x db + dc − x² da) / ((1+p) x · 2√(b² + a c)).

    Parameters and errors are those of `stationary_norm`, with `lam` (λ ≥ 0, ηλ < 1) in the place of α; also
    raises InputError where R is 0 or infinite, which has no derivative.
    """
    rate, decay = finite("eta", eta), finite("lam", lam)
    require("lam", decay, decay >= 0, "give λ ≥ 0")
    damping = np.multiply(*_broadcast(eta=rate, lam=decay))
    q = _solve(rate, damping, drift, second_moment, power)
    settled = np.isfinite(q.x) & (q.x > 0)
    if not settled.all():
        raise InputError(
            f"a norm of {q.x[~settled].flat[0]:g} where R has no derivative",
            where="sensitivities",
            cause="no heat, or no damping",
            fix="leave these inputs out",
        )
    outward, moment = np.asarray(drift, dtype=np.float64), np.asarray(second_moment, dtype=np.float64)
    # 2x db + dc − x² da, by what changes.
    by_alpha = -2 * q.x * (rate * outward + q.x * (1 - damping))
    by_eta = 2 * (q.x * (1 - damping) * outward + rate * moment)
    scale = q.x ** (1 / (1 + power) - 1) / ((1 + power) * 2 * q.root)
    return Sensitivities(
        eta=scale * (by_eta + by_alpha * decay),
        lam=scale * by_alpha * rate,
        drift=scale * 2 * q.x * (1 - damping) * rate,
        second_moment=scale * rate**2,
    )


def _solve(
    eta: npt.ArrayLike,
    alpha: npt.ArrayLike,
    drift: npt.ArrayLike,
    second_moment: npt.ArrayLike,
    power: float,
) -> _Quadratic:
    rate, damping = finite("eta", eta), finite("alpha", alpha)
    outward, moment = finite("drift", drift), finite("second_moment", second_moment)
    check_step(rate, damping, power)
    require("second_moment", moment, moment >= 0, "give S = E‖u‖², which is never negative")
    rate, damping, outward, moment = _broadcast(eta=rate, alpha=damping, drift=outward, second_moment=moment)
    still = (damping == 0) & (outward == 0) & (moment == 0)
    if still.any():
        raise InputError(
            f"{int(still.sum())} inputs with no damping, no drift and no heat",
            where="stationary_norm",
            cause="inputs that training never touched",
            fix="leave them out: nothing moves, so every norm is stationary",
        )
    a = damping * (2 - damping)
    b = (1 - damping) * rate * outward
    heat = rate * np.sqrt(moment)
    root = np.hypot(b, np.sqrt(a) * heat)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        # Each root where its terms have one sign: nothing cancels.
        direct = (b + root) / a
        conjugate = heat * (heat / (root - b))
    x = np.where(b < 0, conjugate, np.where(a > 0, direct, np.inf))
    if (~np.isfinite(x) & ((a > 0) | (b < 0))).any():
        raise NumericalError("an equilibrium beyond the range of float64")
    return _Quadratic(a, b, heat, root, x)


def _broadcast(**arrays: Floats) -> list[Floats]:
    try:
        return list(np.broadcast_arrays(*arrays.values()))
    except ValueError as error:
        shapes = ", ".join(f"{name} {array.shape}" for name, array in arrays.items())
        raise InputError(
            f"shapes {shapes}", where="stationary_norm", fix="give shapes that broadcast"
        ) from error
