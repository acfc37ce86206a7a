"""Served vectors rank as the arm is defined, in both forms; what was exported comes back."""

from __future__ import annotations

import json

import numpy as np
import pytest
from scipy.special import logsumexp

import radii
from radii.data.embeddings import Embeddings
from radii.deploy.correction import correction
from radii.deploy.export import export, exported, restore
from radii.deploy.manifest import read_manifest
from radii.evidence.rivals import PROJECTIONS
from tests.planted import unit

RNG = np.random.default_rng(0)
DOCS = Embeddings.of(
    ((RNG.normal(size=(80, 6)) + 0.4) * RNG.uniform(0.05, 20, size=(80, 1))).astype(np.float32), "docs"
)
QUERIES = Embeddings.of(RNG.normal(size=(30, 6)) + 0.2, "queries")
LENGTH = RNG.integers(1, 40, size=80).astype(float)
COSINES = unit(QUERIES.vectors) @ unit(DOCS.vectors.astype(float)).T
NEAREST = np.sort(COSINES, axis=0)[-10:]
DISTANCE = np.sqrt(2 - 2 * NEAREST[0])


def projected(name):
    moved, asked = PROJECTIONS[name](DOCS).pair(DOCS, QUERIES)
    return unit(asked.vectors.astype(float)) @ unit(moved.vectors.astype(float)).T


def occurrence():
    return np.bincount(np.argsort(-COSINES, axis=1)[:, :10].ravel(), minlength=80)


# Scores by the arms' definitions.
ARMS = {
    "cosine": ({}, lambda: COSINES),
    "norm exponent": ({"gamma": -0.4}, lambda: COSINES * DOCS.norms**-0.4),
    "inner product": ({"gamma": 1.0}, lambda: COSINES * DOCS.norms),
    "length": ({"gamma": 0.7}, lambda: COSINES * LENGTH**0.7),
    "norm and length": (
        {"gamma": -0.3, "gamma of length": 0.5},
        lambda: COSINES * DOCS.norms**-0.3 * LENGTH**0.5,
    ),
    "hub penalty": ({"weight": 0.6}, lambda: COSINES - 0.6 * NEAREST.mean(axis=0)),
    "inverted softmax": (
        {"weight": 0.8},
        lambda: COSINES - 0.8 * 0.05 * logsumexp(COSINES / 0.05, axis=0),
    ),
    "local density": (
        {"gamma": -0.5},
        lambda: COSINES * np.exp(-0.5 * np.log(NEAREST.mean(axis=0))),
    ),
    "k-occurrence": ({"gamma": -0.2}, lambda: COSINES * (1.0 + occurrence()) ** -0.2),
    "local scaling": ({}, lambda: (COSINES - 1) / DISTANCE),
    **{name: ({}, lambda name=name: projected(name)) for name in PROJECTIONS},
}


def own(name):
    return correction(name, ARMS[name][0], DOCS, queries=QUERIES, signals={"length": LENGTH})


@pytest.mark.parametrize("form", ["ip", "unit"])
@pytest.mark.parametrize("name", ARMS)
def test_served_vectors_rank_as_the_arm_is_defined(name, form, tmp_path):
    if name == "local density":
        assert NEAREST.mean(axis=0).min() > 0  # else the multiplier is another
    manifest = export(DOCS, own(name), tmp_path, form=form)
    served, read = exported(tmp_path)
    assert read == manifest
    assert served.ids == list(DOCS.ids)
    queries = manifest.queries(QUERIES)
    scores = ARMS[name][1]()
    products = {"ip": [queries @ served.vectors.T]}
    if form == "unit":
        np.testing.assert_allclose(np.linalg.norm(served.vectors, axis=1), 1.0, atol=1e-6)
        away = np.linalg.norm(queries[:, None].astype(float) - served.vectors[None], axis=2)
        products["unit"] = [queries @ served.vectors.T, -away]
    for product in products[form]:
        best = np.take_along_axis(scores, np.argsort(-product, axis=1), axis=1)
        np.testing.assert_allclose(best, -np.sort(-scores, axis=1), atol=2e-5 * np.abs(scores).max())


@pytest.mark.parametrize("form", ["ip", "unit"])
@pytest.mark.parametrize("name", ARMS)
def test_the_original_vectors_come_back(name, form, tmp_path):
    export(DOCS, own(name), tmp_path, form=form)
    back = restore(tmp_path)
    assert back.ids == list(DOCS.ids)
    assert back.source == DOCS.source
    # Relative to each vector's length; a multiplier far below the largest loses digits in the unit form.
    error = np.linalg.norm(back.vectors - DOCS.vectors, axis=1) / DOCS.norms
    assert error.max() < (1e-5 if form == "ip" else 1e-3)


def test_half_precision(tmp_path):
    export(DOCS, own("norm exponent"), tmp_path, dtype="float16")
    served, manifest = exported(tmp_path)
    assert (served.vectors.dtype, manifest.dtype) == (np.float16, "float16")
    expected = unit(DOCS.vectors.astype(float)) * DOCS.norms[:, None] ** -0.4
    np.testing.assert_allclose(served.vectors, expected, rtol=1e-3, atol=1e-3)


def test_vectors_too_long_for_half_precision(tmp_path, refused):
    long = Embeddings.of(np.eye(3) * 1e6)
    change = correction("inner product", {"gamma": 1.0}, long)
    refused(lambda: export(long, change, tmp_path, dtype="float16"), "half precision")
    assert list(tmp_path.iterdir()) == []


def test_a_recommendation_is_served_with_its_gain(tmp_path):
    """Audit, export, rank by inner product: the metric is that of the path at the exponent."""
    from tests.planted import long_distractors

    docs, queries, qrels = long_distractors()
    report = radii.audit(docs, queries, qrels, metric="RR@10")
    advice = report.recommendation
    manifest = export(docs, correction(advice.method, advice.parameters, docs, queries=queries), tmp_path)
    served, _ = exported(tmp_path)
    products = manifest.queries(queries) @ served.vectors.T
    best = [docs.ids[row] for row in products.argmax(axis=1)]
    assert best == [f"good{row}" for row in range(40)]


def test_only_what_changes_a_query_makes_transforms_differ(tmp_path):
    made = {
        name: export(DOCS, own(name), tmp_path / name.replace(" ", "-"))
        for name in ("cosine", "norm exponent", "hub penalty", "mean-centring")
    }
    assert made["cosine"].transform == made["norm exponent"].transform  # queries stay as they are
    assert len({m.transform for m in made.values()}) == 3


def test_vectors_of_another_export_are_refused(tmp_path, refused):
    export(DOCS, own("norm exponent"), tmp_path)
    other = tmp_path / "other"
    export(DOCS, own("length"), other)
    (other / "vectors.npy").rename(tmp_path / "vectors.npy")
    refused(lambda: exported(tmp_path), "vectors.npy", "manifest")


def test_a_folder_that_is_no_export(tmp_path, refused):
    refused(lambda: read_manifest(tmp_path), "manifest.json")
    export(DOCS, own("cosine"), tmp_path)
    body = json.loads((tmp_path / "manifest.json").read_text())
    (tmp_path / "manifest.json").write_text(json.dumps(body | {"form": "l7"}))
    refused(lambda: read_manifest(tmp_path), "form")


def test_queries_of_another_kind_are_refused(tmp_path, refused):
    manifest = export(DOCS, own("hub penalty"), tmp_path)
    refused(lambda: manifest.queries(np.ones((2, 7))), "7 dimensions")
    refused(lambda: manifest.queries(np.zeros((2, 6))), "zeros")
    refused(lambda: manifest.queries(np.full((2, 6), np.nan)), "NaN")


def test_what_a_method_needs_is_asked_for(refused):
    refused(lambda: correction("hub penalty", {"weight": 0.5}, DOCS), "queries")
    refused(lambda: correction("norm and length", {"gamma": 1.0}, DOCS), "length")
    refused(lambda: correction("dynamic inverted softmax", {}, DOCS, queries=QUERIES), "single vector")
