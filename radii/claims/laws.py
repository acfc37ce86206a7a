"""Claim 2: how the norm scales with weight decay, learning rate, heat and drift."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from radii.claims.outcome import Progress, Statement, Tested, near, over_seeds, reported, unreached
from radii.data.embeddings import Floats
from radii.dynamics.config import Setting, grid
from radii.dynamics.result import Run
from radii.dynamics.training import simulate

TITLE = "R ∝ λ^(−1/4), η^(1/4), S^(1/4) where heat dominates; (D/λ)^(1/2) where drift does"
ON = "free embedding table, InfoNCE, SGD"
METHOD = (
    "Free table, InfoNCE, SGD. One least-squares fit per seed of log R over all items and settings on "
    "log λ, log η and log S (on log λ, log η and log D in the drift-dominated case, where an outward "
    "push of set strength is added to u). 'Alone' is the plain slope of the mean log R against log λ or "
    "log η, with S left to change as it will."
)


def settings(full: bool, outward: Sequence[float]) -> list[Setting]:
    """λ and η vary; ambiguity is spread over items, so that S does."""
    n = 100 if full else 40
    base: dict[str, Any] = {"n_items": n, "dim": 16 if full else 8, "batch": 32 if full else 16}
    base |= {"ambiguity": (0.0, 0.8), "tau": 0.2}
    seeds = list(range(6 if full else 2))
    if any(outward):
        # Small η: heat falls with it, drift does not.
        lams = [0.2, 0.4, 0.8] if full else [0.4, 1.6]
        over = {"lam": lams, "eta": [0.002, 0.004] if full else [0.004], "outward": list(outward)}
    else:
        lams = [0.005, 0.01, 0.02, 0.04, 0.08] if full else [0.16, 0.64]
        over = {"lam": lams, "eta": [0.0125, 0.025, 0.05] if full else [0.025, 0.05], "outward": [0.0]}
    found = []
    for one in grid(base, over | {"seed": seeds}):
        # Groups of like damping share a length: relaxation takes 1/(4α) by heat and 1/(2α) by drift.
        relaxation = (0.5 if any(outward) else 0.25) / (one.eta * one.lam)
        burn = int(2 ** np.ceil(np.log2(7 * relaxation)))
        found.append(one.model_copy(update={"burn_in": burn, "steps": 2 * burn}))
    return found


def run(full: bool, progress: Progress | None = None) -> Tested:
    """Fit the exponents; a few minutes when full."""
    hot = simulate(settings(full, [0.0]), progress=progress)
    pushed = simulate(settings(full, [1.0, 4.0]), progress=progress)
    return Tested(
        seeds=6 if full else 2,
        statements=[*_heat(hot), *_drift(pushed)],
        notes=[
            "The laws in λ and η hold at fixed S. S itself depends on ηλ, through the angle of a step, so "
            "the plain slopes are off by what S adds.",
            unreached([r.stationarity.reached for r in hot + pushed]),
        ],
    )


def _heat(runs: list[Run]) -> list[Statement]:
    fits = _fits(runs, lambda r: r.second_moment)
    expected = {"λ": -0.25, "η": 0.25, "S": 0.25}
    named = [
        near(f"heat: exponent of {name}", float(fits[:, i].mean()), value, 0.02, **over_seeds(fits[:, i]))
        for i, (name, value) in enumerate(expected.items())
    ]
    alone = np.array([_plain_slopes([r for r in runs if r.setting.seed == s]) for s in _seeds(runs)])
    for i, name in enumerate(("λ", "η")):
        named.append(
            reported(f"heat: slope of {name} alone", float(alone[:, i].mean()), **over_seeds(alone[:, i]))
        )
    return named


def _drift(runs: list[Run]) -> list[Statement]:
    fits = _fits(runs, lambda r: r.drift)
    expected = {"λ": -0.5, "D": 0.5}
    several = len({r.setting.eta for r in runs}) > 1
    columns = {"λ": 0, "D": 2} | ({"η": 1} if several else {})
    expected |= {"η": 0.0} if several else {}
    return [
        near(
            f"drift: exponent of {name}",
            float(fits[:, columns[name]].mean()),
            value,
            0.02,
            **over_seeds(fits[:, columns[name]]),
        )
        for name, value in expected.items()
    ]


def _seeds(runs: list[Run]) -> list[int]:
    return sorted({r.setting.seed for r in runs})


def _fits(runs: list[Run], cause: Any) -> Floats:
    """Exponents of λ, η and the cause, per seed: (n_seeds, 3). A constant η gets 0."""
    found = []
    for seed in _seeds(runs):
        here = [r for r in runs if r.setting.seed == seed]
        columns = [
            np.concatenate([np.full(len(r.norm), np.log(r.setting.lam)) for r in here]),
            np.concatenate([np.full(len(r.norm), np.log(r.setting.eta)) for r in here]),
            np.concatenate([np.log(cause(r)) for r in here]),
        ]
        design = np.column_stack([np.ones(len(columns[0])), *(c - c.mean() for c in columns)])
        target = np.concatenate([np.log(r.norm) for r in here])
        found.append(np.linalg.lstsq(design, target)[0][1:])
    return np.array(found)


def _plain_slopes(runs: list[Run]) -> list[float]:
    design = np.array([[1.0, np.log(r.setting.lam), np.log(r.setting.eta)] for r in runs])
    target = np.array([np.log(r.norm).mean() for r in runs])
    solution = np.linalg.lstsq(design, target)[0]
    return [float(solution[1]), float(solution[2])]
