"""Every finding code with its meaning and remedy, as a page of the docs."""

from __future__ import annotations

from radii.errors import InputError, shown
from radii.findings import CATALOGUE
from radii.probing.regime import MANY, RELIABLE

_ROOMS = {
    "R1": "The norms",
    "R2": "Data and measurement",
    "R3": "The evidence",
    "R4": "Whose gain it is",
    "R5": "The model, by a probe",
    "R6": "The export",
}

# Code → how it is decided, and what to read out of it.
_MEANING = {
    "R101": "Fails when the norms are constant up to the rounding of their precision: something "
    "normalised the vectors, every exponent ranks like cosine, and the verdict is `no- "
    "signal`.",
    "R102": "Fails when the largest norm is more than ten times the median, or the median more than "
    "ten times the smallest. Then a handful of documents decides what an exponent does.",
    "R201": "How many judged queries it takes to see a gain of `min_effect` (80 % power, from the "
    "spread of the per-query gains at a mild exponent), against how many there are. Fewer, "
    "and no gain seen: `unverified`.",
    "R202": "Counts the queries for which no document is judged relevant. They say nothing of any ranking.",
    "R203": "Fails when a query's own vector lies among the documents under the query's id: it would "
    "find itself first at every exponent.",
    "R204": "Every query's metric is computed again by ir_measures on the ranking itself, at cosine "
    "and at the chosen exponent. A difference above 1e-9 stops the audit.",
    "R301": "The norm's exponent is chosen on some queries and judged on others. Holds when the "
    "interval of the held-out gain over cosine lies above 0 and its permutation p below 0.05.",
    "R302": "The inner product is γ = 1. Fails when the whole interval of its gain over cosine lies below 0.",
    "R303": "Fails when the best exponent on all queries is at an end of the range that was looked at.",
    "R304": "Compares the best gain on the queries it was chosen on with the gain on queries that had "
    "no say. Fails when less than half of it is left.",
    "R401": "What the norm adds on top of the best other explanation, on held-out queries. Fails when "
    "the interval of that does not lie above 0: the verdict is then `proxy`. Not applicable "
    "when nothing is gained.",
    "R402": "Skipped when not every document has a text. A verdict without it may be a verdict about length.",
    "R403": "Fails when the other signals together predict more than half of the variance of log "
    "norm, on documents that the prediction was not fitted on.",
    "R404": "The skewness of the 10-occurrence, how often a document is among the first ten of a "
    "query. Fails above 1.4: a few hubs take the places of many. Not applicable with few "
    "queries or documents.",
    "R501": "Agreement of the heats from two halves of the minibatches, stepped up to all of them. "
    f"Holds from {RELIABLE:g} on.",
    "R502": "Holds when the norm rises with raw heat and with the heat that the measured power p calls for "
    "(without one: in all three normalisations), text length held fixed, every interval above 0. "
    "Skipped when the probe was inconclusive. It changes no verdict about ranking.",
    "R503": "Fails when the whole interval of the rank correlation of norm and text length, over the "
    f"probe's inputs, lies beyond ± {MANY:g}.",
    "R504": "The power p of a displacement ∝ R^(−p), measured with the head scaled. The theory has 1 "
    "for plain gradients and 0 for normalised ones; outside [−0.1, 1.1] it speaks of another "
    "model.",
    "R601": "Recall at ten, against the exact order, of an index filled with up to 2,000 of the documents in "
    "the form taken, less that of plain cosine. Fails below −0.01. Not applicable where every document is "
    "looked at. A sample flatters an index: the whole one may find less.",
}


def page() -> str:
    """Markdown of the catalogue; docs/findings.md is this text."""
    lines = [
        "# Findings: what each code means, and what to do",
        "",
        "Made by `radii findings` from the catalogue in `radii/findings.py`. A finding is a claim that was",
        "checked. It `holds`, `fails`, is `not applicable`, or was `skipped`; its remedy is given when it",
        "fails or was skipped. In report.json it also has its number and interval. A code keeps its",
        "meaning for ever.",
    ]
    room = None
    for code in sorted(CATALOGUE):
        if code[:2] != room:
            room = code[:2]
            lines += ["", f"## {_ROOMS.get(room, room)}"]
        lines += ["", *section(code)]
    return "\n".join(lines) + "\n"


def section(code: str) -> list[str]:
    """The lines about one code; raises InputError for one that is not in the catalogue."""
    if code not in CATALOGUE:
        raise InputError(
            f"no finding {code!r}", where="findings", fix=f"give one of {shown(sorted(CATALOGUE), 99)}"
        )
    title, remedy = CATALOGUE[code]
    meaning = [_MEANING[code], ""] if code in _MEANING else []
    return [f"### {code} · {title}", "", *meaning, f"**What to do.** {remedy}"]
