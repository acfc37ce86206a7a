"""LangChain embeddings whose vectors are those of an export."""

from __future__ import annotations

from typing import Any

from radii.data.files import StrPath
from radii.deploy.manifest import Manifest
from radii.errors import MissingExtraError
from radii.integrations.transform import documents, opened


def embeddings(inner: Any, manifest: Manifest | StrPath) -> Any:
    """`inner`, a langchain_core Embeddings, with an export's transforms: again an Embeddings.

    Queries are changed by `Manifest.queries`, documents by `transform.documents`, which lists what is
    refused. A store that ranks by cosine (InMemoryVectorStore does) needs the unit form.

    Raises InputError on a folder without a manifest; MissingExtraError without langchain-core.
    """
    try:
        from langchain_core.embeddings import Embeddings
    except ModuleNotFoundError as error:
        raise MissingExtraError("langchain-core", "langchain") from error
    own = opened(manifest)

    class RadiiEmbeddings(Embeddings):  # type: ignore[misc]
        """Changes what another Embeddings returns."""

        def embed_query(self, text: str) -> Any:
            return own.queries([inner.embed_query(text)])[0].tolist()

        def embed_documents(self, texts: list[str]) -> Any:
            return documents(inner.embed_documents(texts), own).tolist() if texts else []

        async def aembed_query(self, text: str) -> Any:
            return own.queries([await inner.aembed_query(text)])[0].tolist()

        async def aembed_documents(self, texts: list[str]) -> Any:
            return documents(await inner.aembed_documents(texts), own).tolist() if texts else []

    return RadiiEmbeddings()
