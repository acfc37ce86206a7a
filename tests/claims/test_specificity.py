import numpy as np
import pytest

from radii.claims.specificity import Gains, held_out_by_page, mean_gain, over_pages, slope, some_pages
from radii.data.collection import Collection
from radii.data.texts import Texts
from radii.evidence.holdout import choose
from radii.ranking.path import exponent_path
from tests.planted import random_corpus


@pytest.fixture(scope="module")
def curves():
    docs, queries, qrels = random_corpus()
    return exponent_path(docs, queries).metric("nDCG@10", qrels).curves


def test_a_page_has_no_say_in_its_own_exponent(curves):
    """Pages of one query in as many folds: leave one out, done here by hand."""
    pages = ["a", "b", "c", "d", "e"]
    five = curves.part(np.arange(5))
    expected = []
    for row in range(5):
        others = five.part(np.array([r for r in range(5) if r != row]))
        gamma = choose(others, -1.0, 1.0)
        expected.append(five.values(gamma)[row] - five.values(0.0)[row])
    np.testing.assert_allclose(held_out_by_page(five, pages, 1), expected)


def test_queries_of_one_page_are_judged_together(curves):
    """Two pages and five folds: each page is judged by the exponent of the other."""
    pages = ["a"] * 10 + ["b"] * 20
    rows = np.arange(10), np.arange(10, 30)
    found = held_out_by_page(curves, pages, 3)
    for mine, other in (rows, rows[::-1]):
        gamma = choose(curves.part(other), -1.0, 1.0)
        np.testing.assert_allclose(found[mine], (curves.values(gamma) - curves.values(0.0))[mine])


def test_slopes_and_means_by_hand():
    gains = Gains(np.array([0.0, 0.1, 0.2, 0.5]), np.array([0.0, 1.0, 2.0, 2.0]), ["a", "a", "b", "b"])
    assert mean_gain(gains, np.ones(4)) == pytest.approx(0.2)
    assert mean_gain(gains, np.array([1.0, 1, 0, 0])) == pytest.approx(0.05)
    assert slope(gains, np.array([1.0, 1, 1, 0])) == pytest.approx(0.1)
    assert slope(gains, np.ones(4)) == pytest.approx(np.polyfit(gains.depth, gains.gain, 1)[0])


def test_pages_are_the_unit_of_the_interval():
    """Equal queries on one page count once: the interval is as wide as that of pages alone."""
    rng = np.random.default_rng(0)
    each = rng.normal(size=40)
    pages = [str(n) for n in range(40)]
    alone = Gains(each, np.zeros(40), pages)
    repeated = Gains(np.repeat(each, 25), np.zeros(1000), [page for page in pages for _ in range(25)])
    one, many = (over_pages(gains, mean_gain, 999) for gains in (alone, repeated))
    assert many == pytest.approx(one)
    assert one[1] < one[0] < one[2]
    # Of the normal distribution: ± 1.96 / √40.
    assert one[2] - one[1] == pytest.approx(2 * 1.96 * each.std() / np.sqrt(40), rel=0.15)


def test_some_pages_keep_their_queries_and_paragraphs():
    docs = Texts(["p1", "p2", "p3"], ["one", "two", "three"])
    queries = Texts(["a", "a/x", "b/y"], ["a", "a x", "b y"])
    qrels = {"a": {"p3": 1}, "a/x": {"p1": 1}, "b/y": {"p2": 1}}
    found = some_pages(Collection(docs, queries, qrels, {"a": 0, "a/x": 1, "b/y": 1}), 1)
    assert (found.docs.ids, found.queries.ids) == (["p1", "p3"], ["a", "a/x"])
    assert found.qrels == {"a": {"p3": 1}, "a/x": {"p1": 1}}
