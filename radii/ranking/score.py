"""What score_γ is: the definition that every faster computation must agree with.

score_γ(q, d) = cos(q, d) · r_d^γ, with r_d = ‖d‖ unless another positive number per document is given.

Taken in logarithms a score is a *line* in γ. Three classes of documents never mix, whatever γ is:

    cos > 0   ranked by  log cos + γ log r        first
    cos = 0   score 0 at every γ                  then
    cos < 0   ranked by −log |cos| − γ log r      last: r^γ < 1 *raises* a negative score

Equal scores are ranked as they are just above γ: the steeper line first (the longer document, for positive
cosines), then, where the lines are the same, by row. So every ranking is continuous from the right in γ.
(trec_eval ranks equal scores by document id, descending; a run handed to it must carry distinct scores.)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from radii.data.embeddings import Floats

Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]


def score(cosines: Floats, norms: Floats, gamma: float) -> Floats:
    """cos · r^γ, elementwise over arrays that broadcast.

    >>> score(np.array([0.5, -0.5]), np.array([4.0, 4.0]), -0.5)
    array([ 0.25, -0.25])
    """
    result: Floats = cosines * norms**gamma
    return result


@dataclass(frozen=True, eq=False)
class Lines:
    """The lines of some documents for one or more queries, one entry each.

    Attributes
    ----------
    group : (n,) int8
        1, 0 or −1: the sign of the cosine.
    height : (n,) float64
        The line's value at γ = 0: ±log |cos|, and 0 where cos = 0.
    slope : (n,) float64
        ±log r, and 0 where cos = 0.
    """

    group: npt.NDArray[np.int8]
    height: Floats
    slope: Floats

    @classmethod
    def of(cls, cosines: Floats, log_norms: Floats, base: Floats | None = None) -> Lines:
        """Lines of (n,) cosines and (n,) log norms; `base` is added to log |cos|.

        >>> Lines.of(np.array([1.0, 0.0, -1.0]), np.array([0.5, 0.5, 0.5])).slope
        array([ 0.5,  0. , -0.5])
        """
        sign = np.sign(cosines)
        magnitude = np.where(sign == 0, 1.0, np.abs(cosines))
        height = np.log(magnitude) if base is None else np.log(magnitude) + base
        return cls(sign.astype(np.int8), sign * height + 0.0, sign * log_norms + 0.0)

    def __getitem__(self, at: Any) -> Lines:
        return Lines(self.group[at], self.height[at], self.slope[at])

    def order(self, gamma: float) -> Ints:
        """Positions of the entries, best score first; ties by slope, then in the order given."""
        return np.lexsort((-self.slope, -(self.height + gamma * self.slope), -self.group))


def crossings(first: Lines, second: Lines) -> Floats:
    """The γ at which two lines meet: (h₂ − h₁) / (s₁ − s₂), elementwise over lines that broadcast.

    nan where they never change places: other groups, or parallel. The same number, to the bit, whichever
    line is called first, so that every part of the package agrees on who is above whom.
    """
    apart = first.slope - second.slope
    never = (first.group != second.group) | (apart == 0)
    return np.where(never, np.nan, (second.height - first.height) / np.where(never, 1.0, apart))


def above(first: Lines, second: Lines, first_is_earlier: Bools, meet: Floats, gamma: float) -> Bools:
    """Whether `first` ranks above `second` at γ and just after it, given where they meet.

    At the very γ of a crossing the steeper line counts as above: step functions continue from the right.
    """
    never = np.isnan(meet)
    steeper = first.slope > second.slope
    crossing = np.where(steeper, meet <= gamma, meet > gamma)
    parallel = np.where(
        first.group != second.group,
        first.group > second.group,
        (first.height > second.height) | ((first.height == second.height) & first_is_earlier),
    )
    return np.where(never, parallel, crossing)
