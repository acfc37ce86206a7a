"""The generator keeps its promises: where the best ranking lies, what goes with what, who asks for what."""

from __future__ import annotations

import numpy as np
import pytest

import radii
from radii.evidence.holdout import Protocol
from radii.ranking.metrics import Metric
from radii.synthetic import TRUTHS, Truth, plant, with_queries

GRID = np.linspace(-1.0, 1.0, 21)


def reciprocal(ranks):
    return np.where(ranks <= 10, 1.0 / ranks, 0.0)


def test_no_exponent_beats_the_planted_one():
    for gamma in (-0.4, 0.0, 0.3):
        found = plant(Truth(gamma=gamma), seed=0).population(reciprocal, GRID)
        assert GRID[found.argmax()] == pytest.approx(gamma)


def test_the_population_is_what_many_queries_average_to():
    many = plant(with_queries(TRUTHS["exponent"], 3000), seed=1)
    gammas = np.array([-0.4, 0.5])
    expected = many.population(reciprocal, gammas)
    steps = radii.exponent_path(many.docs, many.queries).metric(Metric.parse("RR@10"), many.qrels)
    for gamma, value in zip(gammas, expected, strict=True):
        error = steps.curves.values(gamma).std() / np.sqrt(3000)
        assert steps.at(gamma) == pytest.approx(value, abs=4 * error)


@pytest.mark.parametrize("name", ["length", "hubness", "length and hubness"])
def test_proxies_make_discounting_pay(name):
    corpus = plant(name, seed=2)
    cosine, discounted = corpus.population(reciprocal, np.array([0.0, -0.15]))
    assert discounted > cosine + 0.02
    assert corpus.truth.stands_for == name
    assert TRUTHS["exponent"].stands_for is None


def test_norms_go_with_what_they_stand_for():
    corpus = plant("length", seed=3)
    both = np.log(corpus.docs.norms), np.log(corpus.signals["length"])
    assert np.corrcoef(*both)[0, 1] == pytest.approx(0.8, abs=0.1)
    alone = plant("exponent", seed=3)
    assert abs(np.corrcoef(np.log(alone.docs.norms), np.log(alone.signals["length"]))[0, 1]) < 0.2


def test_hubness_makes_hubs():
    def skewness(name):
        corpus = plant(name, seed=4)
        return radii.audit(
            corpus.docs, corpus.queries, corpus.qrels, protocol=Protocol(2, 2, 199)
        ).hubness.skewness

    assert skewness("hubness") > skewness("no signal") + 0.5


def test_heavy_tails_are_heavy():
    log_norms = np.log(plant("heavy tails", seed=0).docs.norms)
    assert np.abs(log_norms - log_norms.mean()).max() > 5 * log_norms.std()


def test_same_seed_same_corpus():
    one, other, third = (plant("exponent", seed) for seed in (5, 5, 6))
    assert (one.docs.vectors == other.docs.vectors).all()
    assert one.qrels == other.qrels
    assert (one.docs.vectors != third.docs.vectors).any()


@pytest.mark.parametrize(
    ("name", "label", "proxies"),
    [
        ("exponent", "discount", {None}),
        ("length", "proxy", {"length"}),
        # These hubs are hubs because they point where all vectors point: either name is right.
        ("hubness", "proxy", {"hubness", "mean direction"}),
    ],
)
def test_an_audit_tells_the_truth(name, label, proxies):
    """One corpus each, with queries enough; benchmarks/calibration.py counts how often."""
    corpus = plant(with_queries(TRUTHS[name], 500), seed=7)
    report = radii.audit(
        corpus.docs,
        corpus.queries,
        corpus.qrels,
        signals=corpus.signals,
        metric="RR@10",
        protocol=Protocol(repeats=3, resamples=999),
    )
    assert report.verdict.label == label
    assert report.verdict.proxy in proxies


def test_norm_and_length_together_beat_either():
    corpus = plant(Truth(gamma=-0.4, length=-0.6, n_queries=500), seed=8)
    report = radii.audit(
        corpus.docs,
        corpus.queries,
        corpus.qrels,
        signals=corpus.signals,
        metric="RR@10",
        protocol=Protocol(repeats=3, resamples=999),
    )
    arms = {arm.name: arm for arm in report.arms}
    both = arms["norm and length"]
    assert both.gain > max(arms["norm exponent"].gain, arms["length"].gain)
    assert both.parameters["gamma"] == pytest.approx(-0.4, abs=0.25)
    assert both.parameters["gamma of length"] in (-0.5, -0.25)


def test_bad_truths(refused):
    refused(lambda: plant("astrology", seed=0), "astrology", "no signal")
    refused(lambda: Truth(n_docs=1), "documents")
    refused(lambda: Truth(tail=2.0), "tail")
