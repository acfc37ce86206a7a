"""Findings as data: what was checked, how it came out, what it means, what to do. Rendered elsewhere.

First the catalogue, then one function per check that turns measurements into a finding.
"""

from __future__ import annotations

import ir_measures
import numpy as np

from radii.attribution import Attribution
from radii.data.embeddings import Embeddings
from radii.data.qrels import Qrels
from radii.errors import NumericalError
from radii.evidence.arms import Contender
from radii.evidence.field import Field
from radii.probing.regime import MANY, RELIABLE
from radii.probing.report import ProbeReport
from radii.ranking.path import MetricPath
from radii.result import Arm, Finding, Interval, Status
from radii.signals.norm import NormSummary

# Code → (what is claimed, what to do when it fails). R1 norms, R2 data and measurement, R3 evidence,
# R4 attribution, R5 the model's probe, R6 the engine. A code keeps its meaning for ever; a new check takes a
# new number.
CATALOGUE: dict[str, tuple[str, str]] = {
    "R101": (
        "Norms vary beyond rounding",
        "Get the un-normalised vectors back: strip the model's final Normalize module (radii embed does), "
        "set normalize_embeddings=False, or read them from before a cosine collection normalised them.",
    ),
    "R102": (
        "No norm is more than ten times off the median",
        "Look at the extreme documents: empty, boilerplate or broken texts dominate an inner product.",
    ),
    "R201": (
        "There are enough judged queries to decide",
        "Judge more queries, or accept that the default, cosine, stays.",
    ),
    "R202": ("Every query has a relevant document", "Nothing to do: such queries are left out and counted."),
    "R203": (
        "No query retrieves itself",
        "Queries and documents share ids and vectors: run again with --exclude-self.",
    ),
    "R204": (
        "The metric agrees with the reference library",
        "Do not trust this report: file an issue with the data.",
    ),
    "R301": (
        "Tuning the exponent gains on held-out queries",
        "Keep cosine: rank by the directions alone.",
    ),
    "R302": (
        "Raw inner product is no worse than cosine",
        "Do not rank these vectors by raw inner product: normalise them, or use a cosine index.",
    ),
    "R303": (
        "The exponent lies inside the range",
        "Widen --gamma-range: the best exponent may lie beyond its end.",
    ),
    "R304": (
        "The gain seen while tuning holds on other queries",
        "Believe the held-out figure: the best of many exponents on the same queries flatters itself.",
    ),
    "R401": (
        "The gain is the norm's own",
        "Use the recommendation instead: it corrects what the norm only stands for.",
    ),
    "R402": (
        "Text length was tested as an explanation",
        "Give the texts of all documents (--texts): length is the commonest thing that a norm stands for.",
    ),
    "R403": (
        "Most of the norm's variance is its own",
        "Read the norm as a stand-in for the signals that predict it.",
    ),
    "R404": (
        "No few documents crowd the first ranks",
        "Try a hub penalty, CSLS or mean-centring: the recommendation says whether one gains.",
    ),
    "R501": (
        "The probe's heat is known well enough",
        "Probe again with more minibatches (radii probe --batches).",
    ),
    "R502": (
        "Heat controls the norm in this model",
        "Do not read the norm as specificity: the probe did not find that it follows heat for its own sake.",
    ),
    "R503": (
        "The norm is more than text length",
        "Read the norm as a stand-in for text length until an arm says otherwise.",
    ),
    "R504": (
        "Steps shrink with the norm, as the theory has it",
        "Do not use the predicted norms: the equation they come from assumes another power of the norm.",
    ),
    "R601": (
        "The form keeps a graph's recall at that of plain cosine",
        "Raise ef or the number of links, or take an engine that looks at every document; radii verify "
        "measures the whole index.",
    ),
}


# Above this the k-occurrence is called strongly skewed: Radovanović et al. (2010), JMLR 11:2487-2531.
_SKEWED = 1.4


def finding(
    code: str,
    status: Status,
    meaning: str,
    *,
    value: float | None = None,
    interval: Interval | None = None,
) -> Finding:
    """One finding of the catalogue; its remedy is given only when it fails or was skipped.

    >>> finding("R101", "holds", "sd of log norm 0.08").remedy is None
    True
    """
    title, remedy = CATALOGUE[code]
    return Finding(
        code=code,
        title=title,
        status=status,
        value=value,
        interval=interval,
        meaning=meaning,
        remedy=remedy if status in ("fails", "skipped") else None,
    )


def norms_vary(norms: NormSummary) -> Finding:
    """R101: whether anything but rounding moves the norms."""
    meaning = f"norms {norms.mean:.4g} on average, standard deviation of log norm {norms.sd_log:.3g}"
    return finding("R101", "fails" if norms.constant else "holds", meaning, value=norms.sd_log)


def no_extremes(norms: NormSummary) -> Finding:
    """R102: whether a few documents tower over the rest, or vanish."""
    worst = max(norms.largest / norms.median, norms.median / norms.smallest)
    meaning = f"norms from {norms.smallest:.4g} to {norms.largest:.4g} around a median of {norms.median:.4g}"
    return finding("R102", "fails" if worst > 10 else "holds", meaning, value=worst)


def no_self(docs: Embeddings, queries: Embeddings, exclude_self: bool) -> Finding:
    """R203: whether queries are documents under the same id, as in ArguAna, Quora or the demo."""
    if exclude_self:
        return finding("R203", "holds", "documents that bear the query's id are skipped")
    shared = [(row, docs.rows[name]) for row, name in enumerate(queries.ids) if name in docs.rows]
    if not shared:
        return finding("R203", "not applicable", "queries and documents share no ids")
    # Row numbers of two bare arrays always coincide; only equal vectors tell that they are the same item.
    q, d = (list(rows) for rows in zip(*shared[:1000], strict=True))
    a, b = queries.vectors[q].astype(np.float64), docs.vectors[d].astype(np.float64)
    same = np.einsum("ij,ij->i", a, b) > 0.999 * queries.norms[q] * docs.norms[d]
    if not same.any():
        return finding("R203", "holds", f"{len(shared)} ids are shared by chance: their vectors differ")
    meaning = f"{int(same.sum())} of {len(q)} queries looked at have their own vector among the documents"
    return finding("R203", "fails", meaning, value=float(same.mean()))


def all_judged(queries: Embeddings, steps: MetricPath) -> Finding:
    """R202: how many queries nobody judged."""
    left = len(queries) - len(steps.ids)
    meaning = f"{len(steps.ids)} of {len(queries)} queries have a relevant document; {left} are left out"
    return finding("R202", "fails" if left else "holds", meaning, value=float(left))


def enough(steps: MetricPath, needed: int, effect: float) -> Finding:
    """R201: whether a gain of `effect` would be seen."""
    meaning = f"{len(steps.ids)} judged queries; a gain of {effect:g} takes {needed}"
    return finding(
        "R201", "holds" if len(steps.ids) >= needed else "fails", meaning, value=float(len(steps.ids))
    )


# trec_eval counts through every grade up to the largest: minutes and gigabytes at 2³¹.
_MOST_GRADES = 10_000_000


def agrees(field: Field, qrels: Qrels, gammas: set[float]) -> Finding:
    """R204: the path's metric against ir_measures on the run itself, at cosine and at the chosen exponent."""
    steps, docs = field.steps, field.question.docs
    largest = max(grade for q in steps.ids for grade in qrels[q].values())
    if largest > _MOST_GRADES:
        return finding(
            "R204", "not applicable", f"grades up to {largest:,} are more than trec_eval can count through"
        )
    judgements = [ir_measures.Qrel(q, d, g) for q in steps.ids for d, g in qrels[q].items()]
    measure = ir_measures.parse_measure(str(steps.metric))
    worst = 0.0
    for gamma in gammas:
        run = [
            ir_measures.ScoredDoc(q, docs.ids[row], -float(rank))  # ranks never tie
            for q in steps.ids
            for rank, row in enumerate(field.path_of[q].top(q, gamma))
        ]
        values = {m.query_id: m.value for m in ir_measures.iter_calc([measure], judgements, run)}
        ours = steps.curves.values(gamma)
        worst = max(worst, max(abs(values.get(q, 0.0) - v) for q, v in zip(steps.ids, ours, strict=True)))
    if worst > 1e-9:
        raise NumericalError(
            f"{measure} differs from ir_measures by {worst:.2g} on a query: please report this with the data"
        )
    shown_at = " and ".join(f"γ = {gamma:.3g}" for gamma in sorted(gammas))
    return finding("R204", "holds", f"every query equal to 1e-9 at {shown_at}", value=worst)


def evidence(main: Contender, arms: list[Arm], steps: MetricPath, low: float, high: float) -> list[Finding]:
    """R301 to R401: what the held-out evidence says."""
    worth = main.estimate
    interval = (worth.low, worth.high)
    said = f"tuning the exponent: {worth:+.4f}, p = {worth.p:.2g}, {worth.n} queries"
    gained = worth.above_zero
    found = [finding("R301", "holds" if gained else "fails", said, value=worth.mean, interval=interval)]
    for arm in (a for a in arms if a.name == "inner product"):
        text = (
            f"inner product: {arm.gain:+.4f} ({arm.gain_ci[0]:+.4f} … {arm.gain_ci[1]:+.4f}) against cosine"
        )
        status: Status = "fails" if arm.gain_ci[1] < 0 else "holds"
        found.append(finding("R302", status, text, value=arm.gain, interval=arm.gain_ci))
    best = steps.best()
    edge = best.value > steps.at(0.0) and (best.low == low or best.high == high)
    text = f"best on all queries at γ = {best.gamma:.3g} in [{low:g}, {high:g}]"
    found.append(finding("R303", "fails" if edge else "holds", text, value=best.gamma))
    seen = best.value - steps.at(0.0)
    text = f"tuning: {seen:+.4f} where it was tuned, {worth.mean:+.4f} on other queries"
    lost = seen > 0 and worth.mean < seen / 2
    found.append(finding("R304", "fails" if lost else "holds", text, value=seen - worth.mean))
    return found


def attributed(norm: Contender, known: Attribution, lengths: bool) -> list[Finding]:
    """R401 to R403: whose gain it is."""
    found = []
    status: Status
    left = known.beyond
    if not norm.estimate.above_zero:
        found.append(finding("R401", "not applicable", "there is no gain to attribute"))
    elif left is None or known.proxy is None:
        found.append(finding("R401", "skipped", "no other explanation could be tested"))
    else:
        text = f"on top of {known.proxy.name} the norm adds {left.estimate:+.4f}"
        status = "holds" if left.estimate.above_zero else "fails"
        worth = left.estimate
        found.append(finding("R401", status, text, value=worth.mean, interval=(worth.low, worth.high)))
    if lengths:
        found.append(finding("R402", "holds", "length and rarity of words are among the explanations"))
    else:
        found.append(finding("R402", "skipped", "text length was not tested: there is no text per document"))
    explained = known.explained.estimate if known.explained is not None else None
    if explained is None:
        found.append(finding("R403", "not applicable", "no other signal, or norms are constant"))
    else:
        names = ", ".join(s.name for s in known.signals)
        text = f"{names} predict {explained:.0%} of the variance of log norm"
        found.append(finding("R403", "fails" if explained > 0.5 else "holds", text, value=explained))
    hubs = known.hubness
    if hubs is None:
        found.append(
            finding(
                "R404",
                "not applicable",
                "fewer than 20 queries, or lists of ten that hold most of the corpus",
            )
        )
    else:
        text = (
            f"{hubs.hubs} documents appear more than twice as often as expected, one {hubs.largest:.0f} "
            f"times, {hubs.antihubs} never: skewness {hubs.skewness:.1f}"
        )
        status = "fails" if hubs.skewness > _SKEWED else "holds"
        found.append(finding("R404", status, text, value=hubs.skewness))
    return found


def probed(report: ProbeReport) -> list[Finding]:
    """R501 to R504: what a probe of the model says, on its own surrogate and inputs."""
    trust, regime = report.reliability["raw"].whole, report.regime
    text = "undefined" if trust is None else f"{trust:.2f} between halves of the minibatches, stepped up"
    known = trust is not None and trust >= RELIABLE
    found = [finding("R501", "holds" if known else "fails", f"reliability of heat: {text}", value=trust)]
    said = f"{regime.label}: {regime.meaning} {regime.caveat}"
    if regime.label == "inconclusive":
        found.append(finding("R502", "skipped", said))
    else:
        found.append(finding("R502", "holds" if regime.label == "heat-controlled" else "fails", said))
    if "length" not in report.norm_with:
        found.append(finding("R503", "not applicable", "the probe's inputs have no text length"))
    else:
        rho = report.norm_with["length"].plain
        if rho.estimate is None or rho.low is None or rho.high is None:
            found.append(finding("R503", "skipped", "the correlation of norm with length is undefined"))
        else:
            text = f"norm with text length: ρ {rho.estimate:+.2f} over the probe's inputs"
            bound = rho.low >= MANY or rho.high <= -MANY
            status: Status = "fails" if bound else "holds"
            found.append(finding("R503", status, text, value=rho.estimate, interval=(rho.low, rho.high)))
    p = report.power.value
    if p is None:
        found.append(finding("R504", "skipped", f"the power was not measured: {report.power.reason}"))
    else:
        text = f"Δz ∝ R^(−p) with p = {p:.2f}; the theory has 1 for plain gradients and 0 for normalised ones"
        found.append(finding("R504", "holds" if -0.1 <= p <= 1.1 else "fails", text, value=p))
    return found
