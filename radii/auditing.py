"""The audit: data → signals → ranking → evidence → findings → verdict. The one place that knows the order.

(The module is not called `audit` because `radii.audit` is the function.)
"""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

import radii
from radii.data.embeddings import Embeddings
from radii.data.qrels import Qrels, as_qrels
from radii.data.texts import Texts
from radii.errors import InputError, shown
from radii.evidence.holdout import HeldOut, Protocol, held_out
from radii.evidence.intervals import Estimate, estimate, queries_needed
from radii.findings import agrees, all_judged, enough, evidence, no_extremes, no_self, norms_vary
from radii.ranking.metrics import Metric
from radii.ranking.path import MetricPath, check_same_dim, exponent_path
from radii.ranking.steps import Curves
from radii.result import Arm, Data, Document, How, Norms, Path, Provenance, Report
from radii.signals.norm import NormSummary, summarise
from radii.verdict import FEWEST_QUERIES, decide, without_judgements

_CURVE_POINTS = 201


def audit(
    docs: Embeddings | npt.ArrayLike,
    queries: Embeddings | npt.ArrayLike,
    qrels: Mapping[str, Mapping[str, int]] | str | os.PathLike[str] | None = None,
    *,
    texts: Texts | None = None,
    metric: str = "nDCG@10",
    gamma_range: tuple[float, float] = (-1.0, 1.0),
    exclude_self: bool = False,
    allow_missing: bool = False,
    seed: int = 0,
    min_effect: float = 0.02,
    protocol: Protocol | None = None,
) -> Report:
    """Whether the norms of these vectors may be used to rank, judged on held-out queries.

    Parameters
    ----------
    docs : (n_docs, dim) array or Embeddings
        Un-normalised document vectors. The ids of a bare array are its row numbers as strings.
    queries : (n_queries, dim) array or Embeddings
    qrels : {query id: {document id: grade}}, or a path, optional
        Without judgements the verdict is `unverified` (or `no-signal`).
    texts : Texts, optional
        Texts of the documents, shown beside the extremes.
    metric : str
        With a cutoff; see `Metric.parse`.
    gamma_range : (low, high)
        Holds 0, which is cosine.
    exclude_self : bool
        A query never retrieves the document that bears its own id.
    allow_missing : bool
        Accept qrels that name unknown queries or documents; the latter count as never retrieved.
    seed : int
        Of every random draw.
    min_effect : float
        The smallest gain worth acting on, in units of the metric. Decides how many queries are enough.
    protocol : Protocol, optional

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
    if not low <= 0.0 <= high:
        raise InputError(f"gamma range [{low:g}, {high:g}]", fix="let it hold 0, which is cosine")
    if min_effect <= 0:
        raise InputError(f"min_effect = {min_effect:g}", fix="give a gain above 0, such as 0.02")
    check_same_dim(docs, queries)
    source = None
    if qrels is not None:
        qrels, source = as_qrels(qrels)
        _check_ids(docs, queries, qrels, source, allow_missing)
    norms = summarise(docs.norms)
    found = [norms_vary(norms), no_extremes(norms), no_self(docs, queries, exclude_self)]
    arms: list[Arm] = []
    path = steps = None
    if qrels is not None:
        path = exponent_path(docs, queries, k=wanted.k, gamma_range=(low, high), exclude_self=exclude_self)
        steps = path.metric(wanted, qrels)
        found += [all_judged(queries, steps)]
    if steps is None or path is None or qrels is None:
        verdict = without_judgements(norms)
    else:
        needed = _needed(steps.curves, min_effect, protocol)
        found.append(enough(steps, needed, min_effect))
        tuned = _tuned(steps, low, high, seed, protocol) if len(steps.ids) >= protocol.folds else {}
        arms = [_arm(name, result) for name, result in tuned.items()]
        if len(steps.ids) >= 2:
            arms += _fixed(steps, low, high, seed, protocol)
        main = tuned.get("norm exponent")
        gamma = main.gamma if main is not None else 0.0
        found.append(agrees(path, steps, qrels, {0.0, gamma}))
        if main is not None:
            found += evidence(main, arms, steps, low, high)
        verdict = decide(norms, main, steps, needed, min_effect)
    return Report(
        verdict=verdict,
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
        norms=_norms(docs, norms, texts),
        path=_path(steps) if steps else None,
        arms=arms,
        how=How(
            metric=str(wanted),
            gamma_range=(low, high),
            seed=seed,
            folds=protocol.folds,
            repeats=protocol.repeats,
            resamples=protocol.resamples,
            level=protocol.level,
            min_effect=min_effect,
        ),
        provenance=Provenance(
            radii=radii.__version__,
            python=platform.python_version(),
            numpy=np.__version__,
            seconds=round(time.perf_counter() - began, 3),
        ),
    )


# Data ------------------------------------------------------------------------------------------------------


def _check_ids(docs: Embeddings, queries: Embeddings, qrels: Qrels, source: str, allow: bool) -> None:
    """Judgements must speak of these queries and documents, or every number below would be too low."""
    if not any(name in queries.rows for name in qrels):
        raise InputError(
            f"none of the {len(qrels)} judged queries is in {queries.source}: "
            f"{shown(qrels, 2)} against {shown(queries.ids, 2)}",
            where=source,
            cause="ids were lost when the queries were embedded",
            fix="give the queries their ids (a .ids.txt beside the vectors)",
        )
    if allow:
        return
    lost = [name for name in qrels if name not in queries.rows]
    if lost:
        raise InputError(
            f"{len(lost)} unknown query ids: {shown(lost)}",
            where=source,
            cause=f"judgements of another split, or queries missing from {queries.source}",
            fix="embed these queries too, or allow missing ids (--allow-missing)",
        )
    lost = list(dict.fromkeys(d for grades in qrels.values() for d in grades if d not in docs.rows))
    if lost:
        raise InputError(
            f"{len(lost)} unknown document ids: {shown(lost)}",
            where=source,
            cause=f"documents missing from {docs.source}, or ids written differently",
            fix="embed these documents too, or allow missing ids (--allow-missing): they count as missed",
        )


# Evidence --------------------------------------------------------------------------------------------------


def _needed(curves: Curves, effect: float, protocol: Protocol) -> int:
    """Judged queries it takes to see `effect` at a mild exponent, a quarter of the way to either end."""
    cosine = curves.values(0.0)
    spread = max(float((curves.values(end / 4) - cosine).std()) for end in (curves.low, curves.high))
    return max(FEWEST_QUERIES, queries_needed(spread, effect, level=protocol.level))


def _tuned(steps: MetricPath, low: float, high: float, seed: int, protocol: Protocol) -> dict[str, HeldOut]:
    """The exponent on the whole range and on either side of cosine, each by the same protocol."""
    ranges = {"norm exponent": (low, high), "discount only": (low, 0.0), "amplify only": (0.0, high)}
    return {name: held_out(steps.curves, *ends, seed, protocol) for name, ends in ranges.items()}


def _arm(name: str, result: HeldOut) -> Arm:
    spread = (float(result.chosen.min()), float(result.chosen.max()))
    return _as_arm(name, result.gamma, result.estimate, tuned=True, spread=spread)


def _fixed(steps: MetricPath, low: float, high: float, seed: int, protocol: Protocol) -> list[Arm]:
    """Inner product against cosine: nothing is tuned, so every query may judge."""
    if not low <= 1.0 <= high:
        return []
    gains = steps.curves.values(1.0) - steps.curves.values(0.0)
    worth = estimate(gains, seed, level=protocol.level, resamples=protocol.resamples)
    return [_as_arm("inner product", 1.0, worth, tuned=False)]


def _as_arm(
    name: str, gamma: float, worth: Estimate, *, tuned: bool, spread: tuple[float, float] | None = None
) -> Arm:
    return Arm(
        name=name,
        tuned=tuned,
        gamma=gamma,
        gain=worth.mean,
        gain_ci=(worth.low, worth.high),
        p=worth.p,
        n=worth.n,
        gamma_spread=spread,
    )


# Report ----------------------------------------------------------------------------------------------------


def _norms(docs: Embeddings, norms: NormSummary, texts: Texts | None) -> Norms:
    if texts is not None and not any(name in docs.rows for name in texts.ids):
        raise InputError(
            f"no text has the id of a document: {shown(texts.ids, 2)} against {shown(docs.ids, 2)}",
            where=texts.source,
            fix="give the texts that these documents were embedded from",
        )

    def documents(rows: npt.NDArray[np.int64]) -> list[Document]:
        return [
            Document(
                id=docs.ids[row],
                norm=float(docs.norms[row]),
                text=None if texts is None else texts.by_id.get(docs.ids[row]),
            )
            for row in rows
        ]

    return Norms(
        mean=norms.mean,
        sd=norms.sd,
        sd_log=norms.sd_log,
        smallest=norms.smallest,
        median=norms.median,
        largest=norms.largest,
        constant=norms.constant,
        longest=documents(norms.longest),
        shortest=documents(norms.shortest),
    )


def _path(steps: MetricPath) -> Path:
    low, high = steps.curves.low, steps.curves.high
    gammas = np.linspace(low, high, _CURVE_POINTS)
    best = steps.best()
    return Path(
        n_intervals=len(steps.values),
        gammas=gammas.tolist(),
        values=[steps.at(float(gamma)) for gamma in gammas],
        cosine=steps.at(0.0),
        inner_product=steps.at(1.0) if low <= 1.0 <= high else None,
        best_gamma=best.gamma,
        best_value=best.value,
    )
