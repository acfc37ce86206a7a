"""Adapter for Hugging Face text encoders: mean, CLS or last-token pooling, with or without a projection."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from radii.data.embeddings import Floats
from radii.data.files import StrPath
from radii.errors import InputError, MissingExtraError
from radii.probing.adapters import Adapter, Batch, Tensor, require_torch

Pooling = Literal["mean", "cls", "last", "projected"]
POOLINGS: tuple[Pooling, ...] = ("mean", "cls", "last", "projected")


def load_text_encoder(model: StrPath, pooling: str, device: str | None = None) -> Adapter:
    """Adapter of a transformers model and tokenizer in one folder, or in the local cache; see `text_encoder`.

    'projected' loads a CLIP text model with its projection. Nothing is downloaded.

    Raises InputError on what cannot be loaded, MissingExtraError without transformers.
    """
    require_torch()
    try:
        from transformers import AutoModel, AutoTokenizer, CLIPTextModelWithProjection
    except ModuleNotFoundError as error:
        raise MissingExtraError("transformers", "models") from error
    kind = CLIPTextModelWithProjection if pooling == "projected" else AutoModel
    try:
        loaded = kind.from_pretrained(str(model), local_files_only=True).float().to(device or "cpu")
        tokenizer = AutoTokenizer.from_pretrained(str(model), local_files_only=True)
    except (OSError, ValueError, KeyError, RuntimeError, ImportError) as error:
        raise not_loaded(str(model), error) from error
    return text_encoder(loaded, tokenizer, pooling, name=str(model))


def text_encoder(
    model: Any,
    tokenizer: Any,
    pooling: str = "mean",
    *,
    projection: Any = None,
    max_length: int = 512,
    name: str = "text encoder",
) -> Adapter:
    """Adapter of a loaded encoder whose output has `last_hidden_state`; texts are its items.

    Parameters
    ----------
    model : transformers.PreTrainedModel
    tokenizer : callable
        Hugging Face tokenizer; pads on either side.
    pooling : {'mean', 'cls', 'last', 'projected'}
        Mean over attended tokens, the first attended, the last attended, or the model's own `text_embeds`.
    projection : torch.nn.Module, optional
        Applied to the pooled vector; taken as the head where it is linear.
    max_length : int
        Tokens read of a text; the rest is cut off.

    Raises InputError on an unknown pooling, and on a projection beside 'projected'.
    """
    torch = require_torch()
    if pooling not in POOLINGS or (pooling == "projected" and projection is not None):
        raise InputError(
            f"{pooling!r}" + (" and a projection" if projection is not None else ""),
            where="pooling",
            fix=f"give one of {', '.join(POOLINGS)}; the last projects by itself",
        )
    module = model if projection is None else torch.nn.ModuleDict({"model": model, "projection": projection})
    device = next(model.parameters()).device

    def collate(texts: Sequence[str]) -> Batch:
        found = tokenizer(
            list(texts), padding=True, truncation=True, max_length=max_length, return_tensors="pt"
        )
        return {key: value.to(device) for key, value in found.items()}

    def finish(tokens: Tensor, mask: Tensor) -> Tensor:
        pooled = pool_tokens(tokens, mask, pooling)
        return pooled if projection is None else projection(pooled)

    def embed(batch: Batch) -> Tensor:
        if pooling == "projected":
            return model(**batch).text_embeds
        return finish(model(**batch).last_hidden_state, batch["attention_mask"])

    def states(batch: Batch) -> tuple[Tensor, Tensor, Any]:
        mask = batch["attention_mask"]
        return model(**batch).last_hidden_state, mask, lambda tokens: finish(tokens, mask)

    def lengths(texts: Sequence[str]) -> Floats:
        return np.array([len(tokenizer.tokenize(text)) for text in texts], dtype=np.float64)

    if pooling == "projected":
        head = tuple(key for key, _ in model.named_parameters() if key.startswith("text_projection."))
    elif isinstance(projection, torch.nn.Linear):
        head = tuple(f"projection.{key}" for key, _ in projection.named_parameters())
    else:
        head = last_norm(model) if projection is None else ()
    return Adapter(
        name=name,
        module=module,
        collate=collate,
        embed=embed,
        head=head,
        lengths=lengths,
        states=None if pooling == "projected" else states,
    )


def pool_tokens(tokens: Tensor, mask: Tensor, pooling: str) -> Tensor:
    """One vector per text: (n, n_tokens, dim) states and (n, n_tokens) mask of 0 and 1 → (n, dim).

    mean: Σ_t m_t h_t / Σ_t m_t; cls: the first attended state; last: the last attended. Padding may stand on
    either side.
    """
    torch = require_torch()
    if pooling == "mean":
        weights = mask.to(tokens.dtype)[:, :, None]
        return (tokens * weights).sum(dim=1) / weights.sum(dim=1)
    places = torch.arange(mask.shape[1], device=mask.device).expand_as(mask)
    attended = mask.bool()
    if pooling == "cls":
        row = places.masked_fill(~attended, mask.shape[1]).amin(dim=1)
    else:
        row = places.masked_fill(~attended, -1).amax(dim=1)
    return tokens[torch.arange(len(tokens), device=tokens.device), row]


def last_norm(module: Any) -> tuple[str, ...]:
    """Names of the weight and bias of the last norm layer outside a pooler: a guess at the head.

    The states are proportional to these together in most transformers that end in a norm; a probe checks
    before it relies on that.
    """
    names = [
        name
        for name, part in module.named_modules()
        if type(part).__name__.lower().endswith("norm") and "pooler" not in name
    ]
    if not names:
        return ()
    return tuple(name for name, _ in module.named_parameters() if name.rpartition(".")[0] == names[-1])


def not_loaded(name: str, error: Exception) -> InputError:
    """Say why a model could not be loaded from this machine."""
    reason = (str(error).strip().splitlines() or [type(error).__name__])[0].rstrip(".")
    return InputError(
        "no model and tokenizer that transformers can load here",
        where=name,
        cause=reason,
        fix="give the folder of a saved model (radii downloads nothing)",
    )
