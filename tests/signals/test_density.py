"""Local density: by hand, brute force over several blocks, invariances, exclusion of a document itself."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from radii.data.embeddings import Embeddings
from radii.signals import density
from radii.signals.density import local_density

SEEDS = st.integers(0, 2**32 - 1)


def brute_force(docs, reference, k):
    docs = docs / np.linalg.norm(docs, axis=1, keepdims=True)
    reference = reference / np.linalg.norm(reference, axis=1, keepdims=True)
    return np.sort(docs @ reference.T, axis=1)[:, -k:].mean(axis=1)


def test_by_hand():
    reference = np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0]])
    docs = np.array([[2.0, 0.0], [0.0, -3.0]])
    assert local_density(docs, reference, k=1).tolist() == [1.0, 0.0]
    assert local_density(docs, reference, k=2).tolist() == [0.5, 0.0]
    np.testing.assert_allclose(local_density(docs, reference, k=3), [0.0, -1 / 3], rtol=1e-7)


@pytest.mark.parametrize("k", [1, 3, 10, 45])
def test_agrees_with_brute_force_over_blocks(monkeypatch, k):
    # 45 reference vectors in blocks of 8: k goes over several blocks, and the last is not full.
    monkeypatch.setattr(density, "_ROWS", 8)
    rng = np.random.default_rng(3)
    docs, reference = rng.normal(size=(30, 12)), rng.normal(size=(45, 12))
    found = local_density(docs, reference, k)
    assert found.dtype == np.float64
    np.testing.assert_allclose(found, brute_force(docs, reference, k), atol=1e-6)


@given(SEEDS)
def test_scaling_and_order_change_nothing(seed):
    rng = np.random.default_rng(seed)
    docs, reference = rng.normal(size=(12, 5)), rng.normal(size=(9, 5))
    plain = local_density(docs, reference, k=4)
    order = rng.permutation(12)
    scale = np.exp(rng.normal(scale=4, size=(12, 1)))
    np.testing.assert_allclose(local_density((docs * scale)[order], reference, k=4), plain[order], atol=1e-6)
    shuffled = rng.permutation(reference) * 7.0
    np.testing.assert_allclose(local_density(docs, shuffled, k=4), plain, atol=1e-6)


@given(SEEDS)
def test_more_neighbours_are_farther(seed):
    rng = np.random.default_rng(seed)
    docs, reference = rng.normal(size=(6, 5)), rng.normal(size=(9, 5))
    by_k = np.array([local_density(docs, reference, k) for k in range(1, 10)])
    assert (np.diff(by_k, axis=0) <= 1e-6).all()
    assert np.abs(by_k).max() <= 1


def test_the_document_itself_does_not_count(monkeypatch):
    monkeypatch.setattr(density, "_ROWS", 4)
    docs = np.random.default_rng(5).normal(size=(11, 6))
    others = [np.delete(docs, row, axis=0) for row in range(11)]
    expected = [brute_force(docs[[row]], others[row], 3)[0] for row in range(11)]
    np.testing.assert_allclose(local_density(docs, docs, 3, itself=np.arange(11)), expected, atol=1e-6)
    none = local_density(docs, docs, 3, itself=np.full(11, -1))
    assert none.tolist() == local_density(docs, docs, 3).tolist()


def test_two_runs_agree_to_the_bit():
    docs = np.random.default_rng(6).normal(size=(400, 32)).astype(np.float16)
    assert local_density(docs, docs, 10).tobytes() == local_density(docs, docs, 10).tobytes()


@pytest.mark.parametrize(
    ("k", "itself", "fragment"),
    [
        (4, None, "k = 4 with 3 vectors"),
        (0, None, "k = 0"),
        (3, np.array([0, 1]), "k = 3 with 2 vectors"),
        (1, np.array([0, 3]), "itself"),
        (1, np.array([0]), "itself"),
        (1, np.array([0.0, 1.0]), "itself"),
    ],
)
def test_what_cannot_be_is_refused(refused, k, itself, fragment):
    bank = Embeddings(["a", "b", "c"], np.eye(3), "bank.npy")
    refused(lambda: local_density(np.ones((2, 3)), bank, k, itself=itself), "bank.npy", fragment)


def test_another_dimension_is_refused(refused):
    refused(lambda: local_density(np.ones((2, 3)), np.ones((2, 4)), 1), "4 dimensions", "3")
