"""What docs/graph-recall.md says is what was recorded."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
RECORDED = json.loads((ROOT / "docs" / "graph_recall.json").read_text())
ROWS = [row for row in RECORDED["rows"] if "ip" in row]
FORMS, ENGINES = ("ip", "centred", "unit"), ("hnswlib", "FAISS HNSW", "USearch")


def gaps(row, *forms):
    return [max(row[form][at] for form in forms) - row["cosine"][at] for at in (0, 1)]  # ten, at both ef


def rendered():
    path = ROOT / "benchmarks" / "graph_recall_page.py"
    spec = importlib.util.spec_from_file_location("graph_recall_page", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.page(RECORDED)


def test_the_page_is_made_of_the_record():
    assert (ROOT / "docs" / "graph-recall.md").read_text() == rendered()


def test_spread_alone_does_no_harm():
    rows = [row for row in ROWS if row["pattern"].startswith(("own", "drawn"))]
    assert max(row["sd"] for row in rows) == 1.2
    assert min(gap for row in rows for gap in gaps(row, "ip")) > -0.01


def test_a_shared_direction_harms_raw_products_and_the_mean_taken_out_mends_it():
    rows = [row for row in ROWS if row["pattern"] == "a shared direction added, 3×"]
    assert len(rows) == 3
    for row in rows:
        assert 0.175 < row["ip"][0] < 0.225
        assert row["sd"] < 0.03
        assert min(gaps(row, "centred")) > 0


def test_where_no_form_reaches_cosine():
    missed = [(row["pattern"], row["engine"]) for row in ROWS if min(gaps(row, *FORMS)) < -0.01]
    both = {("a shared direction added, 1×, norms drawn", name) for name in ENGINES}
    assert set(missed) == both | {("short where central", "FAISS HNSW")}
    worst = {row["pattern"]: -min(gaps(row, *FORMS)) for row in ROWS if row["engine"] == "FAISS HNSW"}
    assert round(worst["short where central"], 3) == 0.013
    assert max(worst, key=worst.get) == "a shared direction added, 1×, norms drawn"


@pytest.mark.parametrize("pattern", ["drawn", "own norms", "long where central", "short where central"])
def test_the_unit_form_is_far_behind_where_nothing_is_shared(pattern):
    for row in ROWS:
        if row["pattern"] == pattern and row["sd"] >= 0.4:
            assert row["unit"][0] < row["cosine"][0] - 0.3
