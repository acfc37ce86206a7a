"""Names, hand-computed values, and exponential gains against ir_measures on mapped grades."""

from __future__ import annotations

import ir_measures
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from radii.errors import InputError
from radii.ranking.metrics import Metric


@pytest.mark.parametrize(
    ("name", "canonical"),
    [
        ("nDCG@10", "nDCG@10"),
        ("ndcg@5", "nDCG@5"),
        ("nDCG(dcg='exp-log2')@10", "nDCG(dcg='exp-log2')@10"),
        ("MRR@10", "RR@10"),
        ("rr@3", "RR@3"),
        ("MAP@100", "AP@100"),
        ("recall@100", "R@100"),
        ("Precision@1", "P@1"),
        ("hit@10", "Success@10"),
        ("AP(rel=2)@10", "AP(rel=2)@10"),
    ],
)
def test_names(name, canonical):
    metric = Metric.parse(name)
    assert str(metric) == canonical
    assert Metric.parse(str(metric)) == metric


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("nDCG", "no cutoff"),
        ("nDCG@0", "cutoff"),
        ("bogus@10", "unknown metric 'bogus@10'"),
        ("nDCG@ten", "metric"),
        ("", "unknown metric"),
        ("RBP@10", "not one that radii can follow"),
        ("nDCG(gains={1:5})@10", "not one that radii can follow"),
    ],
)
def test_bad_names(name, message):
    with pytest.raises(InputError) as caught:
        Metric.parse(name)
    assert message in str(caught.value)
    assert "nDCG@10" in str(caught.value)


def value(name, ranks, grades):
    judged = Metric.parse(name).judgement({str(i): g for i, g in enumerate(grades)})
    seen = [int(i) for i in judged.ids]
    return float(judged.value(np.array([[ranks[i]] for i in seen]), judged.worth)[0])


def test_values_by_hand():
    # Three relevant documents with grades 1, 2, 3 at ranks 1, 4 and out of reach.
    ranks, grades = [1, 4, 99], [1, 2, 3]
    dcg = 1 / np.log2(2) + 2 / np.log2(5)
    ideal = 3 / np.log2(2) + 2 / np.log2(3) + 1 / np.log2(4)
    assert value("nDCG@5", ranks, grades) == pytest.approx(dcg / ideal, rel=1e-12)
    assert value("R@5", ranks, grades) == pytest.approx(2 / 3)
    assert value("P@5", ranks, grades) == pytest.approx(2 / 5)
    assert value("RR@5", ranks, grades) == 1.0
    assert value("RR(rel=2)@5", ranks, grades) == 0.25
    assert value("AP@5", ranks, grades) == pytest.approx((1 + 2 / 4) / 3)
    assert value("Success(rel=3)@5", ranks, grades) == 0.0


def test_only_relevant_documents_judge():
    metric = Metric.parse("nDCG@10")
    assert metric.judgement({"a": 0, "b": -1}) is None
    assert metric.judgement({"a": 1, "b": -1}).ids == ["a"]


@given(st.lists(st.integers(-1, 4), min_size=1, max_size=8), st.randoms(use_true_random=False))
def test_exponential_gains_are_linear_gains_of_mapped_grades(grades, random):
    ranks = random.sample(range(1, 20), len(grades))
    exponential = Metric.parse("nDCG(dcg='exp-log2')@7")
    qrels = {str(i): g for i, g in enumerate(grades)}
    judged = exponential.judgement(qrels)
    if judged is None:
        return
    ours = judged.value(np.array([[ranks[int(i)]] for i in judged.ids]), judged.worth)[0]
    mapped = [ir_measures.Qrel("q", d, 2 ** max(g, 0) - 1) for d, g in qrels.items()]
    run = [ir_measures.ScoredDoc("q", d, -float(ranks[int(d)])) for d in qrels]
    run += [
        ir_measures.ScoredDoc("q", f"x{rank}", -float(rank)) for rank in range(1, 20) if rank not in ranks
    ]
    reference = ir_measures.calc_aggregate([ir_measures.nDCG @ 7], mapped, run)
    assert ours == pytest.approx(reference[ir_measures.nDCG @ 7], abs=1e-9)
