import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from radii.claims.selective import aurc, auroc


def cases(seed=0, n=60):
    rng = np.random.default_rng(seed)
    wrong = rng.random(n) < 0.3
    wrong[:2] = True, False
    return np.round(rng.normal(size=n) + wrong, 1), wrong  # rounded, so that some are tied


@pytest.mark.parametrize("seed", range(5))
def test_auroc_is_mann_whitney(seed):
    scores, wrong = cases(seed)
    u = stats.mannwhitneyu(scores[wrong], scores[~wrong]).statistic
    assert auroc(scores, wrong) == pytest.approx(u / (wrong.sum() * (~wrong).sum()))


def test_auroc_by_hand():
    assert auroc([1, 2, 3, 4], [False, False, True, True]) == 1.0
    assert auroc([1, 2, 3, 4], [True, True, False, False]) == 0.0
    assert auroc([5, 5, 5], [True, False, False]) == 0.5
    assert auroc([1, 2, 3], [False, True, False]) == 0.5


def test_risk_and_coverage_by_hand():
    # Most certain first: right, wrong, right, wrong; risks 0, 1/2, 1/3, 1/2.
    assert aurc([1, 2, 3, 4], [False, True, False, True]) == pytest.approx((1 / 2 + 1 / 3 + 1 / 2) / 4)
    assert aurc([1, 2, 3, 4], [False, False, False, True]) == pytest.approx(1 / 16)
    assert aurc([4, 3, 2, 1], [False, False, False, True]) == pytest.approx((1 + 1 / 2 + 1 / 3 + 1 / 4) / 4)
    assert aurc([7, 7, 7, 7], [False, True, False, False]) == pytest.approx(1 / 4)  # nothing to tell apart
    assert aurc([1, 2], [False, False]) == 0.0


@given(st.integers(0, 1000), st.integers(1, 4))
def test_weights_are_repetitions(seed, most):
    scores, wrong = cases(seed, 20)
    counts = np.random.default_rng(seed).integers(0, most + 1, len(scores))
    counts[:2] += 1
    again = np.repeat(np.arange(len(scores)), counts)
    for measure in (auroc, aurc):
        assert measure(scores, wrong, counts.astype(float)) == pytest.approx(
            measure(scores[again], wrong[again])
        )


@given(st.integers(0, 1000))
def test_only_the_order_of_scores_counts(seed):
    scores, wrong = cases(seed, 20)
    for measure in (auroc, aurc):
        assert measure(np.exp(scores), wrong) == pytest.approx(measure(scores, wrong))
    assert auroc(-scores, wrong) == pytest.approx(1 - auroc(scores, wrong))


def test_what_has_no_answer_is_refused(refused):
    refused(lambda: auroc([1, 2], [True, True]), "2 errors among 2")
    refused(lambda: auroc([1, 2], [False, False]), "0 errors among 2")
    refused(lambda: aurc([1, 2], [True]), "(2,), (1,)")
    refused(lambda: aurc([], []), "shapes")
