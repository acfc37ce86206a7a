"""The summary of norms by hand, and which norms count as constant."""

from __future__ import annotations

import numpy as np
import pytest

from radii.data.embeddings import Embeddings
from radii.signals.norm import summarise


def test_summary_by_hand():
    # Logarithms to base 2 are 0, 3, 1, 2: their mean is 1.5, their variance 1.25.
    got = summarise(np.array([1.0, 8.0, 2.0, 4.0]))
    assert got.mean == 3.75
    assert got.median == 3.0
    assert (got.smallest, got.largest) == (1.0, 8.0)
    assert got.sd == pytest.approx(np.sqrt((2.75**2 + 4.25**2 + 1.75**2 + 0.25**2) / 4))
    assert got.sd_log == pytest.approx(np.sqrt(1.25) * np.log(2))
    assert got.longest.tolist() == [1, 3, 2, 0]
    assert got.shortest.tolist() == [0, 2, 3, 1]
    assert not got.constant


def test_summary_against_numpy():
    norms = np.random.default_rng(0).lognormal(1.0, 0.3, size=1001)
    got = summarise(norms, extremes=7)
    order = sorted(range(1001), key=lambda row: norms[row])
    assert got.mean == pytest.approx(np.mean(norms))
    assert got.sd == pytest.approx(np.std(norms))
    assert got.sd_log == pytest.approx(np.std(np.log(norms)))
    assert got.median == np.median(norms)
    assert got.shortest.tolist() == order[:7]
    assert got.longest.tolist() == order[:-8:-1]


def test_one_document_is_both_extremes_and_constant():
    got = summarise(np.array([2.5]))
    assert got.longest.tolist() == got.shortest.tolist() == [0]
    assert (got.mean, got.sd_log, got.constant) == (2.5, 0.0, True)


def bfloat16(vectors):
    """Rounded to the nearest number with 16 upper bits, ties to even, in float32."""
    bits = vectors.astype(np.float32).view(np.uint32)
    rounded = bits + np.uint32(0x7FFF) + ((bits >> np.uint32(16)) & np.uint32(1))
    return (rounded & np.uint32(0xFFFF0000)).view(np.float32)


ROUNDINGS = {
    "fp64": lambda vectors: vectors,
    "fp32": lambda vectors: vectors.astype(np.float32),
    "fp16": lambda vectors: vectors.astype(np.float16),
    "bf16": bfloat16,
}


def norms_of(rounded, dim, sd_log, scale):
    rng = np.random.default_rng(0)
    vectors = rng.normal(size=(500, dim))
    vectors *= (scale * np.exp(sd_log * rng.normal(size=500)) / np.linalg.norm(vectors, axis=1))[:, None]
    return Embeddings.of(rounded(vectors)).norms


def test_bfloat16_is_rounded_to_eight_bits():
    assert bfloat16(np.array([1 + 2**-8, 1 + 3 * 2**-8, 1.01])).tolist() == [1.0, 1 + 2**-6, 1.0078125]


@pytest.mark.parametrize("rounded", ROUNDINGS.values(), ids=ROUNDINGS)
@pytest.mark.parametrize("dim", [32, 384, 1024])
@pytest.mark.parametrize("scale", [1.0, 20.0])
def test_normalised_vectors_are_constant_in_every_precision(rounded, dim, scale):
    got = summarise(norms_of(rounded, dim, 0.0, scale))
    assert got.constant
    assert got.mean == pytest.approx(scale, rel=1e-3)


@pytest.mark.parametrize("rounded", ROUNDINGS.values(), ids=ROUNDINGS)
@pytest.mark.parametrize("scale", [1.0, 20.0])
def test_norms_that_vary_by_a_hundredth_are_not_constant(rounded, scale):
    got = summarise(norms_of(rounded, 384, 0.01, scale))
    assert not got.constant
    assert got.sd_log == pytest.approx(0.01, rel=0.1)
