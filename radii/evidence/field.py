"""Every way to rank, on the same queries, over the same products.

All arms are families of scores: the norm and whatever else is a multiplier, penalties, other vectors. They
share one product of documents and queries, are tuned and judged by `held_out`, and held against one cosine.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property, partial

import numpy as np

from radii.data.embeddings import Floats
from radii.data.processors import share_out
from radii.data.scratch import scratch
from radii.evidence.arms import NORM, RESIDUAL, Contender, Start, multiplier
from radii.evidence.holdout import held_out
from radii.evidence.question import BANK_FOLDS, Question
from radii.evidence.rivals import PROJECTIONS, affines, local_scaling, penalised
from radii.ranking.family import Family
from radii.ranking.path import ExponentPath, MetricPath
from radii.ranking.score import Bools
from radii.ranking.steps import Curves

# What the bank makes of every document: names of arms.
HUB, SOFTMAX, DENSITY, OCCURRENCE, LOCAL = (
    "hub penalty",
    "inverted softmax",
    "local density",
    "k-occurrence",
    "local scaling",
)
# A multiplier whose logarithm varies more than this is tempered by a power: with an exponent of 1 it would
# rank by itself, and all that matters would happen in a sliver around 0.
_WIDEST = 0.5


class Field:
    """All arms on the same judged queries.

    Parameters
    ----------
    question : Question
    signals : {name: (n_docs,) float64}
        Positive multipliers; NORM is one of them.
    joint : (n_docs,) float64, optional
        A second positive multiplier to be used together with the norm.
    progress : callable, optional
        Called with (documents seen, of how many).

    Attributes
    ----------
    ids : list of str
        The judged queries.
    curves : {name: Curves}
        The metric along the parameter of each family.
    path_of : {query id: ExponentPath}
        Of the norm.
    changed : {name: Affine}
        The cosine of centred or projected vectors, of all queries.
    active : (n_judged,) bool
        Whether the query's first document is first for a query of its bank.
    """

    def __init__(
        self,
        question: Question,
        signals: Mapping[str, Floats],
        joint: Floats | None = None,
        progress: Callable[[int, int], None] | None = None,
    ) -> None:
        self.question, self.signals = question, signals
        projections = {name: make(question.docs) for name, make in PROJECTIONS.items()}
        self.changed = affines(projections, question.docs, question.queries)
        self.powers = {name: 1.0 if name == NORM else _power(values) for name, values in signals.items()}
        if question.banked:
            for name in (DENSITY, OCCURRENCE):
                self.powers[name] = _power(*(self._told(name, part) for part in range(BANK_FOLDS)))
        shared = {name: Family.power(values, exponent=self.powers[name]) for name, values in signals.items()}
        self.joint = {} if joint is None else _joint(question, shared[NORM], joint)
        shared |= {name: family for name, (_, family) in self.joint.items()}
        self.ids: list[str] = []
        self.path_of: dict[str, ExponentPath] = {}
        pieces: dict[str, list[Curves]] = {}
        active: list[Bools] = []
        parts = [part for part, rows in enumerate(question.parts) if rows.size]
        asked = [question.queries.part(question.parts[part]) for part in parts]
        made = share_out(partial(self._families, shared=shared), parts, question.docs.vectors.size)
        groups = list(zip(asked, made, strict=True))
        if not groups:  # let the metric say why
            groups = [(question.queries, {NORM: shared[NORM]})]
        for part, found in zip(parts, question.paths(groups, progress), strict=True):
            path, steps = found[NORM]
            self.ids += steps.ids
            self.path_of |= dict.fromkeys(steps.ids, path)
            active.append(self._active(part, steps.ids))
            for name, (_, one) in found.items():
                pieces.setdefault(name, []).append(one.curves)
        # In the order of the queries, so that no sum depends on how they were dealt.
        order = np.argsort([question.queries.rows[name] for name in self.ids])
        self.ids = [self.ids[at] for at in order]
        self.curves = {name: Curves.joined(some).part(order) for name, some in pieces.items()}
        self.active = np.concatenate(active)[order] if active else np.zeros(0, dtype=bool)

    def _families(self, part: int, shared: dict[str, Family]) -> dict[str, Family]:
        """All ways to rank for the queries of a part."""
        rows = self.question.parts[part]
        families = shared | self._banked(part, len(rows))
        for name, affine in self.changed.items():
            families[name] = Family.fixed(affine.part(rows))
        return families

    def _active(self, part: int, ids: Sequence[str]) -> Bools:
        """Whether the first document of each of these queries is first for a query of their bank."""
        if not self.question.banked:
            return np.zeros(len(ids), dtype=bool)
        first = self.question.bank.first[part]
        return np.array([bool(first[self.path_of[name].top(name, 0.0)[:1]].any()) for name in ids])

    def _banked(self, part: int, n_queries: int) -> dict[str, Family]:
        """What the bank of the other folds says, as families."""
        if not self.question.banked:
            return {}
        bank, scale = self.question.bank, 1.0 / self.question.reach
        found = {
            HUB: Family.bias(bank.near[part], scale=scale),
            SOFTMAX: Family.bias(bank.mass[part], scale=scale),
            LOCAL: Family.fixed(local_scaling(bank.last[part], n_queries)),
        }
        for name in (DENSITY, OCCURRENCE):
            found[name] = Family.power(self._told(name, part), exponent=self.powers[name])
        return found

    def _told(self, name: str, part: int) -> Floats:
        """What the bank of a part tells of every document as a positive multiplier: (n_docs,)."""
        bank = self.question.bank
        if name == OCCURRENCE:
            return np.asarray(1.0 + bank.occurrence[part], dtype=np.float64)
        values = multiplier(bank.near[part])
        return np.ones(bank.near.shape[1]) if values is None else values

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
        """A multiplier, its exponent chosen on training folds between `low` and `high`, once tempered."""
        question, ends = self.question, self.question.gamma_range
        low, high = ends[0] if low is None else low, ends[1] if high is None else high
        found = held_out(self.curves[signal], low, high, question.seed, question.protocol)
        power = self.powers[signal]
        gamma = power * found.gamma

        def build() -> Iterable[Start]:
            if signal in self.signals:
                return [Start(question.asked, Family.power(self.signals[signal], exponent=gamma).slope)]
            return (
                Start(
                    question.queries.part(rows), Family.power(self._told(signal, part), exponent=gamma).slope
                )
                for part, rows in enumerate(question.parts)
            )

        own = signal in (NORM, RESIDUAL)
        return Contender(
            name,
            NORM if own else "hubness" if signal in (DENSITY, OCCURRENCE) else signal,
            {"gamma": gamma},
            found.gains,
            found.estimate,
            found.chosen * power,
            offered=not own,
            build=None if own else build,
        )

    def together(self, name: str, other: str) -> Contender:
        """The norm's exponent and that of the second multiplier, chosen together."""
        question = self.question
        exponents = [0.0, *(exponent for exponent, _ in self.joint.values())]
        paths = [self.curves[NORM], *(self.curves[key] for key in self.joint)]
        found = held_out(paths, *question.gamma_range, question.seed, question.protocol)
        return Contender(
            name,
            f"norm and {other}",
            {"gamma": found.gamma, f"gamma of {other}": exponents[found.which]},
            found.gains,
            found.estimate,
            found.chosen,
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
            {"weight": weight},
            found.gains,
            found.estimate,
            found.chosen / question.reach,
            build=lambda: self._penalised(name, weight),
        )

    def _penalised(self, name: str, weight: float) -> Iterator[Start]:
        """cos − w b, part by part."""
        question = self.question
        bank = question.bank.near if name == HUB else question.bank.mass
        for rows, penalty in zip(question.parts, bank, strict=True):
            yield Start(question.queries.part(rows), affine=penalised(penalty, weight, len(rows)))

    def dynamic(self) -> Contender:
        """Inverted softmax where the query's first document is first for a query of the bank, else cosine.

        No single vector per document ranks like that: which of two rankings is used depends on the query.

        Source: QB-Norm, arXiv 2112.12777.
        """
        question = self.question
        low, high = sorted((0.0, question.reach))
        curves = self.curves[SOFTMAX].frozen(~self.active, 0.0)
        found = held_out(curves, low, high, question.seed, question.protocol)
        return Contender(
            f"dynamic {SOFTMAX}",
            "hubness",
            {"weight": found.gamma / question.reach},
            found.gains,
            found.estimate,
            found.chosen / question.reach,
            servable=False,
            offered=False,
        )

    def fixed(
        self,
        name: str,
        explains: str,
        parameters: Mapping[str, float],
        at: tuple[str, float],
        *,
        offered: bool = False,
        build: Callable[[], Iterable[Start]] | None = None,
    ) -> Contender:
        """An arm without a choice, at a point of a family's curves: every query may judge it."""
        gains = self.curves[at[0]].values(at[1]) - self.cosine
        return Contender(
            name, explains, parameters, gains, self.question.worth(gains), None, offered=offered, build=build
        )

    def projected(self, name: str) -> Contender:
        """The cosine of centred or projected vectors."""
        question = self.question
        rows = np.flatnonzero(question.judged)

        def build() -> list[Start]:
            return [Start(question.asked, affine=self.changed[name].part(rows))]

        return self.fixed(name, "mean direction", {}, (name, 0.0), offered=True, build=build)

    def beyond(self, base: Contender, values: Floats) -> Contender:
        """What an exponent of `values` adds, on held-out queries, to the ranking that `base` arrives at."""
        question, family = self.question, Family.power(values)
        starts = [start for start in (base.build() if base.build is not None else []) if len(start.queries)]
        groups = [
            (start.queries, {"own": Family(family.slope, base=start.base, affine=start.affine)})
            for start in starts
        ]
        steps = [found["own"][1] for found in question.paths(groups)]
        curves = Curves.joined([some.curves for some in steps])
        found = held_out(curves, *question.gamma_range, question.seed, question.protocol)
        at = {query: row for row, query in enumerate(name for some in steps for name in some.ids)}
        gains = found.gains[[at[query] for query in self.ids]]
        return Contender(
            f"norm beyond {base.name}", NORM, {"gamma": found.gamma}, gains, found.estimate, found.chosen
        )


def _power(*columns: Floats) -> float:
    """What tempers positive multipliers, those of every fold alike."""
    means, variances = np.array([(log.mean(), log.var()) for log in map(np.log, columns)]).T
    spread = np.sqrt(variances.mean() + means.var())
    return float(min(1.0, _WIDEST / max(spread, 1e-12)))


def _joint(question: Question, norm: Family, other: Floats) -> dict[str, tuple[float, Family]]:
    """The norm's path at four exponents of a second multiplier, a quarter and half of the way to the ends."""
    found, log = {}, np.log(other)
    for share in (-0.5, -0.25, 0.25, 0.5):
        exponent = (question.gamma_range[1] if share > 0 else -question.gamma_range[0]) * share
        if exponent:
            base = np.multiply(log, exponent, out=scratch(log.shape))
            found[f"joint {share}"] = exponent, Family(norm.slope, base=base)
    return found
