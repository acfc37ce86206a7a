"""Two reports side by side: two models on one corpus, or one model on two."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from radii.data.files import StrPath, atomic_write
from radii.errors import printable
from radii.report import story
from radii.result import Finding, Report

Pair = tuple[Report, Report]
Row = tuple[str, str, str]
NOTHING = "–"


def names_of(first: StrPath, second: StrPath) -> tuple[str, str]:
    """What two files are called: as little of their paths as tells them apart.

    >>> names_of("runs/a/report.json", "runs/b/report.json"), names_of("a.json", "b.json")
    (('a', 'b'), ('a', 'b'))
    """
    parts = [list(Path(os.path.abspath(path)).with_suffix("").parts) for path in (first, second)]
    while min(map(len, parts)) > 1 and parts[0][-1] == parts[1][-1]:
        parts = [some[:-1] for some in parts]
    return parts[0][-1], parts[1][-1]


def facts(pair: Pair) -> list[Row]:
    """What was audited and what came out, a line each: (what, of the first, of the second)."""
    known: list[tuple[str, Callable[[Report], str | None]]] = [
        ("documents", lambda r: f"{r.data.n_docs:,} × {r.data.dim}"),
        ("judged queries", lambda r: f"{r.data.n_judged:,}"),
        ("metric", lambda r: r.how.metric),
        ("verdict", lambda r: r.verdict.label),
        ("γ to rank with", lambda r: story.signed(r.verdict.gamma, 2)),
        ("by cosine", lambda r: None if r.path is None else f"{r.path.cosine:.3f}"),
        ("by inner product", _inner_product),
        ("tuning γ gains", lambda r: story.worth(r, r.verdict.gain, r.verdict.gain_ci)),
        ("beyond everything else", lambda r: story.worth(r, r.verdict.beyond, r.verdict.beyond_ci)),
        ("recommended", _recommended),
        ("and it gains", lambda r: story.worth(r, r.recommendation.gain, r.recommendation.gain_ci)),
        ("sd of log norm", lambda r: f"{r.norms.sd_log:.2g}"),
        ("skewness of hubs", lambda r: None if r.hubness is None else f"{r.hubness.skewness:.1f}"),
        ("norm explained", _explained),
    ]
    rows = [(name, *(tell(report) or NOTHING for report in pair)) for name, tell in known]
    correlations = [{s.name: s.with_norm.estimate for s in report.signals} for report in pair]
    for name in dict.fromkeys([*correlations[0], *correlations[1]]):
        told = [some.get(name) for some in correlations]
        rows.append((f"ρ with {name}", *(NOTHING if v is None else story.signed(v, 2) for v in told)))
    return [(name, a, b) for name, a, b in rows if (a, b) != (NOTHING, NOTHING)]


def _inner_product(report: Report) -> str | None:
    path = report.path
    return None if path is None or path.inner_product is None else f"{path.inner_product:.3f}"


def _recommended(report: Report) -> str:
    told = story.parameters(report.recommendation.parameters)
    return f"{report.recommendation.method}{f' ({told})' if told else ''}"


def _explained(report: Report) -> str | None:
    found = report.norm_explained
    return (
        None if found is None or found.estimate is None else f"{max(found.estimate, 0.0):.0%} of its variance"
    )


def arms(pair: Pair) -> list[Row]:
    """The held-out gain of every arm that either report judged."""
    known = [{arm.name: arm for arm in report.arms} for report in pair]
    rows = []
    for name in dict.fromkeys([*known[0], *known[1]]):
        found = [some.get(name) for some in known]
        told = (
            NOTHING if arm is None else story.worth(report, arm.gain, arm.gain_ci) or NOTHING
            for report, arm in zip(pair, found, strict=True)
        )
        rows.append((name, *told))
    return [(name, a, b) for name, a, b in rows]


def disagreements(pair: Pair) -> list[tuple[str, str, str, str]]:
    """Findings that came out differently: (code, claim, of the first, of the second)."""
    known: list[dict[str, Finding]] = [{f.code: f for f in report.findings} for report in pair]
    rows = []
    for code in sorted({*known[0], *known[1]}):
        found = [some.get(code) for some in known]
        status = [NOTHING if one is None else one.status for one in found]
        if status[0] != status[1]:
            title = next(one.title for one in found if one is not None)
            rows.append((code, title, status[0], status[1]))
    return rows


def show_comparison(first: Report, second: Report, console: Console, names: tuple[str, str]) -> None:
    """Print facts, arms and disagreements of two reports."""
    pair = (first, second)
    _print(console, "", names, facts(pair))
    _print(console, "gain over cosine", names, arms(pair))
    _print(console, "findings", names, [(f"{c} {t}", a, b) for c, t, a, b in disagreements(pair)])


def _print(console: Console, title: str, names: tuple[str, str], rows: list[Row]) -> None:
    if not rows:
        return
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, title_justify="left")
    for place, name in enumerate((title, *names)):
        table.add_column(Text(printable(name)), overflow="fold", style="bold" if place == 0 else "")
    for row in rows:
        table.add_row(*(Text(printable(cell)) for cell in row))
    console.print(table)


def write_comparison(first: Report, second: Report, out: StrPath, names: tuple[str, str]) -> Path:
    """Two reports as one HTML file; raises as `radii.report.html.write_html`."""
    from radii.report.html import check_extra, page

    check_extra()
    from radii.report.compare_charts import arms_together, paths_together
    from radii.report.drawing import theme

    pair = (first, second)
    drawn = [one for one in (paths_together(pair, names), arms_together(pair, names)) if one is not None]
    text = page(
        "compare.html",
        reports=pair,
        names=names,
        facts=facts(pair),
        disagreements=disagreements(pair),
        figures=drawn,
        specs={one.name: one.spec for one in drawn},
        theme=theme(),
        standing=story.STANDING,
    )
    target = Path(out)
    with atomic_write(target, mode="w") as file:
        file.write(text)
    return target
