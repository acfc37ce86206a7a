"""Centrality: closed forms, direct computation, invariances, vectors without a common direction."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from radii import load
from radii.data.demo import paths
from radii.data.embeddings import Embeddings
from radii.signals.centrality import centrality, mean_direction

SEEDS = st.integers(0, 2**32 - 1)


def test_two_at_right_angles():
    docs = np.array([[3.0, 0.0], [0.0, 0.5]])
    mean = mean_direction(docs)
    np.testing.assert_allclose(mean.unit, [0.5**0.5] * 2, rtol=1e-15)
    assert mean.length == pytest.approx(0.5**0.5, rel=1e-15)
    np.testing.assert_allclose(centrality(docs), [0.5**0.5] * 2, rtol=1e-15)


def test_all_in_one_direction():
    docs = np.outer([1.0, 2.0, 30.0], [2.0, -1.0, 2.0])
    assert mean_direction(docs).length == pytest.approx(1.0, rel=1e-15)
    np.testing.assert_allclose(centrality(docs), 1.0, rtol=1e-15)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_agrees_with_a_direct_computation(dtype):
    # Enough columns for several blocks.
    docs = (np.random.default_rng(1).normal(size=(900, 4096)) + 0.2).astype(dtype)
    assert len(list(Embeddings.of(docs).blocks())) > 2
    units = docs.astype(np.float64)
    units /= np.linalg.norm(units, axis=1, keepdims=True)
    mean = units.mean(axis=0)
    assert mean_direction(docs).length == pytest.approx(np.linalg.norm(mean), rel=1e-12)
    np.testing.assert_allclose(centrality(docs), units @ mean / np.linalg.norm(mean), rtol=1e-12)


@given(SEEDS)
def test_permuting_and_scaling_documents_changes_nothing(seed):
    rng = np.random.default_rng(seed)
    docs = rng.normal(size=(20, 5)) + 0.5
    order = rng.permutation(20)
    scaled = docs * np.exp(rng.normal(scale=5, size=(20, 1)))
    np.testing.assert_allclose(centrality(docs[order]), centrality(docs)[order], atol=1e-13)
    np.testing.assert_allclose(centrality(scaled), centrality(docs), atol=1e-13)


@given(SEEDS)
def test_length_is_the_mean_of_the_centralities(seed):
    docs = np.random.default_rng(seed).normal(size=(20, 5)) + 0.5
    mean = mean_direction(docs)
    assert 0 < mean.length <= 1
    assert centrality(docs, mean).mean() == pytest.approx(mean.length, rel=1e-12)


def test_direction_of_other_documents():
    towards = mean_direction(np.array([[1.0, 0.0]]))
    assert centrality(np.array([[0.0, 2.0], [-5.0, 0.0]]), towards).tolist() == [0.0, -1.0]


def test_vectors_that_cancel_are_refused(refused):
    docs = np.random.default_rng(0).normal(size=(50, 6))
    refused(lambda: centrality(np.vstack([docs, -3 * docs])), "length", "centrality")


def test_another_dimension_is_refused(refused):
    towards = mean_direction(np.ones((2, 3)))
    refused(lambda: centrality(np.ones((2, 4)), towards), "4", "3")


def test_zero_vectors_are_refused(refused):
    refused(lambda: centrality(np.array([[1.0, 0.0], [0.0, 0.0]])), "zeros")


def test_in_the_demo_the_norm_goes_with_centrality():
    docs = load(paths().vectors)
    assert stats.spearmanr(docs.norms, centrality(docs)).statistic == pytest.approx(0.92, abs=0.02)
