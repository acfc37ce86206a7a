"""Moments: brute force over stored displacements, the textbook jackknife, refusals."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from radii.errors import NumericalError
from radii.probing.moments import NAMES, Moments

N, DIM, ETA = 7, 5, 0.01


def drawn(batches, seed=0, size=0.02):
    rng = np.random.default_rng(seed)
    z = rng.normal(size=(N, DIM)) * rng.uniform(1, 4, size=(N, 1))
    return z, rng.normal(size=(batches, N, DIM)) * size + size / 3


def collected(z, delta, groups=24):
    moments = Moments(z, ETA, groups)
    for one in delta:
        moments.add(z + one)
    return moments


def brute(z, delta):
    """The definitions of THEORY section 5, on all displacements at once."""
    norms = np.linalg.norm(z, axis=1)
    unit = z / norms[:, None]
    u = norms[:, None] * delta / ETA
    reached = z + delta
    turn = reached / np.linalg.norm(reached, axis=2, keepdims=True) - unit
    along = np.einsum("bnd,nd->bn", delta, unit)
    return {
        "drift": np.einsum("nd,nd->n", u.mean(axis=0), unit),
        "second": (u**2).sum(axis=2).mean(axis=0),
        "raw": delta.var(axis=0, ddof=1).sum(axis=1) / ETA**2,
        "scaled": u.var(axis=0, ddof=1).sum(axis=1),
        "angular": turn.var(axis=0, ddof=1).sum(axis=1) / ETA**2,
        "radial": (along**2).sum(axis=0) / (delta**2).sum(axis=(0, 2)),
    }


@given(st.integers(2, 30), st.integers(2, 9), st.integers(0, 1000))
def test_streaming_equals_the_definitions(batches, groups, seed):
    z, delta = drawn(batches, seed)
    found, truth = collected(z, delta, groups).estimates(), brute(z, delta)
    for name in NAMES:
        np.testing.assert_allclose(getattr(found, name), truth[name], rtol=1e-9, err_msg=name)


def test_halves_are_every_second_batch():
    z, delta = drawn(10)
    first, second = collected(z, delta).halves()
    np.testing.assert_allclose(first.raw, brute(z, delta[::2])["raw"])
    np.testing.assert_allclose(second.drift, brute(z, delta[1::2])["drift"])


def test_the_jackknife_of_a_mean_is_its_standard_error():
    z, delta = drawn(12)
    known = collected(z, delta).jackknife(lambda e: e.drift)
    unit = z / np.linalg.norm(z, axis=1)[:, None]
    each = np.linalg.norm(z, axis=1) * np.einsum("bnd,nd->bn", delta, unit) / ETA
    np.testing.assert_allclose(known.value, each.mean(axis=0))
    np.testing.assert_allclose(known.error, stats.sem(each, axis=0))


def test_the_jackknife_of_heat_is_the_textbooks():
    z, delta = drawn(9)
    known = collected(z, delta).jackknife(lambda e: e.angular)
    left = np.array([brute(z, np.delete(delta, b, axis=0))["angular"] for b in range(9)])
    np.testing.assert_allclose(known.error, np.sqrt(8 / 9 * ((left - left.mean(axis=0)) ** 2).sum(axis=0)))


def test_unequal_groups_estimate_the_same_error():
    # 25 batches in 8 groups: one of 4, seven of 3. Over many draws the variance of a mean is s²/25.
    found = [collected(*drawn(25, seed), groups=8).jackknife(lambda e: e.drift) for seed in range(60)]
    norms = [np.linalg.norm(drawn(25, seed)[0], axis=1) for seed in range(60)]
    ratio = np.array([k.error**2 / (n * 0.02 / ETA) ** 2 for k, n in zip(found, norms, strict=True)])
    assert ratio.mean() * 25 == pytest.approx(1.0, abs=0.1)


def test_reliability_is_high_where_heats_differ_and_none_where_nothing_does():
    rng = np.random.default_rng(0)
    z = rng.normal(size=(40, 6))
    heat = np.geomspace(0.01, 1, 40)[:, None]
    delta = rng.normal(size=(24, 40, 6)) * heat * 1e-3
    rho, whole = collected(z, delta).reliability("raw")
    assert rho > 0.9
    assert whole == pytest.approx(2 * rho / (1 + rho))
    assert collected(z, np.zeros_like(delta)).reliability("raw") == (None, None)


def test_without_displacement_all_is_zero():
    z, delta = drawn(4)
    found = collected(z, np.zeros_like(delta)).estimates()
    for name in NAMES:
        assert getattr(found, name).tolist() == [0.0] * N


def test_memory_does_not_grow_with_batches():
    z, delta = drawn(3)
    moments = collected(z, delta, groups=4)
    before = moments._sum.nbytes + moments._turn.nbytes
    for one in np.repeat(delta, 20, axis=0):
        moments.add(z + one)
    assert moments._sum.nbytes + moments._turn.nbytes == before == 16 * 4 * N * DIM


def test_refusals(refused):
    z, delta = drawn(4)
    refused(lambda: Moments(np.vstack([z, np.zeros(DIM)]), ETA), "row 7")
    refused(lambda: Moments(z, ETA, groups=1), "1")
    refused(lambda: collected(z, delta[:1]).estimates(), "batches: 1")
    refused(lambda: collected(z, delta[:2]).jackknife(lambda e: e.raw), "batches: 2")
    refused(lambda: collected(z, delta[:3]).halves(), "batches: 1")
    with pytest.raises(NumericalError, match="lower the rate"):
        Moments(z, ETA).add(np.full_like(z, np.inf))
