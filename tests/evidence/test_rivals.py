"""Other vectors and scales against plain formulas; what shares the products against what does not."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from radii.data.embeddings import Embeddings
from radii.evidence import rivals
from radii.evidence.rivals import (
    PROJECTIONS,
    all_but_the_top,
    centred,
    local_scaling,
    penalised,
    without_mean_direction,
)
from radii.ranking.bank import NEIGHBOURS, ask_bank
from radii.ranking.candidates import find_candidates
from radii.ranking.family import Family
from radii.ranking.path import ExponentPath
from radii.ranking.search import Search, Sizes
from tests.planted import both_moved, unit


@pytest.fixture
def corpus():
    rng = np.random.default_rng(0)
    return rng.normal(size=(70, 6)) + 0.5, rng.normal(size=(45, 6)) + 0.3


def ranked(docs, queries, family, k=10, sizes=None):
    """(n_queries, k) document rows."""
    nobody = np.full(len(queries), -1)
    [found] = find_candidates(docs, queries, [family], k, (0.0, 0.0), nobody, Search(sizes=sizes))
    path = ExponentPath(docs, queries, k, (0.0, 0.0), family, found)
    return np.array([path.top(row, 0.0) for row in range(len(queries))])


def test_centring_leaves_no_mean(corpus):
    docs, queries = (Embeddings.of(x) for x in corpus)
    moved, asked = both_moved(centred(docs), docs, queries)
    np.testing.assert_allclose(moved.mean(axis=0), 0.0, atol=1e-12)
    mean = unit(corpus[0]).mean(axis=0)
    np.testing.assert_allclose(asked, unit(corpus[1]) - mean, atol=1e-12)


def test_the_mean_direction_is_gone(corpus):
    docs, queries = (Embeddings.of(x) for x in corpus)
    mean = unit(corpus[0]).mean(axis=0)
    for side in both_moved(without_mean_direction(docs), docs, queries):
        np.testing.assert_allclose(side @ mean, 0.0, atol=1e-12)


def test_all_but_the_top_is_the_rest_of_a_singular_value_decomposition(corpus):
    docs, queries = (Embeddings.of(x) for x in corpus)
    moved, asked = both_moved(all_but_the_top(docs), docs, queries)
    mean = unit(corpus[0]).mean(axis=0)
    centre = unit(corpus[0]) - mean
    top = np.linalg.svd(centre)[2][0]
    np.testing.assert_allclose(moved, centre - np.outer(centre @ top, top), atol=1e-12)
    np.testing.assert_allclose(asked @ top, 0.0, atol=1e-12)


@pytest.mark.parametrize("sizes", [None, Sizes(block=50, queries=7, first=20)], ids=["plain", "streamed"])
@pytest.mark.parametrize("name", PROJECTIONS)
@settings(max_examples=10, deadline=None)
@given(seed=st.integers(0, 2**32 - 1))
def test_low_rank_changes_rank_like_the_vectors_themselves(name, sizes, seed):
    rng = np.random.default_rng(seed)
    docs = Embeddings.of((rng.normal(size=(90, 7)) + rng.normal(size=7)) * rng.uniform(0.1, 9, size=(90, 1)))
    queries = Embeddings.of(rng.normal(size=(9, 7)) + rng.normal(size=7))
    change = PROJECTIONS[name](docs)
    moved, asked = both_moved(change, docs, queries)
    cosines = unit(asked) @ unit(moved).T
    found = ranked(docs, queries, Family.fixed(change.affine(docs, queries)), sizes=sizes)
    # Equal but for rounding.
    best = -np.sort(-cosines, axis=1)[:, :10]
    np.testing.assert_allclose(np.take_along_axis(cosines, found, axis=1), best, atol=1e-9)


def test_a_document_at_the_mean_scores_nothing():
    """Of two opposite pairs and a fifth document between them, nothing is left of the fifth once centred."""
    docs = Embeddings.of(np.array([[1.0, 1, 0], [1, -1, 0], [1, 0, 1], [1, 0, -1], [1, 0, 0]]))
    affine = centred(docs).affine(docs, Embeddings.of(np.eye(3)))
    assert affine.scale[4] > 0  # its unit vector is longer than the mean
    alone = Embeddings.of(np.array([[2.0, 0.0], [2.0, 0.0]]))
    assert centred(alone).affine(alone, alone).scale.tolist() == [0.0, 0.0]


@pytest.mark.parametrize("sizes", [None, Sizes(block=50, queries=7, first=20)], ids=["plain", "streamed"])
def test_local_scaling_by_its_definition(corpus, sizes):
    """exp(−‖q̂ − d̂‖² / (σ_q σ_d)), whatever σ_q is."""
    docs, queries = (Embeddings.of(x) for x in corpus)
    fold = np.arange(45) % 5
    bank = ask_bank(docs, queries, fold, np.full(45, -1))
    distance = np.linalg.norm(unit(corpus[1])[:, None] - unit(corpus[0])[None], axis=2)
    sigma = np.sort(distance[fold != 0], axis=0)[NEIGHBOURS - 1]
    similarity = np.exp(-(distance**2) / (0.7 * sigma))
    found = ranked(docs, queries, Family.fixed(local_scaling(bank.last[0], 45)), sizes=sizes)
    assert found.tolist() == np.argsort(-similarity, axis=1)[:, :10].tolist()


def test_csls_is_half_a_hub_penalty(corpus):
    """CSLS ranks by 2 cos − r_d − r_q; r_q is the same for every document."""
    docs, queries = corpus
    fold = np.arange(45) % 5
    found = ask_bank(Embeddings.of(docs), Embeddings.of(queries), fold, np.full(45, -1))
    cosines = unit(docs) @ unit(queries).T
    near_docs = np.sort(cosines[:, fold != fold[0]], axis=1)[:, -NEIGHBOURS:].mean(axis=1)
    near_query = np.sort(cosines[:, 0])[-NEIGHBOURS:].mean()
    csls = 2 * cosines[:, 0] - near_docs - near_query
    ours = cosines[:, 0] - 0.5 * found.near[fold[0]]
    assert np.argsort(-csls).tolist() == np.argsort(-ours).tolist()


def test_a_penalty_at_one_weight(corpus):
    """cos − w b, as other vectors too: with one more dimension, d̂ and −w b, q̂ and 1."""
    docs, queries = (Embeddings.of(x) for x in corpus)
    penalty = np.random.default_rng(1).random(70)
    found = ranked(docs, queries, Family.fixed(penalised(penalty, 0.3, 45)))
    longer = np.column_stack((unit(corpus[0]), -0.3 * penalty))
    scores = np.column_stack((unit(corpus[1]), np.ones(45))) @ longer.T
    assert found.tolist() == np.argsort(-scores, axis=1)[:, :10].tolist()


def test_projections_read_together_are_those_read_alone(corpus):
    docs, queries = (Embeddings.of(x) for x in corpus)
    changes = {name: make(docs) for name, make in PROJECTIONS.items()}
    for name, together in rivals.affines(changes, docs, queries).items():
        alone = PROJECTIONS[name](docs).affine(docs, queries)
        for part in ("left", "right", "scale"):
            np.testing.assert_allclose(getattr(together, part), getattr(alone, part), rtol=1e-13, atol=1e-15)


def test_normalising_one_side_only_is_nothing_new(corpus):
    """Queries only: the inner product's ranking. Documents only: cosine's. (arXiv 2602.09229)"""
    docs, queries = corpus
    only_queries, only_docs = unit(queries) @ docs.T, queries @ unit(docs).T
    assert (np.argsort(-only_queries) == np.argsort(-(queries @ docs.T))).all()
    assert (np.argsort(-only_docs) == np.argsort(-(unit(queries) @ unit(docs).T))).all()
