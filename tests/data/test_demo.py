"""The bundled demo: complete, small, licensed, symmetric, and what its script builds."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from radii.data.demo import paths
from radii.data.qrels import read_qrels
from radii.data.texts import read_texts
from radii.data.vectors import load

FOLDER = paths().vectors.parent
SCRIPT = Path(__file__).parents[2] / "scripts" / "build_demo.py"
WORDNET = Path("/usr/share/wordnet")
FILES = ("lvis_clip_text.npy", "lvis_clip_text.ids.txt", "lvis.jsonl", "lvis.qrels.tsv", "NOTICE")


@pytest.fixture(scope="module")
def demo():
    found = paths()
    return load(found.vectors), read_texts(found.texts), read_qrels(found.qrels)


def test_vectors_are_complete_and_not_normalised(demo):
    vectors, _, _ = demo
    assert vectors.vectors.shape == (1203, 512)
    assert vectors.vectors.dtype == np.float16
    assert vectors.norms.min() > 7.9
    assert vectors.norms.std() > 0.5


def test_ids_and_texts_agree(demo):
    vectors, texts, _ = demo
    assert list(vectors.ids) == texts.ids
    assert texts.by_id["airplane"] == (
        "airplane: an aircraft that has a fixed wing and is powered by propellers or jets"
    )
    bare = [name for name, text in texts.by_id.items() if len(text.partition(": ")[2]) <= 3]
    assert bare == ["stop_sign"]  # the one class that WordNet does not know


def test_corpus_lines_are_beir():
    lines = paths().texts.read_text(encoding="utf-8").splitlines()
    assert all(set(json.loads(line)) == {"_id", "text"} for line in lines)


def test_judgements_are_symmetric_grade_one_and_between_different_classes(demo):
    vectors, _, qrels = demo
    assert len(qrels) == 972
    assert sum(map(len, qrels.values())) == 4578
    for query, judged in qrels.items():
        assert query in vectors.rows
        assert query not in judged
        for document, grade in judged.items():
            assert grade == 1
            assert qrels[document][query] == 1


def test_judgements_stand_in_row_order(demo):
    vectors, _, qrels = demo
    pairs = [(vectors.rows[q], vectors.rows[d]) for q, judged in qrels.items() for d in judged]
    assert pairs == sorted(pairs)


@pytest.mark.parametrize(
    ("query", "document", "why"),
    [
        ("apple", "pear", "both edible fruits"),
        ("dog", "puppy", "a puppy is a dog, one step"),
        ("dog", "wolf", "both canines"),
        ("airplane", "jet_plane", "a jet is an airplane"),
        ("airplane", "fighter_jet", "two steps below or less"),
        ("motor_vehicle", "ambulance", "ambulance, car, motor vehicle: two steps"),
        ("tiger", "lion", "both big cats"),
        ("armchair", "rocking_chair", "both chairs"),
    ],
)
def test_related_by_hand(demo, query, document, why):
    _, _, qrels = demo
    assert qrels[query].get(document) == 1, why


@pytest.mark.parametrize(
    ("query", "document", "why"),
    [
        ("apple", "dog", "a fruit and an animal"),
        ("tiger", "cat", "a cousin: big cat and cat share only a grandparent"),
        ("puppy", "bulldog", "dog is a parent of one and a grandparent of the other"),
    ],
)
def test_unrelated_by_hand(demo, query, document, why):
    _, _, qrels = demo
    assert document not in qrels[query], why


def test_a_class_without_a_synset_has_no_judgements(demo):
    vectors, _, qrels = demo
    assert "stop_sign" in vectors.rows
    assert "stop_sign" not in qrels


def test_notice_names_every_source_and_holds_the_wordnet_licence():
    notice = (FOLDER / "NOTICE").read_text(encoding="utf-8")
    for part in (
        "Detic",
        "Apache License, Version 2.0",
        "MIT",
        "LVIS API",
        "WordNet 3.0 Copyright 2006 by Princeton",
    ):
        assert part in notice
    for file in FILES[:-1]:
        assert file in notice
    assert "Permission to use, copy, modify and distribute this software" in notice
    assert notice.rstrip().endswith("LICENSEE agrees to preserve same.")


def test_demo_is_small():
    assert sum((FOLDER / file).stat().st_size for file in FILES) < 2_500_000


def test_script_reproduces_the_shipped_files(shared_data, tmp_path):
    detic = shared_data / "detic_clip_text"
    for needed in (detic, WORDNET / "data.noun", SCRIPT):
        if not needed.exists():
            pytest.skip(f"{needed} is not there: the demo cannot be rebuilt here")
    command = [sys.executable, SCRIPT, "--detic", detic, "--wordnet", WORDNET, "--out", tmp_path]
    done = subprocess.run([*map(str, command)], capture_output=True, text=True, check=True)
    assert "stop_sign.n.01" in done.stdout
    for file in FILES:
        assert (tmp_path / file).read_bytes() == (FOLDER / file).read_bytes(), file
