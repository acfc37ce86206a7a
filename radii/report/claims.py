"""The claims and what their full settings gave, as one table."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from radii.claims.catalogue import CLAIMS, recorded
from radii.claims.outcome import Outcome, Statement


def as_json() -> str:
    """Every recorded outcome, in the order of the table."""
    each = [outcome.model_dump(mode="json") for outcome in _recorded()]
    return json.dumps(each, indent=1, ensure_ascii=False) + "\n"


def as_markdown() -> str:
    """One row per claim, then everything behind it; docs/claims.md is this text."""
    lines = [
        "# Claims, tested",
        "",
        "Made by `radii claims table` from the recorded results in `radii/claims/results/`; repeat one with",
        "`radii claims run ID --full`. Intervals are 95 %, over what stands beside them. A `reported` number",
        "was set no target: it is what it is. Where something was not run, the cell is empty.",
        "",
        "| claim | what it says | tested on | first number | targets |",
        "|---|---|---|---|---|",
        *(_summary(outcome) for outcome in _recorded()),
    ]
    for outcome in _recorded():
        lines += ["", f"## {outcome.claim}", "", *_section(outcome)]
    return "\n".join(lines) + "\n"


def as_html() -> str:
    """The same as one page that needs nothing else; MissingExtraError without the extra `report`."""
    from radii.report.html import check_extra, page

    check_extra()
    return page(
        "claims.html",
        outcomes=_recorded(),
        verdict=verdict,
        first=_first,
        statements=lambda outcome: [_statement(s) for s in outcome.statements],
        names=_names,
        cells=lambda outcome: [[_cell(row.get(name)) for name in _names(outcome)] for row in outcome.table],
        notes=lambda outcome: [*outcome.notes, *footer(outcome)],
        specs={},
        theme={},
    )


def _recorded() -> list[Outcome]:
    return [outcome for claim in CLAIMS if (outcome := recorded(claim)) is not None]


def _summary(outcome: Outcome) -> str:
    said = verdict(outcome)
    cells = (
        f"[{outcome.claim}](#{outcome.claim})",
        outcome.title,
        outcome.on,
        _first(outcome),
        f"**{said}**" if "fail" in said else said,
    )
    return _line(cells)


def _first(outcome: Outcome) -> str:
    first = next((s for s in outcome.statements if s.target), outcome.statements[0])
    return f"{first.name}: {first.value:.3g}" + (f" ({_interval(first, 3)})" if _interval(first) else "")


def verdict(outcome: Outcome) -> str:
    """How many of the claim's targets were reached, in words."""
    reached = [s.status == "holds" for s in outcome.statements if s.target]
    if not reached:
        return "reported"
    if len(set(reached)) == 1:
        return "holds" if reached[0] else "fails"
    return f"{reached.count(False)} of {len(reached)} fail"


def _section(outcome: Outcome) -> list[str]:
    seeds = f"{outcome.seeds} {'seed' if outcome.seeds == 1 else 'seeds'}"
    lines = [f"**{outcome.title}.** {outcome.on}; {seeds}. {outcome.method}", ""]
    lines += ["| statement | value | interval | target | |", "|---|---|---|---|---|"]
    lines += [_line(_statement(s)) for s in outcome.statements]
    if outcome.table:
        names = _names(outcome)
        lines += ["", _line(names), f"|{'---|' * len(names)}"]
        lines += [_line(_cell(row.get(name)) for name in names) for row in outcome.table]
    return lines + [""] + [f"- {note}" for note in [*outcome.notes, *footer(outcome)]]


def footer(outcome: Outcome) -> list[str]:
    """What was not run, which files were read, and the command that made the outcome: one note each."""
    lines = []
    for one in outcome.not_run:
        how = "" if one.command is None else f" Where it can be had: `{one.command}`."
        lines.append(f"Not run here: {one.what}, {one.why}.{how}")
    if outcome.data:
        each = ", ".join(f"{name} {digest}" for name, digest in outcome.data.items())
        lines.append(f"Data (start of SHA-256): {each}.")
    if outcome.made is not None:
        versions = ", ".join(f"{name} {version}" for name, version in outcome.made.versions.items())
        lines.append(f"`{outcome.made.command}`, {outcome.made.seconds:.0f} s; {versions}.")
    return lines


def _statement(s: Statement) -> tuple[str, ...]:
    interval = "" if s.low is None else f"{_interval(s)}, {s.over}"
    return s.name, f"{s.value:.4g}", interval, s.target or "", s.status


def _names(outcome: Outcome) -> list[str]:
    return list(dict.fromkeys(name for row in outcome.table for name in row))


def _line(cells: Iterable[str]) -> str:
    """A row of a Markdown table, where a bar would open another cell."""
    return f"| {' | '.join(cell.replace('|', 'given') for cell in cells)} |"


def _interval(s: Statement, digits: int = 4) -> str:
    return "" if s.low is None else f"{s.low:.{digits}g} … {s.high:.{digits}g}"


def _cell(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.4g}"
    return "–" if value is None else str(value)
