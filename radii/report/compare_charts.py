"""Two reports in one figure, as Vega-Lite: paths over cosine, and arms. Needs the extra `report`."""

from __future__ import annotations

import altair as alt

from radii.report.compare import Pair, arms
from radii.report.drawing import FIRST, MUTED, SECOND, Figure, chart_of, finished
from radii.report.story import one_line, signed

_COLOURS, _SIGNS, _SHAPES = (FIRST, SECOND), ("●", "◆"), ("circle", "diamond")
_SIDES = ("first", "second")  # names come from users, and may be equal


def paths_together(pair: Pair, names: tuple[str, str]) -> Figure | None:
    """The difference to cosine along γ, with its band, of both."""
    if any(report.path is None for report in pair):
        return None
    x = alt.X("g:Q", title="γ, the exponent of the norm", scale=alt.Scale(nice=False))
    layers = [chart_of([{"zero": 0.0}]).mark_rule(color=MUTED, strokeDash=[5, 4]).encode(alt.Y("zero:Q"))]
    told = []
    for report, colour, name in zip(pair, _COLOURS, names, strict=True):
        path = report.path
        if path is None:
            continue
        rows = [
            {"g": g, "gain": v - path.cosine, "low": low, "high": high}
            for g, v, low, high in zip(
                path.gammas,
                path.values,
                path.gain_low or path.values,
                path.gain_high or path.values,
                strict=True,
            )
        ]
        y = alt.Y("gain:Q", title="difference to cosine")
        if path.gain_low:
            band = chart_of(rows).mark_area(color=colour, opacity=0.18)
            layers.append(band.encode(x, alt.Y("low:Q", title="difference to cosine"), alt.Y2("high:Q")))
        layers.append(chart_of(rows).mark_line(color=colour, strokeWidth=2).encode(x, y))
        best = signed(path.best_value - path.cosine)
        told.append(f"{name}: at most {best} at γ = {signed(path.best_gamma, 2)}")
    text = one_line(f"Difference to cosine along γ. {'; '.join(told)}.")
    return Figure(
        "paths",
        "The metric along γ, less cosine",
        text,
        finished(alt.layer(*layers), text, 300),
        "The bands are intervals of that difference, each γ for itself, on the same queries as the lines.",
        legend=_legend(names),
    )


def arms_together(pair: Pair, names: tuple[str, str]) -> Figure | None:
    """Held-out gain of every arm that both judged, one above the other."""
    known = [{arm.name: arm for arm in report.arms} for report in pair]
    shared = [name for name in known[0] if name in known[1] and name != "inner product"]
    if not shared:
        return None
    shared.sort(key=lambda name: -known[0][name].gain)
    rows = [
        {
            "arm": one_line(name, 60),
            "side": side,
            "gain": some[name].gain,
            "low": some[name].gain_ci[0],
            "high": some[name].gain_ci[1],
        }
        for name in shared
        for side, some in zip(_SIDES, known, strict=True)
    ]
    order = alt.Y(
        "arm:N",
        sort=[one_line(name, 60) for name in shared],
        title=None,
        axis=alt.Axis(labelLimit=170, ticks=False, domain=False),
    )
    scale = alt.Scale(domain=list(_SIDES), range=list(_COLOURS))
    colour = alt.Color("side:N", scale=scale, legend=None)
    shape = alt.Shape("side:N", scale=alt.Scale(domain=list(_SIDES), range=list(_SHAPES)), legend=None)
    axis = alt.Axis(tickCount=5, format="+~r", labelExpr="datum.value == 0 ? '0' : datum.label")
    base = chart_of(rows).encode(order, alt.YOffset("side:N", sort=list(_SIDES)), colour)
    chart = alt.layer(
        chart_of([{"zero": 0.0}]).mark_rule(color=MUTED, strokeDash=[5, 4]).encode(alt.X("zero:Q")),
        base.mark_rule(strokeWidth=2).encode(
            alt.X("low:Q", title="gain over cosine", axis=axis), alt.X2("high:Q")
        ),
        base.mark_point(filled=True, size=55, opacity=1).encode(alt.X("gain:Q"), shape),
    )
    best = [max(some.values(), key=lambda arm: arm.gain) for some in known]
    text = one_line(
        f"Held-out gain over cosine of {len(shared)} ways to rank that both judged. "
        + "; ".join(
            f"{name}: {arm.name} gains most, {signed(arm.gain)}"
            for name, arm in zip(names, best, strict=True)
        )
    )
    return Figure(
        "arms",
        "What else could rank",
        text,
        finished(chart, text, 34 * len(shared)),
        "Held-out gain over cosine with its interval; the raw inner product stands in the table only.",
        ("arm", *(one_line(name, 60) for name in names)),
        [tuple(one_line(cell) for cell in row) for row in arms(pair)],
        _legend(names),
    )


def _legend(names: tuple[str, str]) -> list[tuple[str, str, str]]:
    return list(zip(_SIGNS, _COLOURS, (one_line(name, 60) for name in names), strict=True))
