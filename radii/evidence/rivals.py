"""What else people do to long vectors and hubs: other vectors, or a scale and a term per document.

All of it is the cosine, changed by a matrix of low rank and a scale per document, so that every rival shares
the products of the norm's own path. Nothing here is specific to norms.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from radii.data.embeddings import Embeddings, Floats
from radii.ranking.family import Affine

Pair = tuple[Embeddings, Embeddings]
_ROWS = 2048  # documents at a time
_VANISHED = 1e-6  # a shorter rest of a unit vector is rounding: it has no direction


@dataclass(frozen=True, eq=False)
class Projection:
    """z = y − Σ_t ⟨y, t⟩ t with y = x̂ − c: unit vectors moved, then freed of some directions.

    Attributes
    ----------
    centre : (dim,) float64
        c.
    directions : (n_directions, dim) float64
        Orthonormal t.
    """

    centre: Floats
    directions: Floats

    def moved(self, unit: Floats) -> Floats:
        """z of (n, dim) unit vectors."""
        y = unit - self.centre
        z: Floats = y - (y @ self.directions.T) @ self.directions
        return z

    def pair(self, docs: Embeddings, queries: Embeddings) -> Pair:
        """Both sides changed, in float32. Ids stay."""
        return self._changed(docs), self._changed(queries)

    def affine(self, docs: Embeddings, queries: Embeddings) -> Affine:
        """The cosine of the changed vectors as the cosine of the given ones, changed.

        ⟨z_q, z_d⟩ = ⟨q̂, d̂⟩ − ⟨c, q̂⟩ − ⟨c, d̂⟩ + ⟨c, c⟩ − Σ_t ⟨y_q, t⟩⟨y_d, t⟩, over ‖z_d‖. Scaled so that no
        document's scale exceeds 1; a document of which nothing is left scores 0.
        """
        along = self.centre @ self.centre
        at_queries, query_parts = self._read(queries)
        at_docs, doc_parts = self._read(docs)
        left = np.column_stack((along - at_queries, np.ones(len(queries)), -query_parts))
        right = np.column_stack((np.ones(len(docs)), -at_docs, doc_parts))
        length = np.sqrt(np.maximum(1.0 - 2.0 * at_docs + along - (doc_parts**2).sum(axis=1), 0.0))
        left_over = length > _VANISHED
        shortest = length[left_over].min(initial=1.0)
        return Affine(left, right, np.where(left_over, shortest / np.where(left_over, length, 1.0), 0.0))

    def _read(self, some: Embeddings) -> tuple[Floats, Floats]:
        """⟨c, x̂⟩, (n,), and ⟨x̂ − c, t⟩, (n, n_directions)."""
        onto = np.column_stack((self.centre, self.directions.T))
        found = np.concatenate([unit @ onto for unit in _unit_blocks(some)])
        return found[:, 0], found[:, 1:] - self.directions @ self.centre

    def _changed(self, some: Embeddings) -> Embeddings:
        out = np.empty(some.vectors.shape, dtype=np.float32)
        at = 0
        for unit in _unit_blocks(some):
            out[at : at + len(unit)] = self.moved(unit)
            at += len(unit)
        return Embeddings(some.ids, out, some.source)


def centred(docs: Embeddings) -> Projection:
    """Less the mean unit document: x̂ − μ. Source: arXiv 2511.11041."""
    return Projection(_mean(docs), np.empty((0, docs.dim)))


def without_mean_direction(docs: Embeddings) -> Projection:
    """Without the projection on the mean document: x̂ − ⟨x̂, μ̂⟩ μ̂. Source: arXiv 2511.11041."""
    mean = _mean(docs)
    return Projection(np.zeros(docs.dim), (mean / np.linalg.norm(mean))[None, :])


def all_but_the_top(docs: Embeddings) -> Projection:
    """Centred, without the dim / 100 leading principal directions of the documents.

    Source: arXiv 1702.01417.
    """
    mean = _mean(docs)
    moments = np.zeros((docs.dim, docs.dim))
    for unit in _unit_blocks(docs):
        y = unit - mean
        moments += y.T @ y
    return Projection(mean, np.linalg.eigh(moments)[1][:, -max(1, docs.dim // 100) :].T)


PROJECTIONS = {
    "mean-centring": centred,
    "mean direction removed": without_mean_direction,
    "all-but-the-top": all_but_the_top,
}


def local_scaling(last: Floats, n_queries: int) -> Affine:
    """Distance in units of the document's own: rank by −‖q̂ − d̂‖² / (σ_q σ_d), which is (cos − 1) / σ_d.

    σ_d is the distance from d to the last of its ten nearest queries of the bank; σ_q is the same for every
    document of a query. Scaled so that no document's scale exceeds 1.

    Parameters
    ----------
    last : (n_docs,) float64
        Cosine to that query.
    n_queries : int

    Source: Zelnik-Manor and Perona (2004), Self-tuning spectral clustering, NIPS 17, for the scales;
    Schnitzer et al. (2012), Local and global scaling reduce hubs in space, JMLR 13:2871-2902, for retrieval.
    """
    sigma = np.sqrt(np.maximum(2.0 - 2.0 * last, _VANISHED))
    return Affine(-np.ones((n_queries, 1)), np.ones((len(last), 1)), sigma.min() / sigma)


def _unit_blocks(some: Embeddings) -> Iterator[Floats]:
    for start, block in some.blocks(_ROWS):
        yield block / some.norms[start : start + len(block), None]


def _mean(docs: Embeddings) -> Floats:
    total = np.zeros(docs.dim)
    for unit in _unit_blocks(docs):
        total += unit.sum(axis=0)
    mean: Floats = total / len(docs)
    return mean


def extended(some: Embeddings, column: npt.ArrayLike) -> Embeddings:
    """Unit vectors with one more dimension: ⟨(q̂, 1), (d̂, −b_d)⟩ = cos − b_d."""
    out = np.empty((len(some), some.dim + 1), dtype=np.float32)
    for start, block in some.blocks():
        here = slice(start, start + len(block))
        out[here, :-1] = block / some.norms[here, None]
    out[:, -1] = column
    return Embeddings(some.ids, out, some.source)
