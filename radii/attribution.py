"""Is it the norm, or something cheaper that the norm stands for? Arms, rivals, and what is left of the norm.

The norm is credited only with what it adds, on held-out queries, to the best of everything else: what other
signals predict of it is regressed out, and the rest is put on top of the arm that gains most.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sized
from dataclasses import dataclass
from functools import partial

import numpy as np

from radii.data.embeddings import Embeddings, Floats
from radii.data.texts import Texts
from radii.errors import InputError
from radii.evidence.arms import NORM, RESIDUAL, Contender, honest_best, multiplier
from radii.evidence.field import DENSITY, HUB, LOCAL, OCCURRENCE, SOFTMAX, Field
from radii.evidence.intervals import Estimate
from radii.evidence.question import Question
from radii.ranking.bank import NEIGHBOURS
from radii.signals.centrality import centrality
from radii.signals.hubness import Hubness, summarise
from radii.signals.length import tokens
from radii.signals.rarity import mean_idf
from radii.signals.relations import (
    Correlations,
    Relation,
    kendall_matrix,
    partials,
    residuals,
    spearman_matrix,
    variance_explained,
)

_KENDALL_RESAMPLES = 199  # each looks at every pair of documents


@dataclass(frozen=True)
class Signal:
    """A signal beside the norm.

    Attributes
    ----------
    name : str
    plain : Relation
        Spearman's ρ with the norm.
    partial : Relation or None
        The same with all other signals held fixed; None when there are none.
    """

    name: str
    plain: Relation
    partial: Relation | None


@dataclass(frozen=True, eq=False)
class Attribution:
    """What the norm's gain is a gain of.

    Attributes
    ----------
    signals : list of Signal
    related : (Correlations, Correlations) or None
        Spearman's and Kendall's, of every pair of signals, the norm among them.
    hubness : Hubness or None
        Of the k-occurrence under cosine.
    occurrence : (n_docs,) float64, optional
        The k-occurrence itself, where `hubness` is.
    explained : Relation or None
        Share of the variance of log norm that the other signals predict.
    arms : list of Contender
        Proxies, the norm's residual, and rivals.
    beyond : Contender or None
        What is left of the norm on top of `proxy`; None when the norm gains nothing.
    proxy : Contender or None
        The arm that gains most of those that are not the norm.
    best : Contender
        The arm to recommend, the norm included.
    honest : Estimate
        The gain of choosing it, each query judged by the arm chosen without it.
    """

    signals: list[Signal]
    related: tuple[Correlations, Correlations] | None
    hubness: Hubness | None
    occurrence: Floats | None
    explained: Relation | None
    arms: list[Contender]
    beyond: Contender | None
    proxy: Contender | None
    best: Contender
    honest: Estimate


def proxies(
    docs: Embeddings,
    texts: Texts | None,
    given: Mapping[str, Floats],
    tokenize: Callable[[str], Sized] | None = None,
) -> dict[str, Floats]:
    """Signals of every document that need no queries: (n_docs,) float64 each, none constant.

    Centrality always; length and rarity when there is a text for every document; and the user's own.
    Raises InputError on a signal of another length, or one that is not finite.
    """
    found = {"centrality": centrality(docs)}
    if texts is not None and all(name in texts.by_id for name in docs.ids):
        own = [texts.by_id[name] for name in docs.ids]
        found |= {"length": 1.0 + tokens(own, tokenize), "rarity": mean_idf(own)}
    for name, values in given.items():
        column = np.asarray(values, dtype=np.float64)
        if column.shape != (len(docs),) or not np.isfinite(column).all():
            raise InputError(
                f"shape {column.shape}, {np.count_nonzero(~np.isfinite(column))} values not finite",
                where=f"signal {name!r}",
                fix=f"give one finite number for each of the {len(docs)} documents",
            )
        found[name] = column
    return {name: values for name, values in found.items() if multiplier(values) is not None}


def field_of(
    question: Question,
    signals: Mapping[str, Floats],
    progress: Callable[[int, int], None] | None = None,
) -> Field:
    """Paths of the norm, of its residual, of every signal, and of the query bank's penalties.

    `progress` is told how many documents every query fold has seen, of how many.
    """
    log_norm = np.log(question.docs.norms)
    varies = float(np.ptp(log_norm)) > 0
    families = {NORM: question.docs.norms}
    for name, values in signals.items():
        usable = multiplier(values)
        if usable is not None:
            families[name] = usable
    if varies and signals and len(question.docs) >= 20:
        families[RESIDUAL] = np.exp(residuals(log_norm, signals, question.seed))
    return Field(question, families, families.get("length"), progress)


def attribute(
    field: Field,
    signals: Mapping[str, Floats],
    norm: Contender,
    progress: Callable[[int, int], None] | None = None,
) -> Attribution:
    """Judge every arm and rival, and see what is left of the norm's gain.

    Parameters
    ----------
    field : Field
        Of `field_of`.
    signals : {name: (n_docs,) float64}
        Of `proxies`.
    norm : Contender
        The norm's exponent.
    progress : callable, optional
        Called with (arms judged, of how many).
    """
    question = field.question
    docs = question.docs
    tasks: list[Callable[[], Contender]] = [
        partial(field.exponent, name, name) for name in signals if name in field.curves
    ]
    if RESIDUAL in field.curves:
        tasks.append(partial(field.exponent, RESIDUAL, RESIDUAL))
    if field.joint:
        tasks.append(partial(field.together, "norm and length", "length"))
    if question.banked:
        tasks += [
            partial(field.exponent, DENSITY, DENSITY),
            partial(field.exponent, OCCURRENCE, OCCURRENCE),
            partial(field.penalty, HUB),
            partial(field.fixed, "CSLS", "hubness", {"weight": 0.5}, (HUB, 0.5 * question.reach)),
            partial(field.fixed, LOCAL, "hubness", {}, (LOCAL, 0.0), offered=True),
            partial(field.penalty, SOFTMAX),
            field.dynamic,
        ]
    tasks += [partial(field.projected, name) for name in field.changed]
    arms = []
    for judge in tasks:
        arms.append(judge())
        if progress is not None:
            progress(len(arms), len(tasks))
    proxy = max(
        (arm for arm in arms if arm.build is not None), key=lambda arm: arm.estimate.mean, default=None
    )
    beyond = None
    if norm.estimate.above_zero and proxy is not None:
        known = dict(signals)
        if question.banked:
            known[HUB] = question.bank.near.mean(axis=0)
        beyond = field.beyond(proxy, np.exp(residuals(np.log(docs.norms), known, question.seed)))
    best, honest = honest_best(question, [norm, *(arm for arm in arms if arm.offered)])
    shown, hubs, occurrence = dict(signals), None, None
    # Where lists hold most of the corpus, everything is retrieved often.
    if question.banked and len(docs) > 2 * NEIGHBOURS:
        occurrence = question.bank.total_occurrence
        hubs = summarise(occurrence)
        if np.ptp(occurrence) > 0:
            shown[OCCURRENCE] = occurrence
    beside, both = [], None
    if shown and len(docs) >= 20:
        every = {NORM: docs.norms, **shown}
        both = (
            spearman_matrix(every, question.seed),
            kendall_matrix(every, question.seed, resamples=_KENDALL_RESAMPLES),
        )
        left = partials(every, question.seed) if len(shown) > 1 else {}
        beside = [Signal(name, both[0][NORM, name], left.get(name)) for name in shown]
    few = not signals or len(docs) < 20
    explained = None if few else variance_explained(np.log(docs.norms), signals, question.seed)
    return Attribution(beside, both, hubs, occurrence, explained, arms, beyond, proxy, best, honest)
