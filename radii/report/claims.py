"""The claims and what their full settings gave, as a page of the docs."""

from __future__ import annotations

from typing import Any

from radii.claims.catalogue import CLAIMS, recorded
from radii.claims.outcome import Outcome, Statement


def page() -> str:
    """Markdown of every recorded claim; docs/claims.md is this text."""
    lines = [
        "# Claims, tested",
        "",
        "Made by `radii claims page` from the recorded results in `radii/claims/results/`; repeat one with",
        "`radii claims run ID --full`. Intervals are 95 %, over what stands beside them. A `reported` number",
        "was set no target.",
    ]
    for claim in CLAIMS:
        outcome = recorded(claim)
        if outcome is not None:
            lines += ["", f"## {claim}", "", *_section(outcome)]
    return "\n".join(lines) + "\n"


def _section(outcome: Outcome) -> list[str]:
    lines = [f"**{outcome.title}.** {outcome.seeds} seeds. {outcome.method}", ""]
    lines += ["| statement | value | interval | target | |", "|---|---|---|---|---|"]
    lines += [_row(s) for s in outcome.statements]
    if outcome.table:
        names = list(dict.fromkeys(name for row in outcome.table for name in row))
        lines += ["", f"| {' | '.join(names)} |", f"|{'---|' * len(names)}"]
        lines += [f"| {' | '.join(_cell(row.get(name)) for name in names)} |" for row in outcome.table]
    return lines + ([""] + [f"- {note}" for note in outcome.notes] if outcome.notes else [])


def _row(s: Statement) -> str:
    interval = "" if s.low is None else f"{s.low:.4g} … {s.high:.4g}, {s.over}"
    cells = (s.name.replace("|", "given"), f"{s.value:.4g}", interval, s.target or "", s.status)
    return f"| {' | '.join(cells)} |"


def _cell(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.4g}"
    return "–" if value is None else str(value).replace("|", "given")
