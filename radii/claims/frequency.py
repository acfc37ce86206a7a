"""Claim 4: how often an item is drawn and how ambiguous it is are two causes of its norm, told apart."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import stats

from radii.claims.outcome import Progress, Statement, Tested, at_least, near, over_seeds, reported, unreached
from radii.data.embeddings import Floats
from radii.dynamics.config import Setting, grid
from radii.dynamics.result import Run
from radii.dynamics.training import simulate

TITLE = "Frequency and ambiguity each raise the norm, and can be told apart"
ON = "free embedding table, InfoNCE, SGD"
METHOD = (
    "Free table, InfoNCE, SGD. Three designs: frequency spread over a factor of 16 at one ambiguity, "
    "ambiguity spread from 0 to 0.6 at one frequency, and both crossed in independent random order. In "
    "the crossed design log R is fitted on log frequency and ambiguity, and each is correlated with the "
    "norm given the other."
)
_DESIGNS = {
    "frequency": (0.2, (1.0, 16.0)),
    "ambiguity": ((0.0, 0.6), 1.0),
    "crossed": ((0.0, 0.6), (1.0, 16.0)),
}


def settings(full: bool, design: str) -> list[Setting]:
    """Seeds of one design."""
    base: dict[str, Any] = {"n_items": 120, "batch": 32} if full else {"n_items": 60, "dim": 8, "batch": 16}
    base |= {
        "eta": 0.1,
        "lam": 0.02,
        "tau": 0.2,
        "burn_in": 3000 if full else 1500,
        "steps": 30000 if full else 3000,
    }
    ambiguity, frequency = _DESIGNS[design]
    seeds = list(range(8 if full else 2))
    return grid(base | {"ambiguity": ambiguity, "frequency": frequency}, {"seed": seeds})


def run(full: bool, progress: Progress | None = None) -> Tested:
    """Train the three designs; about two minutes when full."""
    runs = {design: simulate(settings(full, design), progress=progress) for design in _DESIGNS}
    statements: list[Statement] = []
    for cause in ("frequency", "ambiguity"):
        each = [_rank(_causes(r)[cause], r.norm) for r in runs[cause]]
        more = over_seeds(each)
        statements.append(at_least(f"{cause} alone: Spearman with norm", float(np.mean(each)), 0.5, **more))
    fits = np.array([_fit(r) for r in runs["crossed"]])
    alone = {"frequency": np.array([_slope(r, "frequency") for r in runs["frequency"]])}
    alone["ambiguity"] = np.array([_slope(r, "ambiguity") for r in runs["ambiguity"]])
    table = []
    for column, cause in enumerate(("frequency", "ambiguity")):
        other = "ambiguity" if cause == "frequency" else "frequency"
        plain = np.array([_rank(_causes(r)[cause], r.norm) for r in runs["crossed"]])
        partial = np.array([_partial(r, cause, other) for r in runs["crossed"]])
        crossed = fits[:, column]
        statements.append(
            near(
                f"crossed: effect of {cause}, against alone",
                float(crossed.mean()),
                float(alone[cause].mean()),
                float(0.2 * abs(alone[cause].mean())),
                **over_seeds(crossed),
            )
        )
        statements.append(
            reported(
                f"crossed: Spearman(norm, {cause} | {other})", float(partial.mean()), **over_seeds(partial)
            )
        )
        table.append(
            {
                "cause": cause,
                "effect alone": _mean(alone[cause]),
                "effect crossed": _mean(crossed),
                "Spearman crossed": _mean(plain),
                "partial Spearman": _mean(partial),
            }
        )
    everything = [r for some in runs.values() for r in some]
    return Tested(
        seeds=8 if full else 2,
        statements=statements,
        table=table,
        notes=[
            "Effects: of frequency, the exponent d log R / d log f; of ambiguity, d log R / d a.",
            unreached([r.stationarity.reached for r in everything]),
        ],
    )


def _causes(one: Run) -> dict[str, Floats]:
    return {"frequency": np.log(one.weight), "ambiguity": one.ambiguity}


def _rank(x: Floats, y: Floats) -> float:
    return float(stats.spearmanr(x, y).statistic)


def _partial(one: Run, cause: str, given: str) -> float:
    causes = _causes(one)
    xy, xz, yz = (
        _rank(causes[cause], one.norm),
        _rank(causes[cause], causes[given]),
        _rank(one.norm, causes[given]),
    )
    return float((xy - xz * yz) / np.sqrt((1 - xz**2) * (1 - yz**2)))


def _slope(one: Run, cause: str) -> float:
    return float(np.polyfit(_causes(one)[cause], np.log(one.norm), 1)[0])


def _fit(one: Run) -> list[float]:
    causes = _causes(one)
    design = np.column_stack([np.ones(len(one.norm)), causes["frequency"], causes["ambiguity"]])
    solution = np.linalg.lstsq(design, np.log(one.norm))[0]
    return [float(solution[1]), float(solution[2])]


def _mean(values: Floats) -> float:
    return float(f"{values.mean():.4g}")
