"""What figures and tables are made from: exact where it claims to be, bounded, and the same for one seed."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import radii
from radii.data.embeddings import Embeddings
from radii.data.texts import Texts
from radii.evidence.intervals import estimate
from radii.exhibits import band, histogram, pieces
from radii.ranking.steps import StepFunction
from radii.result import Report
from tests.planted import FAST, long_distractors, random_corpus, unit, unrelated_norms

norms = st.lists(st.floats(1e-3, 1e3), min_size=1, max_size=60)


@given(norms, st.integers(1, 50))
def test_a_histogram_counts_every_document_once(values, bins):
    values = np.array(values)
    found = histogram(values, bins)
    if np.ptp(values) > 1e-9 * values.max():
        assert found is not None
        assert sum(found.counts) == len(values)
        assert (found.edges[0], found.edges[-1]) == (values.min(), values.max())
        for low, high, count in zip(found.edges[:-2], found.edges[1:-1], found.counts[:-1], strict=True):
            assert count == ((values >= low) & (values < high)).sum()
    if np.ptp(values) == 0:
        assert found is None


def test_bins_keep_a_ratio_where_norms_span_a_decade():
    edges = np.array(histogram(np.array([1.0, 2.0, 1000.0]), bins=3).edges)
    np.testing.assert_allclose(edges, [1, 10, 100, 1000])


@given(st.lists(st.floats(-0.999, 0.999), unique=True, max_size=80), st.integers(1, 12), st.randoms())
def test_pieces_hold_the_extremes_of_every_step_within(inner, most, random):
    edges = np.array([-1.0, *sorted(inner), 1.0])
    mean = StepFunction(edges, np.array([random.random() for _ in edges[1:]]))
    found = pieces(mean, most)
    assert len(found.lowest) <= most
    for i, (low, high) in enumerate(zip(found.edges[:-1], found.edges[1:], strict=True)):
        inside = (mean.edges[:-1] < high) & (mean.edges[1:] > low)
        assert found.lowest[i] == mean.values[inside].min()
        assert found.highest[i] == mean.values[inside].max()


def test_the_band_is_students_interval_of_the_difference_to_cosine():
    docs, queries, qrels = random_corpus()
    steps = radii.exponent_path(docs, queries).metric("nDCG@10", qrels)
    gammas = np.linspace(-1, 1, 41)
    low, high = band(steps, gammas, 0.9)
    cosine = steps.curves.values(0.0)
    for at, gamma in enumerate(gammas.tolist()):
        told = estimate(steps.curves.values(gamma) - cosine, seed=0, level=0.9, resamples=99)
        assert (low[at], high[at]) == pytest.approx((told.low, told.high), abs=1e-7)


def test_of_one_query_the_band_is_the_difference():
    docs, queries, qrels = random_corpus(n_queries=1)
    steps = radii.exponent_path(docs, queries).metric("nDCG@10", qrels)
    low, high = band(steps, np.array([-1.0, 1.0]), 0.95)
    np.testing.assert_array_equal(low, high)
    np.testing.assert_allclose(low, [steps.at(-1.0) - steps.at(0.0), steps.at(1.0) - steps.at(0.0)])


def test_queries_that_gain_are_shown_with_both_rankings():
    docs, queries, qrels = long_distractors(40)
    texts = Texts(["good1", "bad1"], ["right", "w" * 500])
    report = radii.audit(
        docs, queries, qrels, metric="RR@10", protocol=FAST, texts=texts, query_texts=Texts(["q1"], ["why?"])
    )
    changes = report.changes
    # Every second query has its distractor nearer, until it is discounted.
    assert (changes.n_gain, changes.n_lose, len(changes.gain), changes.lose) == (20, 0, 5, [])
    assert changes.gamma == report.verdict.gamma
    assert [c.id for c in changes.gain] == ["q1", "q3", "q5", "q7", "q9"]
    first = changes.gain[0]
    assert (first.at_cosine, first.at_gamma, first.text) == (0.5, 1.0, "why?")
    assert [d.id for d in first.by_cosine[:2]] == ["bad1", "good1"]
    assert [d.id for d in first.by_gamma[:2]] == ["good1", "bad1"]
    right, wrong = first.by_gamma[:2]
    assert (right.grade, right.norm, right.text) == (1, pytest.approx(1.0), "right")
    assert (wrong.grade, wrong.norm) == (0, pytest.approx(2.0))
    assert wrong.text == "w" * 159 + "…"
    assert changes.gain[1].text is None


def test_where_cosine_stays_the_inner_product_is_compared():
    report = radii.audit(*long_distractors(24)[:2], long_distractors(24)[2], gamma_range=(0.0, 1.0))
    assert report.changes.gamma == 1.0
    assert report.changes.n_lose == 12
    report = radii.audit(*unrelated_norms(4), gamma_range=(-0.5, 0.25), protocol=FAST)
    assert report.changes.gamma == -0.5


@pytest.fixture(scope="module")
def hubby():
    """A corpus of its own queries, where document 0 is near everything and longest."""
    rng = np.random.default_rng(3)
    vectors = unit(rng.normal(size=(80, 6)) + 1.5) * rng.uniform(1, 3, size=(80, 1))
    ids = [f"d{row}" for row in range(80)]
    qrels = {f"d{row}": {f"d{(row + 1) % 80}": 1} for row in range(80)}
    vectors[0] = 4 * unit(unit(vectors).mean(axis=0, keepdims=True))[0]
    return Embeddings(ids, vectors), qrels


def test_hubs_and_antihubs_are_counted_as_by_brute_force(hubby):
    docs, qrels = hubby
    report = radii.audit(docs, docs, qrels, exclude_self=True, protocol=FAST)
    cosines = unit(docs.vectors) @ unit(docs.vectors).T
    np.fill_diagonal(cosines, -2)
    counts = np.bincount(np.argsort(-cosines, axis=1)[:, :10].ravel(), minlength=80)
    hubs = report.hubness
    assert [d.occurrence for d in hubs.most] == sorted(counts, reverse=True)[:10]
    assert {d.id for d in hubs.never} <= {f"d{row}" for row in np.flatnonzero(counts == 0)}
    assert len(hubs.never) == min(10, (counts == 0).sum()) > 0
    lengths = [d.norm for d in hubs.never]
    assert lengths == sorted(lengths, reverse=True)


def test_a_sample_holds_the_documents_own_numbers_and_is_bounded(hubby, monkeypatch):
    docs, qrels = hubby
    monkeypatch.setattr("radii.exhibits.SAMPLED", 30)
    first, again = (
        radii.audit(
            docs, docs, qrels, exclude_self=True, protocol=FAST, signals={"row": np.arange(80.0)}
        ).sample
        for _ in range(2)
    )
    assert first == again
    assert len(first.ids) == len(set(first.ids)) == len(first.norm) == 30
    rows = [docs.rows[name] for name in first.ids]
    np.testing.assert_allclose(first.norm, docs.norms[rows], rtol=1e-5)
    np.testing.assert_array_equal(first.signals["row"], rows)
    assert set(first.signals) == {"row", "centrality", "k-occurrence"}


def test_a_report_of_the_first_version_is_still_read(hubby):
    docs, qrels = hubby
    report = json.loads(radii.audit(docs, docs, qrels, exclude_self=True, protocol=FAST).model_dump_json())
    del report["sample"], report["changes"], report["norms"]["histogram"]
    for name in ("steps", "gain_low", "gain_high"):
        del report["path"][name]
    for name in ("most", "never"):
        del report["hubness"][name]
    for document in report["norms"]["longest"]:
        del document["occurrence"]
    old = Report.model_validate(report | {"schema_version": "1.0"})
    assert (old.sample, old.changes, old.path.steps, old.hubness.most) == (None, None, None, [])


def test_progress_is_told_stage_by_stage_and_ends_at_the_whole():
    docs, queries, qrels = random_corpus()
    told = []
    radii.audit(docs, queries, qrels, protocol=FAST, progress=lambda *words: told.append(words))
    ranking = [(done, total) for stage, done, total in told if stage == "ranking"]
    assert ranking == sorted(ranking)
    assert ranking[-1] == (60, 60)  # documents, read for all folds together
