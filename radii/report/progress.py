"""Progress on standard error: how far, how fast, how long to go. Silent where that is no terminal."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, ProgressColumn, Task, TextColumn
from rich.progress import TimeRemainingColumn as Left
from rich.text import Text

Told = Callable[[int, int], None]
Staged = Callable[[str, int, int], None]


class Rate(ProgressColumn):
    """Steps per second."""

    def render(self, task: Task) -> Text:
        """`1,234/s`, or nothing as long as it is unknown."""
        return Text(rate(task.speed), style="dim")


def rate(speed: float | None) -> str:
    """A speed, with as many digits as it has.

    >>> rate(1234.5), rate(0.25), rate(None)
    ('1,234/s', '0.25/s', '')
    """
    if not speed:
        return ""
    return f"{speed:,.0f}/s" if speed >= 10 else f"{speed:.2g}/s"


@contextmanager
def stages(console: Console | None = None) -> Iterator[Staged]:
    """A function to call with (what is being done, how far, of how much); every new word starts a new bar."""
    console = console or Console(stderr=True)
    columns: Any = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), Rate(), Left())
    tasks: dict[str, Any] = {}
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:

        def tell(what: str, done: int, total: int) -> None:
            if what not in tasks:
                for task in tasks.values():
                    bar.update(task, visible=False)
                tasks[what] = bar.add_task(what, total=total)
            bar.update(tasks[what], completed=done, total=total)

        yield tell


@contextmanager
def progress(what: str, console: Console | None = None) -> Iterator[Told]:
    """`stages` of one stage, whose bar stands before the first step."""
    with stages(console) as tell:
        tell(what, 0, 0)
        yield lambda done, total: tell(what, done, total)
