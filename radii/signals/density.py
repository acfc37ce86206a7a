"""Local density: how close a document is to its nearest vectors of a reference set."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from radii.data.embeddings import Embeddings, Floats
from radii.errors import InputError
from radii.ranking.score import Ints

_ROWS = 2048  # of documents and of the reference at a time: 16 MiB of cosines


def local_density(
    docs: Embeddings | npt.ArrayLike,
    reference: Embeddings | npt.ArrayLike,
    k: int = 10,
    *,
    itself: Ints | None = None,
) -> Floats:
    """Mean cosine of every document to its k nearest reference vectors: (n_docs,) float64 in [−1, 1].

    density(d) = (1/k) Σ cos(d, q) over the k largest. With a bank of queries as the reference this is the
    hub penalty of CSLS. Cosines are float32, their means float64; 2,048 × 2,048 of them exist at a time. It
    may be zero or negative: not a multiplier of a score as it stands.

    Parameters
    ----------
    docs : (n_docs, dim)
    reference : (n_reference, dim)
    k : int
    itself : (n_docs,) integers, optional
        Row of the reference that is the document itself, which does not count; −1 where none is.

    Raises
    ------
    InputError
        On another dimension, k below 1 or above what the reference has to give, rows of `itself` outside the
        reference; see `Embeddings` for vectors that cannot be used.

    Source: Conneau et al., arXiv:1710.04087, r of CSLS.

    >>> local_density(np.array([[2.0, 0.0]]), np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0]]), k=2)
    array([0.5])
    """
    docs, reference = Embeddings.of(docs), Embeddings.of(reference, "reference")
    _check(docs, reference, k, itself)
    density = np.empty(len(docs))
    for start, units in _unit_blocks(docs):
        nearest = np.full((len(units), k), -np.inf, dtype=np.float32)
        for first, others in _unit_blocks(reference):
            cosines = units @ others.T
            if itself is not None:
                own = itself[start : start + len(units)] - first
                here = np.flatnonzero((own >= 0) & (own < len(others)))
                cosines[here, own[here]] = -np.inf
            nearest = np.partition(np.concatenate([nearest, cosines], axis=1), -k, axis=1)[:, -k:]
        # Sorted, because partition leaves an order that could change the last digit of the mean.
        density[start : start + len(units)] = np.sort(nearest, axis=1).mean(axis=1, dtype=np.float64)
    return density.clip(-1.0, 1.0)


def _unit_blocks(some: Embeddings) -> Iterator[tuple[int, npt.NDArray[np.float32]]]:
    for start, block in some.blocks(_ROWS):
        yield start, (block / some.norms[start : start + len(block), None]).astype(np.float32)


def _check(docs: Embeddings, reference: Embeddings, k: int, itself: Ints | None) -> None:
    if docs.dim != reference.dim:
        raise InputError(
            f"{reference.dim} dimensions, the documents have {docs.dim}",
            where=reference.source,
            cause="vectors of two models",
            fix="embed documents and reference with the same model",
        )
    if itself is not None and (
        itself.shape != (len(docs),)
        or itself.dtype.kind not in "iu"
        or itself.min() < -1
        or itself.max() >= len(reference)
    ):
        raise InputError(
            f"`itself` is {itself.dtype} {itself.shape} and not a reference row or −1 for each of "
            f"{len(docs)} documents",
            where=reference.source,
            cause="rows of another reference",
            fix="give one integer from −1 to the last row of the reference per document",
        )
    available = len(reference) - (itself is not None and bool((itself >= 0).any()))
    if not 1 <= k <= available:
        raise InputError(
            f"k = {k} with {available} vectors to choose from",
            where=reference.source,
            cause="a small bank of queries",
            fix=f"take k from 1 to {available}" if available else "give a larger reference",
        )
