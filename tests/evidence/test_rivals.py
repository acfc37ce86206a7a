"""Penalties and other vectors against plain formulas."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import logsumexp

from radii.data.embeddings import Embeddings
from radii.evidence.rivals import (
    NEIGHBOURS,
    TEMPERATURE,
    all_but_the_top,
    bank_penalties,
    centred,
    without_mean_direction,
)


def unit(x):
    return x / np.linalg.norm(x, axis=1, keepdims=True)


@pytest.fixture
def corpus():
    rng = np.random.default_rng(0)
    return rng.normal(size=(70, 6)) + 0.5, rng.normal(size=(45, 6)) + 0.3


def test_penalties_by_brute_force(corpus):
    docs, queries = corpus
    fold = np.arange(45) % 5
    excluded = np.where(np.arange(45) < 20, np.arange(45), -1)  # the first twenty are documents too
    found = bank_penalties(Embeddings.of(docs), Embeddings.of(queries), fold, excluded)
    cosines = unit(docs) @ unit(queries).T
    cosines[np.arange(20), np.arange(20)] = -1.0
    for f in range(5):
        bank = cosines[:, fold != f]
        hub = np.sort(bank, axis=1)[:, -NEIGHBOURS:].mean(axis=1)
        softmax = TEMPERATURE * logsumexp(bank / TEMPERATURE, axis=1)
        np.testing.assert_allclose(found.hub[f], hub, atol=1e-6)
        np.testing.assert_allclose(found.softmax[f], softmax, atol=1e-5)


def test_a_query_never_speaks_about_itself(corpus):
    """Whatever a fold's queries are, their own penalty stays the same."""
    docs, queries = corpus
    fold = np.arange(45) % 5
    nobody = np.full(45, -1)
    before = bank_penalties(Embeddings.of(docs), Embeddings.of(queries), fold, nobody)
    queries[fold == 2] *= -3.0
    after = bank_penalties(Embeddings.of(docs), Embeddings.of(queries), fold, nobody)
    np.testing.assert_allclose(before.hub[2], after.hub[2], atol=1e-6)
    assert np.abs(before.hub[1] - after.hub[1]).max() > 0.01


def test_csls_is_half_a_hub_penalty(corpus):
    """CSLS ranks by 2 cos − r_d − r_q; r_q is the same for every document."""
    docs, queries = corpus
    fold = np.arange(45) % 5
    found = bank_penalties(Embeddings.of(docs), Embeddings.of(queries), fold, np.full(45, -1))
    cosines = unit(docs) @ unit(queries).T
    bank = fold != fold[0]
    near_docs = np.sort(cosines[:, bank], axis=1)[:, -NEIGHBOURS:].mean(axis=1)
    near_query = np.sort(cosines[:, 0])[-NEIGHBOURS:].mean()
    csls = 2 * cosines[:, 0] - near_docs - near_query
    ours = cosines[:, 0] - 0.5 * found.hub[fold[0]]
    assert np.argsort(-csls).tolist() == np.argsort(-ours).tolist()


def test_centring_leaves_no_mean(corpus):
    docs, queries = (Embeddings.of(x) for x in corpus)
    moved, asked = centred(docs, queries)
    np.testing.assert_allclose(moved.vectors.mean(axis=0), 0.0, atol=1e-6)
    mean = unit(corpus[0]).mean(axis=0)
    np.testing.assert_allclose(asked.vectors, unit(corpus[1]) - mean, atol=1e-6)
    assert moved.ids == docs.ids


def test_the_mean_direction_is_gone(corpus):
    docs, queries = (Embeddings.of(x) for x in corpus)
    mean = unit(corpus[0]).mean(axis=0)
    for side in without_mean_direction(docs, queries):
        np.testing.assert_allclose(side.vectors @ mean, 0.0, atol=1e-6)


def test_all_but_the_top_is_the_rest_of_a_singular_value_decomposition(corpus):
    docs, queries = (Embeddings.of(x) for x in corpus)
    moved, asked = all_but_the_top(docs, queries)
    mean = unit(corpus[0]).mean(axis=0)
    centre = unit(corpus[0]) - mean
    top = np.linalg.svd(centre)[2][0]
    np.testing.assert_allclose(moved.vectors, centre - np.outer(centre @ top, top), atol=1e-6)
    np.testing.assert_allclose(asked.vectors @ top, 0.0, atol=1e-6)
