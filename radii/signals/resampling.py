"""How the relations of signals are computed: resamples as weights, and sums that give the correlations.

A resample is a vector of weights, how often each document was drawn. Ranks of the resample, ties included,
and its concordant pairs are sums over these weights, so nothing is sorted again.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from radii.data.embeddings import Floats
from radii.errors import InputError, shown


@dataclass(frozen=True, eq=False)
class Sample:
    """Signals of the documents that stand for the corpus.

    Attributes
    ----------
    columns : (n_signals, n_sample) float64
    n : int
        Documents in the corpus.
    """

    columns: Floats
    n: int

    def __len__(self) -> int:
        return int(self.columns.shape[1])


@dataclass(frozen=True)
class Bootstrap:
    """A seeded percentile bootstrap: how many resamples, and the level of its intervals.

    Raises InputError on fewer than one resample, or a level outside (0, 1).
    """

    seed: int
    resamples: int
    level: float

    def __post_init__(self) -> None:
        if self.resamples < 1 or not 0 < self.level < 1:
            raise InputError(
                f"{self.resamples} resamples at level {self.level}",
                where="bootstrap",
                fix="take at least one resample, and a level between 0 and 1 such as 0.95",
            )

    def sample(self, signals: Mapping[str, npt.ArrayLike], limit: int) -> Sample:
        """Check (n_docs,) signals and draw `limit` documents, without replacement, where there are more.

        Raises InputError on fewer than two signals or three documents, on signals of different lengths, and
        on values that are not finite numbers.
        """
        columns = {name: np.asarray(values) for name, values in signals.items()}
        shapes = {column.shape for column in columns.values()}
        if len(columns) < 2 or len(shapes) != 1 or len(shape := shapes.pop()) != 1 or shape[0] < 3:
            raise InputError(
                f"shapes {shown(f'{name} {column.shape}' for name, column in columns.items())}",
                where="signals",
                cause="signals of different corpora, or too few",
                fix="give two or more signals of one number for each of the same three or more documents",
            )
        for name, column in columns.items():
            if column.dtype.kind not in "iuf" or not np.isfinite(column).all():
                raise InputError(
                    f"{column.dtype} values that are not all finite numbers",
                    where=f"signal {name}",
                    cause="missing values",
                    fix="fill them in, or leave the signal out",
                )
        whole = [np.asarray(column, dtype=np.float64) for column in columns.values()]
        order, n = by_value(whole), shape[0]
        if n > limit:
            drawn = np.random.default_rng([self.seed, 1]).choice(n, limit, replace=False)
            order = order[np.sort(drawn)]
        return Sample(np.array([column[order] for column in whole]), n)

    def weights(self, n: int) -> Iterator[Floats]:
        """(n,) weights: first all ones, the sample itself, then one resample after the other."""
        yield np.ones(n)
        rng = np.random.default_rng([self.seed, 2])
        for _ in range(self.resamples):
            yield np.bincount(rng.integers(n, size=n), minlength=n).astype(np.float64)


def by_value(columns: Sequence[Floats] | Floats) -> npt.NDArray[np.intp]:
    """An order of the documents that does not depend on their rows, by which to draw from them.

    By the first of (n_docs,) columns, and where it has ties by the others: what still ties is equal
    in all of them.

    >>> by_value(np.array([[2.0, 1.0, 2.0], [5.0, 0.0, 3.0]])).tolist()
    [1, 2, 0]
    """
    order = np.argsort(columns[0], kind="stable")
    same = np.diff(columns[0][order]) == 0
    tied = np.append(same, False) | np.append(False, same)
    some = order[tied]
    order[tied] = some[np.lexsort([column[some] for column in reversed(columns)])]
    return order


def rank_covariances(columns: Floats, bootstrap: Bootstrap) -> Floats:
    """Σ_i (R_a − R̄)(R_b − R̄) of mid-ranks R: (1 + resamples, n_signals, n_signals); sample first.

    Ranks are halves and the sums far below 2⁵³ / 4, so they are exact.
    """
    n = columns.shape[1]
    groups = [_dense_ranks(column) for column in columns]
    sums = np.empty((1 + bootstrap.resamples, len(columns), len(columns)))
    ranks = np.empty(columns.shape)
    for number, weights in enumerate(bootstrap.weights(n)):
        for signal, group in enumerate(groups):
            drawn = np.bincount(group, weights=weights)
            middle = np.cumsum(drawn) - (drawn - 1) / 2
            ranks[signal] = (middle - (n + 1) / 2)[group]
        sums[number] = (ranks * weights) @ ranks.T
    return sums


def concordances(columns: Floats, bootstrap: Bootstrap) -> Floats:
    """Σ_{i≠j} sign(a_i − a_j) sign(b_i − b_j): (1 + resamples, n_signals, n_signals); sample first.

    On the diagonal, the ordered pairs not tied. Quadratic in documents; in float32, where all sums are whole
    numbers of at most n², exact up to n = 4,096.
    """
    weights = np.array(list(bootstrap.weights(columns.shape[1])), dtype=np.float32)
    signs = []
    for column in columns:
        dense = _dense_ranks(column)
        signs.append(np.sign(dense[:, None] - dense[None, :]).astype(np.int8))
    sums = np.empty((len(weights), len(columns), len(columns)))
    for a, left in enumerate(signs):
        for b, right in enumerate(signs[: a + 1]):
            agree = (left * right).astype(np.float32)
            sums[:, a, b] = sums[:, b, a] = np.einsum("ri,ri->r", weights @ agree, weights)
    return sums


def normalised(sums: Floats, a: int, b: int) -> Floats:
    """S_ab / sqrt(S_aa · S_bb) of every matrix in a stack; nan where S_aa or S_bb is 0."""
    scale = np.sqrt(sums[:, a, a] * sums[:, b, b])
    defined = scale > 0
    ratio = sums[:, a, b] / np.where(defined, scale, 1.0)
    return np.where(defined, ratio.clip(-1.0, 1.0), np.nan)


def mid_ranks(column: Floats) -> Floats:
    """Ranks from 1; equal values share the mean of theirs."""
    group = _dense_ranks(column)
    counts = np.bincount(group)
    ranks: Floats = (np.cumsum(counts) - (counts - 1) / 2)[group]
    return ranks


def _dense_ranks(column: Floats) -> npt.NDArray[np.intp]:
    return np.unique(column, return_inverse=True)[1]
