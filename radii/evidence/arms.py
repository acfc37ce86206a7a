"""Every way to rank, judged alike: the norm, what it may stand for, and what others do instead.

All arms that are one number per document share one set of products. Each is tuned and judged by `held_out`,
against the same cosine, on the same queries.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from radii.data.embeddings import Embeddings, Floats
from radii.evidence.holdout import Protocol, held_out
from radii.evidence.intervals import Estimate, estimate
from radii.evidence.rivals import NEIGHBOURS, Pair, Penalties, bank_penalties
from radii.ranking.family import Family
from radii.ranking.metrics import Metric
from radii.ranking.path import ExponentPath, Grades, MetricPath, exponent_paths
from radii.ranking.score import Ints
from radii.ranking.steps import Curves
from radii.signals.hubness import k_occurrence

BANK_FOLDS = 5
NORM, RESIDUAL = "norm", "norm, rest regressed out"  # the two signals that are the norm's own


@dataclass(frozen=True)
class Question:
    """What is asked of every arm."""

    docs: Embeddings
    queries: Embeddings
    qrels: Grades
    metric: Metric
    gamma_range: tuple[float, float]
    exclude_self: bool
    seed: int
    protocol: Protocol

    @cached_property
    def excluded(self) -> Ints:
        """(n_queries,) document row that is the query itself, or −1."""
        rows = self.docs.rows if self.exclude_self else {}
        return np.array([rows.get(name, -1) for name in self.queries.ids], dtype=np.int64)

    @property
    def reach(self) -> float:
        """The end of the range that is farther from 0: where a penalty has weight 1."""
        low, high = self.gamma_range
        return high if high >= -low else low

    @cached_property
    def bank_fold(self) -> Ints:
        """(n_queries,) fold of each query: it is judged with the bank of all other folds."""
        rng = np.random.default_rng([self.seed, 2])
        return rng.permutation(len(self.queries)) % BANK_FOLDS

    @cached_property
    def penalties(self) -> Penalties:
        """Of every bank fold."""
        return bank_penalties(self.docs, self.queries, self.bank_fold, self.excluded)

    def paths(
        self,
        docs: Embeddings,
        queries: Embeddings,
        families: Mapping[str, Family],
        gamma_range: tuple[float, float] | None = None,
    ) -> dict[str, tuple[ExponentPath, MetricPath]]:
        """Paths and metrics of some families over other vectors or some of the queries."""
        found = exponent_paths(
            docs,
            queries,
            list(families.values()),
            k=self.metric.k,
            gamma_range=self.gamma_range if gamma_range is None else gamma_range,
            exclude_self=self.exclude_self,
        )
        return {
            name: (path, path.metric(self.metric, self.qrels))
            for name, path in zip(families, found, strict=True)
        }

    def judged(self, queries: Embeddings) -> bool:
        """Whether any of these queries has a relevant document."""
        return any(self.metric.judgement(self.qrels.get(name, {})) for name in queries.ids)


@dataclass(frozen=True, eq=False)
class Contender:
    """One way to rank, and what it is worth on queries that had no say in its tuning.

    Attributes
    ----------
    name : str
    explains : str
        What a gain of it would be a gain of: `norm`, `length`, `hubness`, `mean direction` ...
    parameter : float
        The exponent or weight to use.
    gains : (n_queries,) float64
        Over cosine, query by query.
    estimate : Estimate
    chosen : (repeats, folds) float64, optional
        Parameters chosen on training folds; None when nothing was tuned.
    build : callable, optional
        The vectors and the base of the ranking that this arm arrives at, for the queries of each part; see
        `Field.beyond`. None for arms of the norm itself.
    """

    name: str
    explains: str
    parameter: float
    gains: Floats
    estimate: Estimate
    chosen: Floats | None
    build: Callable[[], list[Start]] | None = field(default=None, repr=False)


@dataclass(frozen=True, eq=False)
class Start:
    """A ranking to go on from: cos(q, d) · e^base over some vectors, for some queries."""

    docs: Embeddings
    queries: Embeddings
    base: Floats | None


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


class Field:
    """All arms on the same judged queries.

    Parameters
    ----------
    question : Question
    signals : {name: (n_docs,) float64}
        Positive multipliers; NORM is one of them.
    banked : bool
        Whether to ask the query bank too: the documents are then read once per bank fold, and the products
        add up to one.

    Attributes
    ----------
    occurrence : (n_docs,) float64, optional
        In how many queries' first ten (or k, if that is less) each document is under cosine: its
        k-occurrence. It describes; no arm is made of it, since the queries being judged have a part in it.
    """

    def __init__(self, question: Question, signals: Mapping[str, Floats], *, banked: bool) -> None:
        self.question, self.signals, self.banked = question, signals, banked
        self.ids: list[str] = []
        self.path_of: dict[str, ExponentPath] = {}
        paths: list[ExponentPath] = []
        pieces: dict[str, list[Curves]] = {}
        shared = {name: Family.power(values) for name, values in signals.items()}
        for part, rows in enumerate(self.parts()):
            queries = question.queries.part(rows)
            if not question.judged(queries):
                continue
            found = question.paths(question.docs, queries, shared | self._biases(part))
            path, steps = found[NORM]
            self.ids += steps.ids
            self.path_of |= dict.fromkeys(steps.ids, path)
            paths.append(path)
            for name, (_, one) in found.items():
                pieces.setdefault(name, []).append(one.curves)
        if not self.ids:  # let the metric say why
            question.paths(question.docs, question.queries, {NORM: shared[NORM]})
        self.occurrence = _occurrence(paths, question)
        # In the order of the queries, so that no sum depends on how they were dealt.
        order = np.argsort([question.queries.rows[name] for name in self.ids])
        self.ids = [self.ids[at] for at in order]
        self.curves = {name: Curves.joined(some).part(order) for name, some in pieces.items()}

    def parts(self) -> list[Ints]:
        """Query rows that are answered together."""
        if not self.banked:
            return [np.arange(len(self.question.queries))]
        return [np.flatnonzero(self.question.bank_fold == f) for f in range(BANK_FOLDS)]

    def _biases(self, part: int) -> dict[str, Family]:
        if not self.banked:
            return {}
        found, scale = self.question.penalties, 1.0 / self.question.reach
        return {
            "hub penalty": Family.bias(scale * found.hub[part]),
            "inverted softmax": Family.bias(scale * found.softmax[part]),
        }

    @property
    def steps(self) -> MetricPath:
        """The metric along the norm's exponent."""
        return MetricPath(self.question.metric, self.ids, self.curves[NORM])

    @cached_property
    def cosine(self) -> Floats:
        """(n_judged,) metric of every query under cosine."""
        return self.curves[NORM].values(0.0)

    def exponent(
        self, name: str, signal: str, low: float | None = None, high: float | None = None
    ) -> Contender:
        """A multiplier, its exponent chosen on training folds between `low` and `high`."""
        ends = self.question.gamma_range
        low, high = ends[0] if low is None else low, ends[1] if high is None else high
        found = held_out(self.curves[signal], low, high, self.question.seed, self.question.protocol)

        def build() -> list[Start]:
            base = found.gamma * np.log(self.signals[signal])
            return [Start(self.question.docs, self.question.queries, base)]

        own = signal in (NORM, RESIDUAL)
        return Contender(
            name,
            NORM if own else signal,
            found.gamma,
            found.gains,
            found.estimate,
            found.chosen,
            None if own else build,
        )

    def penalty(self, name: str) -> Contender:
        """A penalty, its weight chosen on training folds between 0 and 1."""
        question = self.question
        low, high = sorted((0.0, question.reach))
        found = held_out(self.curves[name], low, high, question.seed, question.protocol)
        weight = found.gamma / question.reach
        return Contender(
            name,
            "hubness",
            weight,
            found.gains,
            found.estimate,
            found.chosen / question.reach,
            lambda: self._penalised(name, weight),
        )

    def _penalised(self, name: str, weight: float) -> list[Start]:
        """cos − w b as an inner product with one more dimension, part by part."""
        question, found = self.question, self.question.penalties
        starts = []
        for part, rows in enumerate(self.parts()):
            penalty = found.hub[part] if name == "hub penalty" else found.softmax[part]
            docs = _extended(question.docs, -weight * penalty)
            queries = question.queries.part(rows)
            starts.append(Start(docs, _extended(queries, np.ones(len(queries))), np.log(docs.norms)))
        return starts

    def vectors(self, name: str, explains: str, pair: Pair) -> Contender:
        """The cosine of another pair of vectors; nothing is tuned."""
        docs, queries = pair
        plain = {"plain": Family.power(np.ones(len(docs)))}
        steps = self.question.paths(docs, queries, plain, (0.0, 0.0))["plain"][1]
        row = {query: at for at, query in enumerate(steps.ids)}
        values = steps.curves.values(0.0)[[row[query] for query in self.ids]]
        return self.fixed(name, explains, 0.0, values, lambda: [Start(docs, queries, None)])

    def fixed(
        self,
        name: str,
        explains: str,
        parameter: float,
        values: Floats,
        build: Callable[[], list[Start]] | None = None,
    ) -> Contender:
        """An arm without a choice: every query may judge it."""
        gains = values - self.cosine
        return Contender(name, explains, parameter, gains, self.worth(gains), None, build)

    def worth(self, gains: Floats) -> Estimate:
        """Estimate of a mean gain by the question's protocol."""
        protocol = self.question.protocol
        return estimate(gains, self.question.seed, level=protocol.level, resamples=protocol.resamples)

    def beyond(self, base: Contender, values: Floats) -> Contender:
        """What an exponent of `values` adds, on held-out queries, to the ranking that `base` arrives at."""
        ids: list[str] = []
        pieces = []
        family = Family.power(values)
        for start in base.build() if base.build is not None else []:
            if self.question.judged(start.queries):
                own = {"own": Family(family.slope, base=start.base)}
                steps = self.question.paths(start.docs, start.queries, own)["own"][1]
                ids += steps.ids
                pieces.append(steps.curves)
        found = held_out(
            Curves.joined(pieces), *self.question.gamma_range, self.question.seed, self.question.protocol
        )
        at = {query: row for row, query in enumerate(ids)}
        gains = found.gains[[at[query] for query in self.ids]]
        return Contender(f"norm beyond {base.name}", NORM, found.gamma, gains, found.estimate, found.chosen)


def _occurrence(paths: list[ExponentPath], question: Question) -> Floats | None:
    """In how many queries' first ranks each document is; None where lists hold most of the corpus."""
    depth = min(question.metric.k, NEIGHBOURS)
    tops = [path.top(row, 0.0)[:depth] for path in paths for row in range(len(path.queries))]
    if any(len(top) < depth for top in tops) or len(question.docs) <= 2 * depth:
        return None
    return k_occurrence(np.stack(tops), len(question.docs))


def _extended(some: Embeddings, column: Floats) -> Embeddings:
    """Unit vectors with one more dimension."""
    out = np.empty((len(some), some.dim + 1), dtype=np.float32)
    for start, block in some.blocks():
        here = slice(start, start + len(block))
        out[here, :-1] = block / some.norms[here, None]
    out[:, -1] = column
    return Embeddings(some.ids, out, some.source)


def honest_best(field: Field, arms: list[Contender]) -> tuple[Contender, Estimate]:
    """The arm with the largest held-out gain, and what choosing among them is worth.

    On each fold the arm that gains most on the other folds is used, or cosine when none gains: the largest of
    many held-out gains flatters itself too.
    """
    question = field.question
    gains = np.stack([arm.gains for arm in arms])
    n = gains.shape[1]
    fold = np.random.default_rng([question.seed, 4]).permutation(n) % question.protocol.folds
    honest = np.zeros(n)
    for part in range(question.protocol.folds):
        judged = fold == part
        means = gains[:, ~judged].mean(axis=1)
        if means.max() > 0:
            honest[judged] = gains[int(means.argmax()), judged]
    return arms[int(gains.mean(axis=1).argmax())], field.worth(honest)
