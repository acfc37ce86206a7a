"""What is asked of every way to rank: one corpus, one set of queries and judgements, one protocol."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from radii.data.embeddings import Embeddings, Floats
from radii.evidence.holdout import Protocol
from radii.evidence.intervals import Estimate, estimate
from radii.ranking.bank import Bank, ask_bank
from radii.ranking.family import Family
from radii.ranking.metrics import Metric
from radii.ranking.path import ExponentPath, Grades, MetricPath, paths_together
from radii.ranking.score import Bools, Ints
from radii.ranking.search import Search

BANK_FOLDS = 5


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
    search: Search = field(default_factory=Search)

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

    @property
    def banked(self) -> bool:
        """Whether there are enough queries for a bank, and a range to weigh its penalties on."""
        return len(self.queries) >= 4 * BANK_FOLDS and self.reach != 0.0

    @cached_property
    def bank_fold(self) -> Ints:
        """(n_queries,) fold of each query: it is judged with the bank of all other folds."""
        rng = np.random.default_rng([self.seed, 2])
        return rng.permutation(len(self.queries)) % BANK_FOLDS

    @cached_property
    def bank(self) -> Bank:
        """Of every fold."""
        return ask_bank(self.docs, self.queries, self.bank_fold, self.excluded, self.search)

    @cached_property
    def judged(self) -> Bools:
        """(n_queries,) whether a query has a relevant document."""
        judgements = (self.metric.judgement(self.qrels.get(name, {})) for name in self.queries.ids)
        return np.array([found is not None for found in judgements])

    @cached_property
    def parts(self) -> list[Ints]:
        """Rows of the judged queries that are answered together: of every bank fold."""
        if not self.banked:
            return [np.flatnonzero(self.judged)]
        return [np.flatnonzero(self.judged & (self.bank_fold == f)) for f in range(BANK_FOLDS)]

    @property
    def asked(self) -> Embeddings:
        """The judged queries."""
        return self.queries.part(np.flatnonzero(self.judged))

    def paths(
        self,
        groups: Sequence[tuple[Embeddings, Mapping[str, Family]]],
        progress: Callable[[int, int], None] | None = None,
    ) -> list[dict[str, tuple[ExponentPath, MetricPath]]]:
        """Paths and metrics of each group of queries under its families."""
        found = paths_together(
            self.docs,
            [(queries, list(families.values())) for queries, families in groups],
            k=self.metric.k,
            gamma_range=self.gamma_range,
            exclude_self=self.exclude_self,
            search=self.search,
            progress=progress,
        )
        return [
            {
                name: (path, path.metric(self.metric, self.qrels))
                for name, path in zip(families, paths, strict=True)
            }
            for (_, families), paths in zip(groups, found, strict=True)
        ]

    def worth(self, gains: Floats) -> Estimate:
        """Estimate of the mean of (n_judged,) gains, by the protocol."""
        return estimate(gains, self.seed, level=self.protocol.level, resamples=self.protocol.resamples)
