"""Files of reports and paths: exact, and whole or not there."""

from __future__ import annotations

import csv
import json

import numpy as np
import pytest

import radii
from radii.report.files import path_csv, path_json, write_report
from radii.result import Report
from tests.planted import FLIP, long_distractors, random_corpus


@pytest.fixture(scope="module")
def steps():
    docs, queries, qrels = random_corpus()
    return radii.exponent_path(docs, queries).metric("nDCG@10", qrels)


def test_json_gives_back_every_bit(steps):
    read = json.loads(path_json(steps))
    assert len(read["values"]) > 100
    np.testing.assert_array_equal(read["edges"], steps.edges)
    np.testing.assert_array_equal(read["values"], steps.values)
    assert read["metric"] == "nDCG@10"
    assert read["n_queries"] == 30


def test_csv_gives_back_every_bit(steps):
    header, *rows = csv.reader(path_csv(steps).splitlines())
    assert header == ["gamma_from", "gamma_to", "nDCG@10"]
    low, high, value = np.array(rows, dtype=np.float64).T
    np.testing.assert_array_equal([*low, high[-1]], steps.edges)
    np.testing.assert_array_equal(low[1:], high[:-1])
    np.testing.assert_array_equal(value, steps.values)


def test_the_best_interval_is_the_largest_value(steps):
    read = json.loads(path_json(steps))
    best = int(np.argmax(read["values"]))
    assert read["best"]["value"] == read["values"][best]
    assert (read["best"]["low"], read["best"]["high"]) == tuple(read["edges"][best : best + 2])
    assert read["best"]["low"] <= read["best"]["gamma"] <= read["best"]["high"]


def test_a_path_known_by_hand():
    docs, queries, qrels = long_distractors(4)
    steps = radii.exponent_path(docs, queries).metric("RR@10", qrels)
    read = json.loads(path_json(steps))
    assert read["edges"] == pytest.approx([-1, -FLIP, FLIP, 1])
    assert read["values"] == pytest.approx([1, 0.75, 0.5])
    assert read["best"]["gamma"] == pytest.approx((-1 - FLIP) / 2)


def test_a_metric_with_a_comma_stays_one_column():
    docs, queries, qrels = random_corpus()
    steps = radii.exponent_path(docs, queries).metric("AP(rel=2)@10", qrels)
    assert {len(row) for row in csv.reader(path_csv(steps).splitlines())} == {3}


def test_a_report_makes_its_folder_and_comes_back_equal(tmp_path):
    docs, queries, _ = long_distractors(3)
    report = radii.audit(docs, queries)
    target = write_report(report, tmp_path / "new" / "deep")
    assert target == tmp_path / "new" / "deep" / "report.json"
    assert Report.model_validate_json(target.read_bytes()) == report
    assert target.read_bytes().endswith(b"}\n")
    assert list(target.parent.iterdir()) == [target]


def test_ids_of_every_script_survive(tmp_path):
    _, queries, _ = long_distractors(2)
    names = ["naïve", "東京", 'quote"\\', "\x1b[31m"]
    report = radii.audit(radii.Embeddings(names, np.diag([1.0, 2, 3, 4])), queries)
    again = Report.model_validate_json(write_report(report, tmp_path).read_bytes())
    assert {d.id for d in again.norms.longest} == set(names)


def test_a_report_that_cannot_be_written_leaves_nothing(tmp_path, refused):
    docs, queries, _ = long_distractors(3)
    report = radii.audit(docs, queries)
    (tmp_path / "file").write_text("kept")
    refused(lambda: write_report(report, tmp_path / "file"), "report.json", "cannot be written")
    assert [p.name for p in tmp_path.iterdir()] == ["file"]
    assert (tmp_path / "file").read_text() == "kept"
