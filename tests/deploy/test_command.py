"""`radii export` and `radii verify`: from a report to an engine that ranks by it, and back."""

from __future__ import annotations

import json
import sys
import tracemalloc

import numpy as np
import pytest

import radii
from radii.cli import main
from radii.deploy.correction import Correction
from radii.deploy.engines import Hits, engine
from radii.deploy.export import export, exported
from radii.deploy.verify import compare, verify
from radii.evidence.holdout import Protocol
from radii.report.files import write_report
from tests.planted import long_distractors

for package in ("faiss", "hnswlib"):
    pytest.importorskip(package)


@pytest.fixture(scope="module")
def corpus():
    return long_distractors()


@pytest.fixture(scope="module")
def folder(corpus, tmp_path_factory):
    """docs.npy, queries.npy, report.json."""
    docs, queries, qrels = corpus
    at = tmp_path_factory.mktemp("audited")
    for name, given in (("docs", docs), ("queries", queries)):
        np.save(at / f"{name}.npy", given.vectors)
        (at / f"{name}.ids.txt").write_text("".join(f"{i}\n" for i in given.ids))
    protocol = Protocol(repeats=2, resamples=200)
    write_report(radii.audit(docs, queries, qrels, metric="RR@10", protocol=protocol), at)
    return at


@pytest.fixture
def run(monkeypatch, capsys):
    def call(*words):
        monkeypatch.setattr(sys, "argv", ["radii", *map(str, words)])
        with pytest.raises(SystemExit) as ended:
            main()
        return ended.value.code or 0, *capsys.readouterr()

    return call


def test_a_report_becomes_an_engine_that_ranks_by_it(folder, corpus, run, tmp_path):
    docs, queries, _ = corpus
    given = ["export", folder / "report.json", folder / "docs.npy", "--queries", folder / "queries.npy"]
    code, out, _ = run(*given, "--to", "faiss", "--out", tmp_path / "at")
    assert code == 0
    assert "form ip: a flat index looks at every document" in out
    _, manifest = exported(tmp_path / "at" / "export")
    hits = engine("faiss").search(tmp_path / "at" / "engine", manifest.queries(queries), 1)
    assert [one[0] for one in hits.ids] == [f"good{row}" for row in range(len(queries))]

    # The snippet that was printed runs as it stands.
    start = out.index("from radii")
    code = compile(out[start : out.index("radii verify")], "snippet", "exec")
    names = {"queries": queries}
    exec(code, names)
    assert [docs.ids[row] for row in names["rows"][:, 0]] == [one[0] for one in hits.ids]

    code, out, _ = run("verify", tmp_path / "at" / "engine", "--against", tmp_path / "at" / "export")
    assert (code, out.splitlines()[-1]) == (0, "the engine returns the exact order")

    code, out, _ = run("export", tmp_path / "at" / "export", "--restore", "--out", tmp_path / "back.npy")
    assert code == 0
    np.testing.assert_allclose(np.load(tmp_path / "back.npy"), docs.vectors, rtol=1e-3, atol=1e-3)
    assert radii.load(tmp_path / "back.npy").ids == list(docs.ids)


def test_an_arm_and_a_form_are_taken_by_name(folder, run, tmp_path):
    given = ["export", folder / "report.json", folder / "docs.npy", "--out", tmp_path / "at", "--to", "faiss"]
    code, out, _ = run(*given, "--arm", "inner product", "--form", "unit")
    assert (code, out.splitlines()[0].split(":")[0]) == (0, "inner product, gamma +1")
    _, manifest = exported(tmp_path / "at" / "export")
    assert (manifest.method, manifest.parameters, manifest.form) == ("inner product", {"gamma": 1.0}, "unit")


@pytest.mark.parametrize(
    ("more", "fragment"),
    [
        (["--arm", "nonsense"], "no arm 'nonsense'"),
        (["--to", "faise"], "'faise'"),
        (["--arm", "hub penalty"], "no queries"),
        (["--to", "sqlite-vec", "--form", "ip"], "no inner product"),
    ],
)
def test_what_cannot_be_exported_is_one_line(folder, run, tmp_path, more, fragment):
    if "sqlite-vec" in more:
        pytest.importorskip("sqlite_vec")
    code, out, err = run("export", folder / "report.json", folder / "docs.npy", "--out", tmp_path, *more)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert fragment in err
    assert not list(tmp_path.rglob("manifest.json"))


@pytest.fixture(scope="module")
def letters(tmp_path_factory):
    """A tokenizer.json that makes a token of every character."""
    tokenizers = pytest.importorskip("tokenizers")
    own = tokenizers.Tokenizer(tokenizers.models.WordLevel({"[UNK]": 0}, unk_token="[UNK]"))
    own.pre_tokenizer = tokenizers.pre_tokenizers.Split(tokenizers.Regex("."), "isolated")
    path = tmp_path_factory.mktemp("model") / "tokenizer.json"
    own.save(str(path))
    return path


def test_lengths_are_counted_as_the_audit_counted_them(folder, letters, run, tmp_path):
    """The letters of a text do not go with its words: a correction by the one is none by the other."""
    ids = (folder / "docs.ids.txt").read_text().split()
    texts = {name: " ".join(["a" * (1 + 7 * row % 11)] * (1 + row % 5)) for row, name in enumerate(ids)}
    with open(tmp_path / "texts.tsv", "w") as file:
        file.writelines(f"{name}\t{text}\n" for name, text in texts.items())
    _, _, qrels = long_distractors()
    with open(tmp_path / "qrels.tsv", "w") as file:
        file.writelines(f"{q}\t{d}\t{grade}\n" for q, own in qrels.items() for d, grade in own.items())
    given = [folder / "docs.npy", "--queries", folder / "queries.npy", "--texts", tmp_path / "texts.tsv"]
    audit = ["audit", *given, "--qrels", tmp_path / "qrels.tsv", "--metric", "RR@10", "--out", tmp_path]
    code, _, err = run(*audit, "--tokenizer", letters)
    assert (code, err) == (0, "")
    report = radii.result.Report.model_validate_json((tmp_path / "report.json").read_text())
    [arm] = [one for one in report.arms if one.name == "length"]
    gamma = arm.parameters["gamma"]
    assert gamma != 0

    export = ["export", tmp_path / "report.json", *given, "--to", "faiss", "--arm", "length"]
    code, _, err = run(*export, "--tokenizer", letters, "--out", tmp_path / "at")
    assert (code, err) == (0, "")
    served, manifest = exported(tmp_path / "at" / "export")
    assert (manifest.method, manifest.parameters) == ("length", {"gamma": gamma})
    characters = np.array([len(texts[name]) for name in served.ids])
    np.testing.assert_allclose(served.norms, (1.0 + characters) ** gamma, rtol=1e-5)

    code, out, err = run(*export, "--out", tmp_path / "words")
    assert (code, out) == (2, "")
    assert "words and marks" in err
    assert "--tokenizer" in err
    assert not (tmp_path / "words").exists()


def test_another_file_than_a_report_is_refused(folder, run, tmp_path):
    (tmp_path / "r.json").write_text("{}")
    code, _, err = run("export", tmp_path / "r.json", folder / "docs.npy", "--out", tmp_path / "at")
    assert code == 2
    assert "report.json" in err


# recipe: what to send to a server --------------------------------------------------------------------------


def test_a_report_becomes_a_request_body(folder, run, tmp_path):
    given = ["export", folder / "report.json", folder / "docs.npy", "--queries", folder / "queries.npy"]
    code, out, _ = run(*given, "--to", "elasticsearch", "--out", tmp_path / "at")
    assert code == 0
    assert not (tmp_path / "at" / "engine").exists()
    words = out.splitlines()[-1].split()
    assert words[:2] == ["radii", "recipe"]
    code, out, _ = run(*words[1:], "--k", 3, "--json", "--documents", tmp_path / "bulk.ndjson")
    told = json.loads(out)
    served, _ = exported(tmp_path / "at" / "export")
    assert told["create"]["body"]["mappings"]["properties"]["vector"]["dims"] == served.dim
    assert (told["search"]["to"], told["search"]["body"]["size"]) == ("POST /docs/_search", 3)
    lines = [json.loads(line) for line in (tmp_path / "bulk.ndjson").read_text().splitlines()]
    assert [line["index"]["_id"] for line in lines[::2]] == list(served.ids)
    np.testing.assert_array_equal([line["vector"] for line in lines[1::2]], served.vectors)


def test_documents_for_redis_are_its_protocol(folder, run, tmp_path):
    given = ["export", folder / "report.json", folder / "docs.npy", "--out", tmp_path / "at"]
    assert run(*given, "--to", "redis-formula", "--arm", "norm exponent")[0] == 0
    recipe = ["recipe", tmp_path / "at" / "export", "--to", "redis-formula"]
    code, out, _ = run(*recipe, "--documents", tmp_path / "bulk")
    assert code == 0
    assert "redis-cli --pipe < FILE" in out
    data, at, commands = (tmp_path / "bulk").read_bytes(), 0, []

    def counted(mark):
        nonlocal at
        end = data.index(b"\r\n", at)
        number, at = int(data[at + 1 : end]), end + 2
        assert data[at - 3 - len(str(number)) : at - 2] == mark + str(number).encode()
        return number

    while at < len(data):
        words = []
        for _ in range(counted(b"*")):
            size = counted(b"$")
            words.append(data[at : at + size])
            at += size + 2
        commands.append(words)
    docs = radii.load(folder / "docs.npy")
    assert [words[:2] for words in commands] == [[b"HSET", f"doc:{name}".encode()] for name in docs.ids]
    norms = [float(dict(zip(words[2::2], words[3::2], strict=True))[b"norm"]) for words in commands]
    np.testing.assert_allclose(norms, docs.norms)


@pytest.mark.parametrize(
    ("more", "fragment"),
    [
        (["--to", "elastic"], "elasticsearch-formula"),
        (["--to", "mongodb"], "the ip form"),
        (["--to", "vespa", "--k", "500"], "k = 500"),
    ],
)
def test_what_a_server_cannot_serve_is_one_line(folder, run, tmp_path, more, fragment):
    given = ["export", folder / "report.json", folder / "docs.npy", "--out", tmp_path / "at"]
    run(*given, "--to", "redis", "--arm", "norm exponent")
    code, out, err = run("recipe", tmp_path / "at" / "export", *more)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert fragment in err


def test_a_formula_that_cannot_serve_leaves_no_export(folder, run, tmp_path):
    given = ["export", folder / "report.json", folder / "docs.npy", "--out", tmp_path / "at"]
    code, out, err = run(*given, "--arm", "mean-centring", "--to", "vespa-formula")
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert "moves the vectors" in err
    assert not (tmp_path / "at").exists()


# Addresses of engines in place of files -------------------------------------------------------------------


def test_an_engine_is_audited_like_a_file(corpus, run, tmp_path, monkeypatch):
    from tests.deploy.sources.filled import faiss, hnswlib

    docs, queries, qrels = corpus
    places = {}
    for name, given, fill in (("docs", docs, faiss), ("queries", queries, hnswlib)):
        vectors = np.asarray(given.vectors, dtype=np.float32)
        np.save(tmp_path / f"{name}.npy", vectors)
        (tmp_path / f"{name}.ids.txt").write_text("".join(f"{i}\n" for i in given.ids))
        (tmp_path / name).mkdir()
        places[name] = fill(tmp_path / name, given.ids, vectors, "ip")
    judged = "".join(f"{q} 0 {d} {g}\n" for q, grades in qrels.items() for d, g in grades.items())
    (tmp_path / "qrels.txt").write_text(judged)
    monkeypatch.chdir(tmp_path)

    def audit(docs, queries):
        given = [docs, "--queries", queries, "--qrels", "qrels.txt", "--metric", "RR@10", "--json"]
        code, out, err = run("audit", *given)
        assert (code, err) == (0, "")
        return json.loads(out)

    here, there = audit("docs.npy", "queries.npy"), audit(places["docs"], places["queries"])
    assert (there["data"]["docs"], there["data"]["queries"]) == (places["docs"], places["queries"])
    for report in (here, there):
        report.pop("provenance")
        report.pop("data")
    assert here == there
    assert len(list((tmp_path / "radii-cache").iterdir())) == 2

    given = ["--queries", places["queries"], "--qrels", "qrels.txt"]
    code, out, err = run("path", places["docs"], *given)
    assert (code, run("path", "docs.npy", "--queries", "queries.npy", *given[2:])[1]) == (0, out)
    assert err.count("as read on") == 2
    given = ["--out", "at", "--queries", places["queries"]]
    assert run("export", "radii-report/report.json", places["docs"], *given)[0] == 0
    assert exported("at/export")[1].source == places["docs"]
    code, _, err = run("audit", "at/engine", "--queries", "queries.npy")
    assert "radii export --restore" in err


def test_lengths_that_an_engine_threw_away_are_said_before_the_report(corpus, run, tmp_path, monkeypatch):
    pytest.importorskip("qdrant_edge")
    from tests.deploy.sources.filled import qdrant_edge

    docs, queries, _ = corpus
    address = qdrant_edge(tmp_path, docs.ids, np.asarray(docs.vectors, dtype=np.float32), "cosine")
    np.save(tmp_path / "queries.npy", queries.vectors)
    monkeypatch.chdir(tmp_path)
    code, out, err = run("audit", address, "--queries", "queries.npy")
    assert (code, err.count("\n")) == (0, 1)
    assert "the engine threw the norms away" in err
    assert "no-signal" in out


def test_an_address_that_names_nothing_is_one_line(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    np.save(tmp_path / "queries.npy", np.eye(3))
    code, out, err = run("audit", "faiss:nowhere.index", "--queries", "queries.npy")
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert "nowhere.index" in err


# verify: one planted fault each ---------------------------------------------------------------------------


@pytest.fixture
def mixed(tmp_path):
    """An inner-product export of norms over orders of magnitude."""
    rng = np.random.default_rng(5)
    docs = radii.Embeddings.of(rng.normal(size=(300, 8)) * np.exp(rng.normal(size=(300, 1))), "docs")
    export(docs, Correction("inner product", {"gamma": 1.0}, docs.norms), tmp_path / "export")
    return tmp_path / "export"


def test_an_engine_that_normalises_is_named(mixed, tmp_path):
    engine("hnswlib").write(mixed, tmp_path / "at", metric="cosine")
    found = verify(tmp_path / "at", mixed)
    assert found.overlap < 0.9
    assert "normalised the vectors on write" in found.cause


def test_a_metric_that_is_cosine_is_named(mixed, tmp_path):
    pytest.importorskip("qdrant_client")
    engine("qdrant").write(mixed, tmp_path / "at", metric="cosine")
    found = verify(tmp_path / "at", mixed, sample=20)
    assert found.overlap < 0.9
    assert "metric is cosine" in found.cause


def test_index_recall_is_named(mixed, tmp_path):
    import faiss

    engine("faiss-ivf").write(mixed, tmp_path / "at")
    index = faiss.read_index(str(tmp_path / "at" / "index.faiss"))
    index.nprobe = 1
    faiss.write_index(index, str(tmp_path / "at" / "index.faiss"))
    found = verify(tmp_path / "at", mixed)
    assert (found.overlap < 1, found.violations) == (True, 0)
    assert "recall" in found.cause


@pytest.mark.parametrize("cosine", [False, True])
@pytest.mark.parametrize("rows", [1, 7, 1000])
def test_the_exact_order_is_found_block_by_block(cosine, rows, monkeypatch):
    """Truth by sorting everything at once; lists with a gap, a swap, a tie, and shorter than k."""
    rng = np.random.default_rng(8)
    docs = rng.normal(size=(60, 5)) * rng.uniform(0.1, 9, size=(60, 1))
    docs[7] = docs[3]
    queries = np.concatenate([rng.normal(size=(3, 5)), docs[3:4]])
    served = radii.Embeddings.of(docs, "docs")
    monkeypatch.setattr("radii.data.embeddings._BLOCK_BYTES", 8 * 5 * rows)
    scores = queries @ docs.T / (np.linalg.norm(docs, axis=1) if cosine else 1.0)
    order = np.argsort(-scores, axis=1, kind="stable").tolist()
    best = [one[:6] for one in order]
    for found, expected in (
        (best, (1.0, 0)),
        ([order[0][:4] + order[0][5:7], *best[1:]], ((5 / 6 + 3) / 4, 0)),  # one missed, one too many
        ([[best[0][1], best[0][0], *best[0][2:]], *best[1:]], (1.0, 1)),
        ([best[0][:3], *best[1:3], []], ((0.5 + 2) / 4, 0)),
        ([*best[:3], [{3: 7, 7: 3}.get(row, row) for row in best[3]]], (1.0, 0)),
    ):
        hits = Hits([[str(row) for row in one] for one in found], [])
        assert compare(hits, queries, served, 6, cosine=cosine) == pytest.approx(expected)
    everything = Hits([[str(row) for row in one] for one in order], [])
    assert compare(everything, queries, served, 99, cosine=cosine) == (1.0, 0)


def test_comparing_keeps_no_matrix_in_memory(tmp_path, monkeypatch):
    rng = np.random.default_rng(0)
    np.save(tmp_path / "docs.npy", rng.normal(size=(20_000, 64)).astype(np.float32))
    served = radii.Embeddings.of(np.load(tmp_path / "docs.npy", mmap_mode="r"), "docs")
    assert served.rows  # ids are held
    hits = Hits([[str(row) for row in range(10)]] * 20, [])
    monkeypatch.setattr("radii.data.embeddings._BLOCK_BYTES", 1 << 16)
    tracemalloc.start()
    try:
        compare(hits, rng.normal(size=(20, 64)), served, 10, cosine=True)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 1 << 20  # the matrix is 10 MB in float64, the scores are 3


def test_other_vectors_are_refused(mixed, tmp_path, refused):
    engine("faiss").write(mixed, tmp_path / "at")
    other = radii.Embeddings.of(np.eye(8), "other")
    export(other, Correction("cosine", {}, np.ones(8)), tmp_path / "other")
    refused(lambda: verify(tmp_path / "at", tmp_path / "other"), "another export")
