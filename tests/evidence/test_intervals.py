"""Intervals and p-values against closed forms and enumeration."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from radii.errors import InputError
from radii.evidence import intervals
from radii.evidence.intervals import estimate, queries_needed


def test_interval_of_many_normal_differences_is_the_textbook_one():
    x = stats.norm.ppf((np.arange(400) + 0.5) / 400) * 0.1 + 0.02
    got = estimate(x, seed=0)
    half = stats.norm.ppf(0.975) * x.std() / np.sqrt(400)
    assert got.mean == pytest.approx(0.02, abs=1e-12)
    assert got.low == pytest.approx(0.02 - half, abs=0.05 * half)
    assert got.high == pytest.approx(0.02 + half, abs=0.05 * half)


def test_interval_is_that_of_scipy():
    x = np.random.default_rng(3).lognormal(size=40) - 1.0
    got = estimate(x, seed=0, level=0.9)
    theirs = stats.ttest_1samp(x, 0.0).confidence_interval(0.9)
    assert (got.low, got.high) == pytest.approx((theirs.low, theirs.high))


def test_queries_that_do_not_differ_do_not_change_p():
    x = np.random.default_rng(2).normal(0.1, size=80)
    padded = np.concatenate([x, np.zeros(300)])
    assert estimate(padded, seed=1).p == estimate(x, seed=1).p


def test_batches_do_not_change_p(monkeypatch):
    x = np.random.default_rng(2).normal(0.2, size=83)
    whole = estimate(x, seed=1).p
    monkeypatch.setattr(intervals, "_BATCH", 1000)
    assert estimate(x, seed=1).p == whole


def test_a_stretched_interval_is_wider_by_that_much():
    x = np.random.default_rng(2).normal(size=80)
    plain, wide = estimate(x, seed=1), estimate(x, seed=1, stretch=1.5)
    assert wide.low - x.mean() == pytest.approx(1.5 * (plain.low - x.mean()))
    assert wide.high - x.mean() == pytest.approx(1.5 * (plain.high - x.mean()))
    assert (wide.mean, wide.p) == (plain.mean, plain.p)


def test_rare_differences_are_covered():
    """One query in forty gains 1, thirty queries: the case where bootstrap intervals fail."""
    rng = np.random.default_rng(0)
    draws = (rng.random((2000, 30)) < 0.025).astype(float)
    some = [estimate(x, seed=0, resamples=99) for x in draws if x.any()]
    covered = np.mean([got.low <= 0.025 <= got.high for got in some])
    assert covered > 0.93


def test_p_of_four_differences_is_enumerated():
    # Of 16 sign patterns only all-plus and all-minus are as extreme.
    assert estimate(np.array([1.0, 2.0, 3.0, 4.0]), seed=0).p == pytest.approx(2 / 16)
    assert estimate(np.full(4, 0.5), seed=0).p == pytest.approx(2 / 16)


def test_p_is_never_zero():
    x = 1.0 + np.random.default_rng(0).normal(size=60) * 0.01
    got = estimate(x, seed=3, resamples=999)
    assert got.p == pytest.approx(1 / 1000)
    assert got.above_zero


def test_p_is_that_of_scipy():
    x = np.random.default_rng(8).normal(0.3, 1.0, size=40)
    reference = stats.permutation_test(
        (x,), np.mean, permutation_type="samples", n_resamples=20_000, rng=np.random.default_rng(0)
    ).pvalue
    assert estimate(x, seed=0, resamples=20_000).p == pytest.approx(reference, abs=4 * np.sqrt(0.05 / 20_000))


def test_equal_but_for_rounding_is_equal():
    got = estimate(np.array([0.1] * 25 + [0.1 + 1.4e-17]), seed=0)
    assert (got.low, got.high) == (got.mean, got.mean)
    assert 0 < got.p < 1e-6


def test_p_is_uniform_when_there_is_nothing():
    rng = np.random.default_rng(5)
    p = [estimate(rng.normal(size=30), seed=s, resamples=199).p for s in range(200)]
    assert stats.kstest(p, "uniform").pvalue > 1e-3


def test_no_difference_at_all():
    got = estimate(np.zeros(9), seed=0)
    assert (got.mean, got.low, got.high, got.p, got.n) == (0.0, 0.0, 0.0, 1.0, 9)
    assert not got.above_zero


def test_same_seed_same_estimate():
    x = np.random.default_rng(1).normal(size=50)
    assert estimate(x, seed=4) == estimate(x, seed=4)
    assert estimate(x, seed=4) != estimate(x, seed=5)


def test_reads_like_a_sentence():
    assert f"{estimate(np.zeros(5), seed=0):+.2f}" == "+0.00 (95 % +0.00 … +0.00)"


def test_too_few():
    with pytest.raises(InputError, match="1 judged queries"):
        estimate(np.ones(1), seed=0)


def test_queries_needed_gives_the_power_it_promises():
    rng = np.random.default_rng(0)
    n = queries_needed(0.1, 0.02)
    draws = rng.normal(0.02, 0.1, size=(4000, n))
    t = draws.mean(axis=1) / (draws.std(axis=1, ddof=1) / np.sqrt(n))
    assert (np.abs(t) > 1.96).mean() == pytest.approx(0.8, abs=0.02)
