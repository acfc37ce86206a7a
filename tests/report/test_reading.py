"""Reports of every schema that ever was are read; what is no report, or a newer one, is refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from radii.deploy.command import advice
from radii.probing.report import read_report as read_probe
from radii.report import reading
from radii.report.files import write_report
from radii.report.reading import read_report
from radii.result import SCHEMA_VERSION

# One report per schema, as the radii of its time wrote it. Never to be changed.
KEPT = sorted((Path(__file__).parent / "reports").glob("*.json"))


def is_kept(found, stored):
    """Everything that was stored is there, with the value that it had; new fields may stand beside it."""
    if isinstance(stored, dict):
        return all(name in found and is_kept(found[name], value) for name, value in stored.items())
    if isinstance(stored, list):
        return len(found) == len(stored) and all(map(is_kept, found, stored))
    return bool(found == stored)


@pytest.mark.parametrize("path", KEPT, ids=lambda path: path.name)
def test_a_report_of_an_older_radii_keeps_all_it_said(path, tmp_path):
    stored = json.loads(path.read_text())
    assert stored.pop("schema_version") == path.stem
    report = read_report(path)
    assert report.schema_version == SCHEMA_VERSION
    assert is_kept(json.loads(report.model_dump_json()), stored)
    assert stored["arms"]
    assert stored["relations"]
    assert stored["hubness"]
    assert read_report(write_report(report, tmp_path)) == report


def test_the_first_schema_is_among_them():
    assert KEPT[0].name == "1.0.json"


def test_its_advice_can_still_be_served():
    stored = json.loads(KEPT[0].read_text())["recommendation"]
    found = advice(KEPT[0])
    assert (found.method, found.parameters, found.exclude_self) == (
        stored["method"],
        stored["parameters"],
        False,
    )


def test_a_probe_is_read_again(tmp_path):
    path = Path(__file__).parent / "probes" / "1.0.json"
    (tmp_path / "probe.json").write_bytes(path.read_bytes())
    assert is_kept(json.loads(read_probe(tmp_path).model_dump_json()), json.loads(path.read_text()))


@pytest.fixture
def older(tmp_path):
    """The first report as if its schema were 0.7, in which the verdict was called an answer."""
    body = json.loads(KEPT[0].read_text())
    body["answer"] = body.pop("verdict")
    path = tmp_path / "report.json"
    path.write_text(json.dumps({**body, "schema_version": "0.7"}))
    return path


def test_a_step_brings_an_older_meaning_to_the_next(older, monkeypatch):
    monkeypatch.setitem(reading.STEPS, 0, lambda body: {**body, "verdict": body["answer"], "answer": None})
    with pytest.raises(ValueError, match="answer"):  # the step has to leave no field of its own
        read_report(older)

    def step(body):
        answer = body.pop("answer")
        return {**body, "verdict": answer}

    monkeypatch.setitem(reading.STEPS, 0, step)
    assert read_report(older) == read_report(KEPT[0])


def test_a_schema_without_a_step_is_refused(older, refused):
    refused(lambda: read_report(older), older, "schema 0.7", "no longer reads", "audit again")


OTHERS = {
    "newer": ({"schema_version": "99.0"}, ["schema 99.0", f"up to {SCHEMA_VERSION}", "upgrade radii"]),
    "newer by a field": ({"schema_version": "1.9999"}, ["schema 1.9999", "newer radii"]),
    "no version": ({"verdict": {}}, ["not a report of radii"]),
    "an odd version": ({"schema_version": "one"}, ["not a report of radii"]),
    "a number": ({"schema_version": 1.0}, ["not a report of radii"]),
    "a list": ([], ["not a report of radii"]),
    "nothing else": ({"schema_version": "1.0"}, ["verdict: Field required", "report.json of radii audit"]),
    "unknown field": ({"schema_version": "1.0", "wisdom": 1}, ["Field required"]),
}


@pytest.mark.parametrize(("body", "fragments"), OTHERS.values(), ids=OTHERS)
def test_what_is_no_report_of_this_or_an_older_radii(tmp_path, refused, body, fragments):
    path = tmp_path / "report.json"
    path.write_text(json.dumps(body))
    refused(lambda: read_report(path), path, *fragments)


@pytest.mark.parametrize("text", ["", "{", "[" * 200_000, '{"schema_version": ' + "9" * 5000 + "}"])
def test_what_is_no_json(tmp_path, refused, text):
    path = tmp_path / "report.json"
    path.write_text(text)
    refused(lambda: read_report(path), path, "not a report of radii")


def test_numbers_that_are_none_are_refused(tmp_path, refused):
    path = tmp_path / "report.json"
    body = json.loads(KEPT[0].read_text())
    body["norms"]["mean"] = float("nan")
    path.write_text(json.dumps(body))
    refused(lambda: read_report(path), "norms.mean", "finite")
