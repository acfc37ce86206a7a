"""What else people do to long vectors and hubs: other vectors, or a scale and a term per document.

All of it is the cosine, changed by a matrix of low rank and a scale per document, so that every rival shares
the products of the norm's own path. Nothing here is specific to norms.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np
import numpy.typing as npt

from radii.data.embeddings import Embeddings, Floats
from radii.data.scratch import scratch
from radii.ranking.directions import directions
from radii.ranking.family import Affine
from radii.ranking.score import Ints

Pair = tuple[Embeddings, Embeddings]
_ROWS = 2048  # documents at a time
_COPIED = 1 << 26  # numbers; a copy of the corpus with more is not made, but read row by row
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
        return affines({"": self}, docs, queries)[""]

    def read(self, unit: Floats) -> Floats:
        """⟨c, x̂⟩ and ⟨x̂, t⟩ of (n, dim) unit vectors: (n, 1 + n_directions)."""
        found: Floats = unit @ np.column_stack((self.centre, self.directions.T))
        return found

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

    def _changed(self, some: Embeddings) -> Embeddings:
        out = np.empty(some.vectors.shape, dtype=np.float32)
        for here, unit in _unit_blocks(some):
            out[here] = self.moved(unit)
        return Embeddings(some.ids, out, some.source)


def affines(changes: Mapping[str, Projection], docs: Embeddings, queries: Embeddings) -> dict[str, Affine]:
    """`Projection.affine` of each, from one reading of the documents."""
    asked = np.concatenate([unit for _, unit in _unit_blocks(queries)])
    rights = {name: scratch((len(docs), 2 + len(change.directions))) for name, change in changes.items()}
    lengths = {name: scratch(len(docs)) for name in changes}
    for here, unit in _unit_blocks(docs):
        for name, change in changes.items():
            rights[name][here], lengths[name][here] = change.right(change.read(unit))
    return {
        name: Affine(change.left(change.read(asked)), rights[name], _inverted(lengths[name]))
        for name, change in changes.items()
    }


def _inverted(lengths: Floats) -> Floats:
    """In their place, the shortest length over each, at most 1; 0 where nothing is left."""
    left_over = lengths > _VANISHED
    shortest = np.min(lengths, where=left_over, initial=1.0)
    np.divide(shortest, lengths, out=lengths, where=left_over)
    lengths[~left_over] = 0.0
    return lengths


def centred(docs: Embeddings, mean: Floats | None = None) -> Projection:
    """Less the mean unit document, `mean` where it is known: x̂ − μ. Source: arXiv 2511.11041."""
    return Projection(mean_unit(docs) if mean is None else mean, np.empty((0, docs.dim)))


def without_mean_direction(docs: Embeddings, mean: Floats | None = None) -> Projection:
    """Without the projection on the mean document: x̂ − ⟨x̂, μ̂⟩ μ̂. Source: arXiv 2511.11041."""
    mean = mean_unit(docs) if mean is None else mean
    return Projection(np.zeros(docs.dim), (mean / np.linalg.norm(mean))[None, :])


def all_but_the_top(docs: Embeddings, mean: Floats | None = None) -> Projection:
    """Centred, without the dim / 100 leading principal directions of the documents.

    Source: arXiv 1702.01417.
    """
    mean = mean_unit(docs) if mean is None else mean
    moments = np.zeros((docs.dim, docs.dim))
    for _, unit in _unit_blocks(docs):
        y = unit - mean
        moments += y.T @ y
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


def _unit_blocks(some: Embeddings) -> Iterator[tuple[slice, Floats]]:
    for start, block in some.blocks(_ROWS):
        here = slice(start, start + len(block))
        yield here, block / some.norms[here, None]


def mean_unit(docs: Embeddings) -> Floats:
    """The mean of the unit documents: (dim,)."""
    total = np.zeros(docs.dim)
    for _, unit in _unit_blocks(docs):
        total += unit.sum(axis=0)
    mean: Floats = total / len(docs)
    return mean


def extended(some: Embeddings, column: npt.ArrayLike) -> Embeddings:
    """Unit vectors with one more dimension, in float32: ⟨(q̂, 1), (d̂, −b_d)⟩ = cos − b_d.

    Where a copy would take gigabytes, rows are made when they are asked for.
    """
    last = np.broadcast_to(np.asarray(column, dtype=np.float64), len(some))
    if len(some) * (some.dim + 1) > _COPIED:
        return Embeddings(some.ids, Extended(some, last), some.source)  # type: ignore[arg-type]
    out = np.empty((len(some), some.dim + 1), dtype=np.float32)
    for start, block in some.blocks():
        here = slice(start, start + len(block))
        out[here, :-1] = block / some.norms[here, None]
    out[:, -1] = last
    return Embeddings(some.ids, out, some.source)


class Extended:
    """What `extended` gives, as an array of which some rows exist at a time."""

    dtype, ndim = np.dtype(np.float32), 2

    def __init__(self, some: Embeddings, last: Floats) -> None:
        self._some, self._last = some, last
        self.shape = len(some), some.dim + 1
        self.size = self.shape[0] * self.shape[1]
        # What reads rows out of an array by themselves asks this first; here rows are made together.
        self.flags = SimpleNamespace(c_contiguous=False)

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, at: slice | Ints) -> npt.NDArray[np.float32]:
        last = self._last[at]
        out = np.empty((len(last), self.shape[1]), dtype=np.float32)
        directions(self._some, at, out[:, :-1])
        out[:, -1] = last
        return out

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> npt.NDArray[Any]:
        return self[:].astype(dtype or self.dtype)
