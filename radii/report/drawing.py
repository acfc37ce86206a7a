"""What every figure of a page has: its words, its colours, its size. Needs the extra `report`.

Colours are CSS variables of the page, so that light, dark and print are one drawing. Every figure has a
sentence for those who do not see it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import altair as alt

INK, MUTED, GRID = "var(--ink)", "var(--muted)", "var(--rule)"
FIRST, SECOND = "var(--blue)", "var(--vermillion)"


@dataclass(frozen=True)
class Figure:
    """A drawing with its words.

    Attributes
    ----------
    name : unique in the page
    title : what it shows
    alt : the same for those who do not see it, with its numbers
    spec : Vega-Lite
    note : how to read it
    header, rows : its data as a table; may be empty
    legend : (sign, colour, meaning) of each kind of mark
    """

    name: str
    title: str
    alt: str
    spec: dict[str, Any]
    note: str = ""
    header: Sequence[str] = ()
    rows: Sequence[Sequence[str]] = ()
    legend: Sequence[tuple[str, str, str]] = ()


def theme() -> dict[str, Any]:
    """Vega's configuration: the page's font and colours."""
    axis = {
        "labelColor": INK,
        "titleColor": MUTED,
        "domainColor": GRID,
        "tickColor": GRID,
        "gridColor": GRID,
        "labelFontSize": 12,
        "titleFontSize": 12,
        "titleFontWeight": "normal",
        "titlePadding": 8,
        "labelOverlap": "greedy",
        "labelSeparation": 10,
    }
    return {
        "background": "transparent",
        "font": "system-ui, sans-serif",
        "view": {"stroke": None},
        "axis": axis,
        "legend": {"labelColor": INK, "titleColor": MUTED, "labelFontSize": 12},
        "text": {"fill": INK, "fontSize": 12},
        "mark": {"aria": False},
        "axisY": {"aria": False},
        "axisX": {"aria": False},
    }


def finished(chart: Any, alt_text: str, height: Any = 300) -> dict[str, Any]:
    """A chart as wide as its place, with what it says."""
    whole = chart.properties(width="container", height=height, description=alt_text)
    spec: dict[str, Any] = whole.to_dict(validate=False)  # tests/report/test_html.py validates
    for given in ("config", "$schema"):  # the page has its own
        spec.pop(given, None)
    return spec | {"autosize": {"type": "fit-x", "contains": "padding"}}


def chart_of(rows: Sequence[dict[str, Any]]) -> Any:
    """A chart over its own rows."""
    data = alt.Data(values=[])
    data["values"] = list(rows)  # set, not passed: checking every row against the schema takes seconds
    return alt.Chart(data)
