"""Moments of real steps of a whole model, by hand."""

import numpy as np
import pytest

from radii.claims.whole_model import ETA, _moments


def test_moments_of_one_step_by_hand():
    # R = 2 along the first axis; the step goes η·(0.5, 1.5), so u = R Δz / η = (1, 3).
    start = np.array([[2.0, 0.0]])
    reached = start + ETA * np.array([[0.5, 1.5]])
    decay = np.array([[-3.0, 1.0]])  # per unit of ηλ: a loss of 3 along the vector, 3/2 of its length
    norm, along, squared, alpha = _moments(start, reached, decay, lam=0.4)[:, 0]
    assert (norm, along, squared) == pytest.approx((2.0, 1.0, 10.0))
    assert alpha == pytest.approx(1.5 * ETA * 0.4)
