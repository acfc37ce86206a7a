"""Simulations and claims on the command line: results, figure, one line per fault."""

from __future__ import annotations

import json
import sys

import numpy as np
import pytest

pytest.importorskip("torch")

from radii.claims import catalogue
from radii.claims.outcome import Outcome
from radii.cli import main
from radii.dynamics.config import Setting
from radii.dynamics.training import simulate


@pytest.fixture
def run(monkeypatch, capsys):
    """Calls the command as a shell would; gives exit code, standard output and standard error."""

    def call(*words: object) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["radii", *map(str, words)])
        with pytest.raises(SystemExit) as ended:
            main()
        return ended.value.code or 0, *capsys.readouterr()

    return call


CONFIG = """
[setting]
n_items = 20
dim = 6
batch = 8
eta = 0.1
steps = 400
burn_in = 300
[grid]
lam = [0.2, 0.5, 0.0]
"""


@pytest.fixture
def config(tmp_path):
    file = tmp_path / "runs.toml"
    file.write_text(CONFIG)
    return file


def test_simulate_writes_results_and_figure(run, tmp_path, config):
    pytest.importorskip("altair")
    out = tmp_path / "out"
    code, printed, err = run("simulate", config, "--out", out)
    assert (code, err) == (0, "")
    assert sorted(p.name for p in out.iterdir()) == ["figure.svg", "results.json"]
    written = json.loads((out / "results.json").read_text())
    runs = simulate(
        [Setting(n_items=20, dim=6, batch=8, eta=0.1, steps=400, burn_in=300, lam=x) for x in (0.2, 0.5, 0.0)]
    )
    for found, same in zip(written, runs, strict=True):
        np.testing.assert_allclose(found["norm"], same.norm, rtol=1e-4)
        assert found["setting"]["lam"] == same.setting.lam
    assert [found["equilibrium"] is None for found in written] == [False, False, True]
    np.testing.assert_allclose(written[0]["predicted"], runs[0].predicted(), rtol=1e-4)
    text = " ".join(printed.split())
    assert "3 runs of 20 items" in text
    assert "no: nothing damps the norm" in text
    assert (out / "figure.svg").read_text().startswith("<svg")


def test_simulate_by_flags_in_json(run, tmp_path):
    words = [f"--set={w}" for w in ("n_items=20", "dim=6", "steps=40", "burn_in=10", "optimiser=lion")]
    code, printed, _ = run("simulate", *words, "--json", "--out", tmp_path)
    assert code == 0
    assert printed == (tmp_path / "results.json").read_text()
    [found] = json.loads(printed)
    assert found["setting"]["optimiser"] == "lion"
    assert found["equilibrium"] is None
    assert found["stationarity"]["reasons"]
    assert not (tmp_path / "figure.svg").exists()  # nothing that reached an equilibrium, nothing to draw


def test_without_altair_there_is_no_figure_and_a_hint(run, tmp_path, config, monkeypatch):
    monkeypatch.setitem(sys.modules, "altair", None)
    code, printed, _ = run("simulate", config, "--out", tmp_path / "out")
    assert code == 0
    assert "pip install 'radii[figures]'" in printed
    assert [p.name for p in (tmp_path / "out").iterdir()] == ["results.json"]


@pytest.mark.parametrize(
    ("words", "fragments"),
    [
        (["--set", "lam=-1"], ["--set", "lam", "-1"]),
        (["--set", "lam"], ["'lam'", "NAME=VALUE"]),
        (["--set", "wisdom=1"], ["wisdom"]),
        (["none.toml"], ["none.toml", "no such file"]),
    ],
)
def test_bad_input_is_one_line_and_leaves_nothing(run, tmp_path, monkeypatch, words, fragments):
    monkeypatch.chdir(tmp_path)
    code, printed, err = run("simulate", *words)
    assert (code, printed) == (2, "")
    assert err.startswith("radii: ")
    assert err[:-1].isprintable()
    assert all(fragment in err for fragment in fragments)
    assert list(tmp_path.iterdir()) == []


OUTCOME = Outcome.model_validate(
    {
        "claim": "heat",
        "title": "A title",
        "setting": "fast",
        "seeds": 2,
        "on": "a table",
        "method": "A method.",
        "statements": [
            {
                "name": "good",
                "value": 0.5,
                "low": 0.4,
                "high": 0.6,
                "over": "2 seeds",
                "target": "≤ 1",
                "status": "holds",
            },
            {"name": "plain", "value": 3.0, "status": "reported"},
        ],
        "table": [{"x": 1.0, "y": None}],
        "notes": ["A note."],
    }
)


def test_claims_run_prints_statements_and_writes_json(run, tmp_path, monkeypatch):
    asked = []
    monkeypatch.setattr(
        catalogue, "run_claim", lambda claim, **how: asked.append((claim, how["full"])) or OUTCOME
    )
    code, printed, err = run("claims", "run", "heat", "--out", tmp_path / "heat.json")
    assert (code, err) == (0, "")
    text = " ".join(printed.split())
    assert "holds good 0.5 (95 % 0.4 … 0.6, over 2 seeds) target ≤ 1" in text
    assert "reported plain 3" in text
    assert "· A note." in text
    assert Outcome.model_validate_json((tmp_path / "heat.json").read_text()) == OUTCOME
    assert run("claims", "run", "heat", "--full", "--json")[1] == (tmp_path / "heat.json").read_text()
    assert asked == [("heat", False), ("heat", True)]


def test_claims_list_and_show(run):
    code, printed, _ = run("claims", "list")
    assert code == 0
    assert [line.split()[0] for line in printed.splitlines()] == list(catalogue.CLAIMS)
    for claim in catalogue.CLAIMS:
        code, printed, _ = run("claims", "show", claim)
        assert code == 0
        assert "full setting" in printed


def test_the_table_prints_every_recorded_number(run):
    code, printed, err = run("claims", "table")
    assert (code, err) == (0, "")
    code, data, _ = run("claims", "table", "--format", "json")
    assert (code, [each["claim"] for each in json.loads(data)]) == (0, list(catalogue.CLAIMS))
    for claim in catalogue.CLAIMS:
        assert all(f"{s.value:.4g} |" in printed for s in catalogue.recorded(claim).statements)


@pytest.mark.parametrize(
    "words", [["simulate"], ["claims"], ["claims", "run"], ["claims", "show"], ["claims", "table"]]
)
def test_every_command_has_help(run, words):
    code, printed, err = run(*words, "--help")
    assert (code, err) == (0, "")
    assert f"Usage: radii {' '.join(words)}" in printed


def test_an_unknown_claim_is_one_line(run):
    for words in (["run", "wisdom"], ["show", "wisdom"]):
        code, printed, err = run("claims", *words)
        assert (code, printed) == (2, "")
        assert "wisdom" in err
        assert "equation" in err
