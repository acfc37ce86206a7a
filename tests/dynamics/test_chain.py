"""The radial chain: the closed form where steps are small, a plain numpy walk in dimensions where not."""

import numpy as np
import pytest

import radii
from radii import radial_chain, stationary_norm
from radii.errors import NumericalError


def gaussian_walk(eta, alpha, power, dim, drift, steps, runs=200, seed=0):
    """Norms of real vectors z⁺ = (1−α) z + η R^(−p) u with u = drift·ẑ + noise orthogonal to z."""
    rng = np.random.default_rng(seed)
    z = rng.normal(size=(runs, dim))
    norms = []
    for t in range(steps):
        radius = np.linalg.norm(z, axis=1, keepdims=True)
        unit = z / radius
        noise = rng.normal(size=(runs, dim))
        noise -= (noise * unit).sum(axis=1, keepdims=True) * unit
        z = (1 - alpha) * z + eta * radius**-power * (drift * unit + noise)
        if t > steps // 4:
            norms.append(np.linalg.norm(z, axis=1))
    return np.array(norms)


def samples(dim, drift, n_steps=20000, n_items=1, seed=1):
    s = np.random.default_rng(seed).chisquare(dim - 1, size=(n_steps, n_items)) + drift**2
    return np.full((n_steps, n_items), drift), s


@pytest.mark.parametrize(
    ("power", "alpha", "drift"), [(1, 0.05, 0.0), (1, 0.3, 0.5), (0, 0.2, 0.0), (0.5, 0.2, -0.3)]
)
def test_the_law_is_that_of_vectors(power, alpha, drift):
    walked = gaussian_walk(0.5, alpha, power, dim=3, drift=drift, steps=2000)
    d, s = samples(3, drift)
    law = radial_chain(eta=0.5, alpha=alpha, drift_samples=d, square_samples=s, power=power)
    error = walked.mean(axis=0).std() / len(walked[0]) ** 0.5
    assert law.mean[0] == pytest.approx(walked.mean(), abs=5 * (error + law.standard_error[0]) + 0.003)
    assert law.mean_square[0] == pytest.approx((walked**2).mean(), rel=0.01)
    np.testing.assert_allclose(law.quantiles[:, 0], np.quantile(walked, law.levels), rtol=0.03)


def test_where_steps_are_small_it_is_the_closed_form():
    d, s = samples(16, 0.0, n_steps=2000, n_items=3)
    law = radial_chain(eta=0.1, alpha=1e-3, drift_samples=d, square_samples=s)
    norm = stationary_norm(eta=0.1, alpha=1e-3, drift=0, second_moment=s.mean(axis=0))
    np.testing.assert_allclose(law.mean, norm, rtol=3e-3)


def test_where_steps_are_rare_and_large_it_is_not():
    """A walk in numpy that moves in one step of three: E R lies well off the closed form."""
    rng = np.random.default_rng(0)
    s = (rng.random((40000, 1)) < 0.3) * 20.0
    law = radial_chain(eta=1.0, alpha=0.1, drift_samples=np.zeros_like(s), square_samples=s)
    norm = stationary_norm(eta=1.0, alpha=0.1, drift=0, second_moment=s.mean())
    square, norms = 1.0, []
    for moved in rng.random(400000) < 0.3:
        square = 0.81 * square + (20.0 / square if moved else 0.0)
        norms.append(square**0.5)
    assert law.mean[0] == pytest.approx(np.mean(norms[1000:]), rel=0.02)
    assert abs(law.mean[0] / norm - 1) > 0.05


@pytest.mark.parametrize(("power", "refuses"), [(1, True), (0, False)])
def test_a_norm_without_a_mean_is_refused(refused, power, refuses):
    """Moved in 5 % of steps, damped by 10 %: P(R > x) falls like x^(−0.5) where moves are thrown by 1/R."""
    s = (np.arange(4000)[:, None] % 20 == 0) * 1.0
    setting = {"eta": 1.0, "alpha": 0.1, "drift_samples": 0 * s, "square_samples": s, "power": power}
    if refuses:
        refused(lambda: radial_chain(**setting), "0.05", "infinite")
    else:
        assert radial_chain(**setting).mean[0] > 0


def test_standard_error_is_the_spread_between_seeds():
    d, s = samples(3, 0.0, n_steps=500)
    laws = [radial_chain(eta=0.5, alpha=0.1, drift_samples=d, square_samples=s, seed=k) for k in range(40)]
    means = np.array([law.mean[0] for law in laws])
    assert means.std() == pytest.approx(np.mean([law.standard_error[0] for law in laws]), rel=0.35)


def test_one_seed_one_law_whatever_the_other_items():
    d, s = samples(3, 0.0, n_steps=500, n_items=4)
    setting = {"eta": 0.5, "alpha": 0.1, "drift_samples": d, "square_samples": s}
    law, again = radial_chain(**setting, seed=3), radial_chain(**setting, seed=3)
    np.testing.assert_array_equal(law.mean, again.mean)
    np.testing.assert_array_equal(law.quantiles, again.quantiles)
    assert (law.mean != radial_chain(**setting, seed=4).mean).all()
    fewer = radial_chain(eta=0.5, alpha=0.1, drift_samples=d[:, 2:], square_samples=s[:, 2:], seed=3)
    np.testing.assert_array_equal(fewer.mean, law.mean[2:])


def test_quantiles_are_ordered_and_hold_the_mean():
    d, s = samples(3, 0.2, n_steps=300, n_items=5)
    law = radial_chain(eta=[0.1, 0.2, 0.3, 0.4, 0.5], alpha=0.1, drift_samples=d, square_samples=s)
    assert (np.diff(law.quantiles, axis=0) > 0).all()
    assert ((law.quantiles[0] < law.mean) & (law.mean < law.quantiles[-1])).all()
    assert (np.diff(law.mean) > 0).all()  # a larger η, a larger norm
    assert (law.mean_square > law.mean**2).all()


GOOD = {"eta": 0.1, "alpha": 0.1, "drift_samples": np.zeros((50, 2)), "square_samples": np.ones((50, 2))}


@pytest.mark.parametrize(
    ("bad", "fragments"),
    [
        ({"alpha": 1.0}, ["alpha", "1"]),
        ({"eta": -1.0}, ["eta", "-1"]),
        ({"eta": [1.0, 2.0, 3.0]}, ["eta", "(3,)", "2 items"]),
        ({"drift_samples": np.zeros((50, 3))}, ["(50, 3)", "(50, 2)"]),
        ({"drift_samples": np.zeros(50), "square_samples": np.ones(50)}, ["(n_steps, n_items)"]),
        ({"drift_samples": np.zeros((9, 2)), "square_samples": np.ones((9, 2))}, ["9 steps", "30"]),
        ({"square_samples": np.full((50, 2), np.nan)}, ["square_samples", "nan"]),
        ({"drift_samples": np.full((50, 2), 2.0)}, ["square_samples", "‖u‖²"]),
        ({"square_samples": np.zeros((50, 2))}, ["equilibrium"]),
        ({"alpha": 0.0}, ["inf", "equilibrium"]),
        ({"power": -1}, ["power", "-1"]),
        ({"chains": 1}, ["chains", "1"]),
        ({"levels": [2.0]}, ["levels", "2"]),
    ],
)
def test_bad_input_names_itself(refused, bad, fragments):
    refused(lambda: radial_chain(**GOOD | bad), *fragments)


def test_a_walk_into_zero_is_numerical_trouble():
    """By hand: D = −½ and S = 4 give R = 2, and (1 − ½) 2 − 1 = 0 is what an inward step makes of it."""
    d, s = np.zeros((40, 1)), np.full((40, 1), 7.0)
    d[::2], s[::2] = -1.0, 1.0
    with pytest.raises(NumericalError, match="item 0"):
        radial_chain(eta=1.0, alpha=0.5, drift_samples=d, square_samples=s, power=0)


def test_it_is_public():
    assert radii.radial_chain is radial_chain
