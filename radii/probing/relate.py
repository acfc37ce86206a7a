"""What norms go with: rank correlations with each heat, and how much of that is arithmetic."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from scipy import stats

from radii.data.embeddings import Floats
from radii.probing.report import ByRadius, With
from radii.result import Correlation
from radii.signals.relations import Relation, partial_spearman, spearman_matrix

RESAMPLES = 499
PERMUTATIONS = 199


def rank_correlation(x: Floats, y: Floats) -> float:
    """Spearman's ρ of two (n,) columns; nan where one is constant."""
    if np.ptp(x) == 0 or np.ptp(y) == 0:
        return float("nan")
    return float(stats.spearmanr(x, y).statistic)


def by_radius(norms: Floats, raw: Floats, seed: int) -> ByRadius:
    """Spearman(R, R² · raw heat) with the raw heats dealt out anew: what the factor R² alone makes.

    Mean and central 95 % over 199 permutations of (n,) raw heats.
    """
    rng = np.random.default_rng([seed, 4])
    found = [rank_correlation(norms, norms**2 * rng.permutation(raw)) for _ in range(PERMUTATIONS)]
    low, high = np.quantile(found, [0.025, 0.975])
    return ByRadius(mean=float(np.mean(found)), low=float(low), high=float(high))


def go_with(
    norms: Floats,
    columns: Mapping[str, Floats],
    length: Floats | None,
    others: Mapping[str, Floats],
    seed: int,
) -> dict[str, With]:
    """Correlation of the norm with each (n,) column: plain, length held fixed, and length and others."""
    plain = spearman_matrix({"norm": norms, **columns}, seed, resamples=RESAMPLES)
    found = {}
    for name, column in columns.items():
        given = [] if length is None else [length]
        by_length = partial_spearman(norms, column, given, seed, resamples=RESAMPLES) if given else None
        every = [*given, *others.values()]
        by_all = partial_spearman(norms, column, every, seed, resamples=RESAMPLES) if others else None
        found[name] = With(
            plain=_said(plain["norm", name]),
            length_fixed=None if by_length is None else _said(by_length),
            all_fixed=None if by_all is None else _said(by_all),
        )
    return found


def _said(relation: Relation) -> Correlation:
    return Correlation(estimate=relation.estimate, low=relation.low, high=relation.high)
