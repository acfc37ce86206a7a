"""The protocol against a plain re-implementation, and on planted truths."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given

from radii.errors import InputError
from radii.evidence.holdout import Protocol, choose, held_out
from radii.ranking.steps import Curves
from tests.ranking.test_steps import curves

FAST = Protocol(repeats=2, resamples=199)


def plain_choice(some: Curves, low: float, high: float) -> tuple[float, float]:
    """The interval of the one-standard-error rule, by looking at every interval in turn."""
    inner = sorted({g for g in some.gamma.tolist() if low < g < high})
    edges = [low, *inner, high]
    spans = list(pairwise(edges))
    tables = np.array([some.values((a + b) / 2) for a, b in spans])
    means = tables.mean(axis=1)
    distance = [max(0.0, a, -b) for a, b in spans]
    best = min(np.flatnonzero(means >= means.max() - 1e-12), key=lambda i: distance[i])
    gap = tables[best] - tables
    error = gap.std(axis=1, ddof=1) / np.sqrt(gap.shape[1]) if gap.shape[1] > 1 else np.zeros(len(spans))
    good = np.flatnonzero(gap.mean(axis=1) <= error + 1e-12)
    return spans[min(good, key=lambda i: distance[i])]


@given(curves())
def test_choice_is_the_one_standard_error_rule(some):
    for low, high in [(-1.0, 1.0), (-1.0, 0.0), (0.0, 1.0), (-0.35, 0.62)]:
        a, b = plain_choice(some, low, high)
        gamma = choose(some, low, high)
        # Sums in another order may tip an exact tie; then both are equally good.
        same = a <= gamma <= b or some.values(gamma).mean() == pytest.approx(
            some.values((a + b) / 2).mean(), abs=1e-9
        )
        assert same


def planted(n: int, gain: float, noise: float, seed: int = 0) -> Curves:
    """Every query gains `gain` on average below γ = −0.2, with noise, and nothing elsewhere."""
    rng = np.random.default_rng(seed)
    start = 0.5 + gain + noise * rng.normal(size=n)
    return Curves(-1.0, 1.0, start, np.full(n, -0.2), np.arange(n), start, np.full(n, 0.5))


def test_a_planted_gain_is_found_and_measured():
    got = held_out(planted(200, 0.05, 0.1), -1.0, 1.0, 0, FAST)
    assert got.gamma == pytest.approx(-0.6)
    assert (got.chosen == got.gamma).all()
    np.testing.assert_allclose(got.gains, planted(200, 0.05, 0.1).start - 0.5)
    assert got.estimate.above_zero


def test_noise_keeps_cosine():
    for seed in range(20):
        got = held_out(planted(200, 0.0, 0.1, seed), -1.0, 1.0, seed, FAST)
        assert got.estimate.mean < 0.02
        if planted(200, 0.0, 0.1, seed).start.mean() < 0.5:
            assert got.gamma == 0.0


def test_no_query_judges_an_exponent_it_helped_to_choose():
    """Change one query's curve wildly: the exponents used to judge it stay the same."""
    calm = planted(40, 0.05, 0.1)
    start = calm.start.copy()
    start[7] = -1000.0
    wild = Curves(-1.0, 1.0, start, calm.gamma, calm.query, start, calm.after)
    a, b = (held_out(c, -1.0, 1.0, 3, FAST) for c in (calm, wild))
    rng = np.random.default_rng([3, 0])
    for repeat in range(2):
        own = (rng.permutation(40) % FAST.folds)[7]
        assert a.chosen[repeat, own] == b.chosen[repeat, own]
        assert (b.chosen[repeat, np.arange(5) != own] == 0.0).all()


def test_same_seed_same_evidence():
    a, b = (held_out(planted(50, 0.02, 0.1), -1.0, 1.0, 7, FAST) for _ in range(2))
    assert a.estimate == b.estimate
    assert (a.chosen == b.chosen).all()


def test_bad_calls():
    with pytest.raises(InputError, match="3 judged queries for 5 folds"):
        held_out(planted(3, 0.0, 0.1), -1.0, 1.0, 0, FAST)
    with pytest.raises(InputError, match="hold 0"):
        held_out(planted(30, 0.0, 0.1), 0.5, 1.0, 0, FAST)
    with pytest.raises(InputError, match="folds ≥ 2"):
        Protocol(folds=1)
