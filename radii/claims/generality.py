"""Claim 1: CLIP's text vectors are longer for more general class names."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import stats

from radii.claims.material import Side, beyond, copies, defined, shared
from radii.claims.outcome import Progress, Statement, Tested, reported
from radii.data import demo
from radii.data.embeddings import Floats
from radii.data.files import open_text
from radii.data.synsets import Nouns, read_synsets
from radii.data.vectors import load
from radii.data.wordnet import wordnet_file
from radii.signals.relations import Relation, partial_spearman, spearman_matrix

TITLE = "CLIP text vectors are longer for more general class names"
ON = "CLIP text vectors of 1,203 LVIS class names"
METHOD = (
    "Un-normalised CLIP text vectors of the LVIS class names (the bundled demo). Generality of a class, "
    "by its WordNet 3.0 synset: hyponyms (all below), depth (shortest way to the root, so deeper is more "
    "specific), polysemy (noun senses of the name's own word), and images of the class in LVIS's "
    "training set. Spearman's ρ with the norm, over all classes, over names of one word, and with "
    "letters and words of the name and the three other measures held fixed. Intervals are bootstraps "
    "over classes."
)
MEASURES: dict[str, Side] = {"hyponyms": "above", "depth": "below", "polysemy": "above", "images": "above"}


@dataclass(frozen=True, eq=False)
class Classes:
    """Classes that WordNet knows: names, norms (n,), and one column (n,) per measure and control."""

    names: list[str]
    norms: Floats
    columns: dict[str, Floats]

    def only(self, kept: Any) -> Classes:
        """Some of the classes, by a mask (n,)."""
        names = [name for name, keep in zip(self.names, kept, strict=True) if keep]
        return Classes(names, self.norms[kept], {key: column[kept] for key, column in self.columns.items()})


def run(full: bool, progress: Progress | None = None) -> Tested:
    """Correlate; seconds in either setting, which differ in the number of resamples."""
    info = shared("detic_clip_text", "lvis_v1_train_cat_info.json")
    known = lvis(read_synsets())
    one_word = known.only(known.columns["words"] == 1)
    resamples = 9999 if full else 199
    statements: list[Statement] = []
    table: list[dict[str, Any]] = []
    for name, some in (("all names", known), ("one-word names", one_word)):
        found, row = _correlations(name, some, resamples)
        statements += found
        table.append(row)
        if progress is not None:
            progress(len(table), 3)
    held, row = _partial(known, resamples)
    if progress is not None:
        progress(3, 3)
    return Tested(
        seeds=1,
        statements=statements + held,
        table=[*table, row],
        notes=[
            f"{resamples} resamples, seed 0. One class (stop_sign) has no synset in WordNet 3.0.",
            f"Measures go together, Spearman: hyponyms and depth {_together(known, 'depth'):+.2f}, and "
            f"polysemy {_together(known, 'polysemy'):+.2f}, and images {_together(known, 'images'):+.2f}.",
            "Objects365 and OpenImages: their files hold no names. The rows that can be named (claim "
            "`transfer`) equal rows of LVIS and say nothing new here.",
        ],
        data=copies(info, demo.paths().vectors, wordnet_file()),
    )


def lvis(nouns: Nouns) -> Classes:
    """LVIS classes with a synset; their order is that of the vectors."""
    with open_text(shared("detic_clip_text", "lvis_v1_train_cat_info.json")) as file:
        rows = sorted(json.load(file), key=lambda row: row["id"])
    vectors = load(demo.paths().vectors)
    offsets = [nouns.find(row["synset"]) for row in rows]
    names, kept, columns = [], [], []
    for row, offset, norm in zip(rows, offsets, vectors.norms, strict=True):
        if offset is not None:
            # "bow_(decorative_ribbons)": the prompt spells the bracket out, the word is "bow".
            word = row["name"].partition("_(")[0]
            senses = nouns.senses.get(word.lower(), [])
            written = row["name"].replace("_", " ")
            names.append(row["name"])
            kept.append(norm)
            columns.append(
                {
                    "hyponyms": nouns.hyponyms(offset),
                    "depth": nouns.depth[offset],
                    "polysemy": len(senses),
                    "images": row["image_count"],
                    "letters": len(written),
                    "words": len(written.split()),
                }
            )
    table = {key: np.array([column[key] for column in columns], dtype=np.float64) for key in columns[0]}
    return Classes(names, np.array(kept), table)


def _correlations(name: str, some: Classes, resamples: int) -> tuple[list[Statement], dict[str, Any]]:
    signals = {"norm": some.norms} | {key: some.columns[key] for key in MEASURES}
    signals |= {"letters": some.columns["letters"]}
    found = spearman_matrix(signals, 0, resamples=resamples)
    each = {key: found["norm", key] for key in (*MEASURES, "letters")}
    over = f"{len(some.names)} classes"
    return _statements(name, each, over), _row(name, each, len(some.names))


def _partial(known: Classes, resamples: int) -> tuple[list[Statement], dict[str, Any]]:
    """The same with every other measure, the letters and the words held fixed."""
    columns = known.columns
    each = {
        key: partial_spearman(
            known.norms, columns[key], [c for k, c in columns.items() if k != key], 0, resamples=resamples
        )
        for key in (*MEASURES, "letters")
    }
    name = "all names, the rest held fixed"
    return _statements(name, each, f"{len(known.names)} classes"), _row(name, each, len(known.names))


def _together(known: Classes, key: str) -> float:
    return float(stats.spearmanr(known.columns["hyponyms"], known.columns[key]).statistic)


def _statements(name: str, each: dict[str, Relation], over: str) -> list[Statement]:
    found = []
    for key, relation in each.items():
        title = f"{name}: Spearman(norm, {key})"
        value, low, high = defined(title, relation)
        if key in MEASURES:
            found.append(beyond(title, value, low, high, MEASURES[key], over))
        else:
            found.append(reported(title, value, low=low, high=high, over=over))
    return found


def _row(name: str, each: dict[str, Relation], n: int) -> dict[str, Any]:
    return {"names": name, "classes": n} | {key: round(defined(key, r)[0], 3) for key, r in each.items()}
