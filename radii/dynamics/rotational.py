"""Rotational equilibrium: the norms at which random gradients and weight decay balance, for comparison.

Source: Kosson, Messmer, Jaggi (2023), arXiv 2305.17212. They let the gradients of different steps be
independent and, under Adam and Lion, every coordinate be alike.
"""

from __future__ import annotations

import numpy as np

from radii.data.embeddings import Floats
from radii.dynamics.config import Setting


def rotational_norm(setting: Setting, fresh_second: Floats) -> Floats | None:
    """Equilibrium norm of a vector of `setting.dim` coordinates, (n_items,).

    - SGD, coupled: R⁴ = η Γ₀ / (2λ(1−β)); decoupled momentum, by the same argument, 1/(1−β) times that.
    - AdamW: R² = η dim / (2λ).
    - Lion: R² = η dim / (πλ) / [(1−β₁)² + β₁² (1−β₂)/(1+β₂)].

    None for coupled Adam, whose norm depends on the size of the gradient itself.
    `fresh_second` (n_items,) is Γ₀ = E‖q‖² of the newest gradient scaled by R; only SGD reads it.
    """
    eta, lam, beta, beta2 = setting.eta, setting.lam, setting.beta, setting.beta2
    if setting.optimiser == "adam":
        return None
    if setting.optimiser in ("sgd", "momentum", "sgdw"):
        remembers = {"sgd": 1.0, "momentum": 1 - beta, "sgdw": (1 - beta) ** 2}[setting.optimiser]
        root: Floats = (eta * fresh_second / (2 * lam * remembers)) ** 0.25
        return root
    square = eta * setting.dim / (2 * lam)
    if setting.optimiser == "lion":
        square *= 2 / np.pi / ((1 - beta) ** 2 + beta**2 * (1 - beta2) / (1 + beta2))
    return np.full(len(fresh_second), np.sqrt(square))
