"""Claim 2: a text encoder with mean pooling gives the more general word the longer vector."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from radii.claims.material import beyond, copies, defined, shared
from radii.claims.outcome import Progress, Statement, Tested, reported
from radii.claims.paired import differences
from radii.claims.vectors import embedded, tokenizer_of
from radii.data.contrasts import Contrasts, read_hypernyms
from radii.data.embeddings import Floats
from radii.data.model import PACKAGED
from radii.data.synsets import read_synsets
from radii.data.texts import Texts
from radii.data.wordnet import wordnet_file
from radii.signals.length import tokens
from radii.signals.relations import Relation, partial_spearman, spearman_matrix

TITLE = "Text vectors with mean pooling are longer for more general words"
ON = "all-MiniLM-L6-v2 on WordNet nouns and four sets of hypernym pairs"
METHOD = (
    "all-MiniLM-L6-v2 without its final normalisation. Hypernym pairs of BLESS, EVALution, Lenci/Benotto "
    "and Weeds: log norm of the hypernym minus that of its hyponym, averaged per hypernym, Student's "
    "interval over hypernyms; of all pairs, of pairs with as many tokens, and at equal tokens and "
    "letters by regression (bootstrap over hypernyms). The share is of pairs in which the hypernym has "
    "the longer vector, averaged the same way. WordNet: nouns (the first word of a synset) and their "
    "glosses, drawn by a seed, against hyponyms and depth, plain and with tokens and letters held fixed "
    "(bootstrap over synsets)."
)
DATASETS = ("BLESS", "EVALution", "LenciBenotto", "Weeds")


def run(full: bool, progress: Progress | None = None, *, model: str = PACKAGED) -> Tested:
    """Embed the distinct words; a few minutes on two cores when full."""
    statements: list[Statement] = []
    table: list[dict[str, Any]] = []
    chosen = DATASETS if full else ("Weeds",)
    done, steps = 0, len(chosen) + 2
    for name in chosen:
        found, row = _dataset(name, None if full else 60, 9999 if full else 199, model)
        statements += found
        table.append(row)
        done += 1
        if progress is not None:
            progress(done, steps)
    for kind in ("nouns", "glosses"):
        statements += wordnet(kind, 5000 if full else 100, 999 if full else 199, model)
        done += 1
        if progress is not None:
            progress(done, steps)
    return Tested(
        seeds=1,
        statements=statements,
        table=table,
        notes=[
            "Seed 0 for every draw; the embedding has no randomness.",
            "Intervals take hypernyms as independent, though some share hyponyms.",
            "Single words are outside what the encoder was trained on: sentences.",
        ],
        data=copies(*(file for name in chosen for file in _files(name)), wordnet_file()),
    )


def pairs(name: str, limit: int | None = None) -> Contrasts:
    """Hypernym pairs of a data set, its test and validation part together; the first `limit` of them."""
    test, val = (read_hypernyms(path) for path in _files(name))
    return Contrasts(
        (test.general + val.general)[:limit],
        (test.specific + val.specific)[:limit],
        (test.group + val.group)[:limit],
        source=name,
    )


def wordnet(kind: str, n: int, resamples: int, model: str = PACKAGED) -> list[Statement]:
    """Norm of nouns, or of glosses, against how general their synset is."""
    nouns = read_synsets()
    offsets = np.array(sorted(nouns.parents))
    drawn = np.random.default_rng([0, 7]).choice(offsets, n, replace=False)
    texts = [nouns.lemmas[o][0].replace("_", " ") if kind == "nouns" else nouns.definitions[o] for o in drawn]
    norm = embedded(Texts([str(o) for o in drawn], texts, f"WordNet {kind}"), model).norms
    measures = {"hyponyms": [nouns.hyponyms(o) for o in drawn], "depth": [nouns.depth[o] for o in drawn]}
    length = {"tokens": tokens(texts, tokenizer_of(model)), "letters": [len(t) for t in texts]}
    signals = {key: np.asarray(column, dtype=np.float64) for key, column in (measures | length).items()}
    plain = spearman_matrix({"norm": norm} | signals, 0, resamples=resamples)
    found = [
        _ranked(f"WordNet {kind}: Spearman(norm, {key})", plain["norm", key], n)
        for key in ("hyponyms", "depth", "tokens")
    ]
    for key in ("hyponyms", "depth"):
        relation = partial_spearman(
            norm, signals[key], [signals["tokens"], signals["letters"]], 0, resamples=resamples
        )
        found.append(_ranked(f"WordNet {kind}: Spearman(norm, {key} | length)", relation, n))
    return found


def _ranked(title: str, relation: Relation, n: int) -> Statement:
    value, low, high = defined(title, relation)
    over = f"{n} synsets"
    if "hyponyms" in title:
        return beyond(title, value, low, high, "above", over)
    if "depth" in title:
        return beyond(title, value, low, high, "below", over)
    return reported(title, value, low=low, high=high, over=over)


def _dataset(
    name: str, limit: int | None, resamples: int, model: str
) -> tuple[list[Statement], dict[str, Any]]:
    both = pairs(name, limit)
    found = differences(both, model)
    share, low, high = found.share()
    plain, same, fitted = found.mean(0), found.at_equal_length(0), found.adjusted(0, resamples)
    over = f"{plain.n} hypernyms, {len(both)} pairs"
    title = f"{name}: log norm of hypernym minus hyponym"
    statements = [
        reported(f"{name}: share with the longer hypernym", share, low=low, high=high, over=over),
        beyond(title, plain.mean, plain.low, plain.high, "above", over),
        beyond(f"{title}, as many tokens", same.mean, same.low, same.high, "above", f"{same.n} hypernyms"),
        beyond(f"{title}, at equal tokens and letters", *fitted, "above", over),
    ]
    return statements, _row(name, both, found.tokens, found.log_norm)


def _row(name: str, both: Contrasts, tokens: Floats, log_norm: Floats) -> dict[str, Any]:
    return {
        "data set": name,
        "pairs": len(both),
        "hypernyms": len(set(both.group)),
        "hypernym has fewer tokens": round(float((tokens < 0).mean()), 3),
        "as many": round(float((tokens == 0).mean()), 3),
        "hypernym longer": round(float((log_norm > 0).mean()), 3),
    }


def _files(name: str) -> list[Path]:
    return [shared("unsupervised_hypernymy", f"{name}.{part}") for part in ("test", "val")]
