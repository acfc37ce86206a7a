"""Centrality: how close a document points to the direction that all documents share."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from radii.data.embeddings import Embeddings, Floats
from radii.data.processors import cuts, share_out
from radii.errors import InputError

# A mean of unit vectors that cancel is rounding: some units of 1e-16, in any direction.
CANCELLED_BELOW = 1e-12
_ROWS = 512  # at a time


@dataclass(frozen=True, eq=False)
class MeanDirection:
    """The mean of a corpus's unit vectors, m = (1/n) Σ d / ‖d‖, in polar form.

    Attributes
    ----------
    unit : (dim,) float64
        m / ‖m‖.
    length : float
        ‖m‖, the mean resultant length: how narrow the cone of the vectors is. 1 when all point the same way,
        about 1/√n when they point everywhere. It is also the mean of the centralities.
    """

    unit: Floats
    length: float


def mean_direction(docs: Embeddings | npt.ArrayLike) -> MeanDirection:
    """Mean direction of the (n_docs, dim) vectors, read in blocks, summed in float64.

    Raises InputError where the unit vectors cancel, so that no direction is left; see `Embeddings` for
    vectors that cannot be used.

    Source: Mardia and Jupp (2000), Directional Statistics, doi:10.1002/9780470316979, for the resultant;
    arXiv:2511.11041 for removing it.

    >>> mean_direction(np.array([[3.0, 0.0], [0.0, 0.5]])).length.__round__(3)
    0.707
    """
    docs = Embeddings.of(docs)
    mean = docs.mean_unit
    length = float(np.linalg.norm(mean))
    if length < CANCELLED_BELOW:
        raise InputError(
            f"the mean of the unit vectors has length {length:.1e}",
            where=docs.source,
            cause="vectors that come with their opposites, or that were centred before",
            fix="leave centrality out: these vectors share no direction",
        )
    return MeanDirection(mean / length, min(length, 1.0))


def centrality(docs: Embeddings | npt.ArrayLike, towards: MeanDirection | None = None) -> Floats:
    """Cosine of every document to the mean direction: (n_docs,) float64 in [−1, 1].

    centrality(d) = ⟨d, m⟩ / (‖d‖ ‖m‖), with m the mean of the unit vectors of these documents, or of those
    that `towards` was made of. It may be zero or negative: not a multiplier of a score as it stands.

    Raises InputError as `mean_direction` does, and on directions of another dimension.

    Source: see `mean_direction`.

    >>> centrality(np.array([[3.0, 0.0], [0.0, 0.5]])).round(3)
    array([0.707, 0.707])
    """
    docs = Embeddings.of(docs)
    towards = mean_direction(docs) if towards is None else towards
    if towards.unit.shape != (docs.dim,):
        raise InputError(
            f"vectors of {docs.dim} dimensions, a mean direction of {len(towards.unit)}",
            where=docs.source,
            cause="vectors of two models",
            fix="take the mean direction of vectors of the same model",
        )
    cosines = np.empty(len(docs))

    def fill(some: slice) -> None:
        # Not by BLAS, whose threads would wait for those that call it.
        cosines[some] = np.einsum("ij,j->i", docs.unit(some), towards.unit)

    list(share_out(fill, cuts(len(docs), _ROWS), docs.vectors.size))
    return cosines.clip(-1.0, 1.0, out=cosines)
