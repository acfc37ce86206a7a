"""Norms of general texts against specific ones, in pairs, with length held fixed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from radii.claims.vectors import embedded, tokenizer_of
from radii.data.contrasts import Contrasts
from radii.data.embeddings import Floats
from radii.data.model import PACKAGED
from radii.data.texts import Texts
from radii.errors import InputError
from radii.evidence.intervals import Estimate, estimate
from radii.signals import length


@dataclass(frozen=True, eq=False)
class Differences:
    """General minus specific of every pair, (n,) each, and who belongs together.

    Attributes
    ----------
    log_norm : array
        Of the natural logarithm of the norm: 0.01 is 1 % longer.
    tokens : array
        Of the number of tokens of the model.
    letters : array
        Of the number of characters.
    group : list of str
        Contrasts of one group share their general side.
    """

    log_norm: Floats
    tokens: Floats
    letters: Floats
    group: list[str]

    def mean(self, seed: int) -> Estimate:
        """Mean difference of log norm: pairs averaged in their group, Student's interval over groups."""
        return estimate(grouped(self.log_norm, self.group), seed)

    def share(self) -> tuple[float, float, float]:
        """(share of pairs whose general side is longer, low, high), averaged and bounded as `mean` does."""
        found = estimate(grouped((self.log_norm > 0).astype(np.float64), self.group), 0, resamples=1)
        return found.mean, max(found.low, 0.0), min(found.high, 1.0)

    def at_equal_length(self, seed: int) -> Estimate:
        """The same at equal length: of the pairs whose sides have as many tokens.

        Raises InputError on fewer than two groups with such a pair.
        """
        same = self.tokens == 0
        names = [name for name, kept in zip(self.group, same, strict=True) if kept]
        return estimate(grouped(self.log_norm[same], names), seed)

    def adjusted(self, seed: int, resamples: int) -> tuple[float, float, float]:
        """(difference of log norm at equal tokens and letters, low, high).

        Intercept of a least-squares fit on the differences of tokens and letters; the interval is a 95 %
        percentile bootstrap over groups.
        """
        design = np.column_stack([np.ones(len(self.tokens)), self.tokens, self.letters])
        names, rows = np.unique(self.group, return_inverse=True)
        if len(names) < 2:
            raise InputError(f"{len(names)} groups", where="pairs", fix="give pairs of two groups or more")
        rng = np.random.default_rng([seed, 6])
        drawn = rng.multinomial(len(names), np.full(len(names), 1 / len(names)), size=resamples)
        value = intercept(design, self.log_norm, np.ones(len(rows)))
        each = [intercept(design, self.log_norm, counts[rows].astype(np.float64)) for counts in drawn]
        low, high = np.quantile(each, [0.025, 0.975])
        return value, float(low), float(high)


def differences(pairs: Contrasts, model: str = PACKAGED) -> Differences:
    """Embed both sides of every pair, each distinct text once, without normalising."""
    texts = list(dict.fromkeys((*pairs.general, *pairs.specific)))
    vectors = embedded(Texts([str(row) for row in range(len(texts))], texts, pairs.source), model)
    log_norm = np.log(vectors.norms)
    tokens = length.tokens(texts, tokenizer_of(model))
    letters = np.array([len(text) for text in texts], dtype=np.float64)
    row = {text: at for at, text in enumerate(texts)}
    general, specific = ([row[text] for text in side] for side in (pairs.general, pairs.specific))
    each = [column[general] - column[specific] for column in (log_norm, tokens, letters)]
    return Differences(each[0], each[1], each[2], pairs.group)


def grouped(values: Floats, group: Sequence[str]) -> Floats:
    """Mean of every group's values, (n_groups,), by the groups' names.

    >>> grouped(np.array([1.0, 3.0, 5.0]), ["a", "a", "b"])
    array([2., 5.])
    """
    names, rows = np.unique(group, return_inverse=True)
    return np.bincount(rows, values, len(names)) / np.bincount(rows, minlength=len(names))


def intercept(design: Floats, y: Floats, weights: Floats) -> float:
    """First coefficient of weighted least squares of y, (n,), on the columns of design, (n, columns)."""
    root = np.sqrt(weights)
    return float(np.linalg.lstsq(design * root[:, None], y * root, rcond=None)[0][0])
