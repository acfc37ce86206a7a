"""The protocol against a plain re-implementation, and on planted truths."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings

from radii.errors import InputError
from radii.evidence.holdout import Protocol, choose, held_out
from radii.ranking.steps import Curves
from tests.ranking.test_steps import curves

FAST = Protocol(repeats=2, resamples=199)


def plain_smoothed(some: Curves, low: float, high: float) -> list[float]:
    """Mean over ±(high − low)/20 of the mean path at 401 points, by adding up every piece of every step."""
    edges = [low, *sorted({g for g in some.gamma.tolist() if low < g < high}), high]
    pieces = [(a, b, float(some.values((a + b) / 2).mean())) for a, b in pairwise(edges)]
    smoothed = []
    for centre in np.linspace(low, high, 401):
        left, right = max(low, centre - (high - low) / 20), min(high, centre + (high - low) / 20)
        area = sum(max(0.0, min(b, right) - max(a, left)) * value for a, b, value in pieces)
        smoothed.append(area / (right - left))
    return smoothed


@given(curves())
@settings(max_examples=25)
def test_choice_is_the_best_neighbourhood_nearest_zero(some):
    for low, high in [(-1.0, 1.0), (-1.0, 0.0), (-0.35, 0.62)]:
        smoothed, grid = np.array(plain_smoothed(some, low, high)), np.linspace(low, high, 401)
        gamma = choose(some, low, high)
        at = int(np.abs(grid - gamma).argmin())
        assert gamma == pytest.approx(grid[at], abs=1e-12)
        assert smoothed[at] == pytest.approx(smoothed.max(), abs=1e-9)
        # Nothing nearer 0 is clearly as good: sums in another order may tip an exact tie.
        nearer = np.abs(grid) < abs(gamma) - 1e-12
        assert (smoothed[nearer] <= smoothed[at] + 1e-9).all()


def test_choice_prefers_a_wide_hill_to_a_narrow_spike():
    """0.6 on all of [−0.8, −0.4], 0.7 on [0.5, 0.51] only."""
    hill = Curves(
        -1.0, 1.0, np.array([0.5]), np.array([-0.8, -0.4, 0.5, 0.51]), np.zeros(4, int),
        np.array([0.5, 0.6, 0.5, 0.7]), np.array([0.6, 0.5, 0.7, 0.5]),
    )  # fmt: skip
    assert choose(hill, -1.0, 1.0) == pytest.approx(-0.5)  # the nearest 0 whose ±0.1 lies all on the hill


def test_choice_in_a_range_of_one_point():
    assert choose(planted(5, 0.1, 0.1), 0.0, 0.0) == 0.0


def planted(n: int, gain: float, noise: float, seed: int = 0) -> Curves:
    """Every query gains `gain` on average below γ = −0.2, with noise, and nothing elsewhere."""
    rng = np.random.default_rng(seed)
    start = 0.5 + gain + noise * rng.normal(size=n)
    return Curves(-1.0, 1.0, start, np.full(n, -0.2), np.arange(n), start, np.full(n, 0.5))


def test_a_planted_gain_is_found_and_measured():
    got = held_out(planted(200, 0.05, 0.1), -1.0, 1.0, 0, FAST)
    assert got.gamma == pytest.approx(-0.3)
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


def test_of_two_paths_the_better_is_chosen_and_judged():
    flat, good = planted(200, 0.0, 0.1), planted(200, 0.05, 0.1)
    got = held_out([flat, good], -1.0, 1.0, 0, FAST)
    alone = held_out(good, -1.0, 1.0, 0, FAST)
    assert (got.which, got.gamma) == (1, alone.gamma)
    assert got.estimate == alone.estimate  # both paths are 1/2 at cosine
    twice = held_out([good, good], -1.0, 1.0, 0, FAST)
    assert (twice.which, twice.estimate) == (0, alone.estimate)


def test_bad_calls():
    with pytest.raises(InputError, match="3 judged queries for 5 folds"):
        held_out(planted(3, 0.0, 0.1), -1.0, 1.0, 0, FAST)
    with pytest.raises(InputError, match="hold 0"):
        held_out(planted(30, 0.0, 0.1), 0.5, 1.0, 0, FAST)
    with pytest.raises(InputError, match="folds ≥ 2"):
        Protocol(folds=1)
