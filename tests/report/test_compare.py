"""Two reports side by side: every number on its own side; files that are no reports are refused."""

from __future__ import annotations

import io
import sys

import pytest
from rich.console import Console

import radii
from radii.cli import main
from radii.report.compare import arms, disagreements, facts, names_of, show_comparison
from radii.report.files import write_report
from radii.report.reading import read_report
from tests.planted import FAST, long_distractors, long_relevant, random_corpus, unit


@pytest.fixture(scope="module")
def pair():
    """Opposite answers to the same question."""
    return tuple(
        radii.audit(*corpus(40), metric="RR@10", protocol=FAST)
        for corpus in (long_distractors, long_relevant)
    )


def test_facts_stand_on_their_own_sides(pair):
    rows = {name: (a, b) for name, a, b in facts(pair)}
    assert rows["verdict"] == ("discount", "amplify")
    assert rows["by inner product"] == ("0.500", "1.000")
    assert rows["by cosine"] == ("0.750", "0.750")
    a, b = (float(value) for value in rows["γ to rank with"])
    assert a == -b < 0
    assert rows["tuning γ gains"][0].startswith("+0.250 (95 % ")


def test_arms_are_those_of_either(pair):
    other = pair[1].model_copy(update={"arms": [a for a in pair[1].arms if a.name != "hub penalty"]})
    rows = {name: (a, b) for name, a, b in arms((pair[0], other))}
    assert set(rows) == {arm.name for arm in pair[0].arms} | {arm.name for arm in other.arms}
    assert rows["inner product"][0].startswith("-0.250")
    assert rows["inner product"][1].startswith("+0.250")
    assert rows["hub penalty"][1] == "–"


def test_only_findings_that_differ_are_listed(pair):
    assert disagreements((pair[0], pair[0])) == []
    found = {code: (a, b) for code, _, a, b in disagreements(pair)}
    assert found["R302"] == ("fails", "holds")
    for code, (a, b) in found.items():
        status = [{f.code: f.status for f in report.findings}.get(code, "–") for report in pair]
        assert [a, b] == status
        assert a != b


def test_what_was_not_measured_is_a_dash():
    docs, queries, qrels = random_corpus()
    both = radii.audit(unit(docs), queries), radii.audit(docs, queries, qrels, protocol=FAST)
    rows = {name: (a, b) for name, a, b in facts(both)}
    assert rows["by cosine"][0] == "–"
    assert rows["verdict"][0] == "no-signal"
    assert "beyond everything else" not in rows or rows["beyond everything else"][0] == "–"


@pytest.mark.parametrize("width", [50, 100])
def test_the_terminal_holds_every_row_as_text(pair, width):
    file = io.StringIO()
    show_comparison(*pair, Console(file=file, width=width, highlight=False), ("[bold]a[/]", "b\x1b[31m"))
    joined = "".join(file.getvalue().split())
    assert "[bold]a[/]" in joined
    assert "\x1b" not in joined
    assert "discount" in joined
    assert "amplify" in joined
    assert all(len(line) <= width for line in file.getvalue().splitlines())


@pytest.mark.parametrize(
    ("first", "second", "names"),
    [
        ("a/report.json", "b/report.json", ("a", "b")),
        ("x/first.json", "y/second.json", ("first", "second")),
        ("clip/run/report.json", "minilm/run/report.json", ("clip", "minilm")),
    ],
)
def test_files_are_called_by_what_tells_them_apart(first, second, names):
    assert names_of(first, second) == names


def test_one_file_compared_with_itself_has_a_name():
    assert names_of("a/report.json", "a/report.json")[0]


def test_the_command_prints_and_writes(pair, tmp_path, monkeypatch, capsys):
    pytest.importorskip("vl_convert")
    pytest.importorskip("jinja2")
    files = [write_report(report, tmp_path / name) for report, name in zip(pair, ("one", "two"), strict=True)]
    words = ["radii", "compare", *map(str, files), "--out", str(tmp_path / "compare.html")]
    monkeypatch.setattr(sys, "argv", words)
    with pytest.raises(SystemExit) as ended:
        main()
    assert not ended.value.code
    printed = capsys.readouterr().out
    assert "one" in printed.splitlines()[1]
    assert "compare.html" in printed
    text = (tmp_path / "compare.html").read_text()
    assert len(text.encode()) < 3_000_000
    for report in pair:
        assert f'<p class="label {report.verdict.label}">' in text


@pytest.mark.parametrize("content", ["", "{}", "[1]", '{"schema_version": "9"}'])
def test_another_file_is_refused_in_one_line(tmp_path, refused, content):
    (tmp_path / "no.json").write_text(content)
    refused(lambda: read_report(tmp_path / "no.json"), "no.json", "radii audit")
    refused(lambda: read_report(tmp_path / "missing.json"), "missing.json", "no such file")
