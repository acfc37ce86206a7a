"""Claim 13: for a text encoder with mean pooling, no exponent of the norm helps retrieval."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from radii.auditing import audit
from radii.claims.material import beyond, copies, shared
from radii.claims.outcome import NotRun, Progress, Statement, Tested, reported
from radii.claims.vectors import collection_at, embedded, tokenizer_of
from radii.data.beir import load_beir
from radii.data.classic import load_cacm, load_cranfield, load_vaswani
from radii.data.collection import Collection, judged
from radii.data.model import PACKAGED
from radii.data.texts import Texts
from radii.errors import InputError
from radii.evidence.holdout import Protocol
from radii.result import Path as Curve
from radii.result import Report

TITLE = "Text retrieval with mean pooling: an exponent of the norm gains nothing"
ON = "all-MiniLM-L6-v2 on SciFact, Cranfield, CACM and Vaswani"
METHOD = (
    "all-MiniLM-L6-v2, without its final normalisation, on the collections named (Cranfield graded, its "
    "documents coded -1 left unjudged): each audited as `radii audit` does, nDCG@10, γ from -1 to 1 chosen "
    "on training folds and judged on held-out queries, length counted in the model's tokens. Intervals are "
    "over queries, and stretched where γ was chosen."
)
_EFFECT = 0.02
NORM_ARM = "norm exponent"  # as the audit names it
COLLECTIONS: dict[str, Callable[[], tuple[Collection, Path]]] = {
    "SciFact": lambda: (load_beir(shared("scifact_beir")), shared("scifact_beir", "corpus.jsonl")),
    "Cranfield": lambda: (load_cranfield(shared("cranfield")), shared("cranfield", "cran.all.1400.xml")),
    "CACM": lambda: (load_cacm(shared("cacm")), shared("cacm", "cacm.tar.gz")),
    "Vaswani": lambda: (load_vaswani(shared("vaswani")), shared("vaswani", "doc-text.trec")),
}
NOT_RUN = (
    NotRun(
        what="other BEIR sets",
        why="ir_datasets would have to download them",
        command="radii claims run retrieval --full --dataset beir/nfcorpus/test",
    ),
    NotRun(
        what="decoders as encoders, pooled by their last token",
        why="no weights of one",
        command="radii claims run retrieval --full --model FOLDER",
    ),
)


def run(
    full: bool, progress: Progress | None = None, *, model: str = PACKAGED, dataset: str | None = None
) -> Tested:
    """Embed and audit every collection, or a piece of Vaswani; half an hour on a core when full."""
    statements: list[Statement] = []
    table: list[dict[str, Any]] = []
    files: list[Path] = []
    names = [dataset] if dataset is not None else list(COLLECTIONS) if full else ["Vaswani"]
    for number, key in enumerate(names):
        if dataset is None:
            found, file = COLLECTIONS[key]()
            files.append(file)
        else:
            found = collection_at(dataset)
        name = key if full else f"a piece of {key}"
        if full:
            report = audited(found, model)
        else:
            report = audited(piece(found, 6), model, Protocol(repeats=2, resamples=999))
        if progress is not None:
            progress(number + 1, len(names))
        over = f"{report.data.n_judged} queries"
        statements.append(reported(f"{name}: nDCG@10 of cosine", curve(report).cosine, over=over))
        for arm in report.arms:
            low, high = arm.gain_ci
            title = f"{name}: gain of {arm.name}"
            if arm.name == NORM_ARM:
                statements.append(beyond(title, arm.gain, low, high, "below", over, limit=_EFFECT))
            else:
                statements.append(reported(title, arm.gain, low=low, high=high, over=over))
        table.append(_row(name, report))
    return Tested(
        seeds=1,
        statements=statements,
        table=table,
        notes=[
            "Seed 0 for folds and permutations; the embedding has no randomness.",
            "'Best γ' is chosen on the queries it is shown for; 'chosen γ' is the exponent to use.",
        ],
        data=copies(*files),
        not_run=list(NOT_RUN) if dataset is None and model == PACKAGED else [],
    )


def audited(found: Collection, model: str = PACKAGED, protocol: Protocol | None = None) -> Report:
    """Embed a collection and audit it."""
    return audit(
        embedded(found.docs, model),
        embedded(found.queries, model),
        found.qrels,
        texts=found.docs,
        tokenize=tokenizer_of(model),
        min_effect=_EFFECT,
        protocol=protocol,
    )


def curve(report: Report) -> Curve:
    """The metric along γ; InputError where nothing was judged."""
    if report.path is None:
        raise InputError("no judgements", where=report.data.docs, fix="give a collection with judgements")
    return report.path


def piece(found: Collection, n_queries: int) -> Collection:
    """The first queries, and of the documents only those judged for them."""
    names = found.queries.ids[:n_queries]
    qrels = {name: found.qrels[name] for name in names}
    known = {document for grades in qrels.values() for document in grades}
    kept = [name for name in found.docs.ids if name in known]
    docs = Texts(kept, [found.docs.by_id[name] for name in kept], found.docs.source)
    return replace(found, docs=docs, queries=judged(found.queries, qrels), qrels=qrels)


def _row(name: str, report: Report) -> dict[str, Any]:
    path = curve(report)
    best = max(report.arms, key=lambda arm: arm.gain)
    length = next((s for s in report.signals if s.name == "length"), None)
    return {
        "collection": name,
        "documents": report.data.n_docs,
        "queries": report.data.n_judged,
        "cosine": round(path.cosine, 4),
        "inner product": None if path.inner_product is None else round(path.inner_product, 4),
        "chosen γ": round(next(arm.parameters["gamma"] for arm in report.arms if arm.name == NORM_ARM), 3),
        "best γ": round(path.best_gamma, 3),
        "there": round(path.best_value, 4),
        "verdict": report.verdict.label,
        "best arm": f"{best.name} {best.gain:+.4f}",
        "sd of log norm": float(f"{report.norms.sd_log:.3g}"),
        "Spearman(norm, length)": None
        if length is None or length.with_norm.estimate is None
        else round(length.with_norm.estimate, 3),
    }
