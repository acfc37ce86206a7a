"""Vectors of texts for claims: by which encoder, of which collection, and a folder that remembers them."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from radii.data.beir import load_beir
from radii.data.collection import Collection
from radii.data.embeddings import Embeddings, Vectors
from radii.data.encode import encode
from radii.data.files import atomic_write
from radii.data.irds import load_ir_dataset
from radii.data.model import PACKAGED, load_model, packaged_folder
from radii.data.texts import Texts
from radii.data.tokenizer import read_tokenizer
from radii.errors import NumericalError
from radii.probing.huggingface import pool_tokens, text_encoder

# Where vectors are kept between runs, when this variable names a folder: the collections take minutes.
CACHE = "RADII_CACHE"
_BATCH = 64


def embedded(texts: Texts, model: str = PACKAGED) -> Embeddings:
    """Embed texts without normalising; vectors that RADII_CACHE holds for them are read instead.

    Raises as `encode` does.
    """
    [found] = _kept(model, texts.texts, ["own"], lambda: [encode(model, texts.texts)[0]])
    return Embeddings(texts.ids, found, texts.source)


def pooled(texts: Texts, poolings: Sequence[str], model: str = PACKAGED) -> dict[str, Embeddings]:
    """The same texts under several poolings of one transformer: `mean`, `cls`, `last`.

    One pass: the token states are pooled in each way. Tokens are cut where the model itself cuts them, and
    whatever else the model has after its transformer is left out. Raises as `encode` does.
    """
    found = _kept(model, texts.texts, poolings, lambda: _pool(model, texts.texts, poolings))
    return {
        name: Embeddings(texts.ids, vectors, f"{texts.source}, {name}")
        for name, vectors in zip(poolings, found, strict=True)
    }


def tokenizer_of(model: str) -> Callable[[str], list[str]] | None:
    """Of a model that lies in a folder; None where only a name is known: words and marks are counted then."""
    return read_tokenizer(model) if model == PACKAGED or Path(model).is_dir() else None


def collection_at(dataset: str) -> Collection:
    """A collection in BEIR's layout, by the path of its folder or zip file; else by its ir_datasets id."""
    return load_beir(dataset) if Path(dataset).exists() else load_ir_dataset(dataset)


def _pool(model: str, texts: Sequence[str], poolings: Sequence[str]) -> list[Vectors]:
    import torch

    encoder = load_model(model)
    core = encoder.model[0]
    adapter = text_encoder(core.auto_model, core.tokenizer, max_length=encoder.max_seq_length or 512)
    if adapter.states is None:
        raise NumericalError(f"{model}: no token states to pool")
    # Texts of like length together: a batch is as long as its longest text.
    order = np.argsort([len(text) for text in texts], kind="stable")[::-1]
    pieces: list[list[Vectors]] = [[] for _ in poolings]
    adapter.module.eval()
    with torch.inference_mode():
        for start in range(0, len(texts), _BATCH):
            batch = [texts[row] for row in order[start : start + _BATCH]]
            states, mask, _ = adapter.states(adapter.collate(batch))
            for piece, pooling in zip(pieces, poolings, strict=True):
                piece.append(pool_tokens(states, mask, pooling).float().cpu().numpy())
    back = np.argsort(order)
    return [np.concatenate(piece)[back] for piece in pieces]


def _kept(
    model: str, texts: Sequence[str], parts: Sequence[str], make: Callable[[], list[Vectors]]
) -> list[Vectors]:
    folder = os.environ.get(CACHE)
    if not folder:
        return make()
    key = _key(model, texts)
    paths = [Path(folder, f"{key}-{part}.npy") for part in parts]
    if all(path.is_file() for path in paths):
        return [np.load(path, allow_pickle=False) for path in paths]
    found = make()
    for path, vectors in zip(paths, found, strict=True):
        with atomic_write(path) as file:
            np.save(file, vectors)
    return found


def _key(model: str, texts: Sequence[str]) -> str:
    """Of the texts, and of the model's files: their names, sizes and times, or its name where it has none."""
    root = Path(packaged_folder() if model == PACKAGED else model)
    files = sorted(path for path in root.rglob("*") if path.is_file()) if root.is_dir() else []
    known = [f"{path.name} {path.stat().st_size} {path.stat().st_mtime_ns}" for path in files] or [model]
    digest = hashlib.sha256("\n".join(known).encode())
    for text in texts:
        digest.update(f"\0{text}".encode())
    return digest.hexdigest()[:32]
