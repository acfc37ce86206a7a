"""The forms in which an engine takes vectors, and the arithmetic between them and the documents.

    ip        d' = (m_d z_d/‖z_d‖, −b_d)        q' = (z_q, 1)           largest inner product
    centred   d' − c                            q'                      largest inner product
    unit      d'' = (d', √(M² − ‖d'‖²)) / M     q'' = (q', 0) / ‖q'‖    largest cosine, smallest L2 distance

with the last entry of `ip` only where there is a penalty b, c the mean of d' (over up to 8,192 documents: any
vector serves), and M = max ‖d'‖. All rank alike: ⟨q', d' − c⟩ is ⟨q', d'⟩ but for a term, ⟨q'', d''⟩ but for
a factor, that all documents share. They differ in how far a graph index finds its way: what all documents
have in common tells it nothing, and draws every link to the longest vectors (docs/graph-recall.md).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
import numpy.typing as npt

from radii.data.embeddings import Embeddings, Floats
from radii.deploy.correction import Correction
from radii.evidence.rivals import Projection

Form = Literal["ip", "centred", "unit"]
# Bytes of a block in float32: small enough to be scaled, summed and written from the processor's own cache.
_BLOCK_BYTES = 1 << 20
_AVERAGED = 8192


@dataclass(frozen=True, eq=False)
class Served:
    """Documents in the form an engine takes, made block by block.

    Attributes
    ----------
    docs : Embeddings
    correction : Correction
    form : 'ip', 'centred' or 'unit'
    """

    docs: Embeddings
    correction: Correction
    form: Form

    @property
    def dim(self) -> int:
        """Columns of the vectors served."""
        return self.docs.dim + (self.correction.penalty is not None) + (self.form == "unit")

    @cached_property
    def lengths(self) -> Floats:
        """‖d'‖ of the inner-product form: (n_docs,)."""
        penalty = 0.0 if self.correction.penalty is None else self.correction.penalty
        lengths: Floats = np.hypot(self.correction.multiplier, penalty)
        return lengths

    @cached_property
    def largest(self) -> float:
        """M."""
        return float(self.lengths.max())

    @cached_property
    def shift(self) -> npt.NDArray[np.float32]:
        """c: (served dim,), zeros in the other forms."""
        if self.form != "centred":
            return np.zeros(self.dim, dtype=np.float32)
        rows, own = slice(0, len(self.docs), -(-len(self.docs) // _AVERAGED)), self.correction
        moved, lengths = self._moved(rows)
        mean = (own.multiplier[rows] / lengths) @ moved / len(moved)
        extra = [] if own.penalty is None else [-own.penalty[rows].mean()]
        return np.array([*mean, *extra], dtype=np.float32)

    def blocks(self, dtype: npt.DTypeLike = np.float32) -> Iterator[tuple[slice, npt.NDArray[np.floating]]]:
        """(rows, their served vectors), in order."""
        unit, scale = self.form == "unit", 1.0 / self.largest if self.form == "unit" else 1.0
        own, dim, step = self.correction, self.docs.dim, max(1, _BLOCK_BYTES // (4 * self.dim))
        for at in range(0, len(self.docs), step):
            rows = slice(at, min(at + step, len(self.docs)))
            out = np.empty((rows.stop - at, self.dim), dtype=dtype)
            moved, lengths = self._moved(rows)
            factor = (scale * own.multiplier[rows] / lengths).astype(moved.dtype)
            _scale(moved, factor, self.shift[:dim], out[:, :dim])
            if own.penalty is not None:
                out[:, dim] = -scale * own.penalty[rows] - self.shift[dim]
            if unit:
                out[:, -1] = np.sqrt(np.maximum(1.0 - (scale * self.lengths[rows]) ** 2, 0.0))
            yield rows, out

    def _moved(self, rows: slice) -> tuple[npt.NDArray[np.floating], Floats]:
        """Some documents, projected if need be, and their norms."""
        stored, norms = np.asarray(self.docs.vectors[rows]), self.docs.norms[rows]
        projection = self.correction.projection
        if projection is None:
            return stored.astype(np.promote_types(stored.dtype, np.float32), copy=False), norms
        z = projection.moved(stored.astype(np.float64) / norms[:, None])
        return z, np.maximum(np.linalg.norm(z, axis=1), np.finfo(np.float64).tiny)


def _scale(
    rows: npt.NDArray[np.floating],
    factor: Floats,
    shift: npt.NDArray[np.float32],
    out: npt.NDArray[np.floating],
) -> None:
    """out = rows · factor − shift; what half precision cannot hold becomes infinite: its writer looks."""
    if out.dtype == np.float16 and rows.dtype == np.float32:
        from radii.deploy.kernels import scale_to_half

        scale_to_half(rows, factor, shift, out.view(np.uint16))
        return
    with np.errstate(over="ignore"):
        if not shift.any():
            np.multiply(rows, factor[:, None], out=out, casting="same_kind")
        elif out.dtype == np.float32 == rows.dtype:
            np.multiply(rows, factor[:, None], out=out)
            np.subtract(out, shift, out=out)
        else:
            np.subtract(rows * factor[:, None], shift, out=out, casting="same_kind")


def asked(
    queries: Floats, form: Form, *, projection: Projection | None, penalised: bool
) -> npt.NDArray[np.float32]:
    """(n, dim) queries, not all zeros, in the form that goes with the documents: (n, served dim) float32."""
    unit = queries / np.linalg.norm(queries, axis=1, keepdims=True)
    z = unit if projection is None else projection.moved(unit)
    extra = [np.ones(len(z))] * penalised
    if form == "unit":
        z = np.column_stack([z, *extra])
        z /= np.maximum(np.linalg.norm(z, axis=1, keepdims=True), np.finfo(np.float64).tiny)
        extra = [np.zeros(len(z))]
    return np.column_stack([z, *extra]).astype(np.float32)
