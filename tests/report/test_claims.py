"""The table of claims: what stands in it, and that the docs carry it."""

import json
from pathlib import Path

import pytest

from radii.claims.outcome import Made, NotRun, Outcome, at_least, reported
from radii.report import claims as table


@pytest.fixture
def outcome(monkeypatch):
    """Makes the only recorded outcome."""

    def make(*statements, **more):
        one = Outcome(
            claim="equation",
            title="A | B",
            on="a model",
            setting="full",
            method="By hand.",
            seeds=1,
            statements=list(statements),
            **more,
        )
        monkeypatch.setattr(table, "recorded", lambda claim: one if claim == "equation" else None)
        return one

    return make


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ([], "reported"),
        ([2.0, 3.0], "holds"),
        ([0.0, 0.5], "**fails**"),
        ([2.0, 0.0, 3.0], "**1 of 3 fail**"),
    ],
)
def test_a_row_counts_the_targets_that_were_missed(outcome, values, words):
    outcome(reported("r", 0.0), *(at_least(f"s{i}", value, 1.0) for i, value in enumerate(values)))
    row = next(line for line in table.as_markdown().splitlines() if line.startswith("| [equation]"))
    assert row.endswith(f"| {words} |")
    assert row.count("|") == 6, "a bar in a title would open another cell"


def test_a_row_shows_the_first_number_that_was_set_a_target(outcome):
    outcome(reported("before", 1.0), at_least("aim", 2.0, 1.0, low=1.5, high=2.5, over="3 seeds"))
    row = next(line for line in table.as_markdown().splitlines() if line.startswith("| [equation]"))
    assert "aim: 2 (1.5 … 2.5)" in row


def test_a_section_ends_with_where_it_came_from(outcome):
    outcome(
        reported("r", 0.0),
        notes=["a caveat"],
        data={"a.txt": "0123456789ab"},
        not_run=[NotRun(what="CLIP", why="no weights", command="radii claims run x --model CLIP")],
        made=Made(command="radii claims run equation --full", seconds=12.3, versions={"python": "3.11.2"}),
    )
    lines = table.as_markdown().splitlines()
    assert lines[-4:] == [
        "- a caveat",
        "- Not run here: CLIP, no weights. Where it can be had: `radii claims run x --model CLIP`.",
        "- Data (start of SHA-256): a.txt 0123456789ab.",
        "- `radii claims run equation --full`, 12 s; python 3.11.2.",
    ]


def test_the_json_holds_every_recorded_outcome(outcome):
    one = outcome(reported("r", 0.0))
    assert [Outcome.model_validate(each) for each in json.loads(table.as_json())] == [one]


def test_the_page_shows_text_as_text(outcome):
    pytest.importorskip("jinja2")
    hostile = '</script><b>bold</b> & "quoted"'
    outcome(reported(hostile, -1.5), notes=[hostile], table=[{hostile: hostile}])
    text = table.as_html()
    assert "<b>bold</b>" not in text
    assert (
        text.count("&lt;b&gt;bold&lt;/b&gt;") == 5
    )  # first number, statement, head and cell of the rows, note
    assert "−1.5" in text
    assert "http" not in text.split("<style>")[0].replace("http-equiv", ""), "nothing is loaded"


def test_the_docs_carry_the_table():
    page = (Path(__file__).parents[2] / "docs" / "claims.md").read_text("utf-8")
    assert page == table.as_markdown(), "run `radii claims table > docs/claims.md`"
