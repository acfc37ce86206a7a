"""Families of scores with one parameter: what a path runs along.

    power    cos(q, d) · e^base_d · r_d^γ           a line in γ once the logarithm is taken
    bias     cos(q, d) − γ · b_d                   a line in γ as it stands
    affine   (cos(q, d) + ⟨left_q, right_d⟩) · scale_d    the same at every γ

`power` with the norm is score_γ; with another number per document it is an arm that competes with it; with
γ' log r' as `base` it goes on from where such an arm arrived. `bias` subtracts a penalty, such as how similar
a document is to queries in general. `affine` is the cosine of vectors that were centred or projected, without
ever making them: it differs from cos(q, d) by a matrix of low rank and a scale. `power` may go on from that,
too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from radii.data.embeddings import Embeddings, Floats
from radii.data.processors import cuts
from radii.data.scratch import scratch
from radii.errors import InputError
from radii.ranking.score import Ints, Lines


@dataclass(frozen=True, eq=False)
class Affine:
    """(cos(q, d) + ⟨left_q, right_d⟩) · scale_d.

    Attributes
    ----------
    left : (n_queries, rank) float64
    right : (n_docs, rank) float64
    scale : (n_docs,) float64, not negative
    """

    left: Floats
    right: Floats
    scale: Floats

    def part(self, queries: Ints) -> Affine:
        """Of some of the queries, with the bound of all."""
        some = Affine(self.left[queries], self.right, self.scale)
        some.__dict__["bound"] = self.bound
        return some

    @cached_property
    def bound(self) -> float:
        """No score is larger in magnitude, and none of the sums on the way to it."""
        left, right = _longest(self.left), _longest(self.right)
        return float((1.0 + left * right) * max(1.0, self.scale.max(initial=0.0)))


def _longest(vectors: Floats) -> float:
    """The largest norm of the rows, 0 of none."""
    norms = (np.linalg.norm(vectors[some], axis=1).max() for some in cuts(len(vectors)))
    return float(max(norms, default=0.0))


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
    affine : Affine, optional
        What takes the place of the cosine.
    """

    slope: Floats
    additive: bool = False
    base: Floats | None = None
    affine: Affine | None = None

    @classmethod
    def power(cls, multiplier: npt.ArrayLike, base: Floats | None = None, *, exponent: float = 1.0) -> Family:
        """cos · e^base · multiplier^(exponent · γ), for (n_docs,) positive multipliers.

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
        slope = np.log(values, out=scratch(values.shape))
        slope *= exponent
        return cls(slope, base=base)

    @classmethod
    def bias(cls, penalty: Floats, *, scale: float = 1.0) -> Family:
        """cos − γ · scale · penalty, for (n_docs,) finite penalties."""
        return cls(np.multiply(penalty, -scale, out=scratch(penalty.shape)), additive=True)

    @classmethod
    def fixed(cls, affine: Affine) -> Family:
        """(cos + ⟨left, right⟩) · scale at every γ."""
        level = np.broadcast_to(np.float64(0.0), len(affine.scale))  # of every document, in eight bytes
        return cls(level, additive=True, affine=affine)

    @property
    def fixed_at_every_node(self) -> bool:
        """Whether γ changes nothing, for any document."""
        return self.additive and self.affine is not None

    def similarity(self, cosines: Floats, queries: Ints | int, rows: Ints) -> Floats:
        """What this family takes for the cosines of query rows with document rows, pair by pair."""
        if self.affine is None:
            return cosines
        shift = np.einsum("...r,...r->...", self.affine.left[queries], self.affine.right[rows])
        changed: Floats = (cosines + shift) * self.affine.scale[rows]
        return changed

    def similarities(self, cosines: Floats, queries: Ints | int) -> Floats:
        """The same of one or several query rows with every document: (..., n_docs), to within rounding."""
        if self.affine is None:
            return cosines
        changed: Floats = (cosines + self.affine.left[queries] @ self.affine.right.T) * self.affine.scale
        return changed

    def lines(self, cosines: Floats, rows: Ints) -> Lines:
        """The lines of documents `rows`, given their cosines with a query as `similarity` has them."""
        slope = self.slope[rows]
        if self.additive:
            return Lines(np.ones(len(rows), dtype=np.int8), cosines, slope)
        return Lines.of(cosines, slope, None if self.base is None else self.base[rows])

    def at(self, node: float) -> Floats:
        """What γ adds to every line's height there: (n_docs,) float64."""
        moved: Floats = node * self.slope if self.base is None else self.base + node * self.slope
        return moved


@dataclass(frozen=True, eq=False)
class Group:
    """Some queries, and the families that they are ranked under.

    Attributes
    ----------
    queries : Embeddings
    families : sequence of Family
        The products are shared between them.
    excluded : (n_queries,) int64
        For each query the document row that it must not retrieve, or −1.
    """

    queries: Embeddings
    families: Sequence[Family]
    excluded: Ints


def distinct(groups: Sequence[Group]) -> list[Family]:
    """Every family of the groups once."""
    return list({id(family): family for group in groups for family in group.families}.values())
