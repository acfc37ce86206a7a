"""A LlamaIndex embedding whose vectors are those of an export."""

from __future__ import annotations

from typing import Any

from radii.data.files import StrPath
from radii.deploy.manifest import Manifest
from radii.errors import MissingExtraError
from radii.integrations.transform import documents, opened


def embedding(inner: Any, manifest: Manifest | StrPath) -> Any:
    """`inner`, a llama_index BaseEmbedding, with an export's transforms: again a BaseEmbedding.

    Queries are changed by `Manifest.queries`, texts by `transform.documents`, which lists what is refused. A
    store that ranks by cosine (SimpleVectorStore does) needs the unit form.

    Raises InputError on a folder without a manifest; MissingExtraError without llama-index-core.
    """
    try:
        from llama_index.core.base.embeddings.base import BaseEmbedding
    except ModuleNotFoundError as error:
        raise MissingExtraError("llama-index-core", "llama-index") from error
    own = opened(manifest)

    class RadiiEmbedding(BaseEmbedding):  # type: ignore[misc]
        """Changes what another BaseEmbedding returns."""

        def _get_query_embedding(self, query: str) -> Any:
            return own.queries([inner.get_query_embedding(query)])[0].tolist()

        async def _aget_query_embedding(self, query: str) -> Any:
            return own.queries([await inner.aget_query_embedding(query)])[0].tolist()

        def _get_text_embedding(self, text: str) -> Any:
            return documents([inner.get_text_embedding(text)], own)[0].tolist()

        async def _aget_text_embedding(self, text: str) -> Any:
            return documents([await inner.aget_text_embedding(text)], own)[0].tolist()

        def _get_text_embeddings(self, texts: list[str]) -> Any:
            return documents(inner.get_text_embedding_batch(texts), own).tolist()

        async def _aget_text_embeddings(self, texts: list[str]) -> Any:
            return documents(await inner.aget_text_embedding_batch(texts), own).tolist()

    return RadiiEmbedding(model_name=inner.model_name, embed_batch_size=inner.embed_batch_size)
