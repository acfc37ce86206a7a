"""Half precision widened by integer arithmetic, against numpy on every half that there is."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis.extra import numpy as hnp

from radii.data import processors, rows
from radii.data.embeddings import Embeddings
from radii.data.half import widen
from radii.data.rows import row_norms
from radii.ranking.kernels import segment_maxima
from radii.ranking.row_kernels import unit_rows, unit_rows_of_halves

EVERY = np.arange(1 << 16, dtype=np.uint16).reshape(256, 256)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_every_half_is_widened_exactly(dtype):
    out, truth = np.empty(EVERY.shape, dtype), EVERY.view(np.float16).astype(dtype)
    widen(EVERY, out)
    numbers = ~np.isnan(truth)
    assert (np.isnan(out) == ~numbers).all()
    # Bits, not values: −0 is not 0.
    bits = np.dtype(f"u{out.itemsize}")
    assert (out.view(bits) == truth.view(bits))[numbers].all()


def test_blocks_and_norms_do_not_depend_on_what_widens(monkeypatch):
    rng = np.random.default_rng(0)
    vectors = rng.standard_normal((3000, 7)).astype(np.float16) * np.exp2(rng.integers(-20, 8, (3000, 1)))
    vectors = vectors.astype(np.float16)[:, ::-1]
    plain = row_norms(vectors), np.concatenate([block for _, block in Embeddings.of(vectors).blocks(500)])
    unit = plain[1] / plain[0][:, None]
    monkeypatch.setattr(rows, "_COMPILED", 0)
    monkeypatch.setattr(processors, "SHARED", 0)
    monkeypatch.setattr(rows, "_CACHED_BYTES", 4096)
    assert (row_norms(vectors) == plain[0]).all()
    docs = Embeddings.of(vectors)
    np.testing.assert_allclose(docs.unit(slice(5, 2000)), unit[5:2000], rtol=4e-16)
    np.testing.assert_allclose(docs.mean_unit, unit.mean(axis=0), rtol=1e-12, atol=1e-15)
    assert (np.concatenate([block for _, block in Embeddings.of(vectors).blocks(500)]) == plain[1]).all()


@pytest.mark.parametrize("norm", [1.0, 3.7, 1e-31, 1e31], ids=str)
def test_unit_rows_of_halves_are_those_of_the_same_numbers(norm):
    halves = EVERY.view(np.float16)[np.isfinite(EVERY.view(np.float16)).all(axis=1)]
    order = np.random.default_rng(0).permutation(len(halves))
    norms = norm * (1.0 + np.arange(len(halves)))
    found, truth = np.empty(halves.shape, np.float32), np.empty(halves.shape, np.float32)
    with np.errstate(over="ignore"):
        unit_rows(halves.astype(np.float32), norms, order, truth)
        unit_rows_of_halves(halves.view(np.uint16), norms, order, found)
    assert (found == truth).all()


@given(hnp.arrays(np.float64, (3, 40), elements={"min_value": -9, "max_value": 9}))
def test_segment_maxima_are_those_of_every_line(lines):
    slope, base, nodes = lines[0], lines[1], np.sort(lines[2, :5])
    bins = np.random.default_rng(0).integers(0, 4, 40).astype(np.uint8)
    for start in (base, np.empty(0)):
        found = np.full((5, 6), -np.inf)
        segment_maxima(bins, slope, start, nodes, found)
        heights = (start if len(start) else 0.0) + nodes[:, None] * slope
        for segment in range(6):
            assert (found[:, segment] == heights[:, bins == segment].max(axis=1, initial=-np.inf)).all()
