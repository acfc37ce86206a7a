"""Relations: scipy as the reference, real resampling as the reference for weights, planted structure."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from radii import load
from radii.data.demo import paths
from radii.signals import relations
from radii.signals.centrality import centrality
from radii.signals.relations import (
    kendall_matrix,
    partial_spearman,
    partials,
    spearman_matrix,
    variance_explained,
)
from radii.signals.resampling import Bootstrap, concordances, mid_ranks, normalised, rank_covariances

SEEDS = st.integers(0, 2**32 - 1)
MATRICES = {
    "spearman": (spearman_matrix, stats.spearmanr, rank_covariances),
    "kendall": (kendall_matrix, stats.kendalltau, concordances),
}
KINDS = pytest.mark.parametrize("kind", MATRICES)


def some_signals(seed, n=25):
    """A continuous signal, one related to it, and one with few values, so many ties."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=n)
    return {"x": x, "y": x + rng.normal(size=n), "tied": rng.integers(0, 4, size=n)}


@KINDS
def test_by_hand(kind):
    # Ranks 1 2 3 4 against 2 1 4 3: Σd² = 4, so ρ = 1 − 24/60; 4 of 6 pairs agree.
    found = MATRICES[kind][0]({"a": [10, 20, 30, 40], "b": [0.2, 0.1, 0.4, 0.3]}, seed=0, resamples=9)
    assert found["b", "a"].estimate == pytest.approx({"spearman": 0.6, "kendall": 1 / 3}[kind], rel=1e-12)
    assert found["a", "b"] is found["b", "a"]
    assert (found.kind, found.names, list(found.pairs)) == (kind, ("a", "b"), [("a", "b")])


@KINDS
@given(SEEDS)
def test_estimates_are_scipys(kind, seed):
    matrix, reference, _ = MATRICES[kind]
    signals = some_signals(seed)
    found = matrix(signals, seed=0, resamples=1)
    for (a, b), relation in found.pairs.items():
        expected = reference(signals[a], signals[b]).statistic
        if np.isnan(expected):
            assert relation.estimate is None
        else:
            assert relation.estimate == pytest.approx(expected, abs=1e-12)


@KINDS
def test_weights_give_what_drawing_documents_gives(kind):
    _, reference, sums_of = MATRICES[kind]
    columns = np.array(list(some_signals(8).values()))
    bootstrap = Bootstrap(seed=5, resamples=20, level=0.9)
    sums = sums_of(columns, bootstrap)
    for number, weights in enumerate(bootstrap.weights(25)):
        drawn = np.repeat(columns, weights.astype(int), axis=1)
        assert drawn.shape == columns.shape
        for a, b in [(0, 1), (0, 2), (1, 2)]:
            expected = reference(drawn[a], drawn[b]).statistic
            assert normalised(sums, a, b)[number] == pytest.approx(expected, abs=1e-12)


@KINDS
@given(SEEDS)
def test_monotone_transformations_change_nothing(kind, seed):
    signals = some_signals(seed)
    bent = {"x": np.exp(3 * signals["x"]), "y": signals["y"] ** 3, "tied": 2.0 ** signals["tied"]}
    assert MATRICES[kind][0](signals, 0, resamples=9) == MATRICES[kind][0](bent, 0, resamples=9)


@KINDS
@given(SEEDS)
def test_order_of_documents_and_direction(kind, seed):
    signals = some_signals(seed)
    order = np.random.default_rng(seed).permutation(25)
    plain = MATRICES[kind][0](signals, 0, resamples=9)["x", "y"]
    shuffled = {name: column[order] for name, column in signals.items()}
    assert MATRICES[kind][0](shuffled, 0, resamples=9)["x", "y"].estimate == plain.estimate
    turned = MATRICES[kind][0](signals | {"y": -signals["y"]}, 0, resamples=9)["x", "y"]
    assert (turned.estimate, turned.resamples) == (-plain.estimate, plain.resamples)
    assert (turned.low, turned.high) == pytest.approx((-plain.high, -plain.low), abs=1e-12)


@KINDS
def test_seeds(kind):
    matrix = MATRICES[kind][0]
    assert matrix(some_signals(1), seed=3) == matrix(some_signals(1), seed=3)
    assert matrix(some_signals(1), seed=3) != matrix(some_signals(1), seed=4)


@KINDS
def test_a_constant_signal_relates_to_nothing(kind):
    found = MATRICES[kind][0](some_signals(1) | {"one": np.ones(25)}, seed=0, resamples=9)
    relation = found["one", "x"]
    assert (relation.estimate, relation.low, relation.high, relation.resamples) == (None, None, None, 0)
    assert found["x", "y"].resamples == 9


@KINDS
def test_resamples_that_are_constant_are_left_out(kind):
    # One document differs; a resample misses it with probability (1 − 1/20)^20, about 0.36.
    rare = np.eye(20)[3]
    relation = MATRICES[kind][0]({"rare": rare, "x": np.arange(20)}, seed=0, resamples=200)["rare", "x"]
    assert 100 < relation.resamples < 150
    assert -1 <= relation.low <= relation.high <= 1


@KINDS
def test_a_subsample_stands_for_many_documents(kind, monkeypatch):
    monkeypatch.setattr(relations, f"{kind.upper()}_DOCUMENTS", 400)
    rng = np.random.default_rng(2)
    x = rng.normal(size=3000)
    y = x + rng.normal(size=3000)
    relation = MATRICES[kind][0]({"x": x, "y": y}, seed=0, resamples=99)["x", "y"]
    assert (relation.n, relation.sample) == (3000, 400)
    assert relation.estimate == pytest.approx(MATRICES[kind][1](x, y).statistic, abs=0.08)
    assert relation.low < relation.estimate < relation.high


@KINDS
def test_intervals_cover_the_truth(kind):
    # Bivariate normal: ρ_s = (6/π) arcsin(r/2) and τ = (2/π) arcsin(r). 200 corpora, nominal 90 %.
    r = 0.6
    truth = {"spearman": 6 / np.pi * np.arcsin(r / 2), "kendall": 2 / np.pi * np.arcsin(r)}[kind]
    rng = np.random.default_rng(11)
    covered = 0
    for seed in range(200):
        x, noise = rng.normal(size=(2, 80))
        signals = {"x": x, "y": r * x + (1 - r * r) ** 0.5 * noise}
        relation = MATRICES[kind][0](signals, seed, resamples=199, level=0.9)["x", "y"]
        covered += relation.low <= truth <= relation.high
    assert 0.84 <= covered / 200 <= 0.96


def residual_correlation(x, y, given_columns):
    design = np.column_stack([np.ones(len(x)), *(stats.rankdata(g) for g in given_columns)])
    left = [(r := stats.rankdata(s)) - design @ np.linalg.lstsq(design, r)[0] for s in (x, y)]
    return stats.pearsonr(*left).statistic


@given(SEEDS)
def test_partial_is_the_correlation_of_rank_residuals(seed):
    signals = some_signals(seed)
    other = np.random.default_rng([seed, 1]).normal(size=25)
    for fixed in ([signals["tied"]], [signals["tied"], other], [other, other**3]):  # the last is collinear
        relation = partial_spearman(signals["x"], signals["y"], fixed, seed=0, resamples=1)
        assert relation.estimate == pytest.approx(residual_correlation(signals["x"], signals["y"], fixed))


def test_partial_of_one_given_by_its_formula():
    signals = some_signals(3)
    xy, xz, yz = (
        stats.spearmanr(signals[a], signals[b]).statistic for a, b in ("xy", ("x", "tied"), ("y", "tied"))
    )
    expected = (xy - xz * yz) / ((1 - xz**2) * (1 - yz**2)) ** 0.5
    found = partial_spearman(signals["x"], signals["y"], [signals["tied"]], seed=0, resamples=1)
    assert found.estimate == pytest.approx(expected, rel=1e-9)


def test_partial_given_nothing_is_plain():
    signals = some_signals(4)
    plain = spearman_matrix(signals, seed=2)["x", "y"]
    partial = partial_spearman(signals["x"], signals["y"], [], seed=2)
    assert partial.estimate == pytest.approx(plain.estimate)
    assert (partial.low, partial.high) == pytest.approx((plain.low, plain.high))


def test_a_common_cause_is_seen_through():
    z, e, f = np.random.default_rng(7).normal(size=(3, 1000))
    x, y = z + 0.5 * e, np.exp(z + 0.5 * f)
    assert spearman_matrix({"x": x, "y": y}, seed=0)["x", "y"].low > 0.7
    partial = partial_spearman(x, y, [z], seed=0)
    assert abs(partial.estimate) < 0.1
    assert partial.low < 0 < partial.high
    direct = partial_spearman(x, y + 2 * x, [z], seed=0)
    assert direct.low > 0.3


def test_what_the_given_determine_is_undefined():
    x, y = np.random.default_rng(0).normal(size=(2, 50))
    assert partial_spearman(x, y, [np.exp(x)], seed=0).estimate is None
    assert partial_spearman(x, np.ones(50), [y], seed=0).estimate is None
    assert partial_spearman(x, y, [np.ones(50)], seed=0).estimate is not None


def test_variance_explained_of_a_planted_curve():
    x, z, noise = np.random.default_rng(1).normal(size=(3, 2000))
    found = variance_explained(
        np.abs(stats.norm.cdf(x) - 0.5) * 12**0.5 * 2 + noise, {"x": x, "z": z}, seed=0
    )
    assert found.estimate == pytest.approx(
        0.5, abs=0.05
    )  # |u − ½| · 4√3 … has variance 1, and so has the noise
    assert found.low < found.estimate < found.high


def test_variance_explained_of_nothing_is_not_above_zero():
    rng = np.random.default_rng(2)
    found = [
        variance_explained(rng.normal(size=60), {f"s{i}": rng.normal(size=60) for i in range(4)}, seed)
        for seed in range(30)
    ]
    assert np.mean([f.estimate for f in found]) < 0
    assert max(f.estimate for f in found) < 0.2


def test_variance_explained_of_itself_and_of_a_constant():
    x = np.random.default_rng(3).uniform(size=500)
    assert variance_explained(x, {"same": x, "one": np.ones(500)}, seed=0).estimate > 0.99
    nothing = variance_explained(np.full(500, 0.1), {"x": x}, seed=0)
    assert (nothing.estimate, nothing.low, nothing.high) == (None, None, None)
    assert variance_explained(x, {"one": np.ones(500)}, seed=0).estimate == pytest.approx(0, abs=0.05)
    # Two values only: most hat functions of the ranks coincide.
    assert variance_explained(np.sign(x - 0.5), {"sign": np.sign(x - 0.5)}, seed=0).estimate == pytest.approx(
        1
    )


@pytest.mark.parametrize(
    ("signals", "fragment"),
    [
        ({"x": [1, 2, 3]}, "(3,)"),
        ({"x": [1, 2, 3], "y": [1, 2]}, "y (2,)"),
        ({"x": [1, 2], "y": [1, 2]}, "(2,)"),
        ({"x": np.ones((3, 2)), "y": np.ones((3, 2))}, "(3, 2)"),
        ({"x": [1, 2, 3], "y": [1, 2, np.nan]}, "signal y"),
        ({"x": [1, 2, 3], "y": [1, np.inf, 2]}, "signal y"),
        ({"x": ["a", "b", "c"], "y": [1, 2, 3]}, "signal x"),
    ],
)
def test_faulty_signals_are_refused(refused, signals, fragment):
    for matrix in (spearman_matrix, kendall_matrix):
        refused(lambda matrix=matrix: matrix(signals, seed=0), fragment)


def test_faulty_settings_are_refused(refused):
    x, y = np.random.default_rng(0).normal(size=(2, 9))
    refused(lambda: spearman_matrix({"x": x, "y": y}, 0, resamples=0), "0 resamples")
    refused(lambda: partial_spearman(x, y, [], 0, level=95), "95")
    refused(lambda: variance_explained(x, {"y": y}, 0, folds=5), "5 folds of 9")


def test_in_the_demo():
    docs = load(paths().vectors)
    signals = {"norm": docs.norms, "centrality": centrality(docs)}
    found = spearman_matrix(signals, seed=0)["norm", "centrality"]
    assert found.estimate == pytest.approx(0.92, abs=0.02)
    assert found.high - found.low < 0.05
    assert variance_explained(np.log(docs.norms), {"centrality": signals["centrality"]}, seed=0).low > 0.7


def test_all_partials_are_those_of_one_at_a_time():
    rng = np.random.default_rng(4)
    signals = dict(zip("abcd", rng.normal(size=(4, 60)) + rng.normal(size=60), strict=True))
    found = partials(signals, seed=3, resamples=99)
    assert list(found) == ["b", "c", "d"]
    alone = partial_spearman(signals["a"], signals["c"], [signals["b"], signals["d"]], seed=3, resamples=99)
    for end in ("estimate", "low", "high"):
        assert getattr(found["c"], end) == pytest.approx(getattr(alone, end))


def test_mid_ranks_are_those_of_scipy():
    x = np.random.default_rng(0).integers(0, 9, size=60).astype(float)
    np.testing.assert_array_equal(mid_ranks(x), stats.rankdata(x))
