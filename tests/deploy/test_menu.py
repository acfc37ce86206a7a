"""The menu offers every engine what an export of the report would need."""

from __future__ import annotations

import shlex

import pytest

import radii
from radii.deploy.command import export_to
from radii.deploy.engines import ENGINES
from radii.deploy.export import exported
from radii.deploy.manifest import Manifest
from radii.deploy.menu import Inputs, menu, next_command, preview
from radii.deploy.recipes import recipe, shown
from radii.report.files import write_report
from tests.planted import FAST, long_distractors


@pytest.fixture(scope="module")
def report():
    return radii.audit(*long_distractors(), metric="RR@10", protocol=FAST)


def test_every_engine_is_offered_and_commands_survive_a_shell(report):
    offered = menu(report, "it's here/report.json")
    assert list(offered)[: len(ENGINES)] == list(ENGINES)
    for name in ENGINES:
        words = shlex.split(dict(offered[name])["Write the vectors"])
        assert words[:3] == ["radii", "export", "it's here/report.json"]
        assert words[words.index("--to") + 1] == name
    assert [name for name in offered if name.startswith("elasticsearch")]


FULL = Inputs("d.npy", "q.npy", "d.txt", "q.txt", "texts.tsv", "tokenizer.json", "columns.csv")


def recommending(report, method, **other):
    chosen = report.recommendation.model_copy(update={"method": method, **other})
    return report.model_copy(update={"recommendation": chosen})


def test_the_next_command_repeats_what_the_audit_was_given(report):
    words = (
        "radii export out/report.json d.npy --queries q.npy --ids d.txt --query-ids q.txt --to qdrant-server"
    )
    assert next_command(report, "out/report.json", FULL) == words
    # Texts and columns only where a signal made of them is recommended.
    report = report.model_copy(update={"signals": [report.signals[0].model_copy(update={"name": "age"})]})
    for method in ("age", "norm and age"):
        told = shlex.split(next_command(recommending(report, method), "r.json", FULL))
        for option, file in (("--texts", "texts.tsv"), ("--tokenizer", "tokenizer.json")):
            assert told[told.index(option) + 1] == file
        assert told[told.index("--signals") + 1] == "columns.csv"


def test_the_next_command_survives_a_shell(report):
    given = Inputs("it's here/*.npy", "q $HOME.npy")
    words = shlex.split(next_command(report, "o ut/report.json", given, program="'/my venv/radii'"))
    assert words[:6] == [
        "/my venv/radii",
        "export",
        "o ut/report.json",
        given.docs,
        "--queries",
        given.queries,
    ]


@pytest.mark.parametrize("place", ["postgresql://me:secret@host/db", "https://host/docs.npy?token=secret"])
def test_the_next_command_keeps_secrets(report, place):
    assert "secret" not in next_command(report, "r.json", Inputs(place, place))
    assert "r.json DOCS --queries QUERIES" in next_command(report, "r.json", Inputs(place, place))


def test_there_is_no_next_command_where_there_is_nothing_to_export(report):
    assert next_command(recommending(report, "cosine"), "r.json", FULL) is None
    assert next_command(recommending(report, "norm exponent", servable=False), "r.json", FULL) is None


@pytest.mark.parametrize("form", ["ip", "unit"])
@pytest.mark.parametrize("method", ["norm exponent", "hub penalty", "mean-centring", "cosine"])
def test_the_preview_is_the_manifest_of_the_export(report, tmp_path, method, form):
    pytest.importorskip("faiss")
    arms = {arm.name: arm.parameters for arm in report.arms} | {"cosine": {}}
    chosen = report.recommendation.model_copy(update={"method": method, "parameters": arms[method]})
    report = report.model_copy(update={"recommendation": chosen})
    docs, queries, _ = long_distractors()
    export_to(write_report(report, tmp_path), docs, tmp_path / "served", "faiss", queries=queries, form=form)
    made: Manifest = exported(tmp_path / "served" / "export")[1]
    told = preview(report, form)
    for field in ("method", "parameters", "form", "dim", "served_dim", "n_docs", "penalised", "dtype"):
        assert getattr(told, field) == getattr(made, field), field
    assert (told.centre is None) == (made.centre is None)
    if method == "norm exponent":
        assert told.largest == pytest.approx(made.largest)


def test_a_server_that_needs_an_exponent_is_left_out_where_there_is_none(report):
    chosen = report.recommendation.model_copy(update={"method": "mean-centring", "parameters": {}})
    offered = menu(report.model_copy(update={"recommendation": chosen}), "report.json")
    assert not [name for name in offered if "formula" in name or "script" in name]


def test_a_server_gets_the_requests_of_its_recipe(report, tmp_path):
    """Of the export that the menu's own command writes."""
    docs, queries, _ = long_distractors()
    offered = menu(report, str(write_report(report, tmp_path)))
    for name in ("redis", "mongodb", "elasticsearch-formula"):
        export_to(tmp_path / "report.json", docs, tmp_path / name, name, queries=queries)
        made = recipe(name, exported(tmp_path / name / "export")[1], 10)
        told = dict(offered[f"{name} (server)"])
        assert told[f"Create: {made.why}"] == f"{made.create.to}\n{shown(made.create)}"
        assert told["Ask"] == f"{made.search.to}\n{shown(made.search)}"
        assert told["Load them"] == made.load
        assert f"--to {name} " in told["Write the vectors"]
