"""Step functions: evaluation, the best interval, and means over subsets against brute force."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from radii.errors import InputError
from radii.ranking.steps import Curves, StepFunction


@st.composite
def curves(draw):
    """A few queries with random changes, some of them at the same γ."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n, changes = draw(st.integers(1, 6)), draw(st.integers(0, 20))
    low, high = -1.0, 1.0
    gamma = np.sort(rng.integers(-9, 10, changes) / 10)
    query = rng.integers(0, n, changes)
    keep = [
        i for i in range(changes) if not any(gamma[j] == gamma[i] and query[j] == query[i] for j in range(i))
    ]
    gamma, query = gamma[keep], query[keep]
    start, after = rng.random(n), rng.random(len(keep))
    now, before = start.copy(), np.empty(len(keep))
    for i, q in enumerate(query):
        before[i], now[q] = now[q], after[i]
    return Curves(low, high, start, gamma, query, before, after)


@given(curves())
def test_mean_is_the_mean_of_the_queries(some):
    mean = some.mean()
    for gamma in (mean.edges[:-1] + mean.edges[1:]) / 2:
        each = [some.one(row).at(gamma) for row in range(len(some))]
        np.testing.assert_allclose(some.values(gamma), each, atol=0)
        assert mean.at(gamma) == pytest.approx(np.mean(each), abs=1e-12)


@given(curves(), st.randoms(use_true_random=False))
def test_a_part_is_the_same_queries_on_a_narrower_range(some, random):
    rows = np.array(random.sample(range(len(some)), random.randint(1, len(some))))
    low, high = sorted([random.uniform(-1, 1), random.uniform(-1, 1)])
    part = some.part(rows, low, high)
    assert (part.low, part.high, len(part)) == (low, high, len(rows))
    for gamma in (g for g in np.linspace(low, high, 17) if g < high):
        np.testing.assert_allclose(part.values(gamma), some.values(gamma)[rows], atol=0)


@given(curves())
def test_best_is_the_maximum_nearest_zero(some):
    mean = some.mean()
    best = mean.best()
    assert best.value == pytest.approx(mean.values.max(), abs=1e-12)
    assert best.low <= best.gamma <= best.high
    assert mean.at(best.gamma) == pytest.approx(best.value, abs=1e-11)


def test_best_is_cosine_when_nothing_changes():
    flat = StepFunction(np.array([-1.0, -0.5, 0.3, 1.0]), np.array([0.4, 0.4, 0.4]))
    assert flat.best().gamma == 0.0


def test_best_by_hand():
    steps = StepFunction(np.array([-1.0, -0.6, -0.2, 0.5, 1.0]), np.array([0.9, 0.1, 0.2, 0.9]))
    assert steps.best()[:] == (0.75, 0.9, 0.5, 1.0)  # 0.5 is nearer to 0 than −0.6


@pytest.mark.parametrize("gamma", [-1.1, 1.0001, np.nan])
def test_outside_is_an_error(gamma):
    with pytest.raises(InputError, match="outside the computed range"):
        StepFunction(np.array([-1.0, 1.0]), np.array([0.5])).at(gamma)


@given(curves(), st.randoms(use_true_random=False))
def test_frozen_queries_stand_still_and_others_do_not_notice(some, random):
    still = np.array([random.random() < 0.5 for _ in range(len(some))])
    cold = some.frozen(still, 0.25)
    for gamma in np.linspace(-1, 1, 9):
        expected = np.where(still, some.values(0.25), some.values(gamma))
        np.testing.assert_array_equal(cold.values(gamma), expected)
