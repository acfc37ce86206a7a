"""Train small encoders under controlled conditions and hold their norms against the equation.

Needs radii[models].
"""

from __future__ import annotations

import numpy as np

import radii
from radii.dynamics.config import grid
from radii.dynamics.training import simulate

# Items whose positives are of another cluster with probability 0 to 0.6, at two weight decays.
runs = simulate(grid({"n_items": 100, "ambiguity": (0.0, 0.6)}, {"lam": [0.1, 0.5]}))

for run in runs:
    rho = np.corrcoef(np.log(run.norm), run.ambiguity)[0, 1]
    print(f"λ = {run.setting.lam:g}: norm {run.norm.mean():.3f}, stationary: {run.stationarity.reached}")
    print(f"  equation off by {np.median(run.errors()):.2%}, log norm with ambiguity {rho:+.2f}")

# The equation itself, on the drift, second moment and damping that one run measured.
run = runs[0]
predicted = radii.stationary_norm(
    eta=run.setting.eta, alpha=run.alpha, drift=run.drift, second_moment=run.second_moment
)
print(f"median of predicted over trained: {np.median(predicted / run.norm):.4f}")
