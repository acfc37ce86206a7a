"""Every engine, for real: what it returns is the exact order, what it holds is what was written."""

from __future__ import annotations

import numpy as np
import pytest

from radii.data.embeddings import Embeddings
from radii.deploy.correction import Correction
from radii.deploy.engines import ENGINES, engine, engine_at
from radii.deploy.export import export, exported, restore
from radii.errors import MissingExtraError

RNG = np.random.default_rng(3)
N, DIM, K = 300, 12, 10
# Norms over two orders of magnitude; rows 0 and 1 are duplicates; the last points away from everything.
DOCS = RNG.normal(size=(N, DIM)) * np.exp(RNG.normal(size=(N, 1)))
DOCS[1] = DOCS[0]
IDS = [f"文書 {row} ü'\"%" for row in range(N - 2)] + [str(2**63 - 1), str(-(2**63))]
CORPUS = Embeddings(IDS, DOCS.astype(np.float32), "corpus")
QUERIES = RNG.normal(size=(20, DIM))
PENALTY = RNG.uniform(0.0, 0.5, size=N)
PENALTY[1] = PENALTY[0]
HUB = Correction("hub penalty", {"weight": 1.0}, np.ones(N), penalty=PENALTY)
MULTIPLIER = CORPUS.norms**-0.7
NORM = Correction("norm exponent", {"gamma": -0.7}, MULTIPLIER)

CASES = [(name, form) for name, one in ENGINES.items() for form in one.forms]


@pytest.fixture(params=CASES, ids=lambda case: "-".join(case))
def case(request):
    name, form = request.param
    return usable(name), form


def usable(name):
    one = engine(name)
    pytest.importorskip(one.package, reason=f"{name} needs the extra {one.extra}")
    return one


def cosines(docs, queries):
    unit = docs / np.linalg.norm(docs, axis=1, keepdims=True)
    return queries / np.linalg.norm(queries, axis=1, keepdims=True) @ unit.T


def in_exact_order(hits, scores, ids, k, share=1.0):
    """Hits are the k best by `scores`, up to rounding among equals; approximate ones find a share of them."""
    rows = {name: row for row, name in enumerate(ids)}
    kept = []
    for found, all_scores in zip(hits.ids, scores, strict=True):
        assert len(set(found)) == len(found)
        own = all_scores[[rows[name] for name in found]]
        assert (np.diff(own) < 1e-5).all()  # what is found is in order
        best = np.sort(all_scores)[::-1][:k]
        if share == 1.0:
            np.testing.assert_allclose(own, best, atol=1e-5)
        kept.append(np.count_nonzero(own >= best[-1] - 1e-5) / len(best))
    assert np.mean(kept) >= share


@pytest.mark.parametrize(
    ("change", "score"),
    [(NORM, cosines(DOCS, QUERIES) * MULTIPLIER), (HUB, cosines(DOCS, QUERIES) - PENALTY)],
    ids=["norm exponent", "hub penalty"],
)
def test_the_engine_ranks_as_the_correction_is_defined(case, change, score, tmp_path):
    one, form = case
    manifest = export(CORPUS, change, tmp_path / "export", form=form)
    one.write(tmp_path / "export", tmp_path / "at")
    hits = one.search(tmp_path / "at", manifest.queries(QUERIES), K)
    in_exact_order(hits, score, IDS, K, 1.0 if one.exact else 0.6)
    # Scores are the products of what was served, best first.
    served, _ = exported(tmp_path / "export")
    for query, ids, scores in zip(manifest.queries(QUERIES), hits.ids, hits.scores, strict=True):
        products = served.vectors[[served.rows[name] for name in ids]] @ query
        np.testing.assert_allclose(scores, products, atol=1e-5 * max(1.0, abs(products).max()))


def test_negative_scores_duplicates_and_fewer_documents_than_k(case, tmp_path):
    one, form = case
    few = CORPUS.part(np.arange(N - 5, N))
    few = Embeddings(few.ids, np.concatenate([few.vectors[:1], few.vectors[:1], few.vectors[2:]]), "few")
    change = Correction("norm exponent", {"gamma": 1.0}, few.norms)
    manifest = export(few, change, tmp_path / "export", form=form)
    one.write(tmp_path / "export", tmp_path / "at")
    away = -few.vectors.sum(axis=0, keepdims=True).astype(float)
    score = cosines(few.vectors.astype(float), away) * few.norms
    assert score.min() < 0
    hits = one.search(tmp_path / "at", manifest.queries(away), K)
    if one.name != "faiss-ivf":
        assert sorted(hits.ids[0]) == sorted(few.ids)
        in_exact_order(hits, score, few.ids, K)
    assert str(-(2**63)) in hits.ids[0]


def test_what_was_written_is_read_back(case, tmp_path):
    one, form = case
    export(CORPUS, NORM, tmp_path / "export", form=form)
    one.write(tmp_path / "export", tmp_path / "at")
    stored = one.read(tmp_path / "at")
    served, _ = exported(tmp_path / "export")
    assert sorted(stored.embeddings.ids) == sorted(IDS)
    order = [stored.embeddings.rows[name] for name in IDS]
    np.testing.assert_allclose(stored.embeddings.vectors[order], served.vectors, rtol=1e-6, atol=1e-7)
    assert not stored.norms_lost
    assert engine_at(tmp_path / "at") == one.name


@pytest.mark.parametrize("name", [name for name, one in ENGINES.items() if "SELECT" not in one.snippet])
def test_the_snippet_runs_as_it_stands(name, tmp_path):
    one = usable(name)
    manifest = export(CORPUS, NORM, tmp_path / "export", form=one.forms[0])
    one.write(tmp_path / "export", tmp_path / "at")
    names = {"queries": manifest.queries(QUERIES)}
    exec(one.snippet.format(location=tmp_path / "at"), names)
    if "client" in names:
        names["client"].close()


@pytest.mark.parametrize("name", ["hnswlib", "qdrant-edge"])
def test_an_engine_that_normalises_is_seen(name, tmp_path):
    one = usable(name)
    export(CORPUS, NORM, tmp_path / "export", form="ip")
    one.write(tmp_path / "export", tmp_path / "at", metric="cosine")
    assert one.read(tmp_path / "at").norms_lost


def test_the_local_mode_of_qdrant_keeps_what_a_server_would_normalise(tmp_path):
    one = usable("qdrant")
    export(CORPUS, NORM, tmp_path / "export", form="ip")
    one.write(tmp_path / "export", tmp_path / "at", metric="cosine")
    served, _ = exported(tmp_path / "export")
    assert not one.read(tmp_path / "at").norms_lost
    np.testing.assert_allclose(one.read(tmp_path / "at").embeddings.norms, served.norms, rtol=1e-5)


@pytest.mark.parametrize("name", ENGINES)
def test_a_missing_package_names_its_extra(name, monkeypatch, tmp_path):
    import sys

    one = engine(name)
    for module in [one.package, *(found for found in sys.modules if found.startswith(f"{one.package}."))]:
        monkeypatch.setitem(sys.modules, module, None)
    export(CORPUS, NORM, tmp_path / "export", form=one.forms[0])
    with pytest.raises(MissingExtraError, match=rf"radii\[{one.extra}\]"):
        one.write(tmp_path / "export", tmp_path / "at")
    assert not (tmp_path / "at").exists()


def test_what_an_engine_cannot_take_is_refused(tmp_path, refused):
    usable("faiss")
    refused(lambda: engine("faise"), "faiss-hnsw")
    export(CORPUS, NORM, tmp_path / "export", form="ip")
    (tmp_path / "used").mkdir()
    (tmp_path / "used" / "file").touch()
    refused(lambda: engine("faiss").write(tmp_path / "export", tmp_path / "used"), "not empty")
    refused(lambda: engine_at(tmp_path / "used"), "engine.json")


def test_an_export_made_for_an_engine_can_be_undone(tmp_path):
    export(CORPUS, HUB, tmp_path / "export", form="unit")
    np.testing.assert_allclose(restore(tmp_path / "export").vectors, CORPUS.vectors, rtol=1e-3, atol=1e-3)
