"""Claim 14: the deeper the heading that asks, the more an exponent of the norm gains."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from radii.claims.material import beyond, copies, shared
from radii.claims.outcome import Progress, Statement, Tested, reported
from radii.claims.paired import intercept
from radii.claims.vectors import embedded
from radii.data.car import load_car
from radii.data.collection import Collection, judged
from radii.data.embeddings import Floats
from radii.data.model import PACKAGED
from radii.data.texts import Texts
from radii.evidence.holdout import choose
from radii.ranking.path import MetricPath, exponent_path
from radii.ranking.steps import Curves

TITLE = "The more specific the query, the more an exponent of the norm gains"
ON = "all-MiniLM-L6-v2 on TREC-CAR test200"
METHOD = (
    "all-MiniLM-L6-v2, without its final normalisation, on the paragraphs of TREC-CAR test200. A query is a "
    "page's name and the headings down to one of its sections; depth counts headings, 0 for the page alone. "
    "nDCG@10; γ from -1 to 1 is chosen on other pages than the one judged (five folds of pages, dealt ten "
    "times): once for all queries, and once for each depth by itself. The trend is the least-squares slope "
    "of a query's gain on its depth. Intervals are 95 % bootstraps over pages, whose queries share "
    "paragraphs."
)
_FILES = ("paragraphs", "outlines", "hierarchical.qrels")
_FOLDS, _DEEPEST = 5, 3


@dataclass(frozen=True, eq=False)
class Gains:
    """Of every query, (n,): its gain over cosine under exponents chosen without its page, depth, and page."""

    gain: Floats
    depth: Floats
    page: list[str]

    def part(self, kept: Any) -> Gains:
        """Some of the queries, by a mask (n,)."""
        pages = [page for page, keep in zip(self.page, kept, strict=True) if keep]
        return Gains(self.gain[kept], self.depth[kept], pages)


def run(full: bool, progress: Progress | None = None, *, model: str = PACKAGED) -> Tested:
    """Embed paragraphs and headings; ten minutes on a core when full, a few pages of them when not."""
    whole, *files = load_test200()
    found = whole if full else some_pages(whole, 5)
    repeats, resamples = (10, 9999) if full else (2, 199)
    steps = exponent_path(embedded(found.docs, model), embedded(found.queries, model)).metric(
        "nDCG@10", found.qrels
    )
    if progress is not None:
        progress(1, 2)
    depth = np.array([min(found.depth[name], _DEEPEST) for name in steps.ids], dtype=np.float64)
    pages = [page_of(name) for name in steps.ids]
    one = Gains(held_out_by_page(steps.curves, pages, repeats), depth, pages)
    value, low, high = over_pages(one, mean_gain, resamples)
    every = f"{len(one.gain)} queries, {len(set(pages))} pages"
    statements = [
        reported("all depths: nDCG@10 of cosine", steps.at(0.0), over=every),
        reported("all depths: gain", value, low=low, high=high, over=every),
        beyond("gain per level of depth", *over_pages(one, slope, resamples), "above", every),
    ]
    table = [_row("all", steps.curves, one)]
    for level in sorted(set(depth)):
        row, more = _at(level, steps, one, repeats, resamples)
        table.append(row)
        statements += more
    if progress is not None:
        progress(2, 2)
    return Tested(
        seeds=1,
        statements=statements,
        table=table,
        notes=[
            "Seed 0 for folds and bootstraps; the embedding has no randomness.",
            "A page's query is judged by the paragraphs above its first heading only: judgements are of the "
            "heading that a paragraph stands under, and a paragraph under a deeper one counts as wrong.",
            "The corpus holds the 198 pages' own paragraphs alone: finding them is easier than in all of "
            "Wikipedia.",
        ],
        data=copies(*files),
    )


def load_test200() -> tuple[Collection, Path, Path, Path]:
    """TREC-CAR test200, and the files that it is."""
    files = [shared("trec_car_test200", f"all.test200.cbor.{name}") for name in _FILES]
    paragraphs, outlines, qrels = files
    return load_car(paragraphs, outlines, qrels), paragraphs, outlines, qrels


def _at(
    level: float, steps: MetricPath, one: Gains, repeats: int, resamples: int
) -> tuple[dict[str, Any], list[Statement]]:
    """What queries of one depth gain, from the common exponent and from one chosen at this depth."""
    mask = one.depth == level
    common = one.part(mask)
    curves = steps.curves.part(np.flatnonzero(mask))
    own = Gains(held_out_by_page(curves, common.page, repeats), common.depth, common.page)
    name = f"depth {level:g}" + (" and more" if level == _DEEPEST else "")
    over = f"{len(common.gain)} queries, {len(set(common.page))} pages"
    title = f"{name}: gain"
    found = {}
    for kind, gains in (("", common), (", γ of this depth", own)):
        value, low, high = over_pages(gains, mean_gain, resamples)
        found[kind] = reported(f"{title}{kind}", value, low=low, high=high, over=over)
    row = _row(name.removeprefix("depth "), curves, common)
    return row | {"gain by it": round(found[", γ of this depth"].value, 4)}, list(found.values())


def _row(name: str, curves: Curves, common: Gains) -> dict[str, Any]:
    return {
        "depth": name,
        "queries": len(common.gain),
        "cosine": round(float(curves.values(0.0).mean()), 4),
        "inner product": round(float(curves.values(1.0).mean()), 4),
        "gain": round(float(common.gain.mean()), 4),
        "chosen γ": round(choose(curves, -1.0, 1.0), 3),
    }


def page_of(query: str) -> str:
    """The page's part of a heading path's id.

    >>> page_of("Hog-dog%20rodeo/Typical%20match")
    'Hog-dog%20rodeo'
    """
    return query.partition("/")[0]


def held_out_by_page(curves: Curves, pages: Sequence[str], repeats: int, seed: int = 0) -> Floats:
    """(n_queries,) gain over cosine under the γ chosen on other pages, averaged over `repeats` deals."""
    names, page = np.unique(pages, return_inverse=True)
    rng = np.random.default_rng([seed, 9])
    cosine, gains = curves.values(0.0), np.zeros(len(curves))
    for _ in range(repeats):
        fold = (rng.permutation(len(names)) % _FOLDS)[page]
        for part in range(_FOLDS):
            mine = fold == part
            gamma = choose(curves.part(np.flatnonzero(~mine)), -1.0, 1.0)
            gains[mine] += (curves.values(gamma) - cosine)[mine]
    return gains / repeats


def mean_gain(gains: Gains, weights: Floats) -> float:
    """Weighted mean of the gains."""
    return float(np.average(gains.gain, weights=weights))


def slope(gains: Gains, weights: Floats) -> float:
    """Weighted least-squares slope of gain on depth."""
    design = np.column_stack([gains.depth, np.ones(len(gains.depth))])
    return intercept(design, gains.gain, weights)


def over_pages(gains: Gains, statistic: Any, resamples: int, seed: int = 0) -> tuple[float, float, float]:
    """(statistic, low, high): 95 % percentile bootstrap over pages of a function of gains and weights."""
    names, page = np.unique(gains.page, return_inverse=True)
    rng = np.random.default_rng([seed, 10])
    drawn = rng.multinomial(len(names), np.full(len(names), 1 / len(names)), size=resamples)
    value = statistic(gains, np.ones(len(page)))
    each = [statistic(gains, counts[page].astype(np.float64)) for counts in drawn if counts[page].any()]
    low, high = np.quantile(each, [0.025, 0.975])
    return value, float(low), float(high)


def some_pages(whole: Collection, n_pages: int) -> Collection:
    """The queries of the first pages, and of the paragraphs those judged for them."""
    pages = list(dict.fromkeys(page_of(name) for name in whole.queries.ids))[:n_pages]
    qrels = {name: whole.qrels[name] for name in whole.queries.ids if page_of(name) in set(pages)}
    known = {paragraph for grades in qrels.values() for paragraph in grades}
    docs = [name for name in whole.docs.ids if name in known]
    texts = Texts(docs, [whole.docs.by_id[name] for name in docs], whole.docs.source)
    return replace(whole, docs=texts, queries=judged(whole.queries, qrels), qrels=qrels)
