"""The page of findings: every code of the catalogue, with its meaning, its title and its remedy."""

from __future__ import annotations

import re

import pytest

from radii.findings import CATALOGUE
from radii.report.findings import _MEANING, page, section


def test_every_code_has_a_section_with_its_title_meaning_and_remedy():
    sections = re.split(r"^### ", page(), flags=re.M)[1:]
    assert [text[:4] for text in sections] == sorted(CATALOGUE)
    for text in sections:
        title, remedy = CATALOGUE[text[:4]]
        assert text.startswith(f"{text[:4]} · {title}\n")
        assert f"**What to do.** {remedy}\n" in text
        assert _MEANING[text[:4]] in text


def test_no_meaning_of_a_code_that_is_not_there():
    assert set(_MEANING) == set(CATALOGUE)


def test_one_code_alone(run):
    code, printed, _ = run("findings", "R404")
    assert code == 0
    assert printed.splitlines() == section("R404")
    assert run("findings")[1] == page()


def test_an_unknown_code_is_refused(run, refused):
    refused(lambda: section("R999"), "R999", "R101", "R404")
    code, printed, error = run("findings", "R999")
    assert (code, printed, error.count("\n")) == (2, "", 1)


@pytest.fixture
def run(monkeypatch, capsys):
    """Calls the command as a shell would; gives exit code, standard output and standard error."""
    from radii.cli import main

    def call(*words):
        monkeypatch.setattr("sys.argv", ["radii", *words])
        try:
            main()
        except SystemExit as ended:
            return ended.code or 0, *capsys.readouterr()

    return call
