"""The figures of docs/concepts.md, each from a real run on the bundled demo or of a small training, as SVG.

python -m scripts.draw_figures [--fast] [FOLDER]     # docs/figures by default; needs radii[models,figures]

--fast takes the same steps on less data: the tests use it, the pages do not.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import altair
import numpy as np
import vl_convert

import radii
from radii.auditing import Protocol
from radii.data import demo
from radii.data.qrels import read_qrels
from radii.data.texts import read_texts
from radii.dynamics.config import grid
from radii.dynamics.result import Run
from radii.dynamics.training import simulate
from radii.evidence.holdout import held_out
from radii.signals.hubness import k_occurrence
from scripts.pages import ROOT

# Okabe and Ito's colours, told apart by the colour-blind; every figure also names what it shows in words.
BLUE, ORANGE, GREEN, GREY = "#0072B2", "#D55E00", "#009E73", "#666666"
SIZE = {"width": 560, "height": 300}


@cache
def corpus(fast: bool) -> tuple[radii.Embeddings, dict[str, dict[str, int]]]:
    """The demo's vectors, documents and queries alike, and its judgements; a quarter of it when fast."""
    files = demo.paths()
    docs, qrels = radii.load(files.vectors), read_qrels(files.qrels)
    if fast:
        docs = docs.part(np.flatnonzero((np.arange(len(docs)) - docs.rows["puffin"]) % 4 == 0))
        qrels = {q: {d: g for d, g in qrels[q].items() if d in docs.rows} for q in qrels if q in docs.rows}
    return docs, {q: judged for q, judged in qrels.items() if judged}


@cache
def path(fast: bool) -> radii.ExponentPath:
    """The demo's exact exponent path."""
    docs, _ = corpus(fast)
    return radii.exponent_path(docs, docs, k=10, exclude_self=True)


@cache
def report(fast: bool) -> radii.Report:
    """The demo's audit."""
    docs, qrels = corpus(fast)
    protocol = Protocol(repeats=1, resamples=99) if fast else None
    texts = read_texts(demo.paths().texts)
    return radii.audit(docs, docs, qrels, texts=texts, exclude_self=True, protocol=protocol)


@cache
def trained(fast: bool) -> list[Run]:
    """Free tables at three weight decays, ambiguity spread over their items."""
    base: dict[str, Any] = {"n_items": 60 if fast else 200, "ambiguity": (0.0, 0.8)}
    lams = [1.0] if fast else [0.02, 0.1, 0.5]
    # Five relaxation times, 1 / (4ηλ) steps each, and as many again to measure in.
    times = {lam: round(5 / (4 * 0.05 * lam)) * (2 if fast else 4) for lam in lams}
    settings = [
        s
        for lam in lams
        for s in grid(base | {"burn_in": times[lam], "steps": max(times[lam], 400)}, {"lam": [lam]})
    ]
    return simulate(settings)


def norms(fast: bool) -> altair.Chart:
    """How long the demo's vectors are."""
    docs, _ = corpus(fast)
    shown = altair.Data(values=[{"norm": float(r)} for r in docs.norms])
    return (
        altair.Chart(shown, title="Norms of 1,203 CLIP text vectors")
        .mark_bar(aria=False, color=BLUE)
        .encode(
            altair.X("norm:Q", bin=altair.Bin(maxbins=60), title="norm ‖d‖"),
            altair.Y("count():Q", title="documents"),
        )
    )


def lines(fast: bool) -> altair.LayerChart:
    """One query's documents as lines in γ; the highest three are its top 3."""
    docs, _ = corpus(fast)
    ends = (-1.0, 0.5)
    query, gammas = docs.rows["puffin"], np.linspace(*ends, 31)
    exact = radii.exponent_path(docs, docs, k=3, gamma_range=ends, exclude_self=True)
    breaks = [float(b) for b in exact.breakpoints(query)]
    ever = {int(d) for gamma in (*ends, *breaks) for d in exact.top(query, gamma)}
    units = docs.vectors.astype(np.float64) / docs.norms[:, None]
    cosines, middle = units @ units[query], np.log(docs.norms).mean()
    rows = [
        {
            "γ": float(g),
            "score": float(np.log(cosines[d]) + g * (np.log(docs.norms[d]) - middle)),
            "document": docs.ids[d],
        }
        for d in sorted(ever)
        for g in gammas
    ]
    rules = altair.Chart(altair.Data(values=[{"γ": b} for b in breaks])).mark_rule(
        color=GREY, strokeDash=[3, 3]
    )
    curves = (
        altair.Chart(altair.Data(values=rows))
        .mark_line(strokeWidth=1.5)
        .encode(
            altair.X("γ:Q", title="exponent γ"),
            altair.Y("score:Q", title="log cos + γ log ‖d‖", scale=altair.Scale(zero=False)),
            altair.Color("document:N", scale=altair.Scale(scheme="dark2"), title=None),
        )
    )
    return altair.layer(rules.encode(x="γ:Q"), curves, title="Query puffin: its top 3 changes at the dashes")


def path_figure(fast: bool) -> altair.LayerChart:
    """The metric as an exact step function of γ."""
    _, qrels = corpus(fast)
    steps = path(fast).metric("nDCG@10", qrels)
    rows = [
        {"γ": float(edge), "nDCG": float(value)}
        for edge, value in zip(steps.edges[:-1], steps.values, strict=True)
    ]
    if len(rows) > 3000:
        rows = rows[:: max(1, len(rows) // 3000)]
    marked = [
        {"γ": g, "nDCG": steps.at(g), "text": f"{name} {steps.at(g):.3f}"}
        for name, g in (("cosine", 0.0), ("inner product", 1.0), ("best", steps.best().gamma))
    ]
    x = altair.X("γ:Q", title="exponent γ", scale=altair.Scale(domain=[-1.05, 1.35]))
    curve = altair.Chart(altair.Data(values=rows)).mark_line(
        interpolate="step-after", color=BLUE, strokeWidth=1.5
    )
    points = altair.Chart(altair.Data(values=marked))
    return altair.layer(
        curve.encode(x, altair.Y("nDCG:Q", title="nDCG@10 over 972 queries")),
        points.mark_point(color=ORANGE, filled=True, size=60).encode(x, y="nDCG:Q"),
        points.transform_filter("datum.text[0] != 'b'")
        .mark_text(dx=8, dy=-8, align="left")
        .encode(x, y="nDCG:Q", text="text:N"),
        points.transform_filter("datum.text[0] == 'b'")
        .mark_text(dx=-8, dy=-8, align="right")
        .encode(x, y="nDCG:Q", text="text:N"),
        title=f"The exact path: {len(steps.values):,} steps",
    )


def heldout(fast: bool) -> altair.Chart:
    """Gains of tuning where there is nothing to gain: the demo's norms dealt out to other documents."""
    docs, qrels = corpus(fast)
    rng, draws = np.random.default_rng(0), 2 if fast else 30
    dealt = rng.permutation(docs.norms)
    curves = (
        radii.exponent_path(docs, docs, exclude_self=True, multiplier=dealt).metric("nDCG@10", qrels).curves
    )
    protocol, rows = Protocol(repeats=2, resamples=99), []
    for n in (25, 50) if fast else (25, 50, 100, 200, 400, 800):
        for _ in range(draws):
            part = curves.part(np.sort(rng.choice(len(curves), n, replace=False)))
            mean = part.mean()
            rows.append({"queries": n, "gain": mean.best().value - mean.at(0.0), "of": "the tuned queries"})
            honest = held_out(part, -1.0, 1.0, 0, protocol).estimate.mean
            rows.append({"queries": n, "gain": honest, "of": "held-out queries"})
    return altair.Chart(
        altair.Data(values=rows), title="Tuning γ where norms mean nothing (shuffled)"
    ).mark_errorbar(extent="stdev", ticks=True).encode(
        altair.X("queries:O", title="judged queries"),
        altair.Y("gain:Q", title="gain in nDCG@10, mean ± sd"),
        altair.XOffset("of:N"),
        altair.Color("of:N", title="measured on", scale=altair.Scale(range=[BLUE, ORANGE])),
    ) + altair.Chart(altair.Data(values=rows)).mark_point(aria=False, filled=True, size=50).encode(
        altair.X("queries:O"),
        altair.Y("mean(gain):Q"),
        altair.XOffset("of:N"),
        altair.Color("of:N", scale=altair.Scale(range=[BLUE, ORANGE])),
    )


def hubness(fast: bool) -> altair.Chart:
    """How often a document is among a query's first ten, against its norm."""
    docs, _ = corpus(fast)
    top = np.array([path(fast).top(query, 0.0) for query in range(len(docs))])
    counts = k_occurrence(top, len(docs))
    rows = [{"norm": float(r), "times": float(c)} for r, c in zip(docs.norms, counts, strict=True)]
    return (
        altair.Chart(altair.Data(values=rows), title="Hubs: long vectors crowd the first ten, under cosine")
        .mark_point(aria=False, size=14, opacity=0.6, color=BLUE, filled=True)
        .encode(
            altair.X("norm:Q", title="norm ‖d‖", scale=altair.Scale(zero=False)),
            altair.Y("times:Q", title="times among the first ten", scale=altair.Scale(type="symlog")),
        )
    )


def attribution(fast: bool) -> altair.LayerChart:
    """Every arm's held-out gain with its interval."""
    arms = [a for a in report(fast).arms if a.name != "inner product"]
    rows = [
        {
            "arm": a.name,
            "gain": a.gain,
            "low": a.gain_ci[0],
            "high": a.gain_ci[1],
            "of": "the norm" if a.explains == "norm" else "other signals, rivals",
        }
        for a in arms
    ]
    data = altair.Data(values=rows)
    y = altair.Y("arm:N", sort=[a.name for a in arms], title=None, axis=altair.Axis(labelLimit=220))
    colour = altair.Color("of:N", title=None, scale=altair.Scale(range=[ORANGE, BLUE]))
    zero = altair.Chart(altair.Data(values=[{"gain": 0.0}])).mark_rule(color=GREY).encode(x="gain:Q")
    spans = (
        altair.Chart(data)
        .mark_rule(strokeWidth=2)
        .encode(
            altair.X("low:Q", title="held-out gain in nDCG@10 over cosine, 95 %"),
            altair.X2("high:Q"),
            y,
            colour,
        )
    )
    points = (
        altair.Chart(data).mark_point(aria=False, filled=True, size=50).encode(altair.X("gain:Q"), y, colour)
    )
    return altair.layer(zero, spans, points, title="The demo's arms (inner product, −0.40, left out)")


def heat(fast: bool) -> altair.Chart:
    """Trained norm against measured heat, by weight decay."""
    rows = [
        {"heat": float(h), "norm": float(r), "lam": f"{run.setting.lam:g}"}
        for run in trained(fast)
        for h, r in zip(run.heat, run.norm, strict=True)
    ]
    log = altair.Scale(type="log", nice=False, padding=8)
    return (
        altair.Chart(altair.Data(values=rows), title="Items whose minibatches disagree more get longer")
        .mark_point(aria=False, size=14, filled=True, opacity=0.6)
        .encode(
            altair.X("heat:Q", title="heat H, measured during training", scale=log),
            altair.Y("norm:Q", title="trained norm R", scale=log),
            altair.Color("lam:N", title="weight decay λ", scale=altair.Scale(range=[BLUE, ORANGE, GREEN])),
        )
    )


def equation(fast: bool) -> altair.LayerChart:
    """Trained norm against the stationary norm equation's."""
    rows = [
        {"equation": float(p), "norm": float(r), "lam": f"{run.setting.lam:g}"}
        for run in trained(fast)
        for p, r in zip(run.predicted(), run.norm, strict=True)
    ]
    values = [row[name] for row in rows for name in ("equation", "norm")]
    log = altair.Scale(type="log", nice=False, domain=[min(values) * 0.95, max(values) * 1.05])
    ends = [{"equation": v, "norm": v} for v in log.domain]
    line = altair.Chart(altair.Data(values=ends)).mark_line(color=GREY, strokeDash=[4, 4])
    points = altair.Chart(altair.Data(values=rows)).mark_point(aria=False, size=14, filled=True, opacity=0.6)
    x, y = altair.X("equation:Q", scale=log, title="norm by the equation"), altair.Y("norm:Q", scale=log)
    colour = altair.Color("lam:N", title="weight decay λ", scale=altair.Scale(range=[BLUE, ORANGE, GREEN]))
    return altair.layer(
        line.encode(x, y),
        points.encode(x, y.title("trained norm R"), colour),
        title="The equation against training; the dashes are equality",
    )


def drift(fast: bool) -> altair.Chart:
    """The equation's norm as drift goes from inward to outward, at three second moments."""
    rows = [
        {"drift": float(d), "norm": float(r), "S": f"{s:g}"}
        for s in (0.1, 1.0, 10.0)
        for d, r in (
            (d, radii.stationary_norm(eta=0.05, alpha=1e-3, drift=d, second_moment=s))
            for d in np.linspace(-0.3, 0.3, 13 if fast else 121)
        )
    ]
    return (
        altair.Chart(altair.Data(values=rows), title="Outward drift lengthens, inward drift shortens")
        .mark_line()
        .encode(
            altair.X("drift:Q", title="drift D (η = 0.05, α = 0.001)"),
            altair.Y("norm:Q", title="stationary norm R"),
            altair.Color("S:N", title="second moment S", scale=altair.Scale(range=[BLUE, ORANGE, GREEN])),
        )
    )


FIGURES: dict[str, Callable[[bool], Any]] = {
    "norms": norms,
    "lines": lines,
    "path": path_figure,
    "heldout": heldout,
    "hubness": hubness,
    "attribution": attribution,
    "heat": heat,
    "equation": equation,
    "drift": drift,
}


def draw(name: str, fast: bool = False) -> str:
    """A figure as SVG. Nothing is fetched."""
    chart = FIGURES[name](fast).properties(**SIZE).configure(background="white").configure_view(stroke=None)
    return vl_convert.vegalite_to_svg(chart.to_json(), allowed_base_urls=[])


def main() -> None:
    """Draw them all."""
    words = argparse.ArgumentParser(description=__doc__)
    words.add_argument("--fast", action="store_true")
    words.add_argument("folder", type=Path, nargs="?", default=ROOT / "docs" / "figures")
    given = words.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    for name in FIGURES:
        (given.folder / f"{name}.svg").write_text(draw(name, given.fast))


if __name__ == "__main__":
    main()
