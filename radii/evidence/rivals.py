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
from radii.ranking.threads import available_threads, cuts, threads

Pair = tuple[Embeddings, Embeddings]
_ROWS = 1024  # documents at a time
_TOGETHER = 32  # such blocks whose products are held at once
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

    def _changed(self, some: Embeddings) -> Embeddings:
        out = np.empty(some.vectors.shape, dtype=np.float32)
        for here in cuts(len(some), _ROWS):
            out[here] = self.moved(some.unit(here))
        return Embeddings(some.ids, out, some.source)


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
