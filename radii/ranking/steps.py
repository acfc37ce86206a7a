"""Step functions of γ: one query's metric, and the mean over many."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from radii.data.embeddings import Floats
from radii.errors import InputError
from radii.ranking.score import Bools, Ints


class Best(NamedTuple):
    """The largest value of a step function, and where: `gamma` lies well inside (`low`, `high`)."""

    gamma: float
    value: float
    low: float
    high: float


@dataclass(frozen=True, eq=False)
class StepFunction:
    """A piecewise constant function of γ, continuous from the right.

    Attributes
    ----------
    edges : (n + 1,) float64
        Ascending; the first and the last are the ends of the γ range.
    values : (n,) float64
        The value on [edges[i], edges[i+1]); the last interval holds the high end too.

    >>> f = StepFunction(np.array([-1.0, 0.5, 1.0]), np.array([0.2, 0.3]))
    >>> f.at(0.5), f.best().gamma
    (0.3, 0.75)
    """

    edges: Floats
    values: Floats

    def at(self, gamma: float) -> float:
        """The value at γ; InputError outside the range that was computed."""
        check_inside(gamma, float(self.edges[0]), float(self.edges[-1]))
        place = int(np.searchsorted(self.edges, gamma, side="right")) - 1
        return float(self.values[min(place, len(self.values) - 1)])

    def best(self) -> Best:
        """The best interval, the one nearest γ = 0 among equals, and the exponent that stands for it."""
        top = self.values.max()
        # Means are sums in different orders: values that differ by rounding alone are equal.
        interval = nearest_zero(self.edges, np.flatnonzero(self.values >= top - 1e-12))
        low, high = float(self.edges[interval]), float(self.edges[interval + 1])
        return Best(representative(self.edges, interval), float(top), low, high)


def nearest_zero(edges: Floats, intervals: Ints) -> int:
    """Of some intervals between `edges` the one nearest γ = 0; the one that holds 0, if any does."""
    left, right = edges[intervals], edges[intervals + 1]
    # An interval that ends at 0 does not hold it: the one that begins there does.
    ends_at_zero = (right == 0.0) & (intervals < len(edges) - 2)
    distance = np.maximum(np.maximum(left, -right), np.where(ends_at_zero, np.finfo(float).tiny, 0.0))
    return int(intervals[np.argmin(distance)])


def representative(edges: Floats, interval: int) -> float:
    """The exponent that stands for an interval: 0 if it holds 0, else the middle, away from both edges."""
    low, high = float(edges[interval]), float(edges[interval + 1])
    is_last = interval == len(edges) - 2
    return 0.0 if low <= 0.0 < high or (is_last and high == 0.0) else (low + high) / 2


def check_inside(gamma: float, low: float, high: float) -> None:
    """Refuse a γ outside the computed range: beyond it nothing is known."""
    if not low <= gamma <= high:
        raise InputError(
            f"γ = {gamma:g} lies outside the computed range [{low:g}, {high:g}]",
            fix="compute the path again with a wider gamma_range",
        )


@dataclass(frozen=True, eq=False)
class Curves:
    """A step function per query, stored as changes sorted by γ so that any subset is one pass.

    Attributes
    ----------
    low, high : float
        The γ range.
    start : (n_queries,) float64
        Each query's value at `low`.
    gamma, query, before, after : (n_changes,) arrays
        At `gamma[i]`, strictly inside the range, the value of query row `query[i]` goes from `before[i]`
        to `after[i]`.
    """

    low: float
    high: float
    start: Floats
    gamma: Floats
    query: Ints
    before: Floats
    after: Floats

    def __len__(self) -> int:
        return len(self.start)

    def values(self, gamma: float) -> Floats:
        """(n_queries,) value of every query at γ."""
        check_inside(gamma, self.low, self.high)
        until = int(np.searchsorted(self.gamma, gamma, side="right"))
        values = self.start.copy()
        values[self.query[:until]] = self.after[:until]  # in order of γ: the latest change stays
        return values

    @cached_property
    def edges(self) -> Floats:
        """Every γ at which any query changes, with both ends of the range."""
        return np.concatenate(([self.low], np.unique(self.gamma), [self.high]))

    def sums(self, start: Floats, change: Floats) -> Floats:
        """Σ over queries on every interval of `edges`, given values at `low` and the changes."""
        running = float(start.sum()) + np.concatenate(([0.0], np.cumsum(change)))
        return running[np.searchsorted(self.gamma, self.edges[:-1], side="right")]

    def mean(self) -> StepFunction:
        """The mean over all queries."""
        return StepFunction(self.edges, self.sums(self.start, self.after - self.before) / len(self))

    @classmethod
    def joined(cls, parts: Sequence[Curves]) -> Curves:
        """The queries of several, one after the other, on the same range."""
        shift = np.cumsum([0, *(len(part) for part in parts[:-1])])
        gamma = np.concatenate([part.gamma for part in parts])
        order = np.argsort(gamma, kind="stable")
        return cls(
            parts[0].low,
            parts[0].high,
            np.concatenate([part.start for part in parts]),
            gamma[order],
            np.concatenate([part.query + by for part, by in zip(parts, shift, strict=True)])[order],
            np.concatenate([part.before for part in parts])[order],
            np.concatenate([part.after for part in parts])[order],
        )

    def one(self, row: int) -> StepFunction:
        """The step function of one query row."""
        mine = self.query == row
        return StepFunction(
            np.concatenate(([self.low], self.gamma[mine], [self.high])),
            np.concatenate(([self.start[row]], self.after[mine])),
        )

    def frozen(self, still: Bools, gamma: float) -> Curves:
        """The same, but the query rows marked in `still` (n_queries,) keep their value at γ everywhere."""
        keep = ~still[self.query]
        start = np.where(still, self.values(gamma), self.start)
        return Curves(
            self.low,
            self.high,
            start,
            self.gamma[keep],
            self.query[keep],
            self.before[keep],
            self.after[keep],
        )

    def part(self, rows: Ints, low: float | None = None, high: float | None = None) -> Curves:
        """These queries only, in this order, on a narrower range if one is given."""
        low = self.low if low is None else low
        high = self.high if high is None else high
        position = np.full(len(self), -1)
        position[rows] = np.arange(len(rows))
        keep = (position[self.query] >= 0) & (self.gamma > low) & (self.gamma < high)
        return Curves(
            low,
            high,
            self.values(low)[rows],
            self.gamma[keep],
            position[self.query[keep]],
            self.before[keep],
            self.after[keep],
        )
