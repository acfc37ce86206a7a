"""Whose gain it is: the demo against prototype figures, and norms that stand for something else."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from scipy import stats

import radii
from radii.data import demo
from radii.data.texts import Texts, read_texts
from radii.errors import InputError
from radii.evidence.field import Field
from radii.evidence.holdout import Protocol
from radii.evidence.question import Question
from radii.ranking.metrics import Metric
from radii.signals.length import tokens
from tests.planted import long_distractors, random_corpus, unit

QUICK = Protocol(repeats=3, resamples=999)


@pytest.fixture(scope="module")
def demo_report():
    files = demo.paths()
    vectors = radii.load(files.vectors)
    return radii.audit(
        vectors, vectors, files.qrels, texts=read_texts(files.texts), exclude_self=True, protocol=QUICK
    )


# Prototypes apart from this code, on the same task: gain over cosine and, where known, its standard error.
PROTOTYPE = {
    "norm exponent": 0.020,
    "CSLS": 0.032,
    "hub penalty": 0.032,
    "mean-centring": 0.030,
    "centrality": 0.026,
}


@pytest.mark.parametrize("name", PROTOTYPE)
def test_the_demo_gains_what_prototypes_gained(demo_report, name):
    [arm] = [a for a in demo_report.arms if a.name == name]
    assert arm.gain == pytest.approx(PROTOTYPE[name], abs=2 * 0.004)
    assert arm.gain_ci[0] > 0


def test_the_demo_is_a_proxy_of_hubness(demo_report):
    verdict, advice = demo_report.verdict, demo_report.recommendation
    assert (verdict.label, verdict.proxy) == ("proxy", "hubness")
    assert verdict.gain_ci[0] > 0
    assert verdict.beyond_ci[0] <= 0
    assert abs(verdict.beyond) < 0.003
    assert advice.method in ("hub penalty", "local density")  # equal to the third decimal
    assert advice.gain_ci[0] > 0
    assert advice.gain > verdict.gain
    assert advice.servable


def test_the_demo_norm_goes_with_centrality(demo_report):
    signals = {s.name: s for s in demo_report.signals}
    assert signals["centrality"].with_norm.estimate == pytest.approx(0.92, abs=0.02)
    assert abs(signals["length"].with_norm.estimate) < 0.15
    assert signals["k-occurrence"].with_norm.estimate == pytest.approx(0.68, abs=0.02)
    assert demo_report.hubness.skewness == pytest.approx(6.8, abs=0.1)
    assert demo_report.norm_explained.estimate > 0.7


def test_a_norm_that_is_a_column_is_named_after_it():
    """The distractors are long *because* of a column: with the column known, nothing of the norm is left."""
    docs, queries, qrels = long_distractors(60)
    popularity = docs.norms**1.5
    report = radii.audit(
        docs, queries, qrels, metric="RR@10", signals={"popularity": popularity}, protocol=QUICK
    )
    assert (report.verdict.label, report.verdict.proxy) == ("proxy", "popularity")
    unknown = radii.audit(docs, queries, qrels, metric="RR@10", protocol=QUICK)
    assert unknown.verdict.label == "discount"


def test_every_pair_of_signals_is_related(demo_report):
    names = ["norm", "centrality", "length", "rarity", "k-occurrence"]
    found = {(r.first, r.second): r for r in demo_report.relations}
    assert set(found) == set(combinations(names, 2))
    files = demo.paths()
    vectors, texts = radii.load(files.vectors), read_texts(files.texts)
    counts = 1.0 + tokens([texts.by_id[name] for name in vectors.ids])
    pair = found["norm", "length"]
    assert pair.spearman.estimate == pytest.approx(stats.spearmanr(vectors.norms, counts).statistic)
    assert pair.kendall.estimate == pytest.approx(stats.kendalltau(vectors.norms, counts).statistic)
    for pair in found.values():
        for relation in (pair.spearman, pair.kendall):
            assert relation.low <= relation.estimate <= relation.high


def test_the_demo_arms_that_one_vector_cannot_serve(demo_report):
    assert [arm.name for arm in demo_report.arms if not arm.servable] == ["dynamic inverted softmax"]


def test_the_dynamic_softmax_leaves_inactive_queries_to_cosine():
    """Activity by brute force: is the query's first document first for a query of another fold?"""
    docs, queries, qrels = random_corpus()
    question = Question(
        radii.Embeddings.of(docs),
        radii.Embeddings.of(queries, "queries"),
        qrels,
        Metric.parse("nDCG@10"),
        (-1.0, 1.0),
        False,
        0,
        QUICK,
    )
    field = Field(question, {"norm": question.docs.norms})
    first = (unit(queries) @ unit(docs).T).argmax(axis=1)
    fold = question.bank_fold
    active = np.array([first[q] in first[fold != fold[q]] for q in range(30)])
    assert field.active.tolist() == active.tolist()
    assert 0 < active.sum() < 30
    arm, static = field.dynamic(), field.curves["inverted softmax"]
    assert (arm.gains[~active] == 0).all()
    weight = arm.parameters["weight"]
    assert weight == pytest.approx(arm.parameter)
    assert (static.values(weight)[active] != field.cosine[active]).any()


def test_length_is_counted_in_the_tokens_given():
    docs, queries, qrels = random_corpus()
    docs = radii.Embeddings.of(docs)
    texts = Texts(list(docs.ids), [f"word{i % 7} " * (1 + i % 5) for i in range(len(docs))], "texts")

    def fewer(text):
        return ["x"] * (99 - text.count("w"))

    backwards = radii.audit(docs, queries, qrels, texts=texts, tokenize=fewer, protocol=QUICK)
    plainly = radii.audit(docs, queries, qrels, texts=texts, protocol=QUICK)
    assert (plainly.how.length_unit, backwards.how.length_unit) == ("words and marks", "tokens")
    a, b = (next(s for s in r.signals if s.name == "length") for r in (plainly, backwards))
    assert a.with_norm.estimate == pytest.approx(-b.with_norm.estimate)


def test_length_and_rarity_need_a_text_for_every_document():
    docs, queries, qrels = random_corpus()
    docs = radii.Embeddings.of(docs)
    texts = Texts(list(docs.ids), [f"word{i % 7} " * (1 + i % 5) for i in range(len(docs))], "texts")
    names = {s.name for s in radii.audit(docs, queries, qrels, texts=texts, protocol=QUICK).signals}
    assert names == {"centrality", "length", "rarity", "k-occurrence"}
    some = Texts(texts.ids[1:], texts.texts[1:], "texts")
    report = radii.audit(docs, queries, qrels, texts=some, protocol=QUICK)
    assert {s.name for s in report.signals} == {"centrality", "k-occurrence"}
    assert {f.code: f.status for f in report.findings}["R402"] == "skipped"


def test_the_advice_is_cosine_where_nothing_gains():
    report = radii.audit(*random_corpus(), protocol=QUICK)
    assert report.recommendation.method == "cosine"
    assert report.recommendation.parameters == {}


@pytest.mark.parametrize("column", [[1.0], np.full(60, np.nan)])
def test_a_signal_must_be_one_number_per_document(column, refused):
    docs, queries, qrels = random_corpus()
    refused(lambda: radii.audit(docs, queries, qrels, signals={"age": np.array(column)}), "age", "60")
    with pytest.raises(InputError):
        radii.audit(docs, queries, qrels, signals={"age": np.array(column)})
