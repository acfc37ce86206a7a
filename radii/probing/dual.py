"""Adapters for dual encoders with a text and an image tower: CLIP, SigLIP, and open_clip's models."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from radii.data.embeddings import Floats
from radii.data.files import StrPath
from radii.errors import InputError, MissingExtraError
from radii.probing.adapters import Adapter, Batch, Tensor, require_torch
from radii.probing.huggingface import not_loaded

# What a tower's vectors are proportional to, per family; those that a model has are its head.
_TEXT_HEADS = (
    ("text_projection.weight",),  # transformers CLIP; open_clip with a linear projection
    ("text_model.head.weight", "text_model.head.bias"),  # SigLIP
    ("text_projection",),  # open_clip
    ("text.text_projection",),
    ("text.text_projection.weight", "text.text_projection.bias"),
)
_IMAGE_HEADS = (
    ("visual_projection.weight",),
    (  # SigLIP: z = a + MLP(norm(a)), and a norm does not see the length of a
        "vision_model.head.attention.out_proj.weight",
        "vision_model.head.attention.out_proj.bias",
        "vision_model.head.mlp.fc2.weight",
        "vision_model.head.mlp.fc2.bias",
    ),
    ("visual.proj",),
    ("visual.head.proj.weight",),
)


def load_dual_encoder(model: StrPath, device: str | None = None) -> tuple[Adapter, Adapter]:
    """(text, image) adapters of a CLIP or SigLIP folder saved by transformers, or in its local cache.

    Nothing is downloaded. Raises InputError on what cannot be loaded or has no two towers, MissingExtraError
    without transformers.
    """
    require_torch()
    try:
        from transformers import AutoModel, AutoProcessor
    except ModuleNotFoundError as error:
        raise MissingExtraError("transformers", "models") from error
    try:
        loaded = AutoModel.from_pretrained(str(model), local_files_only=True).float().to(device or "cpu")
        processor = AutoProcessor.from_pretrained(str(model), local_files_only=True)
    except (OSError, ValueError, KeyError, RuntimeError, ImportError) as error:
        raise not_loaded(str(model), error) from error
    tokenizer = getattr(processor, "tokenizer", None)
    return dual_encoder(loaded, tokenizer, getattr(processor, "image_processor", None), name=str(model))


def dual_encoder(
    model: Any, tokenizer: Any, image_processor: Any, *, name: str = "dual encoder"
) -> tuple[Adapter, Adapter]:
    """(text, image) adapters of a loaded transformers CLIPModel or SiglipModel.

    Texts are padded to the length that the model was trained with, as SigLIP needs. Images are what the
    image processor takes (PIL images, arrays).

    Raises InputError on a model without `get_text_features` and `get_image_features`.
    """
    if not hasattr(model, "get_text_features") or not hasattr(model, "get_image_features"):
        raise InputError(
            f"{type(model).__name__} has no text and image towers",
            where=name,
            fix="give a CLIPModel or SiglipModel",
        )
    device = next(model.parameters()).device
    longest = int(model.config.text_config.max_position_embeddings)

    def texts(items: Sequence[str]) -> Batch:
        found = tokenizer(
            list(items), padding="max_length", truncation=True, max_length=longest, return_tensors="pt"
        )
        wanted = ("input_ids", "attention_mask")
        return {key: found[key].to(device) for key in wanted if key in found}

    def images(items: Sequence[Any]) -> Batch:
        return {
            "pixel_values": image_processor(images=list(items), return_tensors="pt")["pixel_values"].to(
                device
            )
        }

    def lengths(items: Sequence[str]) -> Floats:
        return np.array([len(tokenizer.tokenize(item)) for item in items], dtype=np.float64)

    return (
        _tower(
            f"{name}, text",
            model,
            texts,
            lambda b: _pooled(model.get_text_features(**b)),
            _TEXT_HEADS,
            lengths,
        ),
        _tower(
            f"{name}, image", model, images, lambda b: _pooled(model.get_image_features(**b)), _IMAGE_HEADS
        ),
    )


def open_clip_encoder(
    model: Any, tokenizer: Any, preprocess: Callable[[Any], Tensor], *, name: str = "open_clip model"
) -> tuple[Adapter, Adapter]:
    """(text, image) adapters of a loaded open_clip model, its tokenizer and its evaluation transform.

    Raises InputError on a model without `encode_text` and `encode_image`.
    """
    torch = require_torch()
    if not hasattr(model, "encode_text") or not hasattr(model, "encode_image"):
        raise InputError(
            f"{type(model).__name__} has no text and image towers",
            where=name,
            fix="give a model of open_clip.create_model_and_transforms",
        )
    device = next(model.parameters()).device

    def texts(items: Sequence[str]) -> Batch:
        return tokenizer(list(items)).to(device)

    def images(items: Sequence[Any]) -> Batch:
        return torch.stack([preprocess(item) for item in items]).to(device)

    return (
        _tower(f"{name}, text", model, texts, lambda b: model.encode_text(b, normalize=False), _TEXT_HEADS),
        _tower(
            f"{name}, image", model, images, lambda b: model.encode_image(b, normalize=False), _IMAGE_HEADS
        ),
    )


def load_open_clip(architecture: str, weights: StrPath) -> tuple[Adapter, Adapter]:
    """(text, image) adapters of an open_clip architecture with weights in a local file.

    Raises InputError on what cannot be loaded, MissingExtraError without open_clip.
    """
    require_torch()
    try:
        import open_clip
    except ModuleNotFoundError as error:
        raise MissingExtraError("open_clip_torch", "clip") from error
    try:
        model, _, preprocess = open_clip.create_model_and_transforms(architecture, pretrained=str(weights))
        tokenizer = open_clip.get_tokenizer(architecture)
    except (OSError, ValueError, KeyError, RuntimeError) as error:
        raise not_loaded(f"{architecture}, {weights}", error) from error
    return open_clip_encoder(model.float(), tokenizer, preprocess, name=architecture)


def _tower(
    name: str,
    model: Any,
    collate: Callable[[Sequence[Any]], Batch],
    embed: Callable[[Batch], Tensor],
    heads: Sequence[tuple[str, ...]],
    lengths: Callable[[Sequence[Any]], Floats] | None = None,
) -> Adapter:
    there = {key for key, _ in model.named_parameters()}
    head = next((known for known in heads if there.issuperset(known)), ())
    return Adapter(name=name, module=model, collate=collate, embed=embed, head=head, lengths=lengths)


def _pooled(output: Any) -> Tensor:
    """The vectors: transformers 5 wraps them in an output object, earlier ones return them."""
    return getattr(output, "pooler_output", output)
