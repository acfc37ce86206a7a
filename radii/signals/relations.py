"""How signals relate: rank correlations, partial ones, and how much of one the others explain.

Intervals are percentile bootstraps over documents. Above a stated number of documents a seeded subsample of
that size stands for the corpus, for the estimate and for its interval alike. What is undefined, such as a
correlation with a constant signal, is None.

Source: Efron (1979), doi:10.1214/aos/1176344552, for the bootstrap.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Literal

import numpy as np
import numpy.typing as npt

from radii.data.embeddings import Floats
from radii.data.processors import cuts
from radii.data.scratch import scratch
from radii.errors import InputError
from radii.signals.resampling import (
    Bootstrap,
    Sample,
    by_value,
    concordances,
    mid_ranks,
    normalised,
    rank_covariances,
)

SPEARMAN_DOCUMENTS = 5000
KENDALL_DOCUMENTS = 2000  # the work is quadratic in these
EXPLAINED_DOCUMENTS = 20000
_PIECES = 5  # of a curve, between the fifths of a signal
_DETERMINED = 1e-10  # a residual variance below this share is rounding: nothing is left to correlate


@dataclass(frozen=True)
class Relation:
    """An estimate and its interval, all None where it is undefined.

    Attributes
    ----------
    estimate, low, high : float or None
    n, sample : int
        Documents in the corpus, and in the subsample that was used (all of them when equal).
    resamples : int
        Resamples in which the statistic was defined; the interval is of these.
    level : float
        Of the interval.
    """

    estimate: float | None
    low: float | None
    high: float | None
    n: int
    sample: int
    resamples: int
    level: float


@dataclass(frozen=True)
class Correlations:
    """Correlation of every pair of signals; `found["norm", "length"]` in either order.

    Attributes
    ----------
    kind : 'spearman' or 'kendall'
    names : tuple of str
    pairs : dict
        (earlier name, later name) → Relation.
    """

    kind: Literal["spearman", "kendall"]
    names: tuple[str, ...]
    pairs: dict[tuple[str, str], Relation]

    def __getitem__(self, pair: tuple[str, str]) -> Relation:
        return self.pairs[pair] if pair in self.pairs else self.pairs[pair[1], pair[0]]


def spearman_matrix(
    signals: Mapping[str, npt.ArrayLike], seed: int, *, resamples: int = 999, level: float = 0.95
) -> Correlations:
    """Spearman's ρ of every pair of (n_docs,) signals: Pearson's correlation of mid-ranks.

    On at most 5,000 documents (SPEARMAN_DOCUMENTS). Raises InputError on fewer than two signals or three
    documents, on signals of different lengths and on values that are not finite.

    Source: Spearman (1904), doi:10.2307/1412159.

    >>> found = spearman_matrix({"x": [1, 2, 3, 4], "y": [1, 3, 2, 4], "one": [1, 1, 1, 1]}, seed=0)
    >>> found["x", "y"].estimate, found["one", "x"].estimate
    (0.8, None)
    """
    bootstrap = Bootstrap(seed, resamples, level)
    sample = bootstrap.sample(signals, SPEARMAN_DOCUMENTS)
    return _pairs("spearman", signals, rank_covariances(sample.columns, bootstrap), sample, level)


def kendall_matrix(
    signals: Mapping[str, npt.ArrayLike], seed: int, *, resamples: int = 999, level: float = 0.95
) -> Correlations:
    """Kendall's τ_b of every pair of (n_docs,) signals.

    τ_b = Σ sign(x_i − x_j) sign(y_i − y_j) / sqrt(pairs not tied in x · pairs not tied in y), over i ≠ j. On
    at most 2,000 documents (KENDALL_DOCUMENTS). Raises as `spearman_matrix` does.

    Source: Kendall (1945), doi:10.1093/biomet/33.3.239.

    >>> kendall_matrix({"x": [1, 2, 3, 4], "y": [1, 3, 2, 4]}, seed=0)["y", "x"].estimate.__round__(3)
    0.667
    """
    bootstrap = Bootstrap(seed, resamples, level)
    sample = bootstrap.sample(signals, KENDALL_DOCUMENTS)
    return _pairs("kendall", signals, concordances(sample.columns, bootstrap), sample, level)


def partial_spearman(
    x: npt.ArrayLike,
    y: npt.ArrayLike,
    given: Sequence[npt.ArrayLike],
    seed: int,
    *,
    resamples: int = 999,
    level: float = 0.95,
) -> Relation:
    """Spearman's ρ of two (n_docs,) signals with others held fixed.

    Pearson's correlation of what a linear regression of each one's ranks on the ranks of `given` leaves over.
    None also where `given` determines x or y. What `given` explains by a bent curve of its ranks stays in.
    Documents and errors as for `spearman_matrix`.

    Source: the traditional partial Spearman's correlation in Liu et al. (2018), doi:10.1111/biom.12812.

    >>> partial_spearman([1, 2, 3, 4], [1, 3, 2, 4], [[2, 1, 3, 4]], seed=0).estimate.__round__(3)
    0.873
    """
    signals = {"x": x, "y": y} | {f"given {i}": column for i, column in enumerate(given)}
    bootstrap = Bootstrap(seed, resamples, level)
    sample = bootstrap.sample(signals, SPEARMAN_DOCUMENTS)
    return _relation(_partial(rank_covariances(sample.columns, bootstrap), 0, 1), sample, level)


def partials(
    signals: Mapping[str, npt.ArrayLike], seed: int, *, resamples: int = 999, level: float = 0.95
) -> dict[str, Relation]:
    """`partial_spearman` of the first signal with each of the others, the rest of them held fixed.

    >>> found = partials({"x": [1, 2, 3, 4], "y": [1, 3, 2, 4], "z": [2, 1, 3, 4]}, seed=0)
    >>> found["y"].estimate.__round__(3)
    0.873
    """
    bootstrap = Bootstrap(seed, resamples, level)
    sample = bootstrap.sample(signals, SPEARMAN_DOCUMENTS)
    sums = rank_covariances(sample.columns, bootstrap)
    return {
        name: _relation(_partial(sums, 0, place), sample, level)
        for place, name in enumerate(list(signals)[1:], start=1)
    }


def _partial(sums: Floats, a: int, b: int) -> Floats:
    """Correlation of signals a and b given all others, of every matrix of rank covariances in a stack."""
    two, rest = [a, b], [place for place in range(sums.shape[1]) if place not in (a, b)]
    both, across, fixed = sums[:, two][:, :, two], sums[:, two][:, :, rest], sums[:, rest][:, :, rest]
    left = both - across @ np.linalg.pinv(fixed, hermitian=True) @ across.swapaxes(1, 2)
    share = np.diagonal(left, axis1=1, axis2=2) - _DETERMINED * np.diagonal(both, axis1=1, axis2=2)
    left[(share <= 0).any(axis=1)] = 0.0
    return normalised(left, 0, 1)


def variance_explained(
    target: npt.ArrayLike,
    others: Mapping[str, npt.ArrayLike],
    seed: int,
    *,
    folds: int = 5,
    resamples: int = 999,
    level: float = 0.95,
) -> Relation:
    """Share of the variance of a (n_docs,) target that other signals predict on documents held out.

    R² = 1 − Σ (y − ŷ)² / Σ (y − ȳ)², with ŷ and ȳ from the other folds. ŷ is a least-squares sum of one
    piecewise-linear curve per signal, of its ranks, bent at the fifths. The target is taken as it is, so give
    log norms. Held out, overfitting lowers R² and cannot raise it: where nothing is predicted it is 0 or
    below, and kept as it is. The interval resamples documents and keeps the fits. None for a constant
    target. On at most 20,000 documents (EXPLAINED_DOCUMENTS).

    Raises InputError as `spearman_matrix` does, and on fewer than two documents per fold.

    >>> x = np.linspace(-1, 1, 60)
    >>> variance_explained(x**2, {"x": x}, seed=0).estimate > 0.9
    True
    """
    bootstrap = Bootstrap(seed, resamples, level)
    signals = {"target": target} | {f"other {name}": column for name, column in others.items()}
    sample = bootstrap.sample(signals, EXPLAINED_DOCUMENTS)
    if not 2 <= folds <= len(sample) // 2:
        raise InputError(
            f"{folds} folds of {len(sample)} documents",
            where="folds",
            fix="take two or more folds, of two or more documents",
        )
    y = sample.columns[0]
    if np.ptp(y) == 0:
        return _relation(np.array([np.nan]), sample, level)
    fitted, mean = _held_out_fit(list(sample.columns), seed, folds)
    by_mean, by_fit = (y - mean) ** 2, (y - fitted) ** 2  # squared errors
    # Sums and not products: a library's threads would cost more than they save on vectors this short.
    totals = np.array(
        [((weights * by_mean).sum(), (weights * by_fit).sum()) for weights in bootstrap.weights(len(sample))]
    )
    return _relation(1.0 - totals[:, 1] / totals[:, 0], sample, level)


def residuals(target: Floats, others: Mapping[str, Floats], seed: int, *, folds: int = 5) -> Floats:
    """What other signals do not predict of a (n_docs,) target: y − ŷ, with ŷ as in `variance_explained`.

    Each document's prediction comes from documents of other folds, so that a fit cannot take away what is the
    target's own. Without others, y less its mean.
    """
    columns = [np.asarray(column, dtype=np.float64) for column in (target, *others.values())]
    fitted, mean = _held_out_fit(columns, seed, folds)
    left: Floats = columns[0] - (fitted if others else mean)
    return left


def _held_out_fit(columns: Sequence[Floats], seed: int, folds: int) -> tuple[Floats, Floats]:
    """For every document the least-squares prediction of the first column by the rest, from the other folds.

    With it the mean of the other folds. Designs exist for some documents at a time.
    """
    y, n = columns[0], len(columns[0])
    fold = scratch(n, np.int8)
    fold[by_value(columns)] = np.random.default_rng([seed, 3]).permutation(n) % folds
    ranks = [_scaled_ranks(column) for column in columns[1:]]
    width, centre = 1 + len(ranks) * _PIECES, y.mean()
    moments, sides = np.zeros((folds, width, width)), np.zeros((folds, width))
    for some in cuts(n):
        design = _curves(ranks, some)
        for held in range(folds):
            own = fold[some] == held
            part = design[own]
            moments[held] += part.T @ part
            sides[held] += part.T @ (y[some][own] - centre)
    shifts, fits = np.empty(folds), np.empty((folds, width))
    for held in range(folds):
        moment, side = (np.delete(sums, held, axis=0).sum(axis=0) for sums in (moments, sides))
        # The first of the curves is a constant: their first sums count and add up.
        shifts[held] = side[0] / moment[0, 0]
        # Normal equations: hat functions are well conditioned, and ties that merge some fall under rcond.
        # Less the mean: what the other folds leave open is then 0, and a shift of y shifts its prediction.
        fits[held] = np.linalg.lstsq(moment, side - shifts[held] * moment[0], rcond=1e-10)[0]
    mean, fitted = scratch(n), scratch(n)
    for some in cuts(n):
        mean[some] = centre + shifts[fold[some]]
        design = _curves(ranks, some)
        fitted[some] = mean[some] + np.einsum("ij,ij->i", design, fits[fold[some]])
    return fitted, mean


def _scaled_ranks(column: Floats) -> Floats:
    """Ranks in [0, 1]; equal values share the mean of theirs."""
    ranks = mid_ranks(column)
    ranks -= 1.0
    ranks /= len(column) - 1
    return ranks


def _curves(ranks: Sequence[Floats], some: slice) -> Floats:
    """Design (n_some, 1 + 5 per signal): a constant, and hat functions of each signal's scaled ranks."""
    design = np.ones((some.stop - some.start, 1 + len(ranks) * _PIECES))
    for first, rank in zip(range(1, design.shape[1], _PIECES), ranks, strict=True):
        # max(0, 1 − |5 r − j|) at the knots j = 1 … 5; that of 0 follows from the constant and the rest.
        hats = np.subtract(_PIECES * rank[some, None], np.arange(1.0, _PIECES + 1.0))
        np.subtract(1.0, np.abs(hats, out=hats), out=hats)
        np.maximum(hats, 0.0, out=design[:, first : first + _PIECES])
    return design


def _pairs(
    kind: Literal["spearman", "kendall"],
    signals: Mapping[str, npt.ArrayLike],
    sums: Floats,
    sample: Sample,
    level: float,
) -> Correlations:
    names = tuple(signals)
    pairs = {
        (names[a], names[b]): _relation(normalised(sums, a, b), sample, level)
        for a, b in combinations(range(len(names)), 2)
    }
    return Correlations(kind, names, pairs)


def _relation(values: Floats, sample: Sample, level: float) -> Relation:
    """Estimate, the first of the values, and the interval of the rest; nan where undefined."""
    estimate, resampled = values[0], values[1:][~np.isnan(values[1:])]
    if np.isnan(estimate) or not resampled.size:
        return Relation(None, None, None, sample.n, len(sample), 0, level)
    low, high = np.quantile(resampled, [(1 - level) / 2, (1 + level) / 2])
    return Relation(float(estimate), float(low), float(high), sample.n, len(sample), len(resampled), level)
