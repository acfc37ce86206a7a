"""Claim 6: what the norm goes with depends on the architecture around it."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import stats

from radii.claims.outcome import Progress, Tested, over_seeds, reported, unreached
from radii.dynamics.config import Setting, grid
from radii.dynamics.result import Run
from radii.dynamics.training import simulate

TITLE = "Synthetic texts: what the norm goes with, by architecture"
ON = "four small encoders of synthetic texts, SGD and AdamW"
METHOD = (
    "Items are texts of 2 to 24 words from a vocabulary of 100, half of them from their cluster's eight "
    "topic words; the encoder averages word vectors. Generality is ambiguity, spread from 0 to 0.6, in "
    "random order against length. Three encoders (mean pooling alone; a GELU layer and a projection "
    "head; the same with LayerNorm before the head), two optimisers. Spearman's ρ of the norm with "
    "each; with the other held fixed it is nearly the same, for the two are independent."
)
ENCODERS: dict[str, dict[str, Any]] = {
    "mean pooling": {"head": False},
    "head": {"head": True, "layer_norm": False},
    "LayerNorm and head": {"head": True, "layer_norm": True},
}
_RATES = {"sgdw": {"eta": 0.02, "lam": 0.05}, "adamw": {"eta": 0.002, "lam": 0.5}}


def settings(full: bool, encoder: str, optimiser: str) -> list[Setting]:
    """Seeds of one encoder under one optimiser."""
    base: dict[str, Any] = (
        {"n_items": 100, "features": 100, "hidden": 32} if full else {"n_items": 40, "hidden": 16}
    )
    base |= {"encoder": "mlp", "text_length": (2, 24), "ambiguity": (0.0, 0.6), "tau": 0.2, "dim": 16}
    base |= {"optimiser": optimiser, **_RATES[optimiser], **ENCODERS[encoder], "initial_norm": 1.0}
    base |= {"burn_in": 12000, "steps": 16000} if full else {"burn_in": 200, "steps": 200}
    return grid(base, {"seed": list(range(4 if full else 2))})


def run(full: bool, progress: Progress | None = None) -> Tested:
    """Train every encoder under every optimiser; about five minutes when full."""
    statements, table, reached = [], [], []
    for optimiser in _RATES:
        for encoder in ENCODERS:
            runs = simulate(settings(full, encoder, optimiser), progress=progress)
            reached += [r.stationarity.reached for r in runs]
            row: dict[str, Any] = {"optimiser": optimiser, "encoder": encoder}
            for name in ("length", "ambiguity"):
                each = [_rank(r, name) for r in runs]
                title = f"{optimiser}, {encoder}: Spearman(norm, {name})"
                statements.append(reported(title, float(np.mean(each)), **over_seeds(each)))
                row[name] = float(f"{np.mean(each):.3g}")
            row["equation off by"] = float(f"{np.median([np.median(r.errors()) for r in runs]):.3g}")
            row["damped items"] = float(f"{np.mean([r.predictable.mean() for r in runs]):.3g}")
            row["sd of log norm"] = float(f"{np.mean([np.log(r.norm).std() for r in runs]):.3g}")
            table.append(row)
    return Tested(
        seeds=4 if full else 2,
        statements=statements,
        table=table,
        notes=[
            "'equation off by': the stationary norm equation from measured D, S and α, median item, of the "
            "items that decay shortens ('damped items', a share).",
            "A world of synthetic texts; for real ones see the claim 'text'.",
            unreached(reached),
        ],
    )


def _rank(one: Run, name: str) -> float:
    return float(stats.spearmanr(getattr(one, name), one.norm).statistic)
