"""The streaming search against the exhaustive one: same results however the work is cut."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from radii.data.embeddings import Embeddings
from radii.ranking.candidates import find_candidates
from radii.ranking.family import Affine, Family
from radii.ranking.kernels import _level
from radii.ranking.path import ExponentPath, exponent_path
from radii.ranking.search import Search, Sizes
from tests.cases import corpora


def streamed(docs, queries, k, gamma_range, sizes, multiplier=None, exclude_self=False):
    """An exponent path whose candidates were streamed with these sizes."""
    docs, queries = Embeddings.of(docs), Embeddings.of(queries)
    family = Family.power(docs.norms if multiplier is None else multiplier)
    excluded = np.arange(len(queries)) if exclude_self else np.full(len(queries), -1)
    [found] = find_candidates(docs, queries, [family], k, gamma_range, excluded, Search(sizes=sizes))
    return ExponentPath(docs, queries, k, gamma_range, family, found)


def assert_same(one, other, n_queries, seed=0):
    low, high = one.gamma_range
    gammas = np.random.default_rng(seed).uniform(low, high, 6)
    for row in range(n_queries):
        mine, theirs = one.breakpoints(row), other.breakpoints(row)
        inside = [b[(b > low + 1e-9) & (b < high - 1e-9)] for b in (mine, theirs)]
        clear = [g for g in gammas if not mine.size or np.abs(mine - g).min() > 1e-9]
        for gamma in clear:
            assert one.top(row, gamma).tolist() == other.top(row, gamma).tolist()
        for a, b in (inside, inside[::-1]):
            assert all(np.abs(b - g).min(initial=np.inf) < 1e-9 for g in a)


@settings(max_examples=40)
@given(corpora(), st.integers(1, 9), st.integers(1, 3), st.integers(1, 5), st.integers(1, 6))
def test_small_and_nasty(case, block, queries, segments, nodes):
    """Ties, duplicates, zeros, all-negative queries, wild norms, fewer documents than k."""
    sizes = Sizes(block=block, queries=queries, first=2, segments=segments, nodes=nodes)
    gammas = (case.low, case.high)
    fast = streamed(case.docs, case.queries, case.k, gammas, sizes)
    slow = exponent_path(case.docs, case.queries, k=case.k, gamma_range=gammas)
    assert_same(slow, fast, len(case.queries), case.seed)


def gaussian(n, m, dim, dtype, seed=0, shift=1.0, spread=0.3):
    rng = np.random.default_rng(seed)
    docs = (rng.normal(size=(n, dim)) + shift) * np.exp(rng.normal(0, spread, size=(n, 1)))
    return docs.astype(dtype), (rng.normal(size=(m, dim)) + shift).astype(dtype)


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8"])
@pytest.mark.parametrize(
    "sizes",
    [
        Sizes(),
        Sizes(block=700, queries=7, first=300, segments=16),
        Sizes(nodes=3),
        Sizes(segments=1, block=97),
    ],
    ids=str,
)
def test_larger_corpora_however_the_work_is_cut(dtype, sizes):
    docs, queries = gaussian(3000, 20, 24, dtype)
    slow = exponent_path(docs, queries, k=10, exclude_self=True)
    fast = streamed(docs, queries, 10, (-1.0, 1.0), sizes, exclude_self=True)
    assert_same(slow, fast, 20)
    if sizes.nodes == 9:  # streaming prunes as hard as the exhaustive search, but for float32's margin
        assert len(fast.candidates.rows) < 1.1 * len(slow.candidates.rows)


def test_only_the_layout_of_the_file_differs(tmp_path):
    docs, queries = gaussian(2000, 5, 16, "f4")
    np.save(tmp_path / "docs.npy", docs)
    mapped = np.load(tmp_path / "docs.npy", mmap_mode="r")
    plain = streamed(docs, queries, 5, (-1.0, 1.0), Sizes(block=256))
    for other in (mapped, np.asfortranarray(docs), np.repeat(docs, 2, axis=0)[::2]):
        again = streamed(other, queries, 5, (-1.0, 1.0), Sizes(block=256))
        assert again.candidates.rows.tolist() == plain.candidates.rows.tolist()
        assert again.candidates.cosines.tolist() == plain.candidates.cosines.tolist()


def test_the_number_of_threads_changes_no_bit():
    docs, queries = gaussian(4000, 30, 40, "f4")
    one, two = (streamed(docs, queries, 10, (-1.0, 1.0), Sizes(threads=threads)) for threads in (1, 3))
    assert one.candidates.rows.tolist() == two.candidates.rows.tolist()
    assert one.candidates.cosines.tolist() == two.candidates.cosines.tolist()


def test_constant_norms_and_many_copies_fit():
    """Every document ties with many others: buffers must grow, not lose any."""
    rng = np.random.default_rng(0)
    docs = np.repeat(rng.normal(size=(30, 8)) + 1, 200, axis=0)
    queries = rng.normal(size=(3, 8)) + 1
    fast = streamed(docs, queries, 4, (-1.0, 1.0), Sizes(block=64, first=64))
    slow = exponent_path(docs, queries, k=4)
    assert_same(slow, fast, 3)


def test_wild_norms():
    docs, queries = gaussian(2500, 8, 12, "f8")
    docs *= 10.0 ** np.random.default_rng(1).uniform(-6, 6, size=(2500, 1))
    slow = exponent_path(docs, queries, k=10)
    fast = streamed(docs, queries, 10, (-1.0, 1.0), Sizes(block=500))
    assert_same(slow, fast, 8)


def test_queries_without_enough_positive_cosines():
    docs, queries = gaussian(2000, 6, 12, "f4", shift=1.5)
    queries[::2] *= -1.0
    slow = exponent_path(docs, queries, k=10)
    fast = streamed(docs, queries, 10, (-1.0, 1.0), Sizes())
    assert_same(slow, fast, 6)


def test_arms_share_one_pass():
    docs, queries = gaussian(3000, 9, 16, "f4")
    docs, queries = Embeddings.of(docs), Embeddings.of(queries)
    rng = np.random.default_rng(3)
    families = [
        Family.power(docs.norms),
        Family.power(rng.integers(1, 400, 3000)),
        Family.power(np.ones(3000)),
        Family.power(docs.norms, base=rng.normal(0, 0.3, 3000)),
        Family.bias(rng.normal(0, 0.2, 3000)),
    ]
    excluded = np.full(9, -1)
    for order in (families, families[::-1]):
        together = find_candidates(
            docs, queries, order, 10, (-1.0, 1.0), excluded, Search(sizes=Sizes(block=512))
        )
        alone = find_candidates(docs, queries, order, 10, (-1.0, 1.0), excluded)
        for family, one, other in zip(order, together, alone, strict=True):
            fast, slow = (ExponentPath(docs, queries, 10, (-1.0, 1.0), family, c) for c in (one, other))
            assert_same(slow, fast, 9)
            assert len(one.rows) < 1.2 * len(other.rows) + 90


@settings(max_examples=30)
@given(corpora(), st.integers(1, 9), st.integers(1, 5))
def test_additive_scores_are_the_direct_ranking(case, block, nodes):
    """cos − γ b by brute force, negative cosines included, streamed and not."""
    docs, queries = Embeddings.of(case.docs), Embeddings.of(case.queries)
    penalty = np.random.default_rng(case.seed).normal(size=len(docs))
    gammas = (case.low, case.high)
    excluded = np.full(len(queries), -1)
    for sizes in (None, Sizes(block=block, queries=1, first=2, segments=3, nodes=nodes)):
        [found] = find_candidates(
            docs, queries, [Family.bias(penalty)], case.k, gammas, excluded, Search(sizes=sizes)
        )
        path = ExponentPath(docs, queries, case.k, gammas, Family.bias(penalty), found)
        for row, gamma in zip(range(len(queries)), np.linspace(*gammas, len(queries)), strict=True):
            cosines = (case.docs @ case.queries[row]) / (docs.norms * queries.norms[row])
            expected = np.sort(cosines - gamma * penalty)[::-1][: case.k]
            np.testing.assert_allclose(path.scores(row, gamma), expected, atol=1e-12)


@settings(max_examples=60)
@given(corpora(), st.integers(1, 9), st.integers(1, 5), st.integers(0, 3))
def test_a_power_of_changed_cosines_is_the_direct_ranking(case, block, nodes, rank):
    """((cos + ⟨left, right⟩) · scale) · e^base · r^γ, streamed and not; zeros and negatives too."""
    docs, queries = Embeddings.of(case.docs), Embeddings.of(case.queries)
    rng, gammas = np.random.default_rng(case.seed), (case.low, case.high)
    affine = Affine(
        rng.normal(0.0, 0.3, (len(queries), rank)),
        rng.normal(size=(len(docs), rank)),
        rng.choice([0.0, 0.5, 1.0], len(docs)),
    )
    base, multiplier = rng.normal(0.0, 0.3, len(docs)), rng.uniform(0.5, 2.0, len(docs))
    family = Family(np.log(multiplier), base=base, affine=affine)
    nobody = np.full(len(queries), -1)
    for sizes in (None, Sizes(block=block, queries=1, first=2, segments=3, nodes=nodes)):
        [found] = find_candidates(docs, queries, [family], case.k, gammas, nobody, Search(sizes=sizes))
        path = ExponentPath(docs, queries, case.k, gammas, family, found)
        for row, gamma in zip(range(len(queries)), np.linspace(*gammas, len(queries)), strict=True):
            cosines = (case.docs @ case.queries[row]) / (docs.norms * queries.norms[row])
            changed = (cosines + affine.right @ affine.left[row]) * affine.scale
            expected = np.sort(changed * np.exp(base) * multiplier**gamma)[::-1][: case.k]
            np.testing.assert_allclose(path.scores(row, gamma), expected, atol=1e-12)


def test_a_larger_corpus_of_changed_cosines():
    docs, queries = gaussian(4000, 20, 16, "f4")
    docs, queries = Embeddings.of(docs), Embeddings.of(queries)
    rng = np.random.default_rng(2)
    affine = Affine(rng.normal(0, 0.2, (20, 3)), rng.normal(0, 0.3, (4000, 3)), rng.uniform(0.2, 1.0, 4000))
    families = [Family.power(docs.norms), Family(np.log(docs.norms), affine=affine)]
    asked = docs, queries, families, 10, (-1.0, 1.0), np.full(20, -1)
    together = find_candidates(*asked, Search(sizes=Sizes(block=512)))
    for family, one, other in zip(families, together, find_candidates(*asked), strict=True):
        fast, slow = (ExponentPath(docs, queries, 10, (-1.0, 1.0), family, c) for c in (one, other))
        assert_same(slow, fast, 20)
        assert len(one.rows) < 1.2 * len(other.rows) + 200


@given(st.lists(st.floats(0.0, 1e3, width=32), min_size=1, max_size=60), st.data())
def test_a_level_is_reached_by_at_least_k_and_few_more(values, data):
    k = data.draw(st.integers(1, len(values)))
    values = np.array(values, dtype=np.float32) + np.float32(0.0)  # no negative zero
    level = np.int32(_level(values.view(np.int32), k, 0)).view(np.float32)
    exact = np.sort(values)[::-1][k - 1]
    assert level <= exact
    assert (values >= level).sum() <= k + k // 8 or exact - level <= 1e-3 * exact + 1e-30
