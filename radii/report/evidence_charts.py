"""The evidence as Vega-Lite: the metric along γ, and every arm's gain. Needs the extra `report`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import altair as alt

from radii.report.drawing import FIRST, INK, MUTED, SECOND, Figure, chart_of, finished
from radii.report.story import minus, one_line, signed, tuned, worth
from radii.result import Arm, Report


def path_figure(report: Report) -> Figure | None:
    """The metric along γ: exact steps, band, cosine, inner product, the chosen γ and its held-out gain."""
    path, how, arm = report.path, report.how, tuned(report)
    if path is None or path.steps is None:
        return None
    steps, level = path.steps, f"{how.level * 100:g} %"
    x = alt.X(
        "g:Q", title="γ, the exponent of the norm", scale=alt.Scale(domain=list(how.gamma_range), nice=False)
    )
    y_scale = alt.Scale(zero=False, nice=True)

    def y(field: str) -> Any:
        return alt.Y(f"{field}:Q", title=how.metric, scale=y_scale)

    layers = []
    if path.gain_low:
        band = [
            {"g": g, "low": path.cosine + low, "high": path.cosine + high}
            for g, low, high in zip(path.gammas, path.gain_low, path.gain_high, strict=True)
        ]
        layers.append(
            chart_of(band).mark_area(color=FIRST, opacity=0.2).encode(x, y("low"), alt.Y2("high:Q"))
        )
    edges = [*steps.edges]
    exact = [
        {"g": g, "low": low, "high": high}
        for g, low, high in zip(
            edges,
            [*steps.lowest, steps.lowest[-1]],
            [*steps.highest, steps.highest[-1]],
            strict=True,
        )
    ]
    layers.append(
        chart_of(exact)
        .mark_area(color=FIRST, stroke=FIRST, strokeWidth=1.5, interpolate="step-after")
        .encode(x, y("low"), alt.Y2("high:Q"))
    )
    layers.append(chart_of([{"v": path.cosine}]).mark_rule(color=MUTED, strokeDash=[2, 3]).encode(y("v")))
    middle = (max(path.values) + min(path.values)) / 2
    marked = [{"g": 0.0, "v": path.cosine, "name": "cosine", "up": False}]
    if path.inner_product is not None:
        marked.append(
            {"g": 1.0, "v": path.inner_product, "name": "inner product", "up": path.inner_product < middle}
        )
    inside = alt.expr("datum.g > 0.5 ? 'right' : 'left'")
    layers.append(chart_of(marked).mark_rule(color=MUTED, strokeDash=[5, 4]).encode(x))
    layers.append(
        chart_of(marked)
        .mark_point(filled=True, size=70, color=INK, opacity=1)
        .encode(
            x,
            y("v"),
            tooltip=[alt.Tooltip("name:N", title="at"), alt.Tooltip("v:Q", title=how.metric, format=".4f")],
        )
    )
    layers.append(
        chart_of(marked)
        .mark_text(
            align=inside,
            baseline="bottom",
            dx=alt.expr("datum.g > 0.5 ? -6 : 6"),
            dy=-2,
        )
        .encode(x, y=alt.value(alt.expr("datum.up ? 40 : height")), text="name:N")
    )
    said = ""
    if arm is not None and arm.parameters.get("gamma"):
        gamma, (low, high) = arm.parameters["gamma"], arm.gain_ci
        point = [
            {
                "g": gamma,
                "v": path.cosine + arm.gain,
                "low": path.cosine + low,
                "high": path.cosine + high,
                "name": minus(f"γ {signed(gamma, 2)}, held out"),
                "gain": worth(report, arm.gain, arm.gain_ci),
            }
        ]
        along = (gamma - how.gamma_range[0]) / (how.gamma_range[1] - how.gamma_range[0])
        align = "left" if along < 0.3 else "right" if along > 0.7 else "center"
        tip = [alt.Tooltip("name:N", title="chosen"), alt.Tooltip("gain:N", title="gain over cosine")]
        base = chart_of(point).encode(x, tooltip=tip)
        layers.append(base.mark_rule(color=SECOND, strokeWidth=3).encode(y("low"), alt.Y2("high:Q")))
        layers.append(
            base.mark_point(shape="diamond", filled=True, size=130, color=SECOND, opacity=1).encode(y("v"))
        )
        layers.append(
            chart_of(point)
            .mark_text(color=SECOND, align=align, baseline="bottom", dy=-6, fontWeight="bold")
            .encode(x, y("high"), text="name:N")
        )
        gained = worth(report, arm.gain, arm.gain_ci)
        said = f" The tuned γ = {signed(gamma, 2)} gains {gained} on held-out queries."
    inner = "" if path.inner_product is None else f", {path.inner_product:.3f} by inner product (γ = 1)"
    text = (
        f"{how.metric} along γ from {how.gamma_range[0]:g} to {how.gamma_range[1]:g}: "
        f"{path.cosine:.3f} by cosine (γ = 0){inner}, "
        f"highest {path.best_value:.3f} at γ = {signed(path.best_gamma, 2)}.{said}"
    )
    exactly = (
        f"All {path.n_intervals:,} steps"
        if len(steps.lowest) == path.n_intervals
        else f"{path.n_intervals:,} exact steps, drawn as their extremes in {len(steps.lowest)} pieces"
    )
    every = max(1, len(path.gammas) // 20)
    at = range(0, len(path.gammas), every)
    low_high = bool(path.gain_low)
    return Figure(
        "path",
        f"{how.metric} as a function of γ",
        text,
        finished(alt.layer(*layers), text, 340),
        f"{exactly}, on these same queries. The band is the {level} interval of the difference to cosine, "
        "each γ for itself. The diamond is what tuning γ brings to queries that had no say in it.",
        ("γ", how.metric, f"difference to cosine, {level}"),
        [
            (
                signed(path.gammas[i], 2),
                f"{path.values[i]:.4f}",
                f"{signed(path.gain_low[i], 4)} … {signed(path.gain_high[i], 4)}" if low_high else "",
            )
            for i in at
        ],
    )


# Arms ------------------------------------------------------------------------------------------------------


def forest_figure(report: Report) -> Figure | None:
    """Every arm's held-out gain with its interval, best first; what lies far off is named at the edge."""
    if not report.arms:
        return None
    arms = sorted(report.arms, key=lambda arm: -arm.gain)
    low, high = _reach(arms)
    level, best = f"{report.how.level * 100:g} %", report.recommendation.method
    rows = []
    for arm in arms:
        outside = arm.gain_ci[1] < low or arm.gain_ci[0] > high
        rows.append(
            {
                "arm": one_line(arm.name, 60),
                "gain": arm.gain,
                "at": min(max(arm.gain, low), high),
                "low": max(arm.gain_ci[0], low),
                "high": min(arm.gain_ci[1], high),
                "kind": "recommended" if arm.name == best else "servable" if arm.servable else "not servable",
                "told": worth(report, arm.gain, arm.gain_ci),
                "off": outside,
                "label": minus(
                    f"{'◀ ' if arm.gain < low else ''}{signed(arm.gain)}{' ▶' if arm.gain > high else ''}"
                ),
            }
        )
    kinds = [
        kind for kind in ("recommended", "servable", "not servable") if kind in {r["kind"] for r in rows}
    ]
    looks = {
        "recommended": (SECOND, "diamond", "◆"),
        "servable": (FIRST, "circle", "●"),
        "not servable": (MUTED, "cross", "✚"),
    }
    order = alt.Y(
        "arm:N",
        sort=[row["arm"] for row in rows],
        title=None,
        axis=alt.Axis(labelLimit=170, ticks=False, domain=False),
    )
    x = alt.X(
        "at:Q",
        title=f"gain over cosine, {report.how.metric}",
        scale=alt.Scale(domain=[low, high], nice=False),
        axis=alt.Axis(tickCount=6, format="+~r", labelExpr="datum.value == 0 ? '0' : datum.label"),
    )
    colour, shape = (
        channel("kind:N", scale=alt.Scale(domain=kinds, range=[looks[k][i] for k in kinds]), legend=None)
        for i, channel in enumerate((alt.Color, alt.Shape))
    )
    tip = [alt.Tooltip("arm:N"), alt.Tooltip("told:N", title="gain"), alt.Tooltip("kind:N", title="it is")]
    base = chart_of(rows).encode(order, tooltip=tip)
    chart = alt.layer(
        chart_of([{"zero": 0.0}]).mark_rule(color=MUTED, strokeDash=[5, 4]).encode(alt.X("zero:Q")),
        base.transform_filter("!datum.off")
        .mark_rule(strokeWidth=2)
        .encode(alt.X("low:Q"), alt.X2("high:Q"), colour),
        base.transform_filter("!datum.off")
        .mark_point(filled=True, size=75, opacity=1)
        .encode(x, colour, shape),
        base.transform_filter("datum.off")
        .mark_text(align=alt.expr("datum.gain < 0 ? 'left' : 'right'"), color=INK)
        .encode(x, text="label:N"),
    )
    text = f"Held-out gain over cosine of {len(arms)} ways to rank, best first: " + "; ".join(
        f"{arm.name} {signed(arm.gain)}" for arm in arms[:3]
    )
    text += f". Last: {arms[-1].name} {signed(arms[-1].gain)}."
    return Figure(
        "arms",
        "What else could rank",
        one_line(text),
        finished(chart, one_line(text), 24 * len(arms)),
        f"Held-out gain over cosine with its {level} interval. An arm whose interval holds 0 is not known to "
        "gain. Servable: from one vector per document and one inner product.",
        ("arm", "parameter", "gain over cosine", "p", "explains", "servable"),
        [
            (
                one_line(arm.name),
                _parameter(arm),
                worth(report, arm.gain, arm.gain_ci) or "",
                f"{arm.p:.1g}",
                one_line(arm.explains),
                "yes" if arm.servable else "no",
            )
            for arm in arms
        ],
        [(looks[kind][2], looks[kind][0], kind) for kind in kinds],
    )


def _parameter(arm: Arm) -> str:
    told = ", ".join(f"{n.replace('gamma', 'γ')} {signed(v, 2)}" for n, v in arm.parameters.items())
    return told if arm.tuned or not told else f"{told}, fixed"


def _reach(arms: Sequence[Arm]) -> tuple[float, float]:
    """Ends of the axis; an arm that would squeeze all others into a third of it is left outside."""
    kept = [(min(arm.gain_ci[0], 0.0), max(arm.gain_ci[1], 0.0)) for arm in arms]
    while len(kept) > max(2, len(arms) // 2):
        width = max(high for _, high in kept) - min(low for low, _ in kept)
        widest = max(kept, key=lambda ends: max(-ends[0], ends[1]))
        rest = [ends for ends in kept if ends != widest]
        if not rest or max(high for _, high in rest) - min(low for low, _ in rest) > width / 3:
            break
        kept = rest
    low, high = min(low for low, _ in kept), max(high for _, high in kept)
    margin = 0.06 * (high - low) or 0.01
    return low - margin, high + margin
