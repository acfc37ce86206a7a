"""Whether a score knows where a classifier errs: AUROC of its errors, area under risk against coverage."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from radii.data.embeddings import Floats
from radii.errors import InputError

Flags = npt.NDArray[np.bool_]


def auroc(uncertain: npt.ArrayLike, wrong: npt.ArrayLike, weights: Floats | None = None) -> float:
    """Chance that an error has a higher score than a right answer, ties counted half.

    A = Σ_{i wrong, j right} w_i w_j ([s_i > s_j] + ½ [s_i = s_j]) / (Σ_{i wrong} w_i · Σ_{j right} w_j); (n,)
    scores, errors and weights (ones by default). 0.5 is chance. Raises InputError without an error or without
    a right answer, and on columns of different lengths.

    Source: Mann and Whitney (1947), doi:10.1214/aoms/1177730491.

    >>> auroc([3.0, 1.0, 2.0, 2.0], [True, False, True, False])
    0.875
    """
    group, errors, each = _groups(uncertain, wrong, weights)
    bad = np.bincount(group, weights=each * errors)
    good = np.bincount(group, weights=each * ~errors)
    if not bad.sum() > 0 or not good.sum() > 0:
        raise InputError(
            f"{int(errors.sum())} errors among {len(errors)}", where="wrong", fix="give some of both kinds"
        )
    return float(bad @ (np.cumsum(good) - good / 2) / (bad.sum() * good.sum()))


def aurc(uncertain: npt.ArrayLike, wrong: npt.ArrayLike, weights: Floats | None = None) -> float:
    """Mean share of errors among what is kept when the most uncertain are given up first.

    A = Σ_i w_i · risk(s_i) / Σ_i w_i, with risk(s) the weighted share of errors among scores ≤ s; (n,)
    scores, errors and weights (ones by default). Lower is better; scores that know nothing give about the
    error rate. Raises InputError on columns of different lengths or empty ones.

    Source: Geifman, Uziel, El-Yaniv, arXiv:1805.08206.

    >>> aurc([0.1, 0.2, 0.3, 0.4], [False, False, True, False])  # (0 + 0 + 1/3 + 1/4) / 4
    0.14583333333333331
    """
    group, errors, each = _groups(uncertain, wrong, weights)
    kept = np.bincount(group, weights=each)
    errors_kept, covered = np.cumsum(np.bincount(group, weights=each * errors)), np.cumsum(kept)
    there = kept > 0  # a resample may leave the first scores out
    return float(kept[there] @ (errors_kept[there] / covered[there]) / covered[-1])


def _groups(
    uncertain: npt.ArrayLike, wrong: npt.ArrayLike, weights: Floats | None
) -> tuple[npt.NDArray[np.intp], Flags, Floats]:
    scores, errors = np.asarray(uncertain, dtype=np.float64), np.asarray(wrong, dtype=np.bool_)
    each = np.ones(scores.shape) if weights is None else weights
    if scores.ndim != 1 or not scores.size or scores.shape != errors.shape or scores.shape != each.shape:
        raise InputError(
            f"shapes {scores.shape}, {errors.shape} and {each.shape}",
            where="scores, errors and weights",
            fix="give one of each for every item",
        )
    return np.unique(scores, return_inverse=True)[1], errors, each
