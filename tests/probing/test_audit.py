"""What a probe adds to an audit: its findings, and nothing else."""

from __future__ import annotations

import json

import numpy as np
import pytest
from typer.testing import CliRunner

import radii
from radii.cli import app
from radii.findings import probed
from radii.probing.report import Power, ProbeReport, Regime, Reliability
from radii.result import Correlation
from tests.probing.test_run import run, table

RHO = Correlation(estimate=-0.91, low=-0.93, high=-0.88)


@pytest.fixture(scope="module")
def report() -> ProbeReport:
    return run(table()).report


def changed(report, *, label="length-controlled", trust=0.99, p=1.0, length=RHO):
    regime = Regime(label=label, meaning="It is so.", numbers={})
    norm_with = {name: found for name, found in report.norm_with.items() if name != "length"}
    if length is not None:
        norm_with["length"] = report.norm_with["raw"].model_copy(update={"plain": length})
    return report.model_copy(
        update={
            "regime": regime,
            "norm_with": norm_with,
            "reliability": report.reliability | {"raw": Reliability(halves=trust, whole=trust)},
            "power": Power(value=p, spread=None, reason="as told"),
        }
    )


@pytest.mark.parametrize(
    ("given", "statuses"),
    [
        ({}, ["holds", "fails", "fails", "holds"]),
        ({"label": "heat-controlled", "length": None}, ["holds", "holds", "not applicable", "holds"]),
        ({"label": "inconclusive", "trust": None}, ["fails", "skipped", "fails", "holds"]),
        ({"trust": 0.5, "p": -1.0}, ["fails", "fails", "fails", "fails"]),
        (
            {"p": None, "length": Correlation(estimate=0.3, low=0.2, high=0.4)},
            ["holds", "fails", "holds", "skipped"],
        ),
        ({"length": Correlation(estimate=None, low=None, high=None)}, ["holds", "fails", "skipped", "holds"]),
    ],
)
def test_findings(report, given, statuses):
    found = probed(changed(report, **given))
    assert [f.code for f in found] == ["R501", "R502", "R503", "R504"]
    assert [f.status for f in found] == statuses
    assert "surrogate" in found[1].meaning


def test_an_audit_takes_the_folder_and_its_verdict_stays(report, tmp_path):
    rng = np.random.default_rng(0)
    for name in ("docs", "queries"):
        np.save(tmp_path / f"{name}.npy", rng.normal(size=(50, 6)))
    run(table()).write(tmp_path / "probe")
    common = ["audit", str(tmp_path / "docs.npy"), "--queries", str(tmp_path / "queries.npy"), "--json"]
    common += ["--out", str(tmp_path / "out")]
    plain = json.loads(CliRunner().invoke(app, common, catch_exceptions=False).stdout)
    more = [*common, "--probe", str(tmp_path / "probe")]
    with_probe = json.loads(CliRunner().invoke(app, more, catch_exceptions=False).stdout)
    added = [f for f in with_probe["findings"] if f not in plain["findings"]]
    assert [f["code"] for f in added] == ["R501", "R502", "R503", "R504"]
    assert with_probe["verdict"] == plain["verdict"]
    with pytest.raises(radii.InputError, match=r"probe\.json"):
        CliRunner().invoke(app, [*common, "--probe", str(tmp_path)], catch_exceptions=False)
