"""A sentence-transformers model that speaks an export's language, and a score function for its utilities.

A model's own `similarity_fn_name` takes four names and no function (sentence-transformers 6.2). Functions are
taken by `InformationRetrievalEvaluator(score_functions={"radii": similarity(-0.3)})` and by
`util.semantic_search(..., score_function=similarity(-0.3))`.
"""

from __future__ import annotations

import copy
import os
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from radii.data.files import StrPath
from radii.data.model import load_model, strip_normalize
from radii.deploy.manifest import Manifest
from radii.errors import InputError, MissingExtraError
from radii.integrations.transform import documents, exponent, opened, refuse_normalised


def similarity(by: float | Manifest | StrPath) -> Callable[[Any, Any], Any]:
    """Score of un-normalised vectors: (n_queries, dim) and (n_docs, dim) to an (n_queries, n_docs) tensor.

        score(q, d) = ⟨z_q, z_d/‖z_d‖⟩ · ‖d‖^γ        z = P(x̂ − c), or x̂ where nothing is projected

    `by` is γ, or a manifest or its folder. The function takes arrays or tensors, works on the documents'
    device, and raises InputError on a vector without a direction, and on normalised documents unless γ is 0.

    Raises InputError as `exponent`; MissingExtraError without torch.
    """
    try:
        import torch
    except ModuleNotFoundError as error:
        raise MissingExtraError("torch", "models") from error
    manifest = None if isinstance(by, (float, int)) else opened(by)
    gamma = exponent(manifest) if manifest is not None else float(by)  # type: ignore[arg-type]
    projection = None if manifest is None else manifest.projection

    def directions(vectors: Any, what: str) -> tuple[Any, Any]:
        """z of some vectors, and their lengths."""
        norms = torch.linalg.vector_norm(vectors, dim=1, keepdim=True)
        if not bool((torch.isfinite(norms) & (norms > 0)).all()):
            raise InputError(
                "a vector of zeros, NaN or infinity",
                where=what,
                cause="an empty text, or half precision that overflowed",
                fix="drop it: it has no direction to rank by",
            )
        z = vectors / norms
        if projection is not None:
            centre, away = (
                torch.as_tensor(part, dtype=z.dtype, device=z.device)
                for part in (projection.centre, projection.directions)
            )
            z = z - centre
            z = z - (z @ away.T) @ away
        return z, norms

    def radii_score(queries: Any, docs: Any) -> Any:
        docs = torch.atleast_2d(torch.as_tensor(docs)).float()
        queries = torch.atleast_2d(torch.as_tensor(queries)).to(docs)
        if manifest is not None and docs.shape[1] != manifest.dim:
            raise InputError(
                f"{docs.shape[1]} dimensions, the exported documents had {manifest.dim}",
                where="documents",
                cause="vectors of another model, or already changed",
                fix="give what the model of the export returns, un-normalised",
            )
        asked, _ = directions(queries, "queries")
        z, norms = directions(docs, "documents")
        if gamma:
            refuse_normalised(norms.detach().double().cpu().numpy(), "documents")
        if projection is not None:
            z = torch.nn.functional.normalize(z, dim=1)
        return asked @ (z * norms**gamma).T

    return radii_score


class Corrected:
    """A model whose vectors are those of an export: queries to ask its engine, documents to add to it.

    Attributes
    ----------
    model : sentence_transformers.SentenceTransformer
        Without a final Normalize; a model that was handed in keeps its own.
    manifest : Manifest
    """

    def __init__(self, model: Any, manifest: Manifest | StrPath) -> None:
        """`model`: a SentenceTransformer, or what `radii embed --model` takes; `manifest`, or its folder.

        Raises InputError as `radii.data.model.load_model`; MissingExtraError without sentence-transformers.
        """
        self.manifest = opened(manifest)
        if isinstance(model, str | os.PathLike):
            self.model = load_model(model).model
        else:
            self.model = copy.copy(model)  # shares the weights
            self.model._modules = model._modules.copy()
            strip_normalize(self.model, "model")

    def encode_query(self, texts: Sequence[str], **options: Any) -> npt.NDArray[np.float32]:
        """(n, served_dim) query vectors for the engine; `options` are those of the model's `encode`."""
        return self.manifest.queries(self._raw(texts, options))

    def encode_document(self, texts: Sequence[str], **options: Any) -> npt.NDArray[np.float32]:
        """(n, served_dim) document vectors for the engine; raises InputError as `transform.documents`."""
        return documents(self._raw(texts, options), self.manifest)

    def _raw(self, texts: Sequence[str], options: dict[str, Any]) -> Any:
        if isinstance(texts, str):
            raise InputError("one string", where="texts", cause="a single text", fix="give a list of texts")
        return self.model.encode(
            list(texts), normalize_embeddings=False, convert_to_numpy=True, precision="float32", **options
        )
