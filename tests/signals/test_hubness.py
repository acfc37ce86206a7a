"""Hubness: by hand, brute force, bounds, kiez, and the demo."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from radii import load
from radii.data.demo import paths
from radii.signals.hubness import antihubs, hubs, k_occurrence, robin_hood, skewness, summarise


@st.composite
def neighbour_lists(draw):
    n_docs = draw(st.integers(1, 12))
    k = draw(st.integers(1, n_docs))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n_queries = draw(st.integers(1, 10))
    return np.array([rng.permutation(n_docs)[:k] for _ in range(n_queries)]), n_docs


def cosine_neighbours(vectors, k):
    """Rows of the k nearest others, by brute force."""
    units = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    cosines = units @ units.T
    np.fill_diagonal(cosines, -np.inf)
    return np.argsort(-cosines, axis=1, kind="stable")[:, :k]


def test_by_hand():
    counts = k_occurrence(np.array([[0, 1], [0, 2], [0, 1], [0, 3]]), n_docs=5)
    assert counts.tolist() == [4, 2, 1, 1, 0]
    # Mean 1.6; deviations 2.4, 0.4, −0.6, −0.6, −1.6.
    assert robin_hood(counts) == pytest.approx(0.5 * 5.6 / 8)
    second, third = (5.76 + 0.16 + 0.36 * 2 + 2.56) / 5, (13.824 + 0.064 - 0.216 * 2 - 4.096) / 5
    assert skewness(counts) == pytest.approx(third / second**1.5)
    assert hubs(counts) == 1  # 4 > 3.2
    assert antihubs(counts) == 1
    summary = summarise(counts)
    assert (summary.expected, summary.largest) == (1.6, 4.0)
    assert (summary.skewness, summary.robin_hood) == (skewness(counts), robin_hood(counts))
    assert (summary.hubs, summary.antihubs) == (1, 1)


def test_twice_the_expected_is_not_yet_a_hub():
    assert hubs(np.array([4.0, 2.0, 0.0])) == 0
    assert hubs(np.array([5.0, 2.0, 0.0])) == 1


def test_equal_counts():
    summary = summarise(np.full(7, 3.0))
    assert (summary.skewness, summary.robin_hood, summary.hubs, summary.antihubs) == (0, 0, 0, 0)


def test_one_document_takes_all():
    n = 8
    counts = k_occurrence(np.zeros((5, 1), dtype=np.uint8), n_docs=n)
    assert robin_hood(counts) == pytest.approx((n - 1) / n)
    assert (hubs(counts), antihubs(counts)) == (1, n - 1)


@given(neighbour_lists())
def test_counts_and_bounds(case):
    top, n_docs = case
    counts = k_occurrence(top, n_docs)
    assert counts.dtype == np.float64
    assert counts.tolist() == [sum(d in row for row in top.tolist()) for d in range(n_docs)]
    assert counts.sum() == top.size
    assert 0 <= robin_hood(counts) < 1
    assert np.isfinite(skewness(counts))
    expected = top.size / n_docs
    assert hubs(counts) == sum(c > 2 * expected + 1e-9 for c in counts)
    assert hubs(counts) + antihubs(counts) <= n_docs


@given(neighbour_lists(), st.randoms())
def test_renaming_documents_permutes_the_counts(case, random):
    top, n_docs = case
    name = list(range(n_docs))
    random.shuffle(name)
    renamed = k_occurrence(np.array(name)[top], n_docs)
    assert renamed[name].tolist() == k_occurrence(top, n_docs).tolist()
    assert robin_hood(renamed) == pytest.approx(robin_hood(k_occurrence(top, n_docs)))


@pytest.mark.parametrize(
    ("top", "fragment"),
    [
        ([[0, 3]], "rows outside 0 … 2 for queries 0"),
        ([[0, 1], [2, -1]], "queries 1"),
        ([[0, 1], [2, 2]], "a document twice in the lists of queries 1"),
        ([0, 1], "shape (2,)"),
        ([[0.5, 1.0]], "float64"),
        ([[]], "shape (1, 0)"),
    ],
)
def test_faulty_lists_are_refused(refused, top, fragment):
    refused(lambda: k_occurrence(top, n_docs=3), fragment)


def test_nothing_retrieved_is_refused(refused):
    refused(lambda: robin_hood(np.zeros(4)), "sum to 0")


def lists_with_hubs():
    # An offset from the origin makes hubs: long shadows of the common direction.
    return cosine_neighbours(np.random.default_rng(4).normal(size=(300, 20)) + 1.0, k=7)


def test_same_as_kiez():
    # kiez 0.5.0 counts over as many documents as there are queries, and N ≥ 2k as hubs: so one query per
    # document here, and a factor that no count meets exactly.
    analysis = pytest.importorskip("kiez.analysis")
    top = lists_with_hubs()
    counts = k_occurrence(top, n_docs=300)
    theirs = analysis.hubness_score(top, 300, hub_size=2 + 1e-9, return_value="all", store_k_occurrence=True)
    assert counts.tolist() == theirs["k_occurrence"].tolist()
    assert skewness(counts) == pytest.approx(theirs["k_skewness"], rel=1e-12)
    assert robin_hood(counts) == pytest.approx(theirs["robinhood"], rel=1e-12)
    assert antihubs(counts) == len(theirs["antihubs"])
    assert hubs(counts) == len(theirs["hubs"])


def test_same_as_kiez_said():
    # What kiez 0.5.0 gave for these lists, for where it is not installed: it asks for numpy below 2.
    summary = summarise(k_occurrence(lists_with_hubs(), n_docs=300))
    assert summary.skewness == pytest.approx(2.3223601979750694, rel=1e-12)
    assert summary.robin_hood == pytest.approx(0.3419047619047619, rel=1e-12)
    assert (summary.hubs, summary.antihubs) == (37, 19)


def test_the_demo_has_hubs_and_long_vectors_are_they():
    docs = load(paths().vectors)
    counts = k_occurrence(cosine_neighbours(np.asarray(docs.vectors, dtype=np.float64), k=10), len(docs))
    assert skewness(counts) == pytest.approx(6.8, abs=0.3)
    assert stats.spearmanr(docs.norms, counts).statistic == pytest.approx(0.68, abs=0.03)
    assert robin_hood(counts) == pytest.approx(0.44, abs=0.03)
