"""What must not change a result: the order of rows, a power of two, the width of the stored numbers."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import radii
from radii.data.embeddings import Embeddings
from radii.data.rows import row_norms
from radii.data.texts import Texts
from radii.signals.centrality import centrality
from radii.signals.relations import residuals, spearman_matrix, variance_explained
from tests.planted import FAST, FLIP
from tests.reliability.world import DOCS, QRELS, QUERIES, bfloat16

N, M = 60, 24
SEEDS = st.integers(0, 2**32 - 1)
# Far beyond where squares and products leave the range of float64, and short of where values lose digits.
POWERS = st.integers(-1000, 1000)


def corpus(seed):
    """Directions and norms without ties, judgements, and texts; every query has a relevant document."""
    rng = np.random.default_rng(seed)
    docs = (rng.normal(size=(N, 6)) + 0.3) * rng.lognormal(0, 0.4, size=(N, 1))
    queries = rng.normal(size=(M, 6)) + 0.2
    ids, asked = [f"d{i}" for i in range(N)], [f"q{i}" for i in range(M)]
    qrels = {
        q: {
            ids[j]: int(g)
            for j, g in zip(rng.permutation(N)[:8], [2, 1, *rng.integers(-1, 2, 6)], strict=True)
        }
        for q in asked
    }
    texts = Texts(ids, [f"word{i % 7} " * int(rng.integers(1, 20)) for i in range(N)], "texts")
    return Embeddings(ids, docs, "docs"), Embeddings(asked, queries, "queries"), qrels, texts


def scaled(given, power):
    return Embeddings(given.ids, np.ldexp(given.vectors, power), given.source)


def numbers(report):
    """What a report says of rankings: the path, and every arm's parameters, gain, interval and p."""
    found = {"path": report.path.values, "cosine": report.path.cosine, "best": report.path.best_value}
    found |= {"gamma": report.verdict.gamma, "beyond": report.verdict.beyond}
    for arm in report.arms:
        found[arm.name] = [arm.gain, *arm.gain_ci, arm.p, *arm.parameters.values()]
    return found


def assert_same(report, other):
    ours, theirs = numbers(report), numbers(other)
    assert ours.keys() == theirs.keys()
    for name, values in ours.items():
        assert theirs[name] == pytest.approx(values, abs=1e-9), name
    assert (report.verdict.label, report.verdict.proxy) == (other.verdict.label, other.verdict.proxy)


@settings(max_examples=3)
@given(seed=SEEDS, power=POWERS)
def test_an_audit_depends_on_no_order_and_no_power_of_two(seed, power):
    docs, queries, qrels, texts = corpus(seed)
    rng = np.random.default_rng(seed)
    changed = scaled(docs.part(rng.permutation(N)), power), scaled(queries.part(rng.permutation(M)), -power)
    reports = [radii.audit(d, q, qrels, texts=texts, protocol=FAST) for d, q in ((docs, queries), changed)]
    assert_same(*reports)
    assert reports[1].norms.mean == pytest.approx(np.ldexp(reports[0].norms.mean, power), rel=1e-9)
    assert reports[1].norms.sd_log == pytest.approx(reports[0].norms.sd_log, rel=1e-9)
    for one, other in zip(*(r.relations for r in reports), strict=True):
        assert list(other.spearman.model_dump().values()) == pytest.approx(
            list(one.spearman.model_dump().values()), abs=1e-9
        )


@settings(max_examples=25)
@given(seed=SEEDS, power=POWERS, metric=st.sampled_from(["nDCG@10", "RR@5", "AP@10", "R@3"]))
def test_a_path_depends_on_no_order_and_no_power_of_two(seed, power, metric):
    docs, queries, qrels, _ = corpus(seed)
    rng = np.random.default_rng(seed)
    changed = scaled(docs.part(rng.permutation(N)), power), scaled(queries.part(rng.permutation(M)), -power)
    ours, theirs = (radii.exponent_path(d, q).metric(metric, qrels) for d, q in ((docs, queries), changed))
    np.testing.assert_allclose(theirs.edges, ours.edges, atol=1e-9)
    np.testing.assert_allclose(theirs.values, ours.values, atol=1e-9)
    assert theirs.best().gamma == pytest.approx(ours.best().gamma, abs=1e-9)


def test_equal_documents_keep_the_order_of_their_rows():
    """The one thing that an order of rows may decide."""
    docs = Embeddings.of(np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]]))
    path = radii.exponent_path(docs, np.array([[1.0, 0.1]]), k=2)
    assert path.top(0, 0.5).tolist() == [0, 1]


@given(seed=SEEDS, power=POWERS)
def test_signals_depend_on_no_order_and_no_power_of_two(seed, power):
    docs = corpus(seed)[0]
    order = np.random.default_rng(seed).permutation(N)
    changed = scaled(docs.part(order), power)
    np.testing.assert_array_equal(changed.norms, np.ldexp(docs.norms, power)[order])
    np.testing.assert_allclose(centrality(changed), centrality(docs)[order], atol=1e-12)


@settings(max_examples=25)
@given(seed=SEEDS, tied=st.booleans())
def test_relations_depend_on_no_order(seed, tied):
    rng = np.random.default_rng(seed)
    columns = rng.normal(size=(3, N))
    if tied:
        columns = columns.round()  # whole numbers, most of them several times
    order = rng.permutation(N)
    ours, theirs = (dict(zip("abc", some, strict=True)) for some in (columns, columns[:, order]))
    one, other = (spearman_matrix(some, 0, resamples=20).pairs["a", "b"] for some in (ours, theirs))
    assert (other.estimate, other.low, other.high) == pytest.approx(
        (one.estimate, one.low, one.high), abs=1e-12
    )
    rest, mine = {"b": ours["b"], "c": ours["c"]}, {"b": theirs["b"], "c": theirs["c"]}
    left, theirs_left = residuals(ours["a"], rest, 0)[order], residuals(theirs["a"], mine, 0)
    if tied:  # documents that are equal in everything may be dealt to different folds
        left, theirs_left = np.sort(left), np.sort(theirs_left)
    np.testing.assert_allclose(theirs_left, left, atol=1e-9)
    ours_explained, theirs_explained = (
        variance_explained(ours["a"], rest, 0),
        variance_explained(theirs["a"], mine, 0),
    )
    assert theirs_explained.estimate == pytest.approx(ours_explained.estimate, abs=1e-9)


# The width of a number -------------------------------------------------------------------------------------


def stored(folder, kind, vectors):
    """The documents as a file of this type of number, read back."""
    if kind == "bf16":
        (folder / "docs.safetensors").write_bytes(bfloat16(vectors))
        return Embeddings(DOCS.ids, radii.load(folder / "docs.safetensors").vectors, "docs")
    np.save(folder / "docs.npy", vectors.astype(kind))
    return Embeddings(DOCS.ids, radii.load(folder / "docs.npy").vectors, "docs")


def path_of(docs):
    return radii.exponent_path(docs, QUERIES).metric("RR@10", QRELS)


@pytest.mark.parametrize("kind", ["f2", "bf16", "f4"])
def test_values_that_a_type_holds_exactly_give_the_same_bits(tmp_path, kind):
    """Whole numbers up to 8 significant bits: no type rounds them, and no sum is done in it."""
    whole = np.round(DOCS.vectors * 100)
    assert (
        path_of(stored(tmp_path, kind, whole)).edges.tolist()
        == path_of(Embeddings(DOCS.ids, whole)).edges.tolist()
    )


# Half a unit in the last place: 11, 8 and 24 significant bits.
ROUNDING = {"f2": 2.0**-11, "bf16": 2.0**-8, "f4": 2.0**-24, "f8": 2.0**-52}


@pytest.mark.parametrize("kind", ROUNDING)
def test_a_type_moves_norms_and_exponents_by_its_rounding_alone(tmp_path, kind):
    docs = stored(tmp_path, kind, DOCS.vectors)
    np.testing.assert_allclose(docs.norms, DOCS.norms, rtol=1.001 * ROUNDING[kind])
    # near/far = 0.9/0.8, each off by its rounding; the exponent is log2 of it, and so off by 4/ln 2 of that.
    assert path_of(docs).edges == pytest.approx([-1, -FLIP, FLIP, 1], abs=6 * ROUNDING[kind])


def test_half_precision_is_summed_in_double():
    assert row_norms(np.array([[600, 800], [6e4, 6e4]], np.float16)).tolist() == [1000.0, np.hypot(6e4, 6e4)]
