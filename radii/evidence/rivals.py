"""What else people do to long vectors and hubs: each is a penalty per document, or another pair of vectors.

A penalty b_d is subtracted, cos − w · b_d, and comes from a bank of queries that never holds the query being
judged: queries are dealt into bank folds, and those of a fold are judged with the penalty of the others.
Other vectors are ranked by their cosine. All of them can be served from one vector per document and one
inner product: a penalty takes one more dimension.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from radii.data.embeddings import Embeddings, Floats
from radii.ranking.score import Ints

NEIGHBOURS = 10
TEMPERATURE = 0.05
_ROWS = 2048  # documents at a time


@dataclass(frozen=True, eq=False)
class Penalties:
    """Penalties of all documents, one row per bank fold: (n_folds, n_docs) float64.

    Attributes
    ----------
    hub : array
        Mean cosine to the ten nearest queries of the bank. With w = 1/2 this is CSLS (arXiv 1710.04087);
        with a tuned weight, nearest-neighbour normalisation (arXiv 2410.24114).
    softmax : array
        τ log Σ_q exp(cos(q, d) / τ) over the bank, τ = 0.05: with w = 1 this is the inverted softmax
        (arXiv 1702.03859), the static form of QB-Norm (arXiv 2112.12777).
    """

    hub: Floats
    softmax: Floats


def bank_penalties(docs: Embeddings, queries: Embeddings, fold: Ints, excluded: Ints) -> Penalties:
    """Penalties for the queries of each fold, from the queries of all other folds.

    Parameters
    ----------
    docs, queries : Embeddings
    fold : (n_queries,) int64
        0 to n_folds − 1; every fold's complement holds at least one query.
    excluded : (n_queries,) int64
        The document that is the query itself, which it does not speak of, or −1.
    """
    n_folds = int(fold.max()) + 1
    order = np.argsort(fold, kind="stable")
    cuts = np.searchsorted(fold[order], np.arange(n_folds + 1))
    unit = (np.asarray(queries.vectors, dtype=np.float64) / queries.norms[:, None])[order].astype(np.float32)
    owner = np.full(len(docs), -1)
    known = np.flatnonzero(excluded[order] >= 0)
    owner[excluded[order][known]] = known  # column of the query that is this document
    hub, softmax = np.empty((n_folds, len(docs))), np.empty((n_folds, len(docs)))
    for start, block in docs.blocks(_ROWS):
        here = slice(start, start + len(block))
        cosines = (block / docs.norms[here, None]).astype(np.float32) @ unit.T
        own = np.flatnonzero(owner[here] >= 0)
        cosines[own, owner[here][own]] = -1.0
        nearest, mass = [], []
        for first, last in pairwise(cuts):
            part = cosines[:, first:last]
            nearest.append(_largest(part, NEIGHBOURS))
            # Relative to a cosine of 1 nothing overflows, and what underflows does not matter.
            mass.append(
                np.exp((part - np.float32(1.0)) / np.float32(TEMPERATURE)).sum(axis=1, dtype=np.float64)
            )
        for f in range(n_folds):
            others = np.concatenate([nearest[g] for g in range(n_folds) if g != f], axis=1)
            hub[f, here] = _largest(others, NEIGHBOURS).mean(axis=1, dtype=np.float64)
            total = np.sum([mass[g] for g in range(n_folds) if g != f], axis=0)
            softmax[f, here] = 1.0 + TEMPERATURE * np.log(np.maximum(total, 1e-300))
    return Penalties(hub, softmax)


def _largest(values: npt.NDArray[np.float32], k: int) -> npt.NDArray[np.float32]:
    """The k largest of each row, all of them if there are fewer, in ascending order."""
    if values.shape[1] > k:
        values = np.partition(values, values.shape[1] - k, axis=1)[:, -k:]
    return np.sort(values, axis=1)


Pair = tuple[Embeddings, Embeddings]


def centred(docs: Embeddings, queries: Embeddings) -> Pair:
    """Unit vectors less the mean unit document: x̂ − μ. Source: arXiv 2511.11041."""
    return _mapped(docs, queries, lambda x, mean: x - mean)


def without_mean_direction(docs: Embeddings, queries: Embeddings) -> Pair:
    """Unit vectors without their projection on the mean document: x̂ − ⟨x̂, μ̂⟩ μ̂. Source: arXiv 2511.11041."""

    def remove(x: Floats, mean: Floats) -> Floats:
        direction = mean / np.linalg.norm(mean)
        return x - np.outer(x @ direction, direction)

    return _mapped(docs, queries, remove)


def all_but_the_top(docs: Embeddings, queries: Embeddings) -> Pair:
    """Centred, without the dim / 100 leading principal directions of the documents.

    Source: arXiv 1702.01417.
    """
    mean = _mean(docs)
    moments = np.zeros((docs.dim, docs.dim))
    for start, block in docs.blocks(_ROWS):
        x = block / docs.norms[start : start + len(block), None] - mean
        moments += x.T @ x
    top = np.linalg.eigh(moments)[1][:, -max(1, docs.dim // 100) :]

    def remove(x: Floats, centre: Floats) -> Floats:
        y = x - centre
        return np.asarray(y - (y @ top) @ top.T)

    return _mapped(docs, queries, remove)


def _mean(docs: Embeddings) -> Floats:
    total = np.zeros(docs.dim)
    for start, block in docs.blocks(_ROWS):
        total += (block / docs.norms[start : start + len(block), None]).sum(axis=0)
    mean: Floats = total / len(docs)
    return mean


def _mapped(docs: Embeddings, queries: Embeddings, change: Callable[[Floats, Floats], Floats]) -> Pair:
    """Both sides changed in float32, with the mean of the documents. Ids stay."""
    mean = _mean(docs)
    changed = []
    for side in (docs, queries):
        out = np.empty(side.vectors.shape, dtype=np.float32)
        for start, block in side.blocks(_ROWS):
            here = slice(start, start + len(block))
            out[here] = change(block / side.norms[here, None], mean)
        changed.append(Embeddings(side.ids, out, side.source))
    return changed[0], changed[1]
