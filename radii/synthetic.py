"""Corpora with a planted truth, to test the evidence itself: what an audit must say is known beforehand.

A query asks for document d with probability

    P(d | q) ∝ max(0, cos*(q, d))^sharpness · exp(sharpness · (γ* log r_d + δ* log ℓ_d)),

cos* the cosine of what the texts mean, r the norm, ℓ the length. By the probability ranking principle no
ranking does better than by cos* · r^γ* · ℓ^δ*. What a retriever sees are vectors whose cosine may also hold a
part that has nothing to do with meaning: with `hubness`, all vectors share a direction, some documents more.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np

from radii.data.embeddings import Embeddings, Floats
from radii.errors import InputError
from radii.ranking.score import Ints, score

_LOG_SPREAD = 0.25  # standard deviation of log norm and of log length
_SHARED = 0.8  # correlation of log norm with what it stands for
_FRESH = 4000  # queries that stand for the population
_ROWS = 500  # of them at a time


@dataclass(frozen=True)
class Truth:
    """What is planted.

    Attributes
    ----------
    gamma : float
        γ*, the norm's own exponent.
    length : float
        δ*, the exponent of length; the norm then goes with length.
    hubness : float
        Share of the direction common to all vectors; the norm then goes with a document's part in it.
    tail : float
        Degrees of freedom of the t distribution of log norm; infinite is normal.
    n_queries, n_docs, dim : int
    sharpness : float
        How exactly a query asks for the document nearest to it.
    """

    gamma: float = 0.0
    length: float = 0.0
    hubness: float = 0.0
    tail: float = float("inf")
    n_queries: int = 200
    n_docs: int = 400
    dim: int = 24
    sharpness: float = 14.0

    def __post_init__(self) -> None:
        small = min(self.n_queries, self.n_docs - 1, self.dim - 1) < 1
        if small or self.sharpness <= 0 or self.hubness < 0 or self.tail <= 2:
            raise InputError(
                f"{self}",
                where="planted truth",
                fix="give a query, 2 documents, 2 dimensions, sharpness > 0, hubness ≥ 0, tail > 2 or more",
            )

    @property
    def stands_for(self) -> str | None:
        """What a gain of the norm would really be a gain of; None where it is the norm's own."""
        names = [
            name
            for name, size in (("length", self.length), ("hubness", self.hubness))
            if size and not self.gamma
        ]
        return " and ".join(names) or None


TRUTHS: Mapping[str, Truth] = {
    "no signal": Truth(),
    "exponent": Truth(gamma=-0.4),
    "length": Truth(length=-0.6),
    "hubness": Truth(hubness=0.7),
    "length and hubness": Truth(length=-0.6, hubness=0.7),
    "heavy tails": Truth(tail=2.5),
    "few queries": Truth(n_queries=30),
}


@dataclass(frozen=True, eq=False)
class Planted:
    """A corpus drawn from a truth, ready for `radii.audit`.

    Attributes
    ----------
    truth : Truth
    docs, queries : Embeddings
    qrels : {query id: {document id: 1}}
        One relevant document a query.
    signals : {"length": (n_docs,) float64}
    """

    truth: Truth
    docs: Embeddings
    queries: Embeddings
    qrels: dict[str, dict[str, int]]
    signals: dict[str, Floats]
    _law: _Law

    def population(self, value: Callable[[Floats], Floats], gammas: Floats, seed: int = 0) -> Floats:
        """Expected metric of ranking by cos · r^γ over the queries of the population: (n_gammas,) float64.

        E Σ_d P(d | q) · value(rank_γ(d)), over 4,000 queries not in the corpus; `value` maps (m,) ranks from
        1 to what a relevant document there is worth, such as 1/rank.
        """
        rng = np.random.default_rng([seed, 1])
        total = np.zeros(len(gammas))
        for _ in range(_FRESH // _ROWS):
            queries, likely = self._law.ask(_ROWS, rng)
            cosines = queries @ self._law.seen.T
            for at, gamma in enumerate(gammas):
                order = np.argsort(-score(cosines, self.docs.norms, float(gamma)), axis=1)
                ranked = np.take_along_axis(likely, order, axis=1)
                total[at] += float((ranked @ value(np.arange(1.0, len(self.docs) + 1))).sum())
        return total / _FRESH


@dataclass(frozen=True, eq=False)
class _Law:
    """Who asks for what, and what the retriever sees of it."""

    meaning: Floats  # (n_docs, dim) unit
    seen: Floats  # (n_docs, dim + 1) unit
    log_worth: Floats  # (n_docs,)
    shared: float
    sharpness: float

    def ask(self, n: int, rng: np.random.Generator) -> tuple[Floats, Floats]:
        """(n, dim + 1) unit queries as seen, and (n, n_docs) probabilities of what they ask for."""
        meant = _unit(rng.normal(size=(n, self.meaning.shape[1])))
        log_cosine = np.log(np.maximum(meant @ self.meaning.T, 1e-30))
        weight = self.sharpness * (log_cosine + self.log_worth)
        likely = np.exp(weight - weight.max(axis=1, keepdims=True))
        return _unit(_joined(meant, np.full(n, self.shared))), likely / likely.sum(axis=1, keepdims=True)


def plant(truth: Truth | str, seed: int) -> Planted:
    """A corpus with this truth, or with the one of this name in `TRUTHS`.

    Raises InputError on an unknown name.

    >>> plant("exponent", seed=0).truth.gamma
    -0.4
    """
    if isinstance(truth, str):
        if truth not in TRUTHS:
            raise InputError(f"{truth!r}", where="planted truth", fix=f"take one of {', '.join(TRUTHS)}")
        truth = TRUTHS[truth]
    rng = np.random.default_rng([seed, 0])
    own = rng.normal(size=truth.n_docs)
    if np.isfinite(truth.tail):
        own = rng.standard_t(truth.tail, size=truth.n_docs)
    long, hub = rng.normal(size=(2, truth.n_docs))
    # The norm stands for length, for the shared direction, for both in equal parts, or for itself.
    parts = [part for part, size in ((long, truth.length), (hub, truth.hubness)) if size]
    log_norm = _scaled(own)
    if parts:
        log_norm = _scaled(_SHARED * _scaled(np.sum(parts, axis=0)) + np.sqrt(1 - _SHARED**2) * log_norm)
    log_norm, log_length = _LOG_SPREAD * log_norm, _LOG_SPREAD * _scaled(long)
    meaning = _unit(rng.normal(size=(truth.n_docs, truth.dim)))
    law = _Law(
        meaning,
        _unit(_joined(meaning, truth.hubness * (1 + 0.5 * _scaled(hub)))),
        truth.gamma * log_norm + truth.length * log_length,
        truth.hubness,
        truth.sharpness,
    )
    queries, likely = law.ask(truth.n_queries, rng)
    asked = _drawn(likely, rng)
    docs = Embeddings(
        [f"d{row}" for row in range(truth.n_docs)], law.seen * np.exp(log_norm)[:, None], "planted"
    )
    return Planted(
        truth,
        docs,
        Embeddings([f"q{row}" for row in range(truth.n_queries)], queries, "planted queries"),
        {f"q{row}": {f"d{doc}": 1} for row, doc in enumerate(asked.tolist())},
        {"length": np.exp(3.0 + log_length)},
        law,
    )


def with_queries(truth: Truth, n_queries: int) -> Truth:
    """The same truth, asked by another number of queries."""
    return replace(truth, n_queries=n_queries)


def _drawn(likely: Floats, rng: np.random.Generator) -> Ints:
    """One column per row, with these probabilities."""
    below = np.cumsum(likely, axis=1) < rng.random((len(likely), 1))
    drawn: Ints = np.minimum(below.sum(axis=1), likely.shape[1] - 1)
    return drawn


def _scaled(values: Floats) -> Floats:
    out: Floats = (values - values.mean()) / values.std()
    return out


def _unit(rows: Floats) -> Floats:
    out: Floats = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    return out


def _joined(rows: Floats, column: Floats) -> Floats:
    return np.concatenate([rows, column[:, None]], axis=1)
