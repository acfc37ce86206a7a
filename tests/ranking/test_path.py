"""The path against brute force: direct scores, every pair of lines, and ir_measures."""

from __future__ import annotations

import itertools
from itertools import pairwise

import ir_measures
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from radii.data.embeddings import Embeddings
from radii.errors import InputError
from radii.ranking.metrics import Metric
from radii.ranking.path import exponent_path
from radii.ranking.score import score
from tests.cases import corpora

METRICS = ["nDCG@5", "R@5", "RR@5", "AP@5", "P@5", "Success@5", "nDCG@1", "AP(rel=2)@3"]


def cosines_of(docs, queries):
    """cos(q, d) in float64: (n_queries, n_docs)."""
    d, q = docs.astype(np.float64), queries.astype(np.float64)
    dots = np.stack([(d * row).sum(axis=1) for row in q])
    return dots / (np.linalg.norm(d, axis=1)[None, :] * np.linalg.norm(q, axis=1)[:, None])


def ranking(docs, query_cosines, gamma):
    """Every row, best first, by the definition: cos · r^γ, ties as just above γ, then by row."""
    norms = np.linalg.norm(docs.astype(np.float64), axis=1)
    slopes = np.sign(query_cosines) * np.log(norms)
    return np.lexsort((-slopes, -score(query_cosines, norms, gamma)))


def all_meets(cosines, norms, low, high):
    """Every γ of the range at which two documents on the same side of zero score the same."""
    found = []
    for i in range(len(cosines)):
        for j in range(i):
            same_side = cosines[i] * cosines[j] > 0
            if same_side and norms[i] != norms[j]:
                ratio = np.log(abs(cosines[j])) - np.log(abs(cosines[i]))
                found.append(ratio / (np.log(norms[i]) - np.log(norms[j])))
    return np.unique([g for g in found if low <= g <= high])


def is_safe(case, cosines, gamma):
    """Whether γ is farther than 1e-9 from where any two lines of this query meet."""
    meets = all_meets(cosines, np.linalg.norm(case.docs, axis=1), case.low - 1e-6, case.high + 1e-6)
    return not meets.size or np.abs(meets - gamma).min() > 1e-9


@given(corpora())
def test_top_is_the_direct_ranking_at_every_gamma(case):
    path = exponent_path(case.docs, case.queries, k=case.k, gamma_range=(case.low, case.high))
    cosines = cosines_of(case.docs, case.queries)
    rng = np.random.default_rng(case.seed)
    for row, own in enumerate(cosines):
        for gamma in rng.uniform(case.low, case.high, 8):
            if not is_safe(case, own, gamma):
                continue
            assert path.top(row, gamma).tolist() == ranking(case.docs, own, gamma)[: case.k].tolist()
            direct = score(own, np.linalg.norm(case.docs.astype(np.float64), axis=1), gamma)
            np.testing.assert_allclose(
                path.scores(row, gamma), direct[path.top(row, gamma)], rtol=1e-9, atol=0
            )


@given(corpora())
def test_breakpoints_are_those_of_brute_force(case):
    path = exponent_path(case.docs, case.queries, k=case.k, gamma_range=(case.low, case.high))
    norms = np.linalg.norm(case.docs.astype(np.float64), axis=1)
    for row, own in enumerate(cosines_of(case.docs, case.queries)):
        # Lines that meet at mathematically equal γ may differ in the last bits: one cluster, one change.
        meets = all_meets(own, norms, case.low, case.high)
        # Whether a meeting at an end lies inside is a matter of the last bit: leave those out of both.
        meets = meets[(meets > case.low + 1e-9) & (meets < case.high - 1e-9)]
        clusters = [c for c in np.split(meets, np.flatnonzero(np.diff(meets) > 1e-9) + 1) if c.size]
        bounds = [case.low, *(c[0] for c in clusters), case.high]
        starts = [case.low, *(c[-1] for c in clusters)]
        middles = [(a + b) / 2 for a, b in zip(starts, bounds[1:], strict=True)]
        tops = [ranking(case.docs, own, g)[: case.k].tolist() for g in middles]
        expected = [c for c, (a, b) in zip(clusters, pairwise(tops), strict=True) if a != b]
        found = path.breakpoints(row)
        found = found[(found > case.low + 1e-9) & (found < case.high - 1e-9)]
        assert all(any(c[0] - 1e-12 <= g <= c[-1] + 1e-12 for c in expected) for g in found)
        assert all(any(c[0] - 1e-12 <= g <= c[-1] + 1e-12 for g in found) for c in expected)


@settings(max_examples=50)
@given(corpora(), st.sampled_from(METRICS))
def test_metric_is_ir_measures_at_every_gamma(case, name):
    k = 5
    path = exponent_path(case.docs, case.queries, k=k, gamma_range=(case.low, case.high))
    rng = np.random.default_rng(case.seed)
    n = len(case.docs)
    qrels = {
        str(q): {
            str(d): int(rng.integers(-1, 4)) for d in rng.choice(n + 2, min(n, 6), replace=False)
        }  # rows n and n+1 are judged but missing from the corpus
        for q in range(len(case.queries))
    }
    metric = Metric.parse(name)
    judged = [q for q in qrels if metric.judgement(qrels[q])]
    if not judged:
        with pytest.raises(InputError, match="none of"):
            path.metric(metric, qrels)
        return
    steps = path.metric(metric, qrels)
    assert steps.ids == judged
    cosines = cosines_of(case.docs, case.queries)
    gammas = rng.uniform(case.low, case.high, 50)
    for gamma in gammas:
        if not all(is_safe(case, cosines[int(q)], gamma) for q in judged):
            continue
        expected = reference(metric, {q: qrels[q] for q in judged}, case.docs, cosines, gamma)
        assert steps.at(gamma) == pytest.approx(np.mean(list(expected.values())), abs=1e-9)
        for q in judged:
            assert steps.query(q).at(gamma) == pytest.approx(expected[q], abs=1e-9)


def reference(metric, qrels, docs, cosines, gamma):
    """Per query by ir_measures, from the direct ranking; scores are −rank so that none of them tie."""
    run = [
        ir_measures.ScoredDoc(q, str(d), -float(rank))
        for q in qrels
        for rank, d in enumerate(ranking(docs, cosines[int(q)], gamma))
    ]
    judgements = [ir_measures.Qrel(q, d, grade) for q in qrels for d, grade in qrels[q].items()]
    measure = ir_measures.parse_measure(str(metric))
    return {m.query_id: m.value for m in ir_measures.iter_calc([measure], judgements, run)}


def test_the_theorem_by_hand():
    # One query along x. Cosines 1, 0.6, 0.8 with norms 1, 5, 2: at γ = 0 the order is 0, 2, 1; document 1
    # passes 2 where 0.6 · 5^γ = 0.8 · 2^γ, and 0 where 0.6 · 5^γ = 1; 2 passes 0 where 0.8 · 2^γ = 1.
    docs = np.array([[1.0, 0.0], [3.0, 4.0], [1.6, 1.2]])
    path = exponent_path(docs, [[1.0, 0.0]], k=3, gamma_range=(0.0, 1.0))
    expected = [
        np.log(0.8 / 0.6) / np.log(5 / 2),
        np.log(1 / 0.6) / np.log(5),
        np.log(1 / 0.8) / np.log(2),
    ]
    np.testing.assert_allclose(path.breakpoints(0), sorted(expected), rtol=1e-12)
    assert path.top(0, 0.0).tolist() == [0, 2, 1]
    assert path.top(0, 1.0).tolist() == [1, 2, 0]


def test_equal_scores_rank_the_longer_first_then_the_earlier_row():
    docs = np.array([[1.0, 0.0], [4.0, 0.0], [1.0, 0.0]])
    path = exponent_path(docs, [[1.0, 0.0]], k=3)
    assert path.top(0, 0.0).tolist() == [1, 0, 2]
    assert path.breakpoints(0).tolist() == [0.0]
    steps = path.metric("RR@1", {"0": {"1": 1}})
    assert (steps.at(-1e-12), steps.at(0.0), steps.query("0").at(1e-12)) == (0.0, 1.0, 1.0)


def test_negative_cosines_rise_when_long_vectors_are_discounted():
    docs = np.array([[-1.0, 0.0], [-4.0, 0.1]])
    assert exponent_path(docs, [[1.0, 0.0]], k=2).top(0, -1.0).tolist() == [1, 0]
    assert exponent_path(docs, [[1.0, 0.0]], k=2).top(0, 1.0).tolist() == [0, 1]


def test_zero_cosines_stay_between_positive_and_negative():
    docs = np.array([[-1.0, 0.0], [0.0, 9.0], [1.0, 50.0], [0.0, 0.1]])
    for gamma in (-1.0, 0.0, 1.0):
        assert exponent_path(docs, [[1.0, 0.0]], k=4).top(0, gamma).tolist() == [2, 1, 3, 0]


def test_a_query_never_retrieves_itself():
    rng = np.random.default_rng(0)
    vectors = Embeddings([f"d{i}" for i in range(30)], rng.normal(size=(30, 4)))
    path = exponent_path(vectors, vectors, k=29, exclude_self=True)
    for row in range(30):
        for gamma in (-0.7, 0.0, 0.3):
            assert sorted(path.top(row, gamma)) == [d for d in range(30) if d != row]


def test_only_few_documents_survive_the_pruning():
    rng = np.random.default_rng(1)
    docs = rng.normal(size=(5000, 16)) * np.exp(rng.normal(0, 0.2, size=(5000, 1)))
    path = exponent_path(docs, rng.normal(size=(20, 16)), k=10)
    assert len(path.candidates.rows) / 20 < 100


def test_power_of_two_scaling_and_shuffling_change_nothing():
    rng = np.random.default_rng(2)
    docs, queries = rng.normal(size=(300, 8)), rng.normal(size=(5, 8))
    order = rng.permutation(300)
    plain, scaled, mixed = (
        exponent_path(d, q, k=7)
        for d, q in [(docs, queries), (docs * 8, queries / 4), (docs[order], queries)]
    )
    for row in range(5):
        np.testing.assert_allclose(plain.breakpoints(row), scaled.breakpoints(row), atol=1e-9)
        np.testing.assert_allclose(plain.breakpoints(row), mixed.breakpoints(row), atol=1e-9)
        assert plain.top(row, 0.37).tolist() == order[mixed.top(row, 0.37)].tolist()


def test_a_multiplier_takes_the_place_of_the_norm():
    rng = np.random.default_rng(3)
    docs, queries, length = rng.normal(size=(50, 6)), rng.normal(size=(3, 6)), rng.integers(1, 90, 50)
    path = exponent_path(docs, queries, k=5, multiplier=length)
    unit = docs / np.linalg.norm(docs, axis=1, keepdims=True)
    as_norm = exponent_path(unit * length[:, None], queries, k=5)
    for row in range(3):
        np.testing.assert_allclose(path.breakpoints(row), as_norm.breakpoints(row), atol=1e-9)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"k": 0}, "k = 0"),
        ({"gamma_range": (1.0, -1.0)}, "gamma range"),
        ({"gamma_range": (0.0, np.inf)}, "two finite numbers"),
        ({"multiplier": [1.0]}, "shape (1,) for 2 documents"),
        ({"multiplier": [1.0, 0.0]}, "first row 1"),
        ({"multiplier": [np.nan, 1.0]}, "first row 0"),
    ],
)
def test_bad_arguments(arguments, message):
    with pytest.raises(InputError) as caught:
        exponent_path(np.eye(2), np.eye(2), **arguments)
    assert message in str(caught.value)


def test_dimensions_must_agree():
    with pytest.raises(InputError, match="3 dimensions against 2 in queries"):
        exponent_path(np.eye(3), np.eye(2))


def test_gamma_outside_the_range_is_an_error():
    path = exponent_path(np.eye(2), np.eye(2), gamma_range=(-0.5, 0.5))
    steps = path.metric("nDCG@1", {"0": {"0": 1}})
    for ask in (lambda: path.top(0, 0.6), lambda: steps.at(-0.51), lambda: path.scores(0, 9)):
        with pytest.raises(InputError, match="outside the computed range"):
            ask()


def test_a_metric_deeper_than_the_path_is_an_error():
    with pytest.raises(InputError, match=r"k=20"):
        exponent_path(np.eye(2), np.eye(2), k=10).metric("nDCG@20", {"0": {"0": 1}})


def test_unknown_queries_are_errors():
    path = exponent_path(np.eye(2), np.eye(2))
    for query in ("x", 2, -1):
        with pytest.raises(InputError):
            path.top(query, 0.0)
    with pytest.raises(InputError, match="no relevant document"):
        path.metric("RR@1", {"0": {"0": 1}}).query("1")


@pytest.mark.parametrize("order", list(itertools.permutations(range(3))), ids=str)
def test_the_middle_of_three_lines_through_one_point_leaves_no_edge(order):
    """It is second on either side: what its rank does between, change by change, is no ranking."""
    norms = np.array([0.5, 1.0, 2.0])[list(order)]
    path = exponent_path(np.outer(norms, [1.0, 1.0]), np.array([[2.0, 1.0]]), k=1)
    [middle] = np.flatnonzero(norms == 1.0)
    steps = path.metric("nDCG@1", {"0": {str(middle): 1}})
    assert (steps.edges.tolist(), steps.values.tolist()) == ([-1.0, 1.0], [0.0])
