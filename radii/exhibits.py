"""What a reader looks at: bounded pieces of the evidence, for figures and tables. Nothing is judged here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict

import numpy as np

from radii.attribution import Attribution
from radii.data.embeddings import Embeddings, Floats
from radii.data.qrels import Qrels
from radii.data.texts import Texts
from radii.evidence.field import OCCURRENCE, Field
from radii.evidence.intervals import student_half
from radii.ranking.path import MetricPath
from radii.ranking.score import Ints
from radii.ranking.steps import StepFunction
from radii.result import (
    Change,
    Changes,
    Document,
    Histogram,
    Hubness,
    Norms,
    Path,
    Ranked,
    Sample,
    Steps,
)
from radii.signals.hubness import Hubness as Measured
from radii.signals.norm import NormSummary

CURVE_POINTS = 201
PIECES = 400  # of a path: more than a figure has pixels to tell apart
SAMPLED = 1000  # documents of a scatter plot
SIGNALS = 12
DOCUMENTS, QUERIES, DEPTH = 10, 5, 10
_LONG, _SHORT = 1000, 160  # characters of a text


# Documents -------------------------------------------------------------------------------------------------


def norms_of(docs: Embeddings, norms: NormSummary, texts: Texts | None) -> Norms:
    """The norms in numbers, as a histogram, and the documents at either end."""
    return Norms(
        mean=norms.mean,
        sd=norms.sd,
        sd_log=norms.sd_log,
        smallest=norms.smallest,
        median=norms.median,
        largest=norms.largest,
        constant=norms.constant,
        longest=_documents(docs, norms.longest, texts),
        shortest=_documents(docs, norms.shortest, texts),
        histogram=histogram(docs.norms),
    )


def histogram(norms: Floats, bins: int = 40) -> Histogram | None:
    """Counts of (n_docs,) positive norms; None when they are all one number.

    >>> histogram(np.array([1.0, 2.0, 2.5, 3.0]), bins=2).counts
    [1, 3]
    """
    low, high = float(norms.min()), float(norms.max())
    edges = np.geomspace(low, high, bins + 1) if high >= 10 * low else np.linspace(low, high, bins + 1)
    edges[0], edges[-1] = low, high
    if (np.diff(edges) <= 0).any():
        return None
    return Histogram(edges=edges.tolist(), counts=np.histogram(norms, edges)[0].tolist())


def hubness_of(
    docs: Embeddings, measured: Measured, occurrence: Floats, seed: int, texts: Texts | None
) -> Hubness:
    """How unequally documents are retrieved, with the largest hubs and some that never are."""
    most = np.argsort(-occurrence, kind="stable")[:DOCUMENTS]
    never = np.flatnonzero(occurrence == 0)
    some = np.random.default_rng([seed, 6]).choice(never, min(DOCUMENTS, len(never)), replace=False)
    some = some[np.argsort(-docs.norms[some], kind="stable")]
    return Hubness(
        **asdict(measured),
        most=_documents(docs, most[occurrence[most] > 0], texts, occurrence),
        never=_documents(docs, some, texts, occurrence),
    )


def sample_of(
    docs: Embeddings, known: Attribution, signals: Mapping[str, Floats], seed: int
) -> Sample | None:
    """Norm and signals of up to 1,000 documents; None where no signal was compared with the norm."""
    columns = dict(signals)
    if known.occurrence is not None:
        columns[OCCURRENCE] = known.occurrence
    ranked = sorted(known.signals, key=lambda s: -abs(s.plain.estimate or 0.0))[:SIGNALS]
    if not ranked:
        return None
    some = np.arange(len(docs))
    if len(docs) > SAMPLED:
        some = np.sort(np.random.default_rng([seed, 7]).choice(len(docs), SAMPLED, replace=False))
    return Sample(
        ids=[docs.ids[row] for row in some.tolist()],
        norm=_rounded(docs.norms[some]),
        signals={one.name: _rounded(columns[one.name][some]) for one in ranked},
    )


def _documents(
    docs: Embeddings, rows: Ints, texts: Texts | None, occurrence: Floats | None = None
) -> list[Document]:
    return [
        Document(
            id=docs.ids[row],
            norm=float(docs.norms[row]),
            text=_text(texts, docs.ids[row], _LONG),
            occurrence=None if occurrence is None else int(occurrence[row]),
        )
        for row in rows
    ]


def _text(texts: Texts | None, name: str, limit: int) -> str | None:
    found = None if texts is None else texts.by_id.get(name)
    return found if found is None or len(found) <= limit else found[: limit - 1] + "…"


def _rounded(values: Floats) -> list[float]:
    return [float(f"{value:.6g}") for value in values.tolist()]


# The path --------------------------------------------------------------------------------------------------


def path_of(steps: MetricPath, level: float) -> Path:
    """The mean metric along γ, with the interval of its difference to cosine, each γ for itself."""
    curves = steps.curves
    low, high = curves.low, curves.high
    gammas = np.linspace(low, high, CURVE_POINTS)
    best = steps.best()
    gain_low, gain_high = band(steps, gammas, level)
    return Path(
        n_intervals=len(steps.values),
        gammas=gammas.tolist(),
        values=[steps.at(float(gamma)) for gamma in gammas],
        cosine=steps.at(0.0),
        inner_product=steps.at(1.0) if low <= 1.0 <= high else None,
        best_gamma=best.gamma,
        best_value=best.value,
        steps=pieces(steps.mean),
        gain_low=gain_low.tolist(),
        gain_high=gain_high.tolist(),
    )


def band(steps: MetricPath, gammas: Floats, level: float) -> tuple[Floats, Floats]:
    """Ends of Student's interval of the mean difference to cosine at every γ; each end if one query: equal.

    mean ± t · sd / √n of d_q = m_q(γ) − m_q(0), from Σ d and Σ d², which change only where a query does.
    """
    curves, n = steps.curves, len(steps.ids)
    cosine = curves.values(0.0)
    own = cosine[curves.query]
    before, after = curves.before - own, curves.after - own
    total = curves.sums(curves.start - cosine, after - before)
    squares = curves.sums((curves.start - cosine) ** 2, after**2 - before**2)
    place = np.minimum(np.searchsorted(curves.edges, gammas, side="right") - 1, len(total) - 1)
    mean = total[place] / n
    half = np.zeros(len(gammas))
    if n > 1:
        variance = np.maximum(squares[place] - n * mean**2, 0.0) / (n - 1)
        half = student_half(np.sqrt(variance), n, level)
    return mean - half, mean + half


def pieces(mean: StepFunction, most: int = PIECES) -> Steps:
    """Every step, or where there are too many for a figure the extremes within evenly spaced pieces.

    >>> pieces(StepFunction(np.array([-1.0, 0.0, 0.5, 1.0]), np.array([0.2, 0.9, 0.4])), most=2).highest
    [0.2, 0.9]
    """
    edges, values = mean.edges, mean.values
    if len(values) <= most or edges[0] == edges[-1]:
        return Steps(edges=edges.tolist(), lowest=values.tolist(), highest=values.tolist())
    cuts = np.linspace(edges[0], edges[-1], most + 1)
    # A piece holds the step that it begins in, and all that begin within it.
    first = np.searchsorted(edges[:-1], cuts[:-1], side="right") - 1
    last = np.maximum(np.searchsorted(edges[:-1], cuts[1:], side="left"), first + 1)
    parts = [values[a:b] for a, b in zip(first, last, strict=True)]
    return Steps(
        edges=cuts.tolist(),
        lowest=[float(part.min()) for part in parts],
        highest=[float(part.max()) for part in parts],
    )


# Queries ---------------------------------------------------------------------------------------------------


def changes_of(field: Field, qrels: Qrels, gamma: float, texts: Texts | None, asked: Texts | None) -> Changes:
    """The queries that ranking by cos · ‖d‖^γ helps and hurts most, with both rankings.

    `asked` holds the queries' texts; where it is None and a query may not retrieve itself, `texts` does.
    """
    question, cosine = field.question, field.cosine
    moved = field.steps.curves.values(gamma)
    gain = moved - cosine
    own = texts if asked is None and question.exclude_self else asked

    def shown(rows: Ints) -> list[Change]:
        return [
            Change(
                id=field.ids[row],
                text=_text(own, field.ids[row], _LONG),
                at_cosine=_clean(cosine[row]),
                at_gamma=_clean(moved[row]),
                by_cosine=_ranking(field, qrels, field.ids[row], 0.0, texts),
                by_gamma=_ranking(field, qrels, field.ids[row], gamma, texts),
            )
            for row in rows.tolist()
        ]

    order = np.argsort(-gain, kind="stable")
    return Changes(
        gamma=gamma,
        n_gain=int((gain > 0).sum()),
        n_lose=int((gain < 0).sum()),
        gain=shown(order[gain[order] > 0][:QUERIES]),
        lose=shown(order[gain[order] < 0][::-1][:QUERIES]),
    )


def _clean(value: float) -> float:
    """Without the last bits of a running sum, which may leave −1e-17 for 0."""
    return abs(round(float(value), 12))


def compared_exponent(tuned: float, gamma_range: tuple[float, float]) -> float:
    """The exponent whose rankings are shown beside cosine's: the tuned one, if it is not cosine itself.

    Else 1, the inner product; where the range leaves it out, the end farther from 0.

    >>> compared_exponent(-0.2, (-1, 1)), compared_exponent(0.0, (-1, 1)), compared_exponent(0.0, (-1, 0.5))
    (-0.2, 1.0, -1)
    """
    low, high = gamma_range
    if tuned != 0.0:
        return tuned
    return 1.0 if high >= 1.0 else max(low, high, key=abs)


def _ranking(field: Field, qrels: Qrels, query: str, gamma: float, texts: Texts | None) -> list[Ranked]:
    docs, grades = field.question.docs, qrels.get(query, {})
    rows: Sequence[int] = field.path_of[query].top(query, gamma)[:DEPTH].tolist()
    return [
        Ranked(
            id=docs.ids[row],
            norm=float(docs.norms[row]),
            grade=grades.get(docs.ids[row]),
            text=_text(texts, docs.ids[row], _SHORT),
        )
        for row in rows
    ]
