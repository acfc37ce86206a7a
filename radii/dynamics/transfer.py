"""From gradients to the norm under momentum: what the account between them is.

Let w be what the optimiser moves by, in units of η: w = −m under SGD with momentum, −m/√v under AdamW, and
c = E⟨z, w⟩. A gradient enters w with weight κ (1 under SGD, 1 − β under AdamW) and stays with weights κβ^k.
One step later, with z⁺ = (1−α) z + η w and q the newest gradient as the optimiser sees it,

    c = β [(1−α) c + η W] + κ ⟨z, −q⟩          W = E‖w‖²

which at a stationary state leaves, with β' = β(1−α),

    c = [β η W + κ R D_q] / (1 − β')           D_q = E⟨ẑ, −q⟩, 0 for a plain gradient of a scale-free loss
    W = κ² [Γ₀ + 2 Σ_k β^k Γ_k] / (1 − β²)     Γ_k = E⟨q_t, q_{t−k}⟩

and 2(1−α) η c + η² W = (2α − α²) R² is the stationary norm equation with D = κ D_q / (1 − β') and
S = W (1 + β') / (1 − β'). The tangents that momentum carries on are the drift that no single gradient shows.
"""

from __future__ import annotations

import numpy as np

from radii.data.embeddings import Floats
from radii.dynamics.config import Setting
from radii.dynamics.stationary import stationary_norm


def sign_norm(setting: Setting, fresh_second: Floats, lagged: Floats) -> Floats:
    """Stationary norms under Lion from the autocovariance of the gradients, (n_items,).

    The signed sum is c = Σ_j h_j g_{t−j} with h_0 = 1 − β, h_j = β (1−β₂) β₂^(j−1). Were it Gaussian, signs
    would keep (2/π) arcsin ρ_k of its autocorrelation, and R² (2α−α²) = η² dim [1 + 2 Σ_k (1−α)^k (2/π)
    arcsin ρ_k] for coordinates that are alike. Parameters are those of `momentum_norm`.
    """
    from scipy.signal import fftconvolve

    alpha, beta, beta2 = setting.eta * setting.lam, setting.beta, setting.beta2
    horizon = int(np.ceil(8 / max(1 - beta2, 1e-3)))
    weights = np.append(1 - beta, beta * (1 - beta2) * beta2 ** np.arange(horizon))
    own = np.correlate(weights, weights, mode="full")
    lags = np.vstack([lagged[::-1], fresh_second, lagged])
    cov = fftconvolve(lags, own[:, None], axes=0)
    cov = cov[len(cov) // 2 :]
    kept = np.arcsin(np.clip(cov[1:] / cov[0], -1, 1)) * 2 / np.pi
    fading = (1 - alpha) ** np.arange(1, len(cov))
    moved = setting.dim * np.maximum(1 + 2 * (fading[:, None] * kept).sum(axis=0), 0.0)
    return stationary_norm(eta=setting.eta, alpha=alpha, drift=0.0, second_moment=moved, power=0)


def momentum_norm(
    setting: Setting, fresh_drift: Floats, fresh_second: Floats, lagged: Floats
) -> Floats | None:
    """Stationary norms from gradient statistics, β, λ and η; None for optimisers that are not linear in q.

    Parameters
    ----------
    setting : Setting
        Its optimiser, eta, lam and beta; coupled decay under momentum damps by α = ηλ/(1−β).
    fresh_drift, fresh_second : (n_items,) float64
        D_q and Γ₀ of the newest gradient q, scaled by R^p.
    lagged : (lags, n_items) float64
        Γ_k from lag 1; no rows stand for gradients that do not remember each other.

    Returns
    -------
    norm : (n_items,) float64, or None for Lion and for coupled Adam
    """
    if setting.optimiser in ("lion", "adam"):
        return None
    beta, alpha = setting.beta if setting.optimiser != "sgd" else 0.0, setting.eta * setting.lam
    weights = beta ** np.arange(1, len(lagged) + 1)
    remembered = fresh_second + 2 * (weights[:, None] * lagged).sum(axis=0)
    kappa = 1 - beta if setting.optimiser == "adamw" else 1.0
    if setting.optimiser == "momentum":
        alpha = alpha / (1 - beta)
    kept = beta * (1 - alpha)
    moved = kappa**2 * np.maximum(remembered, 0.0) / (1 - beta**2)
    return stationary_norm(
        eta=setting.eta,
        alpha=alpha,
        drift=kappa * fresh_drift / (1 - kept),
        second_moment=moved * (1 + kept) / (1 - kept),
        power=setting.power,
    )
