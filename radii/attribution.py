"""Is it the norm, or something cheaper that the norm stands for? Arms, rivals, and what is left of the norm.

The norm is credited only with what it adds, on held-out queries, to the best of everything else: what other
signals predict of it is regressed out, and the rest is put on top of the arm that gains most.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from radii.data.embeddings import Embeddings, Floats
from radii.data.texts import Texts
from radii.errors import InputError
from radii.evidence import rivals
from radii.evidence.arms import (
    BANK_FOLDS,
    NORM,
    RESIDUAL,
    Contender,
    Field,
    Question,
    honest_best,
    multiplier,
)
from radii.evidence.intervals import Estimate
from radii.signals.centrality import centrality
from radii.signals.hubness import Hubness, summarise
from radii.signals.length import tokens
from radii.signals.rarity import mean_idf
from radii.signals.relations import (
    Relation,
    partial_spearman,
    residuals,
    spearman_matrix,
    variance_explained,
)

# Other vectors are copies of the corpus: beyond this many numbers that takes gigabytes and is left out.
_COPIED = 1 << 28


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
    hubness : Hubness or None
        Of the k-occurrence under cosine.
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
    hubness: Hubness | None
    explained: Relation | None
    arms: list[Contender]
    beyond: Contender | None
    proxy: Contender | None
    best: Contender
    honest: Estimate


def proxies(docs: Embeddings, texts: Texts | None, given: Mapping[str, Floats]) -> dict[str, Floats]:
    """Signals of every document that need no queries: (n_docs,) float64 each, none constant.

    Centrality always; length and rarity when there is a text for every document; and the user's own.
    Raises InputError on a signal of another length, or one that is not finite.
    """
    found = {"centrality": centrality(docs)}
    if texts is not None and all(name in texts.by_id for name in docs.ids):
        own = [texts.by_id[name] for name in docs.ids]
        found |= {"length": 1.0 + tokens(own), "rarity": mean_idf(own)}
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


def field_of(question: Question, signals: Mapping[str, Floats]) -> Field:
    """Paths of the norm, of its residual, of every signal, and of the query bank's penalties."""
    log_norm = np.log(question.docs.norms)
    varies = float(np.ptp(log_norm)) > 0
    banked = len(question.queries) >= 4 * BANK_FOLDS and question.reach != 0.0
    families = {NORM: question.docs.norms}
    for name, values in signals.items():
        usable = multiplier(values)
        if usable is not None:
            families[name] = usable
    if varies and signals and len(question.docs) >= 20:
        families[RESIDUAL] = np.exp(residuals(log_norm, signals, question.seed))
    return Field(question, families, banked=banked)


def attribute(field: Field, signals: Mapping[str, Floats], norm: Contender) -> Attribution:
    """Judge every arm and rival, and see what is left of the norm's gain.

    Parameters
    ----------
    field : Field
        Of `field_of`.
    signals : {name: (n_docs,) float64}
        Of `proxies`.
    norm : Contender
        The norm's exponent.
    """
    question = field.question
    docs, queries = question.docs, question.queries
    arms = [field.exponent(name, name) for name in signals if name in field.curves]
    if RESIDUAL in field.curves:
        arms.append(field.exponent(RESIDUAL, RESIDUAL))
    if field.banked:
        half = field.curves["hub penalty"].values(0.5 * question.reach)
        arms += [
            field.penalty("hub penalty"),
            field.fixed("CSLS", "hubness", 0.5, half),
            field.penalty("inverted softmax"),
        ]
    if docs.vectors.size <= _COPIED:
        for name, change in (
            ("mean-centring", rivals.centred),
            ("mean direction removed", rivals.without_mean_direction),
            ("all-but-the-top", rivals.all_but_the_top),
        ):
            arms.append(field.vectors(name, "mean direction", change(docs, queries)))
    others = [arm for arm in arms if arm.build is not None]
    proxy = max(others, key=lambda arm: arm.estimate.mean, default=None)
    beyond = None
    if norm.estimate.above_zero and proxy is not None:
        known = dict(signals)
        if field.banked:
            known["hub penalty"] = question.penalties.hub.mean(axis=0)
        beyond = field.beyond(proxy, np.exp(residuals(np.log(docs.norms), known, question.seed)))
    best, honest = honest_best(field, [norm, *others])
    shown = dict(signals)
    if field.occurrence is not None and np.ptp(field.occurrence) > 0:
        shown["k-occurrence"] = field.occurrence
    related = _related(docs.norms, shown, question.seed)
    few = not signals or len(docs) < 20
    explained = None if few else variance_explained(np.log(docs.norms), signals, question.seed)
    hubs = None if field.occurrence is None else summarise(field.occurrence)
    return Attribution(related, hubs, explained, arms, beyond, proxy, best, honest)


def _related(norms: Floats, signals: Mapping[str, Floats], seed: int) -> list[Signal]:
    """How each signal goes with the norm, by itself and with all others held fixed."""
    if not signals or len(norms) < 20:
        return []
    plain = spearman_matrix({"norm": norms, **signals}, seed)
    found = []
    for name, values in signals.items():
        rest = [other for key, other in signals.items() if key != name]
        partial = partial_spearman(norms, values, rest, seed) if rest else None
        found.append(Signal(name, plain["norm", name], partial))
    return found
