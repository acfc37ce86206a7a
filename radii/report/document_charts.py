"""Documents as Vega-Lite: their norms, and the norm against each signal. Needs the extra `report`."""

from __future__ import annotations

from typing import Any

import altair as alt

from radii.report.drawing import FIRST, SECOND, Figure, chart_of, finished
from radii.report.story import one_line, signed
from radii.result import Correlation, Report, Sample

MOST_SIGNALS = 8


def norms_figure(report: Report) -> Figure | None:
    """Histogram of the norms."""
    norms = report.norms
    if norms.histogram is None:
        return None
    edges, counts = norms.histogram.edges, norms.histogram.counts
    rows = [{"a": a, "b": b, "n": n} for a, b, n in zip(edges[:-1], edges[1:], counts, strict=True)]
    decade = edges[-1] >= 10 * edges[0]
    scale = alt.Scale(type="log" if decade else "linear", zero=False, nice=False)
    chart = alt.layer(
        chart_of(rows)
        .mark_rect(color=FIRST, opacity=0.85, stroke="var(--card)", strokeWidth=1)
        .encode(
            alt.X("a:Q", scale=scale, title="norm ‖d‖", axis=alt.Axis(tickCount=8)),
            alt.X2("b:Q"),
            alt.Y("n:Q", title="documents"),
            alt.Y2Datum(0),
            tooltip=[
                alt.Tooltip("a:Q", title="from", format=".4~g"),
                alt.Tooltip("b:Q", title="to", format=".4~g"),
                alt.Tooltip("n:Q", title="documents", format=","),
            ],
        ),
        chart_of([{"m": norms.median}])
        .mark_rule(color=SECOND, strokeWidth=2)
        .encode(alt.X("m:Q", scale=scale)),
    )
    text = (
        f"Norms from {norms.smallest:.3g} to {norms.largest:.3g}, median {norms.median:.3g}, "
        f"mean {norms.mean:.3g}, standard deviation of the logarithm {norms.sd_log:.2g}."
    )
    return Figure(
        "norms",
        "How the norms are spread",
        text,
        finished(chart, text, 220),
        f"{text} The line is the median.",
        ("norm from", "to", "documents"),
        [(f"{row['a']:.4g}", f"{row['b']:.4g}", f"{row['n']:,}") for row in rows],
    )


def signal_figures(report: Report) -> list[Figure]:
    """The norm against each signal, with its rank correlation, plain and all other signals held fixed."""
    if report.sample is None:
        return []
    known = {signal.name: signal for signal in report.signals}
    figures = []
    for place, name in enumerate(list(report.sample.signals)[:MOST_SIGNALS]):
        signal = known[name]
        told = f"ρ {correlation(signal.with_norm)}"
        if signal.partial is not None:
            told += f"; all else held fixed {correlation(signal.partial)}"
        title = one_line(name, 60)
        text = f"Norm against {title} of {len(report.sample.ids):,} documents: Spearman's {told}."
        figures.append(Figure(f"signal-{place}", title, text, _scatter(report.sample, name, text), told))
    return figures


def correlation(found: Correlation) -> str:
    """`+0.92 (+0.91 … +0.93)`, or that it is undefined."""
    if found.estimate is None or found.low is None or found.high is None:
        return "undefined"
    return f"{signed(found.estimate, 2)} ({signed(found.low, 2)} … {signed(found.high, 2)})"


def _scatter(sample: Sample, name: str, text: str) -> dict[str, Any]:
    values = sample.signals[name]
    rows = [
        {"id": one_line(one, 40), "x": x, "norm": norm}
        for one, x, norm in zip(sample.ids, values, sample.norm, strict=True)
    ]
    wide = max(values) > 50 * max(min(values), 1.0)
    kind = "linear" if not wide or min(values) < 0 else "symlog" if min(values) < 1 else "log"
    chart = (
        chart_of(rows)
        .mark_circle(color=FIRST, size=14, opacity=0.4)
        .encode(
            alt.X(
                "x:Q",
                scale=alt.Scale(type=kind, zero=False),
                title=one_line(name, 40),
                axis=alt.Axis(tickCount=5),
            ),
            alt.Y("norm:Q", scale=alt.Scale(zero=False), title="norm ‖d‖"),
            tooltip=[
                alt.Tooltip("id:N"),
                alt.Tooltip("x:Q", title="signal"),
                alt.Tooltip("norm:Q", format=".4~g"),
            ],
        )
    )
    return finished(chart, text, 200)
