"""Momentum and rotational equilibrium: walks of random gradients in the plane of their assumptions."""

import numpy as np
import pytest

from radii.dynamics.config import Setting
from radii.dynamics.rotational import rotational_norm
from radii.dynamics.stationary import stationary_norm
from radii.dynamics.transfer import momentum_norm, sign_norm

DIM = 12


def walk(optimiser, eta, lam, beta, persistence=0.0, steps=4000, runs=100, seed=0):
    """RMS norm of vectors under random tangential gradients g = noise / R, kept in part from step to step."""
    rng = np.random.default_rng(seed)
    z = rng.normal(size=(runs, DIM))
    m, noise = np.zeros_like(z), np.zeros_like(z)
    squares, q_second, q_lags = [], [], np.zeros(40)
    recent: list[np.ndarray] = []
    for t in range(steps):
        radius = np.linalg.norm(z, axis=1, keepdims=True)
        unit = z / radius
        noise = persistence * noise + np.sqrt(1 - persistence**2) * rng.normal(size=z.shape)
        q = noise - (noise * unit).sum(axis=1, keepdims=True) * unit
        g = q / radius
        if optimiser == "momentum":
            m = beta * m + g + lam * z
            z = z - eta * m
        else:
            m = beta * m + g
            z = (1 - eta * lam) * z - eta * m
        if t > steps // 3:
            squares.append((z**2).sum(axis=1))
            q_second.append((q**2).sum(axis=1))
            for k, earlier in enumerate(recent):
                q_lags[k] += (q * earlier).sum(axis=1).mean()
            recent = [q, *recent[:39]]
    return np.sqrt(np.mean(squares)), np.mean(q_second), q_lags / len(squares)


@pytest.mark.parametrize("optimiser", ["momentum", "sgdw"])
@pytest.mark.parametrize("persistence", [0.0, 0.8])
def test_momentum_follows_from_gradients_and_their_lags(optimiser, persistence):
    setting = Setting(optimiser=optimiser, eta=0.05, lam=0.04, beta=0.8, dim=DIM)
    norm, second, lags = walk(optimiser, 0.05, 0.04, 0.8, persistence)
    one = np.array([second])
    found = momentum_norm(setting, np.zeros(1), one, lags[:, None])
    # Coupled decay has a part in W, of the order of α, that the account leaves out.
    assert found[0] == pytest.approx(norm, rel=0.025 if optimiser == "momentum" else 0.015)
    without = momentum_norm(setting, np.zeros(1), one, lags[:0, None])
    if persistence:
        assert without[0] < 0.85 * norm
    else:
        assert rotational_norm(setting, one)[0] == pytest.approx(norm, rel=0.02)


def test_without_momentum_it_is_the_stationary_norm():
    for optimiser in ("sgd", "momentum", "sgdw", "adamw"):
        setting = Setting(optimiser=optimiser, eta=0.1, lam=0.05, beta=0.0)
        second, drift = np.array([2.0, 3.0]), np.array([0.1, -0.2])
        found = momentum_norm(setting, drift, second, np.empty((0, 2)))
        same = stationary_norm(eta=0.1, alpha=0.005, drift=drift, second_moment=second, power=setting.power)
        np.testing.assert_allclose(found, same, rtol=1e-12)


def test_what_is_not_linear_in_the_gradient_is_not_predicted():
    for optimiser in ("lion", "adam"):
        assert momentum_norm(Setting(optimiser=optimiser), np.zeros(1), np.ones(1), np.empty((0, 1))) is None


@pytest.mark.parametrize(("lam", "rotational_is_near"), [(0.5, False), (0.05, True)])
def test_signs_of_random_gradients(lam, rotational_is_near):
    """Rotational equilibrium lets momentum forget faster than decay acts; the sum over signs does not."""
    rng = np.random.default_rng(0)
    eta, dim = 0.01, 16
    z, squares = rng.normal(size=(60, dim)) * 0.5, []
    m, steps = np.zeros_like(z), int(6 / (eta * lam)) + 3000
    for t in range(steps):
        g = rng.normal(size=z.shape)
        z = (1 - eta * lam) * z - eta * np.sign(0.9 * m + 0.1 * g)
        m = 0.99 * m + 0.01 * g
        if t > steps // 2:
            squares.append((z**2).sum(axis=1))
    norm = np.sqrt(np.mean(squares))
    setting = Setting(optimiser="lion", eta=eta, lam=lam, beta=0.9, beta2=0.99, dim=dim)
    assert sign_norm(setting, np.ones(1), np.empty((0, 1)))[0] == pytest.approx(norm, rel=0.05)
    off = abs(rotational_norm(setting, np.ones(1))[0] / norm - 1)
    assert (off < 0.08) == rotational_is_near


def test_coupled_adam_is_left_out():
    assert rotational_norm(Setting(optimiser="adam"), np.ones(1)) is None


def test_adamw_by_hand():
    found = rotational_norm(Setting(optimiser="adamw", eta=0.02, lam=0.1, dim=16), np.ones(3))
    np.testing.assert_allclose(found, np.sqrt(0.02 * 16 / 0.2))
