"""What a bank of queries says, against plain formulas, and however it is computed."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import logsumexp

from radii.data.embeddings import Embeddings
from radii.ranking import bank, threads
from radii.ranking.bank import NEIGHBOURS, TEMPERATURE, ask_all, ask_bank
from radii.ranking.search import Search
from tests.planted import unit

FOLD = np.arange(45) % 5
SELF = np.where(np.arange(45) < 20, np.arange(45), -1)  # the first twenty queries are documents too


def corpus(n=70):
    rng = np.random.default_rng(0)
    docs, queries = rng.normal(size=(n, 6)) + 0.5, rng.normal(size=(45, 6)) + 0.3
    docs[33] = 2 * docs[12]  # equal cosines: the earlier row comes first
    return docs, queries


@pytest.fixture(params=["plain", "streamed"])
def way(request, monkeypatch):
    if request.param == "streamed":
        monkeypatch.setattr(bank, "_SMALL", 0)
        monkeypatch.setattr(bank, "_ROWS", 16)
    return request.param


def test_by_brute_force(way):
    docs, queries = corpus()
    found = ask_bank(Embeddings.of(docs), Embeddings.of(queries), FOLD, SELF)
    cosines = unit(docs) @ unit(queries).T
    cosines[np.arange(20), np.arange(20)] = -1.0
    tops = np.argsort(-cosines.T.round(6), axis=1, kind="stable")[:, :NEIGHBOURS]
    for f in range(5):
        others = cosines[:, f != FOLD]
        nearest = np.sort(others, axis=1)[:, -NEIGHBOURS:]
        np.testing.assert_allclose(found.near[f], nearest.mean(axis=1), atol=1e-6)
        np.testing.assert_allclose(found.last[f], nearest[:, 0], atol=1e-6)
        mass = TEMPERATURE * logsumexp(others / TEMPERATURE, axis=1)
        np.testing.assert_allclose(found.mass[f], mass, atol=1e-5)
        count = np.bincount(tops[f != FOLD].ravel(), minlength=70)
        assert found.occurrence[f].tolist() == count.tolist()
        assert set(np.flatnonzero(found.first[f])) == set(tops[f != FOLD, 0])
    assert found.total_occurrence.tolist() == np.bincount(tops.ravel(), minlength=70).tolist()


def test_a_query_never_speaks_about_itself(way):
    """Whatever a fold's queries are, what they are judged by stays the same."""
    docs, queries = corpus()
    nobody = np.full(45, -1)
    before = ask_bank(Embeddings.of(docs), Embeddings.of(queries), FOLD, nobody)
    queries[FOLD == 2] *= -3.0
    after = ask_bank(Embeddings.of(docs), Embeddings.of(queries), FOLD, nobody)
    for what in ("near", "last", "mass", "occurrence", "first"):
        np.testing.assert_allclose(getattr(before, what)[2], getattr(after, what)[2], atol=1e-6)
        assert (getattr(before, what)[1] != getattr(after, what)[1]).any()


def test_all_queries_together(way):
    docs, queries = corpus()
    found = ask_all(Embeddings.of(docs), Embeddings.of(queries), SELF)
    cosines = unit(docs) @ unit(queries).T
    cosines[np.arange(20), np.arange(20)] = -1.0
    nearest = np.sort(cosines, axis=1)[:, -NEIGHBOURS:]
    np.testing.assert_allclose(found.near[0], nearest.mean(axis=1), atol=1e-6)
    np.testing.assert_allclose(
        found.mass[0], TEMPERATURE * logsumexp(cosines / TEMPERATURE, axis=1), atol=1e-5
    )
    tops = np.argsort(-cosines.T.round(6), axis=1, kind="stable")[:, :NEIGHBOURS]
    assert found.occurrence[0].tolist() == np.bincount(tops.ravel(), minlength=70).tolist()


def test_fewer_queries_than_neighbours(way):
    docs, queries = corpus()
    some = [0, 1, 2, 3, 20]
    found = ask_bank(Embeddings.of(docs), Embeddings.of(queries[some]), np.arange(5), np.full(5, -1))
    cosines = unit(docs) @ unit(queries[some]).T
    np.testing.assert_allclose(found.near[0], cosines[:, 1:].mean(axis=1), atol=1e-6)
    np.testing.assert_allclose(found.last[0], cosines[:, 1:].min(axis=1), atol=1e-6)


def test_fewer_documents_than_neighbours(way):
    docs, queries = corpus()
    found = ask_bank(Embeddings.of(docs[:3]), Embeddings.of(queries), FOLD, np.full(45, -1))
    assert found.total_occurrence.tolist() == [45.0, 45.0, 45.0]


def test_both_ways_agree_to_the_bit_on_counts(monkeypatch):
    rng = np.random.default_rng(1)
    docs, queries = Embeddings.of(rng.normal(size=(3000, 8))), Embeddings.of(rng.normal(size=(200, 8)))
    fold = rng.permutation(200) % 5
    plain = ask_bank(docs, queries, fold, np.full(200, -1))
    monkeypatch.setattr(bank, "_SMALL", 0)
    streamed = ask_bank(docs, queries, fold, np.full(200, -1))
    assert (plain.occurrence == streamed.occurrence).all()
    assert (plain.first == streamed.first).all()
    np.testing.assert_allclose(plain.near, streamed.near, atol=1e-6)


def test_the_hub_penalty_is_that_of_nnn_retrieval():
    """The alignment means of Chowdhury et al.'s own package, arXiv 2410.24114."""
    nnn = pytest.importorskip("nnn")
    docs, queries = (unit(x).astype(np.float32) for x in corpus())
    found = ask_bank(Embeddings.of(docs), Embeddings.of(queries), FOLD, np.full(45, -1))
    reference = queries[FOLD != 3]
    ranker = nnn.NNNRanker(
        nnn.NNNRetriever(6), docs, reference, alternate_ks=NEIGHBOURS, batch_size=16, alternate_weight=0.5
    )
    np.testing.assert_allclose(found.near[3], ranker.alignment_means.numpy().ravel(), atol=1e-6)
    _, ranked = ranker.search(queries[FOLD == 3], 10)
    ours = queries[FOLD == 3] @ docs.T - 0.5 * found.near[3]
    assert ranked.tolist() == np.argsort(-ours.round(6), axis=1, kind="stable")[:, :10].tolist()


def test_parts_in_a_folder_give_the_same_bits_and_are_read_again(monkeypatch, tmp_path):
    monkeypatch.setattr(bank, "_SMALL", 0)
    monkeypatch.setattr(bank, "_ROWS", 16)
    docs, queries = (Embeddings.of(part) for part in corpus(70))
    whole = ask_bank(docs, queries, FOLD, SELF)
    computed, real = [], bank.ask_part

    def counted(some, *rest):
        computed.append(some.ids[0])
        return real(some, *rest)

    monkeypatch.setattr(bank, "ask_part", counted)
    search = Search(work=tmp_path, shard=20)  # two tiles
    for _ in range(2):
        found = ask_bank(docs, queries, FOLD, SELF, search)
        for name in ("near", "last", "mass", "occurrence", "first"):
            assert getattr(found, name).tobytes() == getattr(whole, name).tobytes()
    assert computed == [0, 32, 64]
    ask_bank(docs, queries, (FOLD + 1) % 5, SELF, search)
    assert computed == [0, 32, 64] * 2


def test_parts_may_end_in_any_order(monkeypatch, tmp_path):
    monkeypatch.setattr(bank, "_SMALL", 0)
    monkeypatch.setattr(bank, "_ROWS", 16)
    vectors, queries = corpus(70)
    docs, queries = Embeddings.of(np.vstack((vectors, vectors))), Embeddings.of(queries)  # ties go by row
    whole, real = ask_bank(docs, queries, FOLD, SELF), threads.cuts
    monkeypatch.setattr(threads, "cuts", lambda n, shard: real(n, shard)[::-1])
    found = ask_bank(docs, queries, FOLD, SELF, Search(work=tmp_path, shard=32))
    assert len(list(tmp_path.iterdir())) == 5
    for name in ("near", "last", "mass", "occurrence", "first"):
        assert getattr(found, name).tobytes() == getattr(whole, name).tobytes()
