"""From names and files, as the command line has them, to encoders and pairs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

from radii.data.files import StrPath, readable
from radii.errors import InputError, MissingExtraError
from radii.probing.adapters import Adapter, Batch

Kind = Literal["sentence", "mean", "cls", "last", "projected", "clip-text", "clip-image"]
KINDS: tuple[Kind, ...] = ("sentence", "mean", "cls", "last", "projected", "clip-text", "clip-image")


def load_encoder(model: StrPath, kind: str, device: str | None = None) -> tuple[Adapter, Adapter | None]:
    """(encoder, partner) of a model on this machine; the partner is the other tower of a dual encoder.

    `kind` is 'sentence' (sentence-transformers), 'mean', 'cls', 'last' or 'projected' (a transformers text
    encoder with that pooling), 'clip-text' or 'clip-image' (a tower of CLIP or SigLIP; images are paths).

    Raises InputError on another kind and on a model that cannot be loaded, MissingExtraError as the loaders
    do.
    """
    if kind not in KINDS:
        raise InputError(f"{kind!r}", where="encoder", fix=f"give one of {', '.join(KINDS)}")
    if kind == "sentence":
        from radii.probing.sentence import load_sentence_transformer

        return load_sentence_transformer(model, device), None
    if kind.startswith("clip"):
        from radii.probing.dual import load_dual_encoder

        text, image = load_dual_encoder(model, device)
        image = of_paths(image)
        return (text, image) if kind == "clip-text" else (image, text)
    from radii.probing.huggingface import load_text_encoder

    return load_text_encoder(model, kind, device), None


def of_paths(adapter: Adapter) -> Adapter:
    """An adapter of images as one of paths of image files, opened when a batch is made."""

    def collate(paths: Sequence[StrPath]) -> Batch:
        return adapter.collate([_picture(path) for path in paths])

    return replace(adapter, collate=collate)


def in_folder(names: Sequence[str], folder: StrPath) -> list[str]:
    """Paths as a file names them, relative to the folder that the file lies in."""
    return [str(Path(folder) / name) for name in names]


def _picture(path: StrPath) -> Any:
    try:
        from PIL import Image, UnidentifiedImageError
    except ModuleNotFoundError as error:
        raise MissingExtraError("pillow", "clip") from error
    try:
        with Image.open(readable(path)) as file:
            return file.convert("RGB")
    except (UnidentifiedImageError, OSError) as error:
        raise InputError("no image that can be read", where=path, fix="give a PNG or JPEG file") from error
