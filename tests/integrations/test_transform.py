"""A document that comes later gets the vector that the export would have given it, or a refusal."""

from __future__ import annotations

import numpy as np
import pytest

from radii.data.embeddings import Embeddings
from radii.deploy.correction import correction
from radii.deploy.export import export
from radii.integrations.transform import documents, opened
from tests.integrations.world import METHODS, defined, exported, mixed

DOCS, LATER, QUERIES = mixed(80, 0), mixed(30, 1), mixed(20, 2)


@pytest.mark.parametrize("form", ["ip", "centred", "unit"])
@pytest.mark.parametrize("method", METHODS)
def test_documents_are_those_of_the_export(method, form, tmp_path):
    manifest = exported(DOCS, method, tmp_path, form)
    again = documents(DOCS, manifest)
    assert again.dtype == np.float32
    served = np.load(tmp_path / "vectors.npy")
    np.testing.assert_allclose(again, served, rtol=1e-5, atol=1e-6 * max(1.0, np.abs(served).max()))


@pytest.mark.parametrize("method", METHODS)
def test_the_product_with_a_changed_query_is_the_score(method, tmp_path):
    manifest = exported(DOCS, method, tmp_path, "ip")
    products = manifest.queries(QUERIES).astype(float) @ documents(LATER, manifest).T.astype(float)
    truth = defined(method, QUERIES, LATER, DOCS)
    # Each score to single precision of its own document's length; lengths differ by orders of magnitude.
    scale = np.abs(truth).max(axis=0)
    np.testing.assert_allclose(products / scale, truth / scale, atol=1e-5)


def test_the_cosine_of_the_unit_form_ranks_old_and_new_alike(tmp_path):
    later = LATER / 1000 ** (np.arange(30) % 2)[:, None]  # some shorter than all exported, none longer
    docs = np.concatenate([DOCS, np.full((1, 6), 100.0)])
    manifest = exported(docs, "inner product", tmp_path, "unit")
    both = np.concatenate([np.load(tmp_path / "vectors.npy"), documents(later, manifest)]).astype(float)
    np.testing.assert_allclose(np.linalg.norm(both, axis=1), 1.0, atol=1e-6)
    scores = manifest.queries(QUERIES).astype(float) @ both.T
    truth = defined("inner product", QUERIES, np.concatenate([docs, later]), docs)
    best = np.take_along_axis(truth, np.argsort(-scores, axis=1), axis=1)
    np.testing.assert_allclose(best, -np.sort(-truth, axis=1), atol=2e-6 * np.abs(truth).max())


def test_what_the_unit_form_has_no_room_for(tmp_path, refused):
    manifest = exported(DOCS, "inner product", tmp_path, "unit")
    longest = DOCS[[np.linalg.norm(DOCS, axis=1).argmax()]]
    documents(longest * 1.00001, manifest)  # the same text, embedded again
    refused(lambda: documents(np.concatenate([DOCS, longest * 1.01]), manifest), "'80'", "1.01 times")


def test_a_bank_cannot_be_asked_about_a_later_document(tmp_path, refused):
    docs, queries = Embeddings.of(DOCS), Embeddings.of(QUERIES)
    manifest = export(docs, correction("hub penalty", {"weight": 0.5}, docs, queries=queries), tmp_path)
    refused(lambda: documents(LATER, manifest), "hub penalty", "radii export")


@pytest.mark.parametrize("count", [1, 30])
def test_normalised_vectors_are_refused_where_lengths_count(count, tmp_path, refused):
    ones = LATER[:count] / np.linalg.norm(LATER[:count], axis=1, keepdims=True)
    by_norm = exported(DOCS, "norm exponent", tmp_path / "norm", "ip")
    refused(lambda: documents(ones.astype(np.float32), by_norm), "length 1", "Normalize")
    by_cosine = exported(DOCS, "cosine", tmp_path / "cosine", "ip")
    np.testing.assert_allclose(documents(ones, by_cosine), documents(LATER[:count], by_cosine), atol=1e-6)


def test_one_document_of_length_nearly_one_is_no_normalised_model(tmp_path):
    manifest = exported(DOCS, "inner product", tmp_path, "ip")
    np.testing.assert_allclose(documents([[0.0, 1.0005, 0, 0, 0, 0]], manifest)[0, 1], 1.0005, atol=1e-6)


def test_vectors_of_another_kind_are_refused(tmp_path, refused):
    manifest = exported(DOCS, "cosine", tmp_path, "unit")
    refused(lambda: documents(documents(LATER, manifest), manifest), "7 dimensions", "already changed")
    refused(lambda: documents(np.zeros((2, 6)), manifest), "zeros")
    refused(lambda: documents(np.full((2, 6), np.nan), manifest), "NaN")


def test_a_manifest_or_its_folder(tmp_path, refused):
    manifest = exported(DOCS, "cosine", tmp_path / "export", "ip")
    assert opened(tmp_path / "export") == opened(str(tmp_path / "export")) == opened(manifest) == manifest
    refused(lambda: opened(tmp_path / "nowhere"), "nowhere")
