"""The regime's rules, each on numbers that call for it; and what a factor R alone makes of a correlation."""

import numpy as np
import pytest
from scipy import stats

from radii.probing.regime import regime
from radii.probing.relate import by_radius, go_with
from radii.probing.report import Reliability, With
from radii.result import Correlation


def rho(estimate, width=0.1):
    return Correlation(estimate=estimate, low=estimate - width, high=estimate + width)


def found(raw, scaled, angular, drift, length=None, matched=None):
    """With, from plain values, or (plain, length held fixed)."""

    def one(value):
        plain, fixed = value if isinstance(value, tuple) else (value, None)
        return With(plain=rho(plain), length_fixed=None if fixed is None else rho(fixed), all_fixed=None)

    given = {"raw": raw, "scaled": scaled, "angular": angular, "drift": drift}
    given |= {name: v for name, v in (("length", length), ("matched", matched)) if v is not None}
    return {name: one(value) for name, value in given.items()}


def reliable(whole=0.99):
    return {"raw": Reliability(halves=0.9, whole=whole)}


@pytest.mark.parametrize(
    ("given", "whole", "share", "label"),
    [
        # all-MiniLM-L6-v2 as in THEORY: the factor R makes 0.94, and nothing is left of the angular heat.
        (((0.80, 0.58), (0.94, 0.8), (-0.22, -0.04), 0.1, -0.91), 0.99, 0.2, "length-controlled"),
        (((0.80, 0.58), (0.94, 0.8), (0.5, 0.4), 0.1, -0.91), 0.99, 0.2, "heat-controlled"),
        ((0.8, 0.9, 0.4, 0.1), 0.99, 0.2, "heat-controlled"),
        ((0.8, 0.9, 0.05, 0.1), 0.99, 0.2, "inconclusive"),
        # At the theory's own equilibrium (p = 1, R⁴ ∝ S) angular heat is level; matched heat is what counts.
        ((0.8, 0.9, 0.0, 0.1, None, 0.9), 0.99, 0.2, "heat-controlled"),
        ((0.8, 0.9, 0.4, 0.1, None, 0.05), 0.99, 0.2, "inconclusive"),
        ((0.05, 0.9, 0.0, 0.1, None, 0.9), 0.99, 0.2, "inconclusive"),
        (
            ((0.8, 0.58), (0.94, 0.8), (-0.22, -0.04), 0.1, -0.91, (-0.2, -0.04)),
            0.99,
            0.2,
            "length-controlled",
        ),
        ((0.0, 0.9, 0.0, 0.5), 0.99, 0.8, "drift-dominated"),
        ((0.0, 0.9, 0.0, 0.5), 0.99, 0.4, "inconclusive"),
        ((0.0, 0.9, 0.0, 0.5), 0.99, None, "inconclusive"),
        (((0.0, 0.0), (0.9, 0.5), (0.0, 0.0), (0.5, 0.0), 0.3), 0.99, 0.8, "inconclusive"),
        (((0.0, 0.0), (0.9, 0.5), (0.0, 0.0), (0.5, 0.4), 0.55), 0.99, 0.8, "drift-dominated"),
        ((0.8, 0.9, 0.4, 0.1), 0.6, 0.2, "inconclusive"),
        ((0.8, 0.9, 0.4, 0.1), None, 0.2, "inconclusive"),
    ],
)
def test_rules(given, whole, share, label):
    verdict = regime(found(*given), reliable(whole), share)
    assert verdict.label == label
    assert "surrogate" in verdict.caveat
    assert verdict.numbers["share of inputs held up by drift"] == share


def test_norms_at_the_balance_of_heat_and_damping_are_heat_controlled():
    rng = np.random.default_rng(2)
    second = np.exp(rng.normal(size=200))
    norms = second**0.25  # R⁴ = η S / (2 α)
    raw = second / norms**2 * np.exp(0.05 * rng.normal(size=200))  # as measured, of Δz = η u / R
    heats = {"raw": raw, "scaled": raw * norms**2, "angular": raw / norms**2, "matched": raw * norms**2}
    heats["drift"] = rng.normal(size=200)
    both = go_with(norms, heats, None, {}, seed=0)
    assert both["angular"].plain.low < 0.1, "level, but for what the measurement adds"
    assert regime(both, reliable(), 0.0).label == "heat-controlled"


def test_undefined_correlations_decide_nothing():
    none = With(plain=Correlation(estimate=None, low=None, high=None), length_fixed=None, all_fixed=None)
    verdict = regime(dict.fromkeys(("raw", "scaled", "angular", "drift"), none), reliable(), None)
    assert verdict.label == "inconclusive"
    assert "undefined" in verdict.meaning


def test_the_factor_alone_makes_all_where_heats_are_equal_and_little_where_they_are_wild():
    rng = np.random.default_rng(0)
    norms = rng.uniform(1, 2, size=200)
    alike = by_radius(norms, np.full(200, 3.0), seed=0)
    assert (alike.mean, alike.low, alike.high) == (1.0, 1.0, 1.0)
    wild = by_radius(norms, np.exp(rng.normal(size=200) * 20), seed=0)
    assert abs(wild.mean) < 0.1
    assert wild.low < wild.mean < wild.high


def test_norm_and_raw_heat_that_share_only_length_have_nothing_left():
    rng = np.random.default_rng(1)
    length = rng.permutation(400).astype(float)
    norms, raw = length + rng.normal(size=400) * 60, length + rng.normal(size=400) * 60
    both = go_with(norms, {"raw": raw, "length": length}, length, {"noise": rng.normal(size=400)}, seed=0)
    assert both["raw"].plain.estimate == pytest.approx(stats.spearmanr(norms, raw).statistic)
    assert both["raw"].plain.low > 0.5
    assert both["raw"].length_fixed.low < 0.05
    assert abs(both["raw"].all_fixed.estimate - both["raw"].length_fixed.estimate) < 0.05
    assert both["length"].length_fixed.estimate is None
