"""A local cluster of two workers against this process: the same path to the bit, whatever is cut or dies."""

from __future__ import annotations

import os
import signal
from dataclasses import fields, replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from radii.data.embeddings import Embeddings
from radii.data.vectors import load
from radii.errors import MissingExtraError
from radii.ranking import bank, ray_bank, ray_cluster
from radii.ranking.candidates import search_all
from radii.ranking.family import Family, Group
from radii.ranking.partition import Asked
from radii.ranking.path import exponent_path
from radii.ranking.search import Search
from tests.ranking.test_partition import families_of, said_by

K, GAMMAS = 5, (-1.0, 1.0)
LOCAL = Search("numba")


@pytest.fixture(scope="module")
def cluster():
    ray = pytest.importorskip("ray")
    ray.shutdown()  # of one that another test has started
    ray.init(
        "local",
        num_cpus=2,
        include_dashboard=False,
        log_to_driver=False,
        logging_level="ERROR",
        object_store_memory=100 << 20,
    )
    yield ray
    ray.shutdown()


@pytest.fixture(scope="module")
def vectors():
    rng = np.random.default_rng(3)
    docs = (rng.normal(size=(1500, 12)) + 0.4) * np.exp(rng.normal(0, 0.3, size=(1500, 1)))
    queries = rng.normal(size=(6, 12)) + 0.4
    queries[::3] *= -1.0  # few positive cosines in a part
    return docs.astype("f4"), queries.astype("f4")


@pytest.fixture(scope="module")
def docs_file(vectors, tmp_path_factory):
    path = tmp_path_factory.mktemp("ray") / "docs.npy"
    np.save(path, vectors[0])
    return path


def shards_of(edges, n):
    ends = sorted({0, n, *edges})
    return [slice(a, b) for a, b in pairwise(ends)]


def on_cluster(docs, queries, families, edges, work=None):
    group = Group(queries, families, np.arange(len(queries)))
    asked = Asked(K, GAMMAS, Search("ray", work=work))
    found = ray_cluster.find_on_cluster(docs, group, asked, shards_of(edges, len(docs)))
    return [part.candidates for part in found]


def said(found, docs, queries, families):
    return [
        said_by(one, docs, queries, family, K, GAMMAS) for one, family in zip(found, families, strict=True)
    ]


@pytest.fixture(scope="module")
def truth(vectors):
    docs, queries = map(Embeddings.of, vectors)
    families = families_of(docs, len(queries), 0)
    excluded = np.arange(len(queries))
    [found] = search_all(docs, [Group(queries, families, excluded)], K, GAMMAS, LOCAL)
    return said(found, docs, queries, families)


@settings(max_examples=15)
@given(st.lists(st.integers(1, 1499), max_size=20), st.booleans())
def test_any_sharding_is_the_single_machine(cluster, vectors, docs_file, truth, edges, from_file):
    docs, queries = map(Embeddings.of, vectors)
    families = families_of(docs, len(queries), 0)
    read = load(docs_file) if from_file else docs
    assert said(on_cluster(read, queries, families, edges), docs, queries, families) == truth


def test_parts_enough_for_a_tree_of_three_levels(cluster, vectors, truth):
    docs, queries = map(Embeddings.of, vectors)
    families = families_of(docs, len(queries), 0)
    found = on_cluster(docs, queries, families, range(0, 1500, 20))  # 75 parts
    assert said(found, docs, queries, families) == truth


def test_a_worker_killed_in_the_middle_is_tried_again(
    cluster, vectors, docs_file, truth, tmp_path, monkeypatch
):
    real, dead = ray_cluster.find_rows, tmp_path / "dead"

    def dying(version, where, norms, first, *rest):
        found = real(version, where, norms, first, *rest)
        if first == 700 and not dead.exists():
            dead.write_text(str(os.getpid()))
            os.kill(os.getpid(), signal.SIGKILL)
        return found

    monkeypatch.setattr(ray_cluster, "find_rows", dying)
    docs, queries = map(Embeddings.of, vectors)
    families = families_of(docs, len(queries), 0)
    found = on_cluster(load(docs_file), queries, families, [300, 700, 1100])
    assert int(dead.read_text()) != os.getpid()
    assert said(found, docs, queries, families) == truth


def test_a_worker_that_always_dies_is_one_line(cluster, vectors, monkeypatch, refused):
    monkeypatch.setattr(ray_cluster, "find_rows", lambda *_: os.kill(os.getpid(), signal.SIGKILL))
    monkeypatch.setattr(ray_cluster, "RETRIES", 1)
    docs, queries = map(Embeddings.of, vectors)
    refused(lambda: on_cluster(docs, queries, [Family.power(docs.norms)], []), "2 times", "--shard-rows")


def test_finished_parts_are_not_computed_again(cluster, vectors, truth, tmp_path, monkeypatch):
    docs, queries = map(Embeddings.of, vectors)
    families = families_of(docs, len(queries), 0)
    on_cluster(docs, queries, families, [500, 1000], tmp_path)
    assert len(list(tmp_path.iterdir())) == 3

    def never(*_):
        raise RuntimeError("computed")

    monkeypatch.setattr(ray_cluster, "find_rows", never)
    found = on_cluster(docs, queries, families, [500, 1000], tmp_path)
    assert said(found, docs, queries, families) == truth
    # The same parts serve this machine alone.
    path = exponent_path(docs, queries, k=3, search=Search("numba", work=tmp_path / "own", shard=400))
    cluster_path = exponent_path(docs, queries, k=3, search=Search("ray", work=tmp_path / "own", shard=400))
    assert path.candidates.cosines.tolist() == cluster_path.candidates.cosines.tolist()


def test_norms_are_read_by_tasks_and_refused_here(cluster, vectors, docs_file, refused):
    docs = load(docs_file)
    Search("ray", shard=130).measure(docs)
    assert docs.__dict__["norms"].tolist() == Embeddings.of(vectors[0]).norms.tolist()
    broken = vectors[0].copy()
    broken[777, 3] = np.nan
    other = Embeddings.of(broken, "broken")
    refused(lambda: Search("ray", shard=130).measure(other), "first row 777")


def test_a_path_from_a_file_is_that_of_one_machine(cluster, vectors, docs_file):
    queries = vectors[1]
    one = exponent_path(load(docs_file), queries, k=K, search=LOCAL)
    other = exponent_path(load(docs_file), queries, k=K, search=Search("ray", shard=333))
    given = Embeddings.of(vectors[0]), Embeddings.of(queries)
    assert said_by(one.candidates, *given, one.family, K, GAMMAS) == said_by(
        other.candidates, *given, other.family, K, GAMMAS
    )


@pytest.mark.parametrize("from_file", [False, True])
@pytest.mark.parametrize("shard", [1, 600, 5000])  # whole tiles: 512 rows, 1024, all
def test_a_bank_of_queries_is_that_of_one_machine(cluster, tmp_path, monkeypatch, shard, from_file):
    monkeypatch.setattr(bank, "_SMALL", 0)
    docs, queries, fold, excluded = asked_of_a_bank()
    whole = bank.ask_bank(Embeddings.of(docs), queries, fold, excluded)
    np.save(tmp_path / "docs.npy", docs)
    read = load(tmp_path / "docs.npy") if from_file else Embeddings.of(docs)
    monkeypatch.setattr(bank, "ask_part", None)  # nothing is computed here
    same_bank(bank.ask_bank(read, queries, fold, excluded, Search("ray", shard=shard)), whole)


def test_parts_of_a_bank_serve_a_cluster_and_one_machine(cluster, tmp_path, monkeypatch):
    monkeypatch.setattr(bank, "_SMALL", 0)
    docs, *asked = asked_of_a_bank()
    whole = bank.ask_bank(Embeddings.of(docs), *asked)
    work = tmp_path / "own"
    work.mkdir()
    bank.ask_bank(Embeddings.of(docs), *asked, Search("numba", work=work, shard=512))
    parts = sorted(work.iterdir())
    stamps = [part.stat().st_mtime_ns for part in parts]
    assert len(parts) == 5
    parts[1].unlink()
    parts[4].unlink()
    monkeypatch.setattr(bank, "ask_part", None)
    same_bank(bank.ask_bank(Embeddings.of(docs), *asked, Search("ray", work=work, shard=512)), whole)
    assert sorted(work.iterdir()) == parts
    changed = [part.stat().st_mtime_ns != stamp for part, stamp in zip(parts, stamps, strict=True)]
    assert changed == [False, True, False, False, True]
    monkeypatch.setattr(ray_bank, "ask_rows", None)
    for backend in ("numba", "ray"):  # all of it is read
        same_bank(bank.ask_bank(Embeddings.of(docs), *asked, Search(backend, work=work, shard=512)), whole)


def asked_of_a_bank():
    """Documents of more than four tiles, many of them equal across parts; queries that are documents."""
    rng = np.random.default_rng(8)
    docs = rng.normal(size=(2100, 12)).astype("f4")
    docs[700:1400] = docs[:700]  # ties go by row
    docs[1500:2100:3] = docs[3]
    queries, fold = docs[:60] + rng.normal(0, 0.1, size=(60, 12)).astype("f4"), rng.permutation(60) % 5
    excluded = np.where(np.arange(60) % 2, rng.permutation(2100)[:60], -1)
    return docs, Embeddings.of(queries), fold, excluded


def same_bank(found, whole):
    for field in fields(whole):
        np.testing.assert_array_equal(getattr(found, field.name), getattr(whole, field.name), strict=True)


def test_another_file_on_a_node_is_refused(cluster, vectors, docs_file, refused, monkeypatch):
    real = ray_cluster.source_of
    monkeypatch.setattr(ray_cluster, "source_of", lambda *asked: replace(real(*asked), seen=(1, 1)))
    docs = load(docs_file)
    refused(lambda: Search("ray").measure(docs), docs_file, "all nodes share")


def test_another_version_on_a_node_is_refused(cluster, vectors, monkeypatch, refused):
    docs = Embeddings.of(vectors[0])
    monkeypatch.setattr(ray_cluster, "version", lambda _: "0.0.0")
    refused(lambda: Search("ray").measure(docs), "on the driver", "0.0.0")


def test_without_ray(monkeypatch, vectors):
    monkeypatch.setitem(__import__("sys").modules, "ray", None)
    with pytest.raises(MissingExtraError, match=r"radii\[ray\]"):
        Search("ray").measure(Embeddings.of(vectors[0]))


def test_rows_of_any_file_are_found_where_they_lie(tmp_path, vectors):
    """A window of a window of a map."""
    np.save(tmp_path / "docs.npy", vectors[0])
    docs = load(tmp_path / "docs.npy")
    part = Embeddings(docs.ids[100:], docs.vectors[100:], docs.source, docs.stamp)
    stored = ray_cluster.source_of(None, part, slice(7, 9))
    assert stored.opened().tolist() == vectors[0][107:109].tolist()
