"""The recorded calibration: what was counted on planted truths, and that the page says the same."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from radii.synthetic import TRUTHS

ROOT = Path(__file__).parents[1]
RECORDED = json.loads((ROOT / "benchmarks" / "calibration.json").read_text())


@pytest.mark.parametrize("name", TRUTHS)
def test_the_evidence_was_right_often_enough(name):
    found, truth = RECORDED["truths"][name], TRUTHS[name]
    assert RECORDED["corpora per truth"] >= 400
    assert sum(found["labels"].values()) == RECORDED["corpora per truth"]
    assert found["queries"] == truth.n_queries
    assert found["wrong"] <= (0.10 if truth.stands_for else 0.05)
    assert 0.90 <= found["covered"] <= 0.99


def test_the_planted_exponent_was_found():
    found = RECORDED["truths"]["exponent"]
    assert found["median error of gamma"] <= 0.05
    assert found["labels"]["discount"] >= 0.9 * RECORDED["corpora per truth"]


def test_the_page_says_what_was_counted():
    page = (ROOT / "docs" / "calibration.md").read_text()
    for found in RECORDED["truths"].values():
        assert f"| {100 * found['covered']:.1f} % (" in page
