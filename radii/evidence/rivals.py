"""What else people do to long vectors and hubs: other vectors, or a scale and a term per document.

All of it is the cosine, changed by a matrix of low rank and a scale per document, so that every rival shares
the products of the norm's own path. Nothing here is specific to norms.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from radii.data.embeddings import Embeddings, Floats
from radii.data.scratch import scratch
from radii.ranking.family import Affine
from radii.ranking.threads import available_threads, cuts, threads

_ROWS = 1024  # documents at a time
_TOGETHER = 32  # such blocks whose products are held at once
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

    def affine(self, docs: Embeddings, queries: Embeddings) -> Affine:
        """The cosine of the changed vectors as the cosine of the given ones, changed.

        ⟨z_q, z_d⟩ = ⟨q̂, d̂⟩ − ⟨c, q̂⟩ − ⟨c, d̂⟩ + ⟨c, c⟩ − Σ_t ⟨y_q, t⟩⟨y_d, t⟩, over ‖z_d‖. Scaled so that no
        document's scale exceeds 1; a document of which nothing is left scores 0.
        """
        return affines({"": self}, docs, queries)[""]

    @property
    def columns(self) -> Floats:
        """(dim, 1 + n_directions): x̂ times these is ⟨c, x̂⟩ and ⟨x̂, t⟩, what is read of a vector."""
        return np.column_stack((self.centre, self.directions.T))

    def left(self, found: Floats) -> Floats:
        """The side of the queries of `affine`, of what was read of them: (n, 2 + n_directions)."""
        return np.column_stack(
            (self.centre @ self.centre - found[:, 0], np.ones(len(found)), -self._parts(found))
        )

    def right(self, found: Floats) -> tuple[Floats, Floats]:
        """The side of the documents, (n, 2 + n_directions), and ‖z‖, (n,)."""
        along, parts = found[:, 0], self._parts(found)
        squares = 1.0 - 2.0 * along + self.centre @ self.centre - (parts**2).sum(axis=1)
        sides = np.column_stack((np.ones(len(found)), -along, parts))
        return sides, np.sqrt(np.maximum(squares, 0.0))

    def _parts(self, found: Floats) -> Floats:
        """⟨x̂ − c, t⟩, (n, n_directions), of what was read."""
        parts: Floats = found[:, 1:] - self.directions @ self.centre
        return parts


def affines(changes: Mapping[str, Projection], docs: Embeddings, queries: Embeddings) -> dict[str, Affine]:
    """`Projection.affine` of each, from one reading of the documents."""
    columns = [change.columns for change in changes.values()]
    stacked, ends = np.hstack(columns), np.cumsum([part.shape[1] for part in columns])[:-1]
    rights = {name: scratch((len(docs), 2 + len(change.directions))) for name, change in changes.items()}
    lengths = {name: scratch(len(docs)) for name in changes}

    def read(some: Embeddings, here: slice) -> Iterator[tuple[str, Projection, Floats]]:
        return zip(changes, changes.values(), np.hsplit(some.unit(here) @ stacked, ends), strict=True)

    def fill(here: slice) -> None:
        for name, change, found in read(docs, here):
            rights[name][here], lengths[name][here] = change.right(found)

    with threads(available_threads()) as run:
        run(fill, cuts(len(docs), _ROWS))
    return {
        name: Affine(change.left(found), rights[name], _inverted(lengths[name]))
        for name, change, found in read(queries, slice(0, len(queries)))
    }


def _inverted(lengths: Floats) -> Floats:
    """In their place, the shortest length over each, at most 1; 0 where nothing is left."""
    left_over = lengths > _VANISHED
    shortest = np.min(lengths, where=left_over, initial=1.0)
    np.divide(shortest, lengths, out=lengths, where=left_over)
    lengths[~left_over] = 0.0
    return lengths


def centred(docs: Embeddings) -> Projection:
    """Less the mean unit document: x̂ − μ. Source: arXiv 2511.11041."""
    return Projection(docs.mean_unit, np.empty((0, docs.dim)))


def without_mean_direction(docs: Embeddings) -> Projection:
    """Without the projection on the mean document: x̂ − ⟨x̂, μ̂⟩ μ̂. Source: arXiv 2511.11041."""
    return Projection(np.zeros(docs.dim), (docs.mean_unit / np.linalg.norm(docs.mean_unit))[None, :])


def all_but_the_top(docs: Embeddings) -> Projection:
    """Centred, without the dim / 100 leading principal directions of the documents.

    Source: arXiv 1702.01417.
    """
    mean, moments = docs.mean_unit, np.zeros((docs.dim, docs.dim))

    def products(here: slice) -> Floats:
        y = docs.unit(here)
        y -= mean
        return np.asarray(y.T @ y)

    with threads(available_threads()) as run:
        blocks = cuts(len(docs), _ROWS)
        for some in cuts(len(blocks), _TOGETHER):
            for found in run(products, blocks[some]):  # summed in order, by however many threads
                moments += found
    return Projection(mean, np.linalg.eigh(moments)[1][:, -max(1, docs.dim // 100) :].T)


PROJECTIONS = {
    "mean-centring": centred,
    "mean direction removed": without_mean_direction,
    "all-but-the-top": all_but_the_top,
}


def local_scaling(last: npt.ArrayLike, n_queries: int) -> Affine:
    """Distance in units of the document's own: rank by −‖q̂ − d̂‖² / (σ_q σ_d), which is (cos − 1) / σ_d.

    σ_d is the distance from d to the last of its ten nearest queries of the bank; σ_q is the same for every
    document of a query. Scaled so that no document's scale exceeds 1.

    Parameters
    ----------
    last : (n_docs,) floats
        Cosine to that query.
    n_queries : int

    Source: Zelnik-Manor and Perona (2004), Self-tuning spectral clustering, NIPS 17, for the scales;
    Schnitzer et al. (2012), Local and global scaling reduce hubs in space, JMLR 13:2871-2902, for retrieval.
    """
    sigma = np.sqrt(np.maximum(2.0 - 2.0 * np.asarray(last, dtype=np.float64), _VANISHED))
    scale = np.divide(sigma.min(), sigma, out=scratch(sigma.shape))
    return Affine(-np.ones((n_queries, 1)), np.broadcast_to(np.float64(1.0), (len(sigma), 1)), scale)


def penalised(penalty: Floats, weight: float, n_queries: int) -> Affine:
    """cos − w b_d, for (n_docs,) penalties b: at one weight, so that an exponent can go on from it."""
    scale = np.broadcast_to(np.float64(1.0), len(penalty))
    return Affine(np.full((n_queries, 1), -weight), penalty[:, None], scale)
