"""Claim 3: a general question has a longer vector than a specific one of its facets."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Literal

from radii.claims.material import beyond, copies, shared
from radii.claims.outcome import Progress, Statement, Tested, reported
from radii.claims.paired import differences
from radii.data.contrasts import Contrasts, read_qulac
from radii.data.model import PACKAGED

TITLE = "General questions have longer text vectors than their facets"
ON = "all-MiniLM-L6-v2 on Qulac topics and facets"
METHOD = (
    "all-MiniLM-L6-v2 without its final normalisation on Qulac: each topic against the descriptions of "
    "its facets, as the topic's query (a few words) and as the topic's description (a sentence, as "
    "facets are). Difference of log norm, topic minus facet, averaged per topic, Student's interval over "
    "topics; of all pairs, of pairs with as many tokens, and at equal tokens and letters by regression "
    "(bootstrap over topics)."
)
SIDES: dict[str, Literal["topic", "topic_desc"]] = {"query": "topic", "description": "topic_desc"}


def run(full: bool, progress: Progress | None = None, *, model: str = PACKAGED) -> Tested:
    """Embed topics and facets; a minute when full."""
    file = shared("qulac", "qulac.json")
    statements: list[Statement] = []
    table: list[dict[str, Any]] = []
    for name, side in SIDES.items():
        both = read_qulac(file, side)
        both = both if full else first(both, 60)
        found = differences(both, model)
        share, low, high = found.share()
        plain, fitted = found.mean(0), found.adjusted(0, 9999 if full else 199)
        over = f"{plain.n} topics, {len(both)} pairs"
        title = f"{name}: log norm of topic minus facet"
        statements += [
            reported(f"{name}: share with the longer topic", share, low=low, high=high, over=over),
            beyond(title, plain.mean, plain.low, plain.high, "above", over),
            beyond(f"{title}, at equal tokens and letters", *fitted, "above", over),
        ]
        same = int((found.tokens == 0).sum())
        if name == "description":
            equal = found.at_equal_length(0)
            more = f"{equal.n} topics, {same} pairs"
            statements.append(
                beyond(f"{title}, as many tokens", equal.mean, equal.low, equal.high, "above", more)
            )
        table.append(
            {
                "topic as": name,
                "pairs": len(both),
                "topics": plain.n,
                "mean tokens, topic minus facet": round(float(found.tokens.mean()), 2),
                "pairs with as many tokens": same,
                "p of the plain difference": plain.p,
            }
        )
        if progress is not None:
            progress(len(table), len(SIDES))
    return Tested(
        seeds=1,
        statements=statements,
        table=table,
        notes=[
            "Seed 0 for sign flips and bootstraps; the embedding has no randomness.",
            "Queries are far shorter than facets: at equal length means extrapolating for them, and the "
            "description is the fairer side.",
        ],
        data=copies(file),
    )


def first(both: Contrasts, n: int) -> Contrasts:
    """The first n pairs."""
    return replace(both, general=both.general[:n], specific=both.specific[:n], group=both.group[:n])
