"""Claim 17: whether long vectors should be discounted or amplified depends on the model and the task."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import special

from radii.claims import text
from radii.claims.glosses import gloss_task
from radii.claims.material import copies, shared
from radii.claims.outcome import Outcome, Progress, Tested, at_least, reported
from radii.claims.vectors import pooled
from radii.claims.vocabularies import among
from radii.data import demo
from radii.data.classic import load_cranfield
from radii.data.collection import Collection
from radii.data.embeddings import Embeddings
from radii.data.qrels import Qrels, read_qrels
from radii.data.synsets import read_synsets
from radii.data.wordnet import wordnet_file
from radii.evidence.holdout import Protocol, held_out
from radii.ranking.path import exponent_path

TITLE = "Whether to discount or to amplify long vectors depends on the model and the task"
ON = "every retrieval row of this table, and three poolings of all-MiniLM-L6-v2"
METHOD = (
    "One row per model and task: the exponent chosen by nDCG@10 between -1 and 1 and its held-out gain. Its "
    "sign counts where the gain's interval lies above 0, and is unclear elsewhere; as there are many rows, "
    "it is also counted where the gain stays above 0 at a family-wise level of 5 % (Holm, p from the "
    "interval). Rows come from the recorded results of claims `retrieval`, `specificity`, `transfer` and "
    "`head`, and are added here for mean, CLS and last-token pooling of all-MiniLM-L6-v2's states (WordNet "
    "nouns and their definitions, Cranfield) and for the small encoder without a head of claim `text` (class "
    "names ask for definitions of related classes)."
)
POOLINGS = ("mean", "cls", "last")


@dataclass(frozen=True)
class Row:
    """The exponent's held-out gain with one model on one task."""

    model: str
    task: str
    gamma: float
    gain: float
    low: float
    high: float
    of: str

    @property
    def sign(self) -> str:
        """`+` or `−` where the interval of the gain lies above 0, else `unclear`."""
        if self.low <= 0 or self.gamma == 0:
            return "unclear"
        return "+" if self.gamma > 0 else "−"

    @property
    def p(self) -> float:
        """Two-sided, from the interval read as that of a normal variable; 1 where there is no spread."""
        if self.high <= self.low:
            return 1.0
        z = abs(self.gain) * 2 * float(special.ndtri(0.975)) / (self.high - self.low)
        return float(2 * special.ndtr(-z))


def run(full: bool, progress: Progress | None = None) -> Tested:
    """Collect the recorded rows and add those of poolings and a small encoder; five minutes when full."""
    protocol = Protocol() if full else Protocol(repeats=2, resamples=99)
    rows = list(_recorded())
    for row in _added(full, protocol):
        rows.append(row)
        if progress is not None:
            progress(len(rows), len(rows) + 1)
    kept = holm([row.p for row in rows])
    counts = {sign: sum(row.sign == sign for row in rows) for sign in ("+", "−", "unclear")}
    sure = [row.sign for row, keep in zip(rows, kept, strict=True) if keep]
    rarer = float(min(sure.count("+"), sure.count("−")))
    over = f"{len(rows)} rows"
    statements = [
        at_least("rows of the rarer sign, family-wise 5 %", rarer, 1.0, over=over),
        *(reported(f"rows with sign {sign}", float(n), over=over) for sign, n in counts.items()),
    ]
    files = [wordnet_file(), demo.paths().vectors]
    if full:
        files.append(shared("cranfield", "cran.all.1400.xml"))
    return Tested(
        seeds=1,
        statements=statements,
        table=[_line(row, keep) for row, keep in zip(rows, kept, strict=True)],
        notes=[
            "Intervals are over queries, over pages (`specificity`) or over seeds (`head`), as their claims "
            "have them.",
            "CLS and last-token pooling were never trained in this model: they show what another reading of "
            "the same states does, not another model.",
        ],
        data=copies(*files),
    )


def holm(p: Sequence[float], level: float = 0.05) -> list[bool]:
    """Which hypotheses are rejected at a family-wise level (Holm 1979).

    >>> holm([0.01, 0.04, 0.03])
    [True, False, False]
    """
    rejected = [False] * len(p)
    for place, row in enumerate(np.argsort(p, kind="stable")):
        if p[row] > level / (len(p) - place):
            break
        rejected[row] = True
    return rejected


def judged_row(model: str, task: str, docs: Embeddings, queries: Embeddings, qrels: Qrels, **how: Any) -> Row:
    """Choose and judge the exponent; `how` holds the protocol and perhaps exclude_self."""
    protocol = how.pop("protocol")
    curves = exponent_path(docs, queries, **how).metric("nDCG@10", qrels).curves
    found = held_out(curves, -1.0, 1.0, 0, protocol)
    worth = found.estimate
    return Row(model, task, found.gamma, worth.mean, worth.low, worth.high, "signs")


def recorded_rows(outcome: Outcome) -> Iterator[Row]:
    """What a recorded claim says of exponents: a row of its table for every held-out gain."""
    shapes = {
        "retrieval": ("collection", "MiniLM, mean pooling", "{}: gain of norm exponent"),
        "transfer": ("task", "CLIP text", "{}: gain of norm exponent"),
        "head": ("encoder", "", "{}: gain of norm exponent"),
        "specificity": ("depth", "MiniLM, mean pooling", "{} depths: gain"),
    }
    key, model, title = shapes[outcome.claim]
    known = {s.name: s for s in outcome.statements}
    for line in outcome.table:
        name = line[key]
        statement = known.get(title.format(name))
        if statement is not None and statement.low is not None and statement.high is not None:
            of_head = outcome.claim == "head"
            yield Row(
                model if not of_head else name,
                ("class glosses" if "small" in name else "WordNet glosses") if of_head else _task(name),
                line["chosen γ"],
                statement.value,
                statement.low,
                statement.high,
                outcome.claim,
            )


def _task(name: str) -> str:
    return "TREC-CAR" if name == "all" else name


def _recorded() -> Iterator[Row]:
    from radii.claims.catalogue import recorded  # which lists this module

    for claim in ("retrieval", "specificity", "transfer", "head"):
        outcome = recorded(claim)
        if outcome is not None:
            yield from recorded_rows(outcome)


def _added(full: bool, protocol: Protocol) -> Iterator[Row]:
    glosses = gloss_task(read_synsets(), *((6000, 1500) if full else (100, 40))).task
    named: list[tuple[str, Collection]] = [("WordNet glosses", glosses)]
    if full:
        named.append(("Cranfield", load_cranfield(shared("cranfield"))))
    for task, found in named:
        docs, queries = pooled(found.docs, POOLINGS), pooled(found.queries, POOLINGS)
        for pooling in POOLINGS:
            # Mean pooling is the model's own: `retrieval` has it on the collections.
            if pooling != "mean" or found is glosses:
                model = f"MiniLM, {pooling} pooling"
                yield judged_row(model, task, docs[pooling], queries[pooling], found.qrels, protocol=protocol)
    yield _small(full, protocol)


def _small(full: bool, protocol: Protocol) -> Row:
    """The mean of trained word vectors; those with a head are in claim `head`."""
    known = text.glossary(None if full else 120)
    words = np.asarray(text.train(known, "mean pooling", 0, 3000 if full else 60).layers[0])
    return judged_row(
        "small, mean pooling",
        "class glosses",
        Embeddings(known.ids, known.glosses @ words),
        Embeddings(known.ids, known.names @ words),
        among(read_qrels(demo.paths().qrels), known.ids, known.ids),
        protocol=protocol,
        exclude_self=True,
    )


def _line(row: Row, sure: bool) -> dict[str, Any]:
    return {
        "model": row.model,
        "task": row.task,
        "γ": round(row.gamma, 3),
        "held-out gain": round(row.gain, 4),
        "interval": f"{row.low:+.4f} … {row.high:+.4f}",
        "sign": row.sign,
        "family-wise": "yes" if sure and row.sign != "unclear" else "no",
        "from": row.of,
    }
