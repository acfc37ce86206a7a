"""Claim 3: what disagrees about an input heats it, and heat makes its norm."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import stats

from radii.claims.outcome import Progress, Tested, at_least, over_seeds, reported, unreached
from radii.dynamics.config import Setting, grid
from radii.dynamics.training import simulate

TITLE = "Inconsistent positives raise heat and norm"
ON = "free embedding table, InfoNCE, SGD"
METHOD = (
    "Free table of 400 items, InfoNCE, SGD, batch 64 (the prototype's setting). Within a run: ambiguity "
    "is spread evenly over items from 0 to 0.6, and norm is ranked against it. Between runs: every item "
    "gets the same label noise, from none to 0.6, and the mean heat and norm are compared with those of "
    "the clean run of the same seed."
)
LEVELS = (0.0, 0.1, 0.2, 0.4, 0.6)


def settings(full: bool, ambiguity: list[Any]) -> list[Setting]:
    """The prototype's setting, small when not full."""
    base: dict[str, Any] = {"n_items": 400, "batch": 64} if full else {"n_items": 60, "batch": 16, "dim": 8}
    base |= {"eta": 0.1, "lam": 0.02, "tau": 0.1, "burn_in": 3000 if full else 800}
    base["steps"] = 12000 if full else 4000
    return grid(base, {"ambiguity": ambiguity, "seed": list(range(5 if full else 2))})


def run(full: bool, progress: Progress | None = None) -> Tested:
    """Train both kinds of runs; about three minutes when full."""
    runs = simulate(settings(full, [(0.0, 0.6), *LEVELS]), progress=progress)
    spread = [r for r in runs if isinstance(r.setting.ambiguity, tuple)]
    even = [r for r in runs if not isinstance(r.setting.ambiguity, tuple)]
    statements = []
    for name in ("norm", "heat"):
        each = [float(stats.spearmanr(getattr(r, name), r.ambiguity).statistic) for r in spread]
        value, more = float(np.mean(each)), over_seeds(each)
        title = f"Spearman({name}, ambiguity)"
        statements.append(
            at_least(title, value, 0.95, **more) if name == "norm" else reported(title, value, **more)
        )
    table = []
    for level in LEVELS:
        here = [r for r in even if r.setting.ambiguity == level]
        row: dict[str, Any] = {"ambiguity": level}
        for name in ("norm", "heat"):
            ratios = [
                getattr(r, name).mean() / getattr(clean, name).mean()
                for r in here
                for clean in even
                if (clean.setting.ambiguity, clean.setting.seed) == (0.0, r.setting.seed)
            ]
            row[f"{name}_over_clean"] = float(f"{np.mean(ratios):.4g}")
            if level == LEVELS[-1]:
                title = f"{name} with noise {level:g} over {name} without"
                statements.append(at_least(title, float(np.mean(ratios)), 1.0, **over_seeds(ratios)))
        table.append(row)
    return Tested(
        seeds=5 if full else 2,
        statements=statements,
        table=table,
        notes=[unreached([r.stationarity.reached for r in runs])],
    )
