"""The path of the demo at 50 random exponents, each ranked directly and scored by ir_measures."""

from __future__ import annotations

import ir_measures
import numpy as np
import pytest

import radii
from radii.data import demo
from radii.data.qrels import read_qrels


@pytest.mark.parametrize("name", ["nDCG@10", "RR@10", "AP@10"])
def test_fifty_exponents(name):
    files = demo.paths()
    vectors, qrels = radii.load(files.vectors), read_qrels(files.qrels)
    steps = radii.exponent_path(vectors, vectors, exclude_self=True).metric(name, qrels)
    wide = np.asarray(vectors.vectors, dtype=np.float64)
    norms = np.linalg.norm(wide, axis=1)
    unit = wide / norms[:, None]
    cosines = unit @ unit.T
    np.fill_diagonal(cosines, -np.inf)
    rows = {query: row for row, query in enumerate(vectors.ids)}
    asked = [rows[query] for query in steps.ids]
    measure = ir_measures.parse_measure(name)
    judgements = [ir_measures.Qrel(q, d, g) for q in qrels for d, g in qrels[q].items()]
    for gamma in np.random.default_rng(0).uniform(-1, 1, 50):
        scores = cosines[asked] * norms**gamma
        best = np.argpartition(-scores, 10, axis=1)[:, :10]
        run = [
            ir_measures.ScoredDoc(query, vectors.ids[doc], float(scores[at, doc]))
            for at, query in enumerate(steps.ids)
            for doc in best[at]
        ]
        expected = ir_measures.calc_aggregate([measure], judgements, run)[measure]
        assert steps.at(gamma) == pytest.approx(expected, abs=1e-9)
