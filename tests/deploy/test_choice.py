"""The form is the one in which this very index finds most of these very documents."""

from __future__ import annotations

import numpy as np
import pytest

from radii.data.embeddings import Embeddings
from radii.deploy.choice import choose
from radii.deploy.correction import Correction
from radii.deploy.engines import engine
from tests.planted import unit

hnswlib = pytest.importorskip("hnswlib")

N, DIM, SHARED = 2000, 48, 8.0
RNG = np.random.default_rng(11)
FREE = RNG.normal(size=(N, DIM))
# All documents lean the same way, the long ones most; queries do not.
DOCS = Embeddings.of((FREE + SHARED * np.eye(DIM)[0]).astype(np.float32), "leaning")
QUERIES = Embeddings.of(RNG.normal(size=(100, DIM)), "queries")
RAW = Correction("inner product", {"gamma": 1.0}, DOCS.norms)


def recall(vectors, queries):
    """Of hnswlib itself with radii's settings, against brute force over `vectors`."""
    index = hnswlib.Index(space="ip", dim=vectors.shape[1])
    index.init_index(max_elements=len(vectors), M=32, ef_construction=128)
    index.add_items(vectors, num_threads=1)
    index.set_ef(128)
    best = np.argsort(-(queries @ vectors.T), axis=1)[:, :10]
    found, _ = index.knn_query(queries, k=10)
    return np.mean([len(set(a) & set(b)) / 10 for a, b in zip(best.tolist(), found.tolist(), strict=True)])


def test_the_mean_is_taken_out_where_it_keeps_a_graph_from_being_walked():
    found = choose(engine("hnswlib"), DOCS, RAW, queries=QUERIES)
    assert found.form == "centred"
    vectors, queries = DOCS.vectors.astype(float), unit(QUERIES.vectors)
    plain, centred = recall(vectors, queries), recall(vectors - vectors.mean(axis=0), queries)
    assert centred - plain > 0.05
    assert found.recall["ip"] == pytest.approx(plain, abs=0.03)
    assert found.recall["centred"] == pytest.approx(centred, abs=0.03)
    assert found.recall["cosine"] == pytest.approx(recall(unit(vectors), queries), abs=0.05)
    assert (found.finding.code, found.finding.status) == ("R601", "holds")
    assert found.finding.value == pytest.approx(found.recall["centred"] - found.recall["cosine"])
    assert all(f"{name} {share:.3f}" in found.line for name, share in found.recall.items())


def test_a_form_that_was_asked_for_is_kept_and_its_loss_is_told():
    found = choose(engine("hnswlib"), DOCS, RAW, queries=QUERIES, form="unit")
    assert (found.form, list(found.recall)) == ("unit", ["cosine", "unit"])
    assert found.recall["unit"] < found.recall["cosine"] - 0.01
    assert found.finding.status == "fails"
    assert "radii verify" in found.line


def test_equally_good_forms_are_taken_in_the_order_of_the_engine():
    docs = Embeddings.of(FREE.astype(np.float32)[:600, :6], "easy")
    found = choose(engine("hnswlib"), docs, Correction("cosine", {}, np.ones(600)))
    assert found.form == engine("hnswlib").forms[0]
    assert found.recall["ip"] == pytest.approx(found.recall["centred"], abs=0.002)


def test_without_queries_directions_of_documents_are_asked():
    docs = Embeddings.of(np.tile(DOCS.vectors, (2, 1))[:2500, :8], "more than are looked at")
    change = Correction("hub penalty", {}, np.ones(2500), penalty=np.linspace(0, 0.1, 2500))
    found = choose(engine("hnswlib"), docs, change)
    assert found.finding.meaning.startswith("recall@10 in hnswlib, 200 queries on 2,000 of 2,500 documents")
    assert found.recall["centred"] > 0.9


@pytest.mark.parametrize(
    ("name", "rows", "reason"), [("faiss", N, "every document"), ("hnswlib", 499, "under 500 documents")]
)
def test_what_looks_at_every_document_is_not_measured(name, rows, reason):
    one = engine(name)
    pytest.importorskip(one.package)
    docs = DOCS.part(np.arange(rows))
    found = choose(one, docs, Correction("cosine", {}, np.ones(rows)))
    assert (found.form, found.recall, found.finding.status) == (one.forms[0], {}, "not applicable")
    assert reason in found.finding.meaning
