import numpy as np
import pytest
from scipy import stats

from radii.claims.outcome import Outcome, reported
from radii.claims.signs import Row, holm, judged_row, recorded_rows
from tests.planted import FAST, long_distractors, long_relevant, unrelated_norms


@pytest.mark.parametrize(
    ("gamma", "low", "high", "sign"),
    [
        (0.3, 0.01, 0.03, "+"),
        (-0.3, 0.01, 0.03, "−"),
        (-0.3, -0.01, 0.05, "unclear"),
        (0.3, -0.05, -0.01, "unclear"),  # it loses: nothing speaks for this sign
        (0.3, 0.0, 0.03, "unclear"),
        (0.0, 0.01, 0.03, "unclear"),
    ],
)
def test_a_sign_counts_where_the_gain_does(gamma, low, high, sign):
    assert Row("m", "t", gamma, (low + high) / 2, low, high, "x").sign == sign


def test_p_is_that_of_the_interval():
    found = Row("m", "t", 0.3, 0.02, 0.0, 0.04, "x")
    assert found.p == pytest.approx(0.05)
    z = 0.03 / (0.01 / 1.959964)
    assert Row("m", "t", 0.3, 0.03, 0.02, 0.04, "x").p == pytest.approx(2 * stats.norm.sf(z), rel=1e-4)
    assert Row("m", "t", 0.3, 0.0, 0.0, 0.0, "x").p == 1.0


@pytest.mark.parametrize("seed", range(20))
def test_holm_is_the_definition(seed):
    p = np.random.default_rng(seed).uniform(0, 0.06, size=5)
    # Rejected is what no set of hypotheses that holds it lets stand, by Bonferroni on each (closed testing).
    expected = []
    for row in range(5):
        sets = [[i for i in range(5) if mask >> i & 1] for mask in range(32) if mask >> row & 1]
        expected.append(all(min(p[s]) <= 0.05 / len(s) for s in sets))
    assert holm(p.tolist()) == expected


@pytest.mark.parametrize(
    ("corpus", "sign"), [(long_relevant, "+"), (long_distractors, "−"), (unrelated_norms, "unclear")]
)
def test_planted_signs_are_found(corpus, sign):
    docs, queries, qrels = corpus()
    assert judged_row("m", "t", docs, queries, qrels, protocol=FAST).sign == sign


def outcome(claim, table, *statements):
    return Outcome(
        claim=claim,
        title="t",
        on="o",
        setting="full",
        method="m",
        seeds=1,
        table=table,
        statements=statements,
    )


def test_recorded_rows_are_read_back():
    both = reported("A: gain of norm exponent", 0.02, low=0.01, high=0.03, over="9 queries")
    found = list(
        recorded_rows(
            outcome(
                "retrieval",
                [{"collection": "A", "chosen γ": -0.2}, {"collection": "B", "chosen γ": 0.1}],
                both,
                reported("B: gain of length", 1.0, low=0.9, high=1.1, over="9 queries"),
            )
        )
    )
    assert found == [Row("MiniLM, mean pooling", "A", -0.2, 0.02, 0.01, 0.03, "retrieval")]
    depths = reported("all depths: gain", 0.02, low=0.01, high=0.03, over="9 queries")
    [one] = recorded_rows(outcome("specificity", [{"depth": "all", "chosen γ": 0.4}], depths))
    assert (one.task, one.sign) == ("TREC-CAR", "+")
    heads = reported("small, head: gain of norm exponent", 0.02, low=0.01, high=0.03, over="3 seeds")
    [one] = recorded_rows(outcome("head", [{"encoder": "small, head", "chosen γ": 0.4}], heads))
    assert (one.model, one.task) == ("small, head", "class glosses")
