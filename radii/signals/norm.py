"""The norm itself: ‖d‖ of every document, and whether it varies at all."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from radii.data.embeddings import Floats
from radii.ranking.score import Ints

# Rounding a unit vector of dozens of dimensions to half precision or bfloat16 moves its norm by less than
# a thousandth; a spread of log r below this moves hardly any score by more at |γ| = 1. It carries nothing.
CONSTANT_BELOW = 1e-3


@dataclass(frozen=True, eq=False)
class NormSummary:
    """What the norms of a corpus look like.

    Attributes
    ----------
    mean, sd, smallest, median, largest : float
        Of the norms.
    sd_log : float
        Standard deviation of log r: how much score_γ can re-rank.
    longest, shortest : (m,) int64
        Rows of the extremes, the most extreme first.
    """

    mean: float
    sd: float
    sd_log: float
    smallest: float
    median: float
    largest: float
    longest: Ints
    shortest: Ints

    @property
    def constant(self) -> bool:
        """Constant up to rounding: somebody normalised these vectors."""
        return self.sd_log < CONSTANT_BELOW


def summarise(norms: Floats, extremes: int = 10) -> NormSummary:
    """Summary of (n_docs,) positive norms.

    >>> s = summarise(np.array([1.0, 4.0, 2.0]))
    >>> s.longest.tolist(), s.median, round(s.sd_log, 3), s.constant
    ([1, 2, 0], 2.0, 0.566, False)
    """
    order = np.argsort(norms, kind="stable")
    scale = 2.0 ** float(np.frexp(norms[order[-1]])[1] - 1)  # sums and squares stay in range
    return NormSummary(
        mean=float((norms / scale).mean() * scale),
        sd=float((norms / scale).std() * scale),
        sd_log=float(np.log(norms).std()),
        smallest=float(norms[order[0]]),
        median=float(np.median(norms)),
        largest=float(norms[order[-1]]),
        longest=order[::-1][:extremes],
        shortest=order[:extremes],
    )
