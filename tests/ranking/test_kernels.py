"""Kernels against plain formulas: what a scan keeps, what a bank's lists hold; how documents are dealt."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from radii.ranking import bank_kernels, kernels
from radii.ranking.segments import chunks, deal
from radii.ranking.streaming import evenly
from radii.ranking.threads import cuts


def tile(seed, n_queries, n):
    """Similarities, their peaks, rows, and rows to skip: of some queries one that would pass."""
    rng = np.random.default_rng(seed)
    sims = rng.normal(0.0, 0.3, (n_queries, n)).astype(np.float32)
    most = np.empty((n_queries, chunks(n)), dtype=np.float32)
    kernels.peaks(sims, most)
    rows = rng.permutation(n).astype(np.int32)
    skip = np.where(rng.random(n_queries) < 0.5, rows[sims.argmax(axis=1)], -1).astype(np.int64)
    return rng, sims, most, rows, skip


def scanned(scan, n_queries, capacity=10_000):
    """What a scan puts into empty buffers: per query {row: similarity}."""
    buffers = np.empty((n_queries, capacity), np.int32), np.empty((n_queries, capacity), np.float32)
    count, todo = np.zeros(n_queries, dtype=np.int64), np.zeros(n_queries, dtype=np.int64)
    assert scan(todo, *buffers, count) == 0
    return [
        dict(zip(seen[:n].tolist(), values[:n].tolist(), strict=True))
        for seen, values, n in zip(*buffers, count, strict=True)
    ]


@given(st.integers(0, 2**32 - 1), st.integers(1, 3), st.integers(1, 200))
def test_peaks_are_the_largest_of_every_chunk(seed, n_queries, n):
    _, sims, most, _, _ = tile(seed, n_queries, n)
    for chunk in range(chunks(n)):
        part = sims[:, chunk * kernels.CHUNK : (chunk + 1) * kernels.CHUNK]
        np.testing.assert_array_equal(most[:, chunk], np.maximum(part.max(axis=1), 0.0))


@given(st.integers(0, 2**32 - 1), st.integers(1, 3), st.integers(1, 200), st.booleans())
def test_a_scan_keeps_what_reaches_the_threshold_of_its_segment(seed, n_queries, n, ordered):
    rng, sims, most, rows, skip = tile(seed, n_queries, n)
    bins = rng.integers(0, 5, n).astype(np.uint8)
    bins = np.sort(bins) if ordered else bins
    table = rng.normal(0.3, 0.3, (n_queries, 5)).astype(np.float32)
    found = scanned(lambda *to: kernels.scan(sims, most, rows, bins, ordered, table, skip, *to), n_queries)
    for q in range(n_queries):
        passes = (sims[q] >= table[q, bins]) & (rows != skip[q])
        expected = dict(zip(rows[passes].tolist(), sims[q, passes].tolist(), strict=True))
        assert found[q] == expected


@given(
    st.integers(0, 2**32 - 1), st.integers(1, 3), st.integers(1, 200), st.integers(1, 5), st.integers(0, 2)
)
def test_a_scan_of_changed_cosines_keeps_what_reaches_the_threshold(seed, n_queries, n, rank, before):
    """Bounds of chunks rule out no document, whatever the signs of terms and thresholds."""
    rng, sims, most, rows, skip = tile(seed, n_queries, n)
    begin = before * kernels.CHUNK  # of the block's columns these are not the first
    left = rng.normal(size=(n_queries, rank)).astype(np.float32)
    sides = rng.normal(0.0, 0.2, (rank + 1, begin + n)).astype(np.float32)
    sides[-1] = rng.choice([0.0, 0.2, 1.0], begin + n)
    ends = np.empty((2, rank + 1, chunks(begin + n)), dtype=np.float32)
    kernels.chunk_ends(sides, ends)
    changed = (sims.astype(np.float64) + left.astype(np.float64) @ sides[:-1, begin:]) * sides[-1, begin:]
    # Within rounding of a threshold either is right: no value is that near to one.
    ordered = np.sort(changed, axis=1)
    at = rng.integers(0, n + 1, n_queries)
    padded = np.concatenate((ordered[:, :1] - 1.0, ordered, ordered[:, -1:] + 1.0), axis=1)
    thresholds = np.array([padded[q, i : i + 2].mean() for q, i in enumerate(at)])
    clear = np.abs(changed - thresholds[:, None]).min(axis=1) > 1e-5
    # Another segment has another threshold, and no document here: a chunk's bound may be looser, never wrong.
    bins, ordered = np.full(n, 1, dtype=np.uint8), bool(rng.integers(2))
    table = np.stack((thresholds - rng.normal(size=n_queries), thresholds), axis=1).astype(np.float32)
    fixed = sims, most, rows, left, sides, ends, begin, 1e-6, bins, ordered, table, skip
    found = scanned(lambda *to: kernels.scan_affine(*fixed, *to), n_queries)
    for q in np.flatnonzero(clear):
        passes = (changed[q] >= thresholds[q]) & (rows != skip[q])
        assert set(found[q]) == set(rows[passes].tolist())
        values = {int(row): value for row, value in zip(rows, changed[q], strict=True)}
        assert all(abs(value - values[row]) < 1e-5 for row, value in found[q].items())


def test_a_full_buffer_stops_a_query_where_it_goes_on_later():
    _, sims, most, rows, _ = tile(0, 1, 100)
    skip, bins = np.array([-1]), np.zeros(100, dtype=np.uint8)
    table = np.full((1, 1), -np.inf, dtype=np.float32)
    seen, values = np.empty((1, 70), np.int32), np.empty((1, 70), np.float32)
    count, todo = np.zeros(1, dtype=np.int64), np.zeros(1, dtype=np.int64)
    fixed = sims, most, rows, bins, False, table, skip, todo
    assert kernels.scan(*fixed, seen, values, count) == 1
    kept = seen[0, : count[0]].tolist()
    assert count[0] + kernels.CHUNK > 70
    count[0] = 0
    assert kernels.scan(*fixed, seen, values, count) == 0
    assert kept + seen[0, : count[0]].tolist() == rows.tolist()


@given(
    st.lists(
        st.sampled_from([-1.0, 0.0, 0.0, 0.0, 0.5, 7.0]) | st.floats(-3.0, 3.0), min_size=1, max_size=80
    ),
    st.integers(1, 40),
)
def test_segments_ascend_with_the_slope(slopes, segments):
    slope = np.array(slopes)
    bins = deal(slope, segments)
    assert bins.max() < segments
    order = np.argsort(slope, kind="stable")
    assert (np.diff(bins[order].astype(int)) >= 0).all()
    equal = slope[:, None] == slope
    assert (bins[:, None] == bins)[equal].all()


def test_the_many_with_one_slope_share_a_segment_with_nobody():
    rng = np.random.default_rng(0)
    slope = np.concatenate((np.zeros(5000), np.log(rng.integers(2, 90, 60)), -rng.random(60) - 0.01))
    bins = deal(slope, 32)
    assert set(slope[bins == bins[0]]) == {0.0}
    widths = [np.ptp(slope[bins == bin_]) for bin_ in np.unique(bins)]
    assert max(widths) <= np.ptp(slope) / 16  # no segment spans more of the range


@pytest.mark.parametrize(("n", "width"), [(1, 64), (8192, 2592), (2592, 2592), (2593, 2592), (100, 256)])
def test_tiles_are_whole_chunks_of_about_one_width(n, width):
    tiles = evenly(n, width)
    assert tiles[0].start == 0
    assert tiles[-1].stop == n
    assert all(a.stop == b.start for a, b in pairwise(tiles))
    assert all(some.start % kernels.CHUNK == 0 and some.stop - some.start <= width for some in tiles)
    assert len(tiles) == -(-n // width)


@given(
    st.integers(0, 2**32 - 1), st.integers(1, 90), st.integers(1, 5), st.integers(1, 12), st.floats(-1.0, 1.0)
)
def test_the_nearest_queries_of_all_folds_but_one(seed, n_queries, n_folds, k, level):
    """Ties, a fold far nearer than others, empty folds, fewer queries than k, rows unlike the last."""
    rng = np.random.default_rng(seed)
    fold = np.sort(rng.integers(0, n_folds, n_queries))
    spread = rng.choice([0.0, 0.01, 0.3], 6)[:, None]
    cosines = np.clip(level + spread * rng.normal(size=(6, n_queries)), -1.0, 1.0)
    cosines[::2] += 0.8 * (fold == 0)
    cosines[rng.random(cosines.shape) < 0.3] = -1.0  # as where a document is the query
    cosines = np.clip(cosines, -1.0, 1.0).astype(np.float32)
    near, last = np.empty((n_folds, 6)), np.empty((n_folds, 6), dtype=np.float32)
    bank_kernels.nearest_queries(cosines, fold, k, near, last)
    for f in range(n_folds):
        best = np.sort(cosines[:, fold != f].astype(np.float64), axis=1)[:, -k:]
        if best.shape[1]:
            np.testing.assert_allclose(near[f], best.mean(axis=1), atol=1e-12)
            np.testing.assert_array_equal(last[f], best[:, 0])
        else:
            assert (near[f] == 0.0).all()
            assert (last[f] == np.inf).all()


@given(st.integers(0, 2**32 - 1), st.integers(1, 40))
def test_the_first_documents_of_every_query_block_by_block(seed, n):
    """Of equal cosines the earlier row stays."""
    rng = np.random.default_rng(seed)
    cosines = rng.choice([-0.5, 0.0, 0.25, 0.5], (n, 35)).astype(np.float32)
    best = np.full((35, 7), -np.inf, dtype=np.float32)
    rows = np.full((35, 7), -1, dtype=np.int64)
    for some in cuts(n, 9):
        bank_kernels.nearest_documents(cosines[some], some.start, best, rows)
    expected = np.argsort(-cosines.T, axis=1, kind="stable")[:, :7]
    assert (rows[:, ::-1][:, : min(n, 7)] == expected).all()


def test_sums_of_folds():
    terms = np.random.default_rng(0).random((5, 50), dtype=np.float32)
    sums, ends = np.empty((5, 3)), np.array([0, 20, 20, 50])
    bank_kernels.fold_sums(terms, ends, sums)
    wide = terms.astype(np.float64)
    np.testing.assert_allclose(sums[:, 0], wide[:, :20].sum(axis=1), rtol=1e-14)
    np.testing.assert_allclose(sums[:, 2], wide[:, 20:].sum(axis=1), rtol=1e-14)
    assert (sums[:, 1] == 0.0).all()
