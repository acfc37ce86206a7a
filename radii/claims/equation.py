"""Claim 1: the stationary norm equation predicts the trained norm of every item."""

from __future__ import annotations

from typing import Any

import numpy as np

from radii.claims.outcome import Progress, Tested, at_most, median_over_runs, reported, unreached
from radii.dynamics.chain import radial_chain
from radii.dynamics.config import Setting, grid
from radii.dynamics.result import Run
from radii.dynamics.training import simulate

TITLE = "The stationary norm equation predicts every trained norm"
ON = "free embedding table, InfoNCE, SGD"
METHOD = (
    "Free embedding table, InfoNCE, SGD, over a grid of η, λ, batch, τ and ambiguity. D, S and α are "
    "measured after burn-in and put into the equation; the error of an item is |predicted / mean "
    "trained norm − 1|. Runs are summed up by their median item, claims by the median run."
)
_CHAIN_FROM = 9e-4  # ηλ from which steps are large enough for the chain to differ


def settings(full: bool) -> list[Setting]:
    """The grid, run lengths in relaxation times of ηλ."""
    base: dict[str, Any] = {"n_items": 200 if full else 40, "dim": 16 if full else 8}
    dampings = [1e-4, 3e-4, 1e-3, 3e-3, 1e-2, 3e-2, 5e-2] if full else [3e-3, 5e-2]
    over: dict[str, list[Any]] = {
        "eta": [0.02, 0.1] if full else [0.1],
        "batch": [16, 64] if full else [6],
        "tau": [0.1, 0.5] if full else [0.2],
        "ambiguity": [0.1, (0.0, 0.6)] if full else [(0.0, 0.6)],
        "seed": list(range(4 if full else 2)),
    }
    found = []
    for damping in dampings:
        length = max(12000 if full else 4000, int(8 / (4 * damping)))
        here = {"burn_in": max(1500, int(7 / (4 * damping))), "steps": length, "samples": 4000}
        found += [s.model_copy(update={"lam": damping / s.eta}) for s in grid(base | here, over)]
    return found


def run(full: bool, progress: Progress | None = None) -> Tested:
    """Test the claim on the grid; about five minutes when full."""
    rows = [_row(one) for one in simulate(settings(full), progress=progress)]
    weak = [r for r in rows if r["damping"] <= 1e-3]
    strong = [r for r in rows if r["damping"] > 0.049]
    chained = [r for r in rows if r["chain"] is not None]
    statements = []
    if weak:
        errors = [r["closed_form"] for r in weak]
        statements.append(
            at_most(
                "closed form, ηλ ≤ 1e-3: median relative error",
                float(np.median(errors)),
                0.01,
                **median_over_runs(errors),
            )
        )
        statements.append(reported("closed form, ηλ ≤ 1e-3: worst run", float(np.max(errors))))
    for name, field in (("radial chain", "chain"), ("closed form", "closed_form")):
        errors = [r[field] for r in strong]
        value, more = float(np.median(errors)), median_over_runs(errors)
        title = f"{name}, ηλ = 0.05: median relative error"
        statements.append(
            at_most(title, value, 0.02, **more) if field == "chain" else reported(title, value, **more)
        )
    statements.append(
        at_most(
            "radial chain, 1e-3 ≤ ηλ ≤ 0.05: worst setting",
            max(_by_setting(chained).values()),
            0.02,
            over="median over seeds of a setting's median item",
        )
    )
    return Tested(
        seeds=4 if full else 2,
        statements=statements,
        table=_table(rows),
        notes=[unreached([r["stationary"] for r in rows])],
    )


def _row(one: Run) -> dict[str, Any]:
    setting = one.setting
    damping = setting.eta * setting.lam
    closed = float(np.median(one.errors()))
    chain = None
    if damping > _CHAIN_FROM:
        law = radial_chain(
            eta=setting.eta,
            alpha=damping,
            drift_samples=one.drift_samples.astype(np.float64),
            square_samples=one.square_samples.astype(np.float64),
            seed=setting.seed,
        )
        chain = float(np.median(np.abs(law.mean / one.norm - 1)))
    spread = "spread" if isinstance(setting.ambiguity, tuple) else "even"
    return {
        "damping": damping,
        "eta": setting.eta,
        "batch": setting.batch,
        "tau": setting.tau,
        "ambiguity": spread,
        "seed": setting.seed,
        "norm": float(one.norm.mean()),
        "closed_form": closed,
        "chain": chain,
        "stationary": one.stationarity.reached,
    }


def _by_setting(rows: list[dict[str, Any]]) -> dict[tuple[Any, ...], float]:
    groups: dict[tuple[Any, ...], list[float]] = {}
    for r in rows:
        groups.setdefault((r["damping"], r["eta"], r["batch"], r["tau"], r["ambiguity"]), []).append(
            r["chain"]
        )
    return {key: float(np.median(values)) for key, values in groups.items()}


def _table(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Median error over runs by damping and batch."""
    keys = sorted({(r["damping"], r["batch"]) for r in rows})
    table = []
    for damping, batch in keys:
        here = [r for r in rows if (r["damping"], r["batch"]) == (damping, batch)]
        chain = [r["chain"] for r in here if r["chain"] is not None]
        table.append(
            {
                "eta_lam": damping,
                "batch": batch,
                "runs": len(here),
                "closed_form": float(f"{np.median([r['closed_form'] for r in here]):.3g}"),
                "chain": float(f"{np.median(chain):.3g}") if chain else None,
            }
        )
    return table
