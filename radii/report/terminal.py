"""The report in a terminal: ten seconds of reading."""

from __future__ import annotations

from rich.cells import cell_len, set_cell_size
from rich.console import Console
from rich.table import Table
from rich.text import Text

from radii.errors import printable
from radii.report.story import advice, caveats, headline
from radii.result import Arm, Document, Report

_BARS = "▁▂▃▄▅▆▇█"
_NORMS_OWN = ("norm exponent", "inner product", "norm, rest regressed out")
_COLOURS = {"discount": "green", "amplify": "green", "keep-cosine": "cyan", "proxy": "yellow"}


_ARMS = 8  # of all that were judged; the rest stands in the files
_INDENT = len("Verdict") + 2  # of what stands beside the labels


def show_briefly(report: Report, console: Console) -> None:
    """The verdict and the advice, a line each."""
    console.print(Text(printable(headline(report))), soft_wrap=True)
    console.print(Text(printable(advice(report))), soft_wrap=True)


def show(
    report: Report,
    console: Console,
    *,
    report_file: str | None = None,
    page: str | None = None,
    export: str | None = None,
) -> None:
    """Print a report in about 30 lines.

    Named at the end are `report_file`, `page`, its HTML, and the command that exports the recommendation. The
    command is one line however long, for a line that is broken here does not run when it is copied.
    """
    data, how, verdict = report.data, report.how, report.verdict
    console.print(
        Text.assemble(
            ("radii audit", "bold"),
            f" · {_source(data.docs)} × {_source(data.queries)}   {data.n_docs:,} documents · ",
            f"{data.n_judged:,} judged queries · {data.dim} dims",
        )
    )
    console.print()
    grid = Table.grid(padding=(0, 2))
    grid.add_column(style="bold", no_wrap=True)
    grid.add_column(overflow="fold")
    label = Text(verdict.label, style=f"bold {_COLOURS.get(verdict.label, 'magenta')}")
    grid.add_row("Verdict", Text.assemble(label, f": {printable(verdict.summary)}"))
    if report.recommendation.method not in ("cosine", "norm exponent"):
        grid.add_row("Better", Text(printable(report.recommendation.summary)))
    grid.add_row("Norms", _norms(report))
    if report.path is not None:
        grid.add_row("Path", _path(report))
    if report.arms:
        grid.add_row("Arms", _arms(report))
    limits = caveats(report)
    if limits:
        lines = [Text.assemble(f"{printable(f.meaning)}. ", (f"[{f.code}]", "dim")) for f in limits]
        grid.add_row("Caveats", Text("\n").join(lines))
    measured = (
        f"{how.metric}, γ ∈ [{how.gamma_range[0]:g}, {how.gamma_range[1]:g}], {how.repeats} × {how.folds} "
        f"folds, seed {how.seed}, {report.provenance.seconds:.1f} s"
    )
    grid.add_row("How", Text(measured, style="dim"))
    if report_file is not None:
        grid.add_row("Report", Text("\n".join(printable(name) for name in (report_file, page) if name)))
    if export is not None:
        grid.add_row("Next", "Export it as files for a Qdrant server; other engines by --to:")
    console.print(grid)
    if export is not None:
        console.print(Text(" " * _INDENT + printable(export)), soft_wrap=True)


def _norms(report: Report) -> Text:
    norms = report.norms
    names = [
        f"{title}: {', '.join(_name(d) for d in documents[:3])}."
        for title, documents in (("Longest", norms.longest), ("Shortest", norms.shortest))
    ]
    text = f"mean {norms.mean:.3g}, sd of log {norms.sd_log:.2g}. {' '.join(names)}"
    known = [s for s in report.signals if s.with_norm.estimate is not None]
    if known:
        known.sort(key=lambda s: -abs(s.with_norm.estimate or 0.0))
        goes = ", ".join(f"{printable(s.name)} ρ {s.with_norm.estimate:+.2f}" for s in known[:4])
        text += f" Go with {goes}."
    return Text(text)


def _source(name: str) -> str:
    """A file by its name; whatever else it is by itself."""
    return printable(name.replace("\\", "/").rstrip("/").rsplit("/", 1)[-1])


def _name(document: Document) -> str:
    text = document.id
    return printable(text if len(text) <= 40 else text[:39] + "…")


def _path(report: Report) -> Text:
    path = report.path
    if path is None:
        return Text()
    low, high = report.how.gamma_range
    ends = [
        f"cosine {path.cosine:.3f}",
        f"best {path.best_value:.3f} at γ = {path.best_gamma:+.2f} (in sample)",
    ]
    if path.inner_product is not None:
        ends.insert(0, f"inner product {path.inner_product:.3f}")
    return Text(f"{low:g} {sparkline(path.values)} {high:+g}   {' · '.join(ends)}")


def sparkline(values: list[float], width: int = 24) -> str:
    """A curve in one line of block characters, the lowest value lowest.

    >>> sparkline([0.0, 0.5, 1.0], width=3)
    '▁▅█'
    """
    picked = [values[round(i * (len(values) - 1) / max(1, width - 1))] for i in range(width)]
    low, high = min(picked), max(picked)
    scale = (len(_BARS) - 1) / (high - low) if high > low else 0.0
    return "".join(_BARS[int((v - low) * scale + 0.5)] for v in picked)


def _arms(report: Report) -> Text:
    """Name, parameter, gain with interval, p; a star where no single vector per document serves it."""
    arms = chosen(report)
    names = [printable(arm.name) + ("" if arm.servable else "*") for arm in arms]
    width = max(cell_len(name) for name in names)
    lines = [f"{set_cell_size('', width)} {'':<9} gain over cosine (interval) p"]
    for arm, name in zip(arms, names, strict=True):
        low, high = arm.gain_ci
        gain = f"{plain(arm.gain)} ({plain(low)} … {plain(high)})"
        lines.append(f"{set_cell_size(name, width)} {_parameter(arm):<9} {gain} {arm.p:.1g}")
    if not all(arm.servable for arm in arms):
        lines.append("* not servable from one vector per document and one inner product")
    if len(arms) < len(report.arms):
        lines.append(f"and {len(report.arms) - len(arms)} more in the report")
    return Text("\n".join(lines))


def chosen(report: Report) -> list[Arm]:
    """The arms that tell the story, best first: the norm's own, the recommended one, the best others."""
    best_first = sorted(report.arms, key=lambda arm: -arm.gain)
    wanted = [arm for arm in best_first if arm.name in (*_NORMS_OWN, report.recommendation.method)]
    wanted += [arm for arm in best_first if arm not in wanted][: max(0, _ARMS - len(wanted))]
    return [arm for arm in best_first if arm in wanted]


def _parameter(arm: Arm) -> str:
    """An exponent as `γ -0.25`, a weight as `w +0.50`, in brackets where not tuned; the first of two."""
    if not arm.parameters:
        return ""
    kind, value = "γ" if "gamma" in arm.parameters else "w", next(iter(arm.parameters.values()))
    text = f"{kind} {value:+.2f}" + ("…" if len(arm.parameters) > 1 else "")
    return text if arm.tuned else f"[{text}]"


def plain(value: float) -> str:
    """Three decimals with a sign; what rounds to zero has none.

    >>> plain(-0.0004), plain(0.02)
    (' 0.000', '+0.020')
    """
    text = f"{value:+.3f}"
    return " 0.000" if float(text) == 0 else text
