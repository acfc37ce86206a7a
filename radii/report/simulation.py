"""Controlled runs and tested claims, in a terminal and as JSON."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table
from rich.text import Text

from radii.claims.outcome import Outcome, Statement
from radii.data.files import StrPath, atomic_write
from radii.dynamics.config import Setting
from radii.dynamics.result import Run
from radii.errors import printable
from radii.report.claims import footer

_COLOURS = {"holds": "green", "fails": "red", "reported": "cyan"}
_MOST_ROWS = 40


def write_runs(runs: Sequence[Run], folder: StrPath) -> str:
    """`folder`/results.json, and its text; the folder is made. InputError when it cannot be written."""
    text = json.dumps([run.to_json() for run in runs], indent=1, ensure_ascii=False) + "\n"
    with atomic_write(Path(folder) / "results.json", mode="w") as file:
        file.write(text)
    return text


def show_runs(runs: Sequence[Run], console: Console, *, folder: str, figure: str) -> None:
    """Print one line per run: its norms, the equation's error, or why it is no equilibrium."""
    varied = [name for name in Setting.model_fields if len({str(getattr(r.setting, name)) for r in runs}) > 1]
    table = Table(box=None, pad_edge=False)
    for name in [*varied, "mean norm", "sd of log", "equation", "stationary"]:
        table.add_column(name, overflow="fold")
    for run in runs[:_MOST_ROWS]:
        given = [_short(getattr(run.setting, name)) for name in varied]
        reached = run.stationarity.reached
        error = f"{np.median(run.errors()):.2%} off" if reached and run.predictable.any() else "–"
        spread = f"{np.log(run.norm).std():.3f}"
        state = "yes" if reached else "no: " + "; ".join(run.stationarity.reasons)
        if not run.predictable.all():
            state += f"; decay lengthens {(~run.predictable).sum()} items"
        table.add_row(*given, f"{run.norm.mean():.4g}", spread, error, state)
    console.print(
        Text.assemble(("radii simulate", "bold"), f" · {len(runs)} runs of {runs[0].norm.size} items")
    )
    console.print()
    console.print(table)
    if len(runs) > _MOST_ROWS:
        console.print(f"… and {len(runs) - _MOST_ROWS} more")
    console.print()
    console.print(Text(printable(f"Results  {Path(folder) / 'results.json'}")))
    console.print(Text(printable(f"Figure   {figure}")))


def show_outcome(outcome: Outcome, console: Console) -> None:
    """Print a claim's statements with their targets, its table and its notes."""
    head = f" · {outcome.claim} · {outcome.setting} setting, {outcome.seeds} seeds"
    console.print(Text.assemble(("radii claims", "bold"), head))
    console.print(Text(outcome.title, style="bold"))
    console.print(Text(f"On {outcome.on}. {outcome.method}"))
    console.print()
    grid = Table.grid(padding=(0, 2))
    for s in outcome.statements:
        target = f"target {s.target}" if s.target else ""
        grid.add_row(Text(s.status, style=_COLOURS[s.status]), s.name, _value(s), target)
    console.print(grid)
    if outcome.table:
        table = Table(box=None, pad_edge=False)
        for name in outcome.table[0]:
            table.add_column(name)
        for row in outcome.table:
            table.add_row(*(_short(value) for value in row.values()))
        console.print()
        console.print(table)
    for note in [*outcome.notes, *footer(outcome)]:
        console.print(Text(f"· {note}"))


def _value(s: Statement) -> str:
    interval = "" if s.low is None else f" (95 % {s.low:.4g} … {s.high:.4g}, over {s.over})"
    return f"{s.value:.4g}{interval}"


def _short(value: object) -> str:
    if isinstance(value, float):
        return f"{value:.4g}"
    return "–" if value is None else printable(str(value))
