"""Families of scores with one parameter: what a path runs along.

    power   cos(q, d) · e^base_d · r_d^γ      a line in γ once the logarithm is taken
    bias    cos(q, d) − γ · b_d              a line in γ as it stands

`power` with the norm is score_γ; with another number per document it is an arm that competes with it; with
log ‖d'‖ as `base` it starts from the inner product of other vectors. `bias` subtracts a penalty, such as how
similar a document is to queries in general.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from radii.data.embeddings import Floats
from radii.errors import InputError
from radii.ranking.score import Ints, Lines


@dataclass(frozen=True, eq=False)
class Family:
    """Scores of all documents along one parameter.

    Attributes
    ----------
    slope : (n_docs,) float64
        log r, or −b: how fast the line of a document with a positive cosine rises.
    additive : bool
        `bias` rather than `power`.
    base : (n_docs,) float64, optional
        Added to the logarithm of the cosine; `power` only.
    """

    slope: Floats
    additive: bool = False
    base: Floats | None = None

    @classmethod
    def power(cls, multiplier: npt.ArrayLike, base: Floats | None = None) -> Family:
        """cos · e^base · multiplier^γ, for (n_docs,) positive multipliers.

        Raises InputError on a multiplier that is not positive and finite.
        """
        values = np.asarray(multiplier, dtype=np.float64)
        bad = np.flatnonzero(~(np.isfinite(values) & (values > 0)))
        if bad.size:
            raise InputError(
                f"{bad.size} multipliers are not positive and finite, first row {bad[0]} ({values[bad[0]]})",
                cause="a count of zero, or a missing value",
                fix="shift or drop such documents",
            )
        return cls(np.log(values), base=base)

    @classmethod
    def bias(cls, penalty: Floats) -> Family:
        """cos − γ · penalty, for (n_docs,) finite penalties."""
        return cls(-penalty, additive=True)

    def lines(self, cosines: Floats, rows: Ints) -> Lines:
        """The lines of documents `rows`, given their cosines with a query."""
        slope = self.slope[rows]
        if self.additive:
            return Lines(np.ones(len(rows), dtype=np.int8), cosines, slope)
        return Lines.of(cosines, slope, None if self.base is None else self.base[rows])

    def at(self, node: float) -> Floats:
        """What γ adds to every line's height there: (n_docs,) float64."""
        moved: Floats = node * self.slope if self.base is None else self.base + node * self.slope
        return moved
