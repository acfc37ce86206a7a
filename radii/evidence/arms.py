"""One way to rank, with what it is worth on queries that had no say in it; the best of several."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from radii.data.embeddings import Embeddings, Floats
from radii.evidence.intervals import Estimate
from radii.evidence.question import Question
from radii.ranking.family import Affine

NORM, RESIDUAL = "norm", "norm, rest regressed out"  # the two multipliers that are the norm's own


@dataclass(frozen=True, eq=False)
class Start:
    """A ranking to go on from, for some queries: cos(q, d) · e^base, or `affine` in the cosine's place."""

    queries: Embeddings
    base: Floats | None = None
    affine: Affine | None = None


@dataclass(frozen=True, eq=False)
class Contender:
    """One way to rank, and what it is worth on queries that had no say in its tuning.

    Attributes
    ----------
    name : str
    explains : str
        What a gain of it would be a gain of: `norm`, `length`, `hubness`, `mean direction` ...
    parameters : {name: value}
        What to rank with: `gamma` is an exponent, `weight` that of a penalty; empty when there is none.
    gains : (n_queries,) float64
        Over cosine, query by query.
    estimate : Estimate
    chosen : (repeats, folds) float64, optional
        First parameter, as chosen on training folds; None when nothing was tuned.
    servable : bool
        From one vector per document and one inner product.
    offered : bool
        Whether it may be recommended: not when it is a special case of another arm, or cannot be served.
    build : callable, optional
        The ranking that this arm arrives at, for the queries of each part; see `Field.beyond`. None for arms
        of the norm itself, and where nothing can be put on top.
    """

    name: str
    explains: str
    parameters: Mapping[str, float]
    gains: Floats
    estimate: Estimate
    chosen: Floats | None
    servable: bool = True
    offered: bool = True
    build: Callable[[], Iterable[Start]] | None = field(default=None, repr=False)

    @property
    def parameter(self) -> float:
        """The first parameter; 0 when there is none."""
        return next(iter(self.parameters.values()), 0.0)


def multiplier(values: Floats) -> Floats | None:
    """A signal as a positive multiplier; None when it is constant.

    The signal itself when it is positive; else e to its standard score, so that an exponent still moves
    documents in the order of the signal.
    """
    if np.ptp(values) <= 1e-12 * np.abs(values).max():
        return None
    if values.min() > 0:
        return values
    return np.asarray(np.exp((values - values.mean()) / values.std()))


def honest_best(question: Question, arms: Sequence[Contender]) -> tuple[Contender, Estimate]:
    """The arm with the largest held-out gain, and what choosing among them is worth.

    On each fold the arm that gains most on the other folds is used, or cosine when none gains: the largest of
    many held-out gains flatters itself too.
    """
    gains = np.stack([arm.gains for arm in arms])
    n = gains.shape[1]
    fold = np.random.default_rng([question.seed, 4]).permutation(n) % question.protocol.folds
    honest = np.zeros(n)
    for part in range(question.protocol.folds):
        judged = fold == part
        means = gains[:, ~judged].mean(axis=1)
        if means.max() > 0:
            honest[judged] = gains[int(means.argmax()), judged]
    return arms[int(gains.mean(axis=1).argmax())], question.worth(honest)
