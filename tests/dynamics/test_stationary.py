"""The stationary norm: every limit in closed form, the recursion as brute force, finite differences."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import radii
from radii import stationary_norm
from radii.dynamics.stationary import dominance, relaxation_time, sensitivities
from radii.errors import NumericalError

POWERS = pytest.mark.parametrize("power", [0, 0.3, 1])
RATES, DAMPINGS = st.floats(1e-4, 10), st.floats(1e-6, 0.9)
DRIFTS, MOMENTS, EXPONENTS = st.floats(-50, 50), st.floats(1e-6, 1e4), st.floats(0, 1)


def step(square, eta, alpha, drift, moment, power):
    """E‖z⁺‖² given ‖z‖²: the recursion that the equation is the fixed point of."""
    norm = square**0.5
    gain = 2 * (1 - alpha) * eta * drift * norm ** (1 - power) + eta**2 * moment * norm ** (-2 * power)
    return (1 - alpha) ** 2 * square + gain


@given(RATES, DAMPINGS, DRIFTS, MOMENTS, EXPONENTS)
def test_one_step_leaves_the_norm_where_it_is(eta, alpha, drift, moment, power):
    norm = stationary_norm(eta=eta, alpha=alpha, drift=drift, second_moment=moment, power=power)
    assert norm > 0
    terms = [
        (2 * alpha - alpha**2) * norm**2,
        2 * (1 - alpha) * eta * drift * norm ** (1 - power),
        eta**2 * moment * norm ** (-2 * power),
    ]
    # Loss = gains, to rounding of the largest of them.
    assert abs(terms[0] - terms[1] - terms[2]) <= 1e-11 * max(map(abs, terms))


@POWERS
@pytest.mark.parametrize("drift", [-0.5, 0.0, 2.0])
def test_the_recursion_ends_there_from_either_side(power, drift):
    setting = {"eta": 0.1, "alpha": 0.02, "drift": drift, "second_moment": 5.0, "power": power}
    norm = stationary_norm(**setting)
    for square in (norm**2 / 9, norm**2 * 9):
        for _ in range(3000):
            square = step(square, 0.1, 0.02, drift, 5.0, power)
        assert square**0.5 == pytest.approx(norm, rel=1e-9)


# Limits of THEORY section 2 -------------------------------------------------------------------------------


def test_heat_dominated():
    eta, alpha, moment = 0.2, np.array([1e-6, 1e-3, 0.5]), 7.0
    norm = stationary_norm(eta=eta, alpha=alpha, drift=0, second_moment=moment)
    np.testing.assert_allclose(norm**4, eta**2 * moment / (2 * alpha - alpha**2), rtol=1e-13)


def test_drift_dominated():
    norm = stationary_norm(eta=0.2, alpha=0.01, drift=3.0, second_moment=0.0)
    assert norm**2 == pytest.approx(2 * 0.99 * 0.2 * 3.0 / (0.02 - 0.0001), rel=1e-13)


@pytest.mark.parametrize("moment", [1e-3, 1e-12, 1e-30])
def test_inward_drift_and_little_heat_without_cancellation(moment):
    norm = stationary_norm(eta=0.2, alpha=0.01, drift=-3.0, second_moment=moment)
    # R² = ηS / (2(1−α)|D|) · (1 − …): the next term is a c / (4 b²) of it.
    first = 0.2 * moment / (2 * 0.99 * 3)
    correction = (0.02 - 0.0001) * 0.2**2 * moment / (4 * (0.99 * 0.2 * 3) ** 2)
    assert norm**2 == pytest.approx(first * (1 - correction), rel=max(1e-14, 3 * correction**2))


def test_no_heat_and_no_outward_drift_is_zero():
    assert stationary_norm(eta=0.1, alpha=0.1, drift=0, second_moment=0) == 0
    assert stationary_norm(eta=0.1, alpha=0.1, drift=-1, second_moment=0) == 0
    assert stationary_norm(eta=0.1, alpha=0, drift=-1, second_moment=0) == 0


def test_without_damping_inward_drift_holds_the_norm():
    norm = stationary_norm(eta=0.3, alpha=0, drift=-2.0, second_moment=5.0)
    assert norm**2 == pytest.approx(0.3 * 5 / (2 * 2), rel=1e-14)


@POWERS
@pytest.mark.parametrize(("drift", "moment"), [(0.0, 1.0), (1.0, 0.0), (1.0, 1.0)])
def test_without_damping_nothing_else_holds_it(power, drift, moment):
    assert stationary_norm(eta=0.1, alpha=0, drift=drift, second_moment=moment, power=power) == np.inf


def test_normalised_gradients():
    # p = 0, D = 0: R² = η² S / (2α − α²), without the feedback of 1/R².
    norm = stationary_norm(eta=0.01, alpha=0.001, drift=0, second_moment=16.0, power=0)
    assert norm**2 == pytest.approx(0.01**2 * 16 / (0.002 - 1e-6), rel=1e-13)


@given(st.floats(0.1, 10), st.floats(0.01, 100))
def test_scaling_laws(factor, moment):
    base = {"eta": 0.1, "alpha": 1e-4, "drift": 0.0, "second_moment": moment}
    norm = stationary_norm(**base)
    hotter = stationary_norm(**base | {"second_moment": moment * factor})
    assert hotter / norm == pytest.approx(factor**0.25)
    # λ at fixed η, then η at fixed λ (α = ηλ moves along); exact but for α².
    damped = stationary_norm(**base | {"alpha": 1e-4 * factor})
    assert damped / norm == pytest.approx(factor**-0.25, rel=1e-3)
    faster = stationary_norm(**base | {"eta": 0.1 * factor, "alpha": 1e-4 * factor})
    assert faster / norm == pytest.approx(factor**0.25, rel=1e-3)


def test_extreme_numbers_neither_overflow_nor_vanish():
    norm = stationary_norm(eta=1e-3, alpha=1e-9, drift=[1e150, -1e150], second_moment=1e300)
    assert np.isfinite(norm).all()
    assert (norm > 0).all()


def test_a_norm_beyond_float64_is_numerical_trouble_and_not_inf():
    with pytest.raises(NumericalError, match="float64"):
        stationary_norm(eta=1e10, alpha=1e-300, drift=1e100, second_moment=0)


def test_shapes_broadcast():
    norm = stationary_norm(eta=np.ones((3, 1)), alpha=0.1, drift=np.zeros(4), second_moment=1.0)
    assert norm.shape == (3, 4)
    assert norm.dtype == np.float64
    assert norm[0, 0] == stationary_norm(eta=1, alpha=0.1, drift=0, second_moment=1)


# Dominance, relaxation, sensitivities ---------------------------------------------------------------------


@given(RATES, DAMPINGS, DRIFTS, MOMENTS, EXPONENTS)
def test_dominance_is_what_dropping_the_other_changes(eta, alpha, drift, moment, power):
    setting = {"eta": eta, "alpha": alpha, "drift": drift, "second_moment": moment, "power": power}
    norm = stationary_norm(**setting)
    off = {
        "heat": abs(stationary_norm(**setting | {"drift": 0.0}) / norm - 1),
        "drift": abs(stationary_norm(**setting | {"second_moment": 0.0}) / norm - 1),
    }
    found = str(dominance(**setting, tolerance=0.05))
    close = [name for name, distance in off.items() if distance <= 0.05]
    if all(abs(distance - 0.05) > 1e-9 for distance in off.values()):
        assert found == (min(close, key=off.get) if close else "neither")


def test_dominance_by_hand():
    drift = np.array([0.0, 1e6, 30.0, -1e6, 1.0])
    alpha = np.array([0.01, 0.01, 0.01, 0.01, 0.0])
    found = dominance(eta=0.1, alpha=alpha, drift=drift, second_moment=1e5)
    # √(ac) = 0.1·√(0.0199·1e5) = 4.46; b = 0, large, 2.97 (t = 0.67), very negative; no equilibrium.
    assert found.tolist() == ["heat", "drift", "neither", "neither", "neither"]


def test_relaxation_of_heat_is_one_over_four_alpha():
    alpha = np.array([1e-5, 1e-4, 1e-3])
    steps = relaxation_time(eta=0.1, alpha=alpha, drift=0, second_moment=3)
    np.testing.assert_allclose(steps, 1 / (4 * alpha), rtol=1e-3)


@POWERS
@pytest.mark.parametrize("drift", [-0.5, 0.0, 2.0])
def test_relaxation_is_the_decay_of_a_small_deviation(power, drift):
    setting = {"eta": 0.1, "alpha": 0.02, "drift": drift, "second_moment": 5.0, "power": power}
    square = stationary_norm(**setting) ** 2
    after = step(square * (1 + 1e-6), 0.1, 0.02, drift, 5.0, power)
    rate = 1 - (after / square - 1) / 1e-6
    assert relaxation_time(**setting) == pytest.approx(1 / rate, rel=1e-4)


def test_relaxation_at_the_edges():
    assert relaxation_time(eta=0.1, alpha=0, drift=1, second_moment=1) == np.inf
    assert relaxation_time(eta=0.1, alpha=0.5, drift=0, second_moment=0) == pytest.approx(1 / 0.75)


@given(RATES, st.floats(1e-3, 0.05), DRIFTS, st.floats(0.1, 1e3), EXPONENTS)
def test_sensitivities_are_finite_differences(eta, lam, drift, moment, power):
    at = {"eta": eta, "lam": lam, "drift": drift, "second_moment": moment}

    def norm(**changed):
        values = at | changed
        damping = values["eta"] * values.pop("lam")
        return stationary_norm(alpha=damping, power=power, **values)

    found = sensitivities(**at, power=power)
    for name, value in at.items():
        h = 1e-5 * max(abs(value), 1e-2)
        numeric = (norm(**{name: value + h}) - norm(**{name: value - h})) / (2 * h)
        assert getattr(found, name) == pytest.approx(numeric, rel=1e-3, abs=1e-7 * norm() / h)


def test_sensitivities_of_heat_by_hand():
    # R⁴ ≈ ηS / (2λ): elasticities ¼, −¼ and ¼.
    found = sensitivities(eta=0.1, lam=1e-4, drift=0, second_moment=2.0)
    norm = stationary_norm(eta=0.1, alpha=1e-5, drift=0, second_moment=2.0)
    assert found.eta * 0.1 / norm == pytest.approx(0.25, abs=1e-4)
    assert found.lam * 1e-4 / norm == pytest.approx(-0.25, abs=1e-4)
    assert found.second_moment * 2 / norm == pytest.approx(0.25, rel=1e-12)


# Bad input ------------------------------------------------------------------------------------------------

GOOD = {"eta": 0.1, "alpha": 0.1, "drift": 0.0, "second_moment": 1.0}


@pytest.mark.parametrize(
    ("bad", "fragments"),
    [
        ({"eta": 0.0}, ["eta", "0", "above 0"]),
        ({"alpha": 1.0}, ["alpha", "1", "[0, 1)"]),
        ({"alpha": -0.1}, ["alpha", "-0.1"]),
        ({"alpha": [0.1, 2.0]}, ["alpha", "2 at position 1"]),
        ({"second_moment": -1.0}, ["second_moment", "-1"]),
        ({"second_moment": np.nan}, ["second_moment", "nan", "finite"]),
        ({"drift": np.inf}, ["drift", "inf"]),
        ({"drift": "much"}, ["drift", "much"]),
        ({"power": 2}, ["power", "2", "[0, 1]"]),
        ({"power": np.nan}, ["power", "nan"]),
        ({"eta": np.ones(2), "alpha": np.full(3, 0.1)}, ["eta (2,)", "alpha (3,)"]),
        ({"alpha": 0.0, "second_moment": 0.0}, ["no damping, no drift and no heat"]),
    ],
)
@pytest.mark.parametrize("function", [stationary_norm, dominance, relaxation_time])
def test_bad_input_names_itself(refused, function, bad, fragments):
    refused(lambda: function(**GOOD | bad), *fragments)


@pytest.mark.parametrize(
    ("bad", "fragments"),
    [
        ({"lam": -1.0}, ["lam", "-1"]),
        ({"lam": 20.0}, ["alpha", "2"]),
        ({"lam": 0.0}, ["no derivative"]),
        ({"second_moment": 0.0}, ["no derivative"]),
    ],
)
def test_bad_input_of_sensitivities(refused, bad, fragments):
    good = {"eta": 0.1, "lam": 0.1, "drift": 0.0, "second_moment": 1.0}
    refused(lambda: sensitivities(**good | bad), *fragments)


def test_bad_tolerance(refused):
    refused(lambda: dominance(**GOOD, tolerance=0), "tolerance", "0")


def test_it_is_public():
    assert radii.stationary_norm is stationary_norm
