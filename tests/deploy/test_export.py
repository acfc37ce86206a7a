"""Served vectors rank as the arm is defined, in both forms; what was exported comes back."""

from __future__ import annotations

import hashlib
import json
from contextlib import contextmanager

import numpy as np
import pytest
import xxhash
from scipy.special import logsumexp

import radii
from radii.data.embeddings import Embeddings
from radii.data.files import atomic_write
from radii.deploy.correction import correction
from radii.deploy.export import export, exported, restore
from radii.deploy.kernels import scale_to_half
from radii.deploy.manifest import read_manifest
from radii.evidence.rivals import PROJECTIONS
from tests.planted import both_moved, unit

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
    moved, asked = both_moved(PROJECTIONS[name](DOCS), DOCS, QUERIES)
    return unit(asked) @ unit(moved).T


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


@pytest.mark.parametrize("form", ["ip", "centred", "unit"])
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
    products = [queries @ served.vectors.T]
    if form == "unit":
        np.testing.assert_allclose(np.linalg.norm(served.vectors, axis=1), 1.0, atol=1e-6)
        away = np.linalg.norm(queries[:, None].astype(float) - served.vectors[None], axis=2)
        products.append(-away)
    for product in products:
        best = np.take_along_axis(scores, np.argsort(-product, axis=1), axis=1)
        np.testing.assert_allclose(best, -np.sort(-scores, axis=1), atol=2e-5 * np.abs(scores).max())


@pytest.mark.parametrize("form", ["ip", "centred", "unit"])
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


def test_half_precision_rounds_as_numpy_does():
    halves = np.arange(0x7C00, dtype=np.uint16).view(np.float16).astype(np.float32)
    ties = (halves[1:] + halves[:-1]) / 2  # exact in float32
    edges = np.array([65504, 65519.996, 65520, 65536, 1e30, np.inf, 0, 1e-30], dtype=np.float32)
    any_bits = np.random.default_rng(0).integers(0, 2**32, size=100_000, dtype=np.uint32).view(np.float32)
    for values in (halves, ties, np.nextafter(ties, np.inf), np.nextafter(ties, -np.inf), edges, any_bits):
        given = np.stack([values, -values])
        bits = np.empty(given.shape, dtype=np.uint16)
        scale_to_half(given, np.ones(2, np.float32), np.zeros(given.shape[1], np.float32), bits)
        with np.errstate(over="ignore", under="ignore"):
            expected = given.astype(np.float16)
        np.testing.assert_array_equal(bits.view(np.float16), expected)
        signed = ~np.isnan(expected)
        np.testing.assert_array_equal(bits[signed], expected.view(np.uint16)[signed])  # −0 is not 0


def test_half_precision_is_scaled_before_it_is_rounded():
    rows, factor, shift = (np.random.default_rng(1).normal(size=s).astype(np.float32) for s in ((5, 7), 5, 7))
    bits = np.empty(rows.shape, dtype=np.uint16)
    scale_to_half(rows, factor, shift, bits)
    expected = (rows * factor[:, None] - shift).astype(np.float16)
    np.testing.assert_array_equal(bits.view(np.float16), expected)


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


def test_many_blocks_are_written_in_order(tmp_path, monkeypatch):
    monkeypatch.setattr("radii.deploy.forms._BLOCK_BYTES", 200)  # seven rows
    seen = []
    export(DOCS, own("hub penalty"), tmp_path, progress=lambda done, all_: seen.append((done, all_)))
    assert seen == [(min(at, 80), 80) for at in range(7, 85, 7)]
    penalty = own("hub penalty").penalty
    served, _ = exported(tmp_path)
    np.testing.assert_allclose(served.vectors[:, :-1], unit(DOCS.vectors.astype(float)), atol=1e-6)
    np.testing.assert_allclose(served.vectors[:, -1], -penalty, atol=1e-6)


@pytest.mark.parametrize("place", ["vectors.npy", "vectors.ids.txt"])
def test_a_folder_that_cannot_be_written_is_one_error(place, tmp_path, refused):
    (tmp_path / place).mkdir()
    refused(lambda: export(DOCS, own("cosine"), tmp_path), place, "a folder")
    assert not (tmp_path / "manifest.json").exists()


def test_a_full_disk_is_seen_by_the_caller(tmp_path, refused):
    """The thread that writes fails, not the one that was called."""

    class Full:
        def write(self, data):
            raise OSError(28, "No space left on device")

    @contextmanager
    def full(path, *, mode="wb"):
        with atomic_write(path, mode=mode) as file:
            yield Full() if str(path).endswith("vectors.npy") else file

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("radii.deploy.export.atomic_write", full)
        patch.setattr("numpy.lib.format.write_array_header_2_0", lambda file, header: None)
        refused(lambda: export(DOCS, own("cosine"), tmp_path), "vectors.npy", "No space left")
    assert list(tmp_path.iterdir()) == []


def test_damage_is_seen(tmp_path, refused):
    export(DOCS, own("cosine"), tmp_path)
    data = bytearray((tmp_path / "vectors.npy").read_bytes())
    data[-1] ^= 1
    (tmp_path / "vectors.npy").write_bytes(data)
    refused(lambda: exported(tmp_path), "not the vectors")


def test_the_checksum_names_its_algorithm_and_older_ones_are_read(tmp_path, refused):
    manifest = export(DOCS, own("cosine"), tmp_path)
    body = manifest.model_dump(mode="json")
    data = np.load(tmp_path / "vectors.npy").tobytes()
    assert manifest.checksum == "xxh3_128:" + xxhash.xxh3_128_hexdigest(data)
    for older in (hashlib.sha256(data).hexdigest(), "sha256:" + hashlib.sha256(data).hexdigest()):
        (tmp_path / "manifest.json").write_text(json.dumps(body | {"checksum": older}))
        assert exported(tmp_path)[1].checksum == older
    (tmp_path / "manifest.json").write_text(json.dumps(body | {"checksum": "0" * 64}))
    refused(lambda: exported(tmp_path), "not the vectors")
    (tmp_path / "manifest.json").write_text(json.dumps(body | {"checksum": "md7:00"}))
    refused(lambda: exported(tmp_path), "'md7'", "upgrade radii")


def test_a_folder_that_is_no_export(tmp_path, refused):
    refused(lambda: read_manifest(tmp_path), "manifest.json")
    export(DOCS, own("cosine"), tmp_path)
    body = json.loads((tmp_path / "manifest.json").read_text())
    (tmp_path / "manifest.json").write_text(json.dumps(body | {"form": "l7"}))
    refused(lambda: read_manifest(tmp_path), "form")


@pytest.mark.parametrize("form", ["ip", "centred"])
def test_a_manifest_whose_vectors_have_other_columns_is_refused(form, tmp_path, refused):
    export(DOCS, own("all-but-the-top"), tmp_path, form=form)
    body = json.loads((tmp_path / "manifest.json").read_text())
    short = {"centre": body["centre"][1:], "directions": [body["directions"][0] + [0.0]]}
    short |= {"shift": body["shift"][1:]} if form == "centred" else {}
    for name, vector in short.items():
        (tmp_path / "manifest.json").write_text(json.dumps(body | {name: vector}))
        refused(lambda: read_manifest(tmp_path), "manifest.json", name, "columns")


def test_queries_of_another_kind_are_refused(tmp_path, refused):
    manifest = export(DOCS, own("hub penalty"), tmp_path)
    refused(lambda: manifest.queries(np.ones((2, 7))), "7 dimensions")
    refused(lambda: manifest.queries(np.zeros((2, 6))), "zeros")
    refused(lambda: manifest.queries(np.full((2, 6), np.nan)), "NaN")


def test_what_a_method_needs_is_asked_for(refused):
    refused(lambda: correction("hub penalty", {"weight": 0.5}, DOCS), "queries")
    refused(lambda: correction("norm and length", {"gamma": 1.0}, DOCS), "length")
    refused(lambda: correction("dynamic inverted softmax", {}, DOCS, queries=QUERIES), "single vector")
