"""Progress: how far, how fast, how long to go; nothing where nobody looks."""

import io

from rich.console import Console

from radii.report.progress import progress, rate, stages


def told(terminal):
    return Console(file=io.StringIO(), force_terminal=terminal, width=100, color_system=None)


def test_a_terminal_sees_the_stage_its_count_and_its_rate(monkeypatch):
    console = told(True)
    with stages(console) as tell:
        for done in range(0, 200, 20):
            tell("ranking", done, 1000)
        tell("judging", 3, 19)
    shown = console.file.getvalue()
    assert "judging" in shown
    assert "3/19" in shown


def test_no_terminal_sees_nothing():
    console = told(False)
    with progress("embedding", console) as tell:
        tell(1, 2)
    assert console.file.getvalue() == ""


def test_a_rate_has_the_digits_that_matter():
    assert [rate(v) for v in (None, 0.0, 0.25, 3.14159, 12.3, 123456.7)] == [
        "",
        "",
        "0.25/s",
        "3.1/s",
        "12/s",
        "123,457/s",
    ]
