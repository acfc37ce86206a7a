"""The audit: data → signals → ranking → evidence → findings → verdict. The one place that knows the order.

(The module is not called `audit` because `radii.audit` is the function.)
"""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Callable, Mapping, Sized
from functools import partial

import numpy as np
import numpy.typing as npt

import radii
from radii.attribution import Attribution, attribute, field_of, proxies
from radii.data.embeddings import Embeddings, Floats
from radii.data.qrels import as_qrels, usable_qrels
from radii.data.texts import Texts
from radii.errors import InputError, shown
from radii.evidence.arms import Contender
from radii.evidence.field import Field
from radii.evidence.holdout import Protocol
from radii.evidence.intervals import queries_needed
from radii.evidence.question import Question
from radii.exhibits import changes_of, compared_exponent, hubness_of, norms_of, path_of, sample_of
from radii.findings import (
    agrees,
    all_judged,
    attributed,
    enough,
    evidence,
    no_extremes,
    no_self,
    norms_vary,
    probed,
)
from radii.probing.report import ProbeReport
from radii.ranking.metrics import Metric
from radii.ranking.path import check_same_dim
from radii.ranking.search import Search
from radii.ranking.steps import Curves
from radii.result import (
    TOKENS,
    WORDS,
    Arm,
    Correlation,
    Data,
    How,
    Hubness,
    Provenance,
    Related,
    Report,
    Signal,
)
from radii.signals.norm import summarise
from radii.signals.relations import Relation
from radii.verdict import FEWEST_QUERIES, decide, recommend, without_judgements


def audit(
    docs: Embeddings | npt.ArrayLike,
    queries: Embeddings | npt.ArrayLike,
    qrels: Mapping[str, Mapping[str, int]] | str | os.PathLike[str] | None = None,
    *,
    texts: Texts | None = None,
    tokenize: Callable[[str], Sized] | None = None,
    signals: Mapping[str, Floats] | None = None,
    metric: str = "nDCG@10",
    gamma_range: tuple[float, float] = (-1.0, 1.0),
    exclude_self: bool = False,
    allow_missing: bool = False,
    seed: int = 0,
    min_effect: float = 0.02,
    protocol: Protocol | None = None,
    probe: ProbeReport | None = None,
    query_texts: Texts | None = None,
    search: Search | None = None,
    progress: Callable[[str, int, int], None] | None = None,
) -> Report:
    """Whether the norms of these vectors may be used to rank, judged on held-out queries.

    Parameters
    ----------
    docs : (n_docs, dim) array or Embeddings
        Un-normalised document vectors. The ids of a bare array are its row numbers as strings.
    queries : (n_queries, dim) array or Embeddings
    qrels : mapping of query ids to mappings of document ids to grades, or a path, optional
        Without judgements the verdict is `unverified` (or `no-signal`).
    texts : Texts, optional
        Texts of the documents, shown beside the extremes. When every document has one, its length and the
        rarity of its words are tested as explanations.
    tokenize : callable, optional
        From a text to its tokens, of the model that made the vectors: length is counted in them. Without one,
        in words and marks; see `radii.signals.length.tokens`.
    signals : mapping of names to (n_docs,) numbers, optional
        Other explanations to test, such as position or popularity.
    metric : str
        With a cutoff; see `Metric.parse`.
    gamma_range : (low, high)
        Holds 0, which is cosine.
    exclude_self : bool
        A query never retrieves the document that bears its own id, nor is it judged for it.
    allow_missing : bool
        Accept qrels that name unknown queries or documents; the latter count as never retrieved.
    seed : int
        Of every random draw.
    min_effect : float
        The smallest gain worth acting on, in units of the metric. Decides how many queries are enough.
    protocol : Protocol, optional
    probe : ProbeReport, optional
        Of the model that made the vectors (`radii.probe`): adds findings, and changes no verdict.
    query_texts : Texts, optional
        Texts of the queries, shown beside those whose rankings change.
    search : Search, optional
        By what candidates are found: no result depends on it.
    progress : callable, optional
        Called with (what is being done, how far, of how much).

    Raises
    ------
    InputError
        Bad vectors, ids or judgements; see `Embeddings`, `exponent_path`, `read_qrels`.

    Source of the score: arXiv 2606.30625. The verdict's rules stand in `radii.verdict`.
    """
    began = time.perf_counter()
    docs, queries = Embeddings.of(docs, "docs"), Embeddings.of(queries, "queries")
    protocol, wanted = protocol or Protocol(), Metric.parse(metric)
    low, high = (float(end) for end in gamma_range)
    _check_settings(low, high, min_effect, seed)
    check_same_dim(docs, queries)
    _check_texts(docs, texts)
    source = None
    if qrels is not None:
        qrels, source = as_qrels(qrels)
        qrels = usable_qrels(docs, queries, qrels, source, allow_missing, exclude_self)
    if search is not None:
        search.measure(docs)
    # Reading the norms refuses vectors without a direction, those of the queries too.
    norms, _ = summarise(docs.norms), queries.norms
    queries = queries.in_order()  # folds are dealt by row: a shuffled file must give the same report
    found = [norms_vary(norms), no_extremes(norms), no_self(docs, queries, exclude_self)]
    found += [] if probe is None else probed(probe)
    arms: list[Arm] = []
    steps = main = known = changes = None
    signals = proxies(docs, texts, signals or {}, tokenize)
    if qrels is None:
        verdict = without_judgements(norms)
    else:
        question = Question(
            docs, queries, qrels, wanted, (low, high), exclude_self, seed, protocol, search or Search()
        )
        field = field_of(question, signals, None if progress is None else partial(progress, "ranking"))
        steps = field.steps
        needed = _needed(steps.curves, min_effect, protocol)
        found += [all_judged(queries, steps), enough(steps, needed, min_effect)]
        if len(steps.ids) >= protocol.folds:
            main, *sides = _norm_arms(field)
            known = attribute(
                field, signals, main, None if progress is None else partial(progress, "judging")
            )
            arms = [_as_arm(arm) for arm in (main, *sides, *known.arms)]
            found += evidence(main, arms, steps, low, high)
            found += attributed(main, known, texts is not None and "length" in signals)
        tuned = main.parameter if main is not None else 0.0
        changes = changes_of(field, qrels, compared_exponent(tuned, (low, high)), texts, query_texts)
        found.append(agrees(field, qrels, {0.0, tuned}))
        verdict = decide(norms, main, known, steps, needed, min_effect)
    return Report(
        verdict=verdict,
        recommendation=recommend(verdict, known),
        findings=sorted(found, key=lambda f: f.code),
        data=Data(
            docs=docs.source,
            queries=queries.source,
            qrels=source,
            n_docs=len(docs),
            n_queries=len(queries),
            n_judged=len(steps.ids) if steps else 0,
            dim=docs.dim,
            dtype=str(docs.vectors.dtype),
            exclude_self=exclude_self,
        ),
        norms=norms_of(docs, norms, texts),
        path=path_of(steps, protocol.level) if steps else None,
        arms=arms,
        signals=[
            Signal(
                name=s.name,
                with_norm=_correlation(s.plain),
                partial=None if s.partial is None else _correlation(s.partial),
            )
            for s in (known.signals if known is not None else [])
        ],
        relations=_relations(known),
        hubness=_hubness(docs, known, seed, texts),
        norm_explained=_correlation(known.explained) if known is not None and known.explained else None,
        sample=None if known is None else sample_of(docs, known, signals, seed),
        changes=changes,
        how=How(
            metric=str(wanted),
            gamma_range=(low, high),
            seed=seed,
            folds=protocol.folds,
            repeats=protocol.repeats,
            resamples=protocol.resamples,
            level=protocol.level,
            min_effect=min_effect,
            length_unit=None if texts is None else WORDS if tokenize is None else TOKENS,
        ),
        provenance=Provenance(
            radii=radii.__version__,
            python=platform.python_version(),
            numpy=np.__version__,
            seconds=round(time.perf_counter() - began, 3),
        ),
    )


# Data ------------------------------------------------------------------------------------------------------


def _check_settings(low: float, high: float, min_effect: float, seed: int) -> None:
    if not (np.isfinite([low, high]).all() and low <= 0.0 <= high):
        raise InputError(
            f"[{low:g}, {high:g}]",
            where="gamma range",
            fix="give two finite numbers with 0, which is cosine, between them",
        )
    if not 1e-6 <= min_effect <= 1:
        raise InputError(
            f"{min_effect:g}",
            where="min_effect",
            fix="give a gain between 0.000001 and 1 in units of the metric, such as 0.02",
        )
    if seed < 0:
        raise InputError(f"{seed}", where="seed", fix="give 0 or a positive integer")


def _check_texts(docs: Embeddings, texts: Texts | None) -> None:
    if texts is not None and not any(name in docs.rows for name in texts.ids):
        raise InputError(
            f"no text has the id of a document: {shown(texts.ids, 2)} against {shown(docs.ids, 2)}",
            where=texts.source,
            cause="texts of another collection, or ids were lost when the documents were embedded",
            fix="give the texts that these documents were embedded from",
        )


# Evidence --------------------------------------------------------------------------------------------------


def _needed(curves: Curves, effect: float, protocol: Protocol) -> int:
    """Judged queries it takes to see `effect` at a mild exponent, a quarter of the way to either end."""
    cosine = curves.values(0.0)
    spread = max(float((curves.values(end / 4) - cosine).std()) for end in (curves.low, curves.high))
    return max(FEWEST_QUERIES, queries_needed(spread, effect, level=protocol.level))


def _norm_arms(field: Field) -> list[Contender]:
    """The norm's exponent on the whole range and on either side of cosine, and the inner product."""
    arms = [
        field.exponent("norm exponent", "norm"),
        field.exponent("discount only", "norm", high=0.0),
        field.exponent("amplify only", "norm", low=0.0),
    ]
    low, high = field.question.gamma_range
    if low <= 1.0 <= high:
        arms.append(field.fixed("inner product", "norm", {"gamma": 1.0}, ("norm", 1.0)))
    return arms


def _as_arm(arm: Contender) -> Arm:
    worth = arm.estimate
    return Arm(
        name=arm.name,
        explains=arm.explains,
        tuned=arm.chosen is not None,
        servable=arm.servable,
        parameters=dict(arm.parameters),
        gain=worth.mean,
        gain_ci=(worth.low, worth.high),
        p=worth.p,
        n=worth.n,
        spread=None if arm.chosen is None else (float(arm.chosen.min()), float(arm.chosen.max())),
    )


def _relations(known: Attribution | None) -> list[Related]:
    if known is None or known.related is None:
        return []
    spearman, kendall = known.related
    return [
        Related(first=a, second=b, spearman=_correlation(rho), kendall=_correlation(kendall[a, b]))
        for (a, b), rho in spearman.pairs.items()
    ]


def _correlation(found: Relation) -> Correlation:
    return Correlation(estimate=found.estimate, low=found.low, high=found.high)


def _hubness(docs: Embeddings, known: Attribution | None, seed: int, texts: Texts | None) -> Hubness | None:
    if known is None or known.hubness is None or known.occurrence is None:
        return None
    return hubness_of(docs, known.hubness, known.occurrence, seed, texts)
