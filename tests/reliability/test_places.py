"""The catalogue's rows for folders, patterns and URLs, through the command line."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import fsspec
import numpy as np
import pytest

from radii.cli import main
from tests.reliability.world import DOCS, World, npy, parquet, same

V, IDS = DOCS.vectors, list(DOCS.ids)


@pytest.fixture
def world(tmp_path, monkeypatch):
    monkeypatch.setenv("RADII_CACHE", str(tmp_path / "cache"))
    (tmp_path / "world").mkdir()
    memory = fsspec.filesystem("memory")
    memory.store.clear()
    yield World.made(tmp_path / "world", monkeypatch)
    memory.store.clear()
    memory.pseudo_dirs[:] = [""]


def files(**contents):
    """A folder `docs` of these files, in place of the file of documents."""

    def spoil(w):
        for name, content in contents.items():
            path = w / "docs" / name.replace("__", "/").replace("_", ".")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)

    return spoil


def lines(ids):
    return "".join(f"{name}\n" for name in ids).encode()


def remote(**contents):
    def spoil(w):
        for name, content in contents.items():
            fsspec.filesystem("memory").pipe(f"/docs/{name.replace('_', '.')}", content)

    return spoil


def link(w):
    files(a_npy=npy(V))(w)
    (w / "docs" / "b.npy").symlink_to("a.npy")


def loop(w):
    (w / "docs").symlink_to("docs")


def forbidden(w):
    files(a_npy=npy(V))(w)

    def fail(path):
        raise PermissionError(13, "Permission denied")

    w.patch.setattr(os, "listdir", fail)


HALVES = {"p9_npy": npy(V[:3]), "p10_npy": npy(V[3:])}
NAMED = {"p9_ids_txt": lines(IDS[:3]), "p10_ids_txt": lines(IDS[3:])}
TABLES = {
    "p9_parquet": parquet(v=V[:3].tolist(), id=IDS[:3]),
    "p10_parquet": parquet(v=V[3:].tolist(), id=IDS[3:]),
}
NULL = parquet(v=[*V[:4].tolist(), None], id=IDS[:5])
TWICE = {**HALVES, "p9_ids_txt": lines(IDS[:3]), "p10_ids_txt": lines([*IDS[3:-1], IDS[0]])}

ROWS = {
    "folder: two shards": (files(**HALVES, **NAMED), "docs", same()),
    "folder: parquet": (files(**TABLES), "docs", same()),
    "folder: hidden files beside": (files(**TABLES, _x=b"", SUCCESS=b"", README_md=b""), "docs", same()),
    "folder: an empty shard": (files(**HALVES, **NAMED, p2_npy=npy(V[:0])), "docs", same()),
    "pattern": (files(**HALVES, **NAMED), "docs/p*.npy", same()),
    "pattern: deep": (files(**HALVES, **NAMED), "**/p*.npy", same()),
    "url: a folder": (remote(**HALVES, **NAMED), "memory://docs", same()),
    "url: a pattern": (remote(**TABLES), "memory://docs/*.parquet", same()),
    "folder: empty": (lambda w: (w / "docs").mkdir(), "docs", ["docs: holds no file of vectors"]),
    "folder: several kinds": (files(**TABLES, a_npy=npy(V)), "docs", ["files of 2 kinds", "'a.npy'"]),
    "folder: nested": (files(a_npy=npy(V), old__a_npy=npy(V)), "docs", ["old/a.npy lies deeper"]),
    "folder: a loop of links": (loop, "docs", ["docs: cannot be read", "symbolic links"]),
    "folder: one file twice": (link, "docs", ["b.npy: is the same file as", "a.npy"]),
    "folder: not permitted": (forbidden, "docs", ["docs: cannot be read", "Permission denied"]),
    "folder: mixed types": (
        files(a_npy=npy(V), b_npy=npy(V.astype("f4"))),
        "docs",
        ["b.npy: dtype float32, float64 in", "a.npy"],
    ),
    "folder: mixed dims": (
        files(a_npy=npy(V), b_npy=npy(V[:, :5])),
        "docs",
        ["b.npy: 5 dimensions, 8 in", "a.npy"],
    ),
    "folder: an id twice": (files(**TWICE), "docs", ["p10.npy, row 4: id 'good0' again", "p9.npy, row 0"]),
    "folder: ids of one shard": (
        files(**HALVES, p9_txt=lines(IDS[:3])),
        "docs",
        ["p10.npy: has no ids", "p9.npy has"],
    ),
    "folder: too few ids": (
        files(**HALVES, **{**NAMED, "p9_ids_txt": lines(IDS[:2])}),
        "docs",
        ["p9.ids.txt: 2 ids for 3 vectors"],
    ),
    "folder: a cut shard": (
        files(**{**HALVES, **NAMED, "p10_npy": HALVES["p10_npy"][:-9]}),
        "docs",
        ["p10.npy: not a .npy file"],
    ),
    "folder: a null in a shard": (
        files(**TABLES, p11_parquet=NULL),
        "docs",
        ["p11.parquet, row group 1: row 4 of column 'v' is null"],
    ),
    "folder: a row of zeros": (
        files(**{**HALVES, "p10_npy": npy(np.vstack([V[3:-1], np.zeros((1, 8))]))}, **NAMED),
        "docs",
        ["p10.npy, row 4: 1 rows are all zeros, first row 7"],
    ),
    "pattern: no match": (files(**HALVES), "docs/*.parquet", ["docs/*.parquet: no file matches"]),
    "url: not there": (remote(), "memory://docs/a.npy", ["memory://docs/a.npy: no such file or folder"]),
    "url: cut": (remote(a_npy=npy(V)[:99]), "memory://docs/a.npy", ["memory://docs/a.npy: not a .npy file"]),
    "url: unknown": (remote(), "s4://bucket/a.npy", ["s4://bucket/a.npy: no file system is called s4://"]),
}  # fmt: skip


@pytest.mark.parametrize("row", ROWS)
def test_row(world, monkeypatch, capsys, row):
    spoil, docs, expected = ROWS[row]
    spoil(world)
    before = world.files()
    words = world.words("path")
    words[1] = docs if "://" in docs else str(world / docs)
    monkeypatch.setattr(sys, "argv", ["radii", *words])
    with pytest.raises(SystemExit) as ended:
        main()
    out, err = capsys.readouterr()
    assert world.files() == before, "something was written"
    if callable(expected):
        assert (ended.value.code or 0, err) == (0, "")
        expected(world, out)
        return
    assert (ended.value.code, out) == (2, "")
    assert err.startswith("radii: ")
    assert err[:-1].isprintable(), "more than one line, or control characters"
    assert "Fix: " in err
    for fragment in expected:
        assert fragment in err


def test_the_page_counts_these_rows():
    page = " ".join((Path(__file__).parents[2] / "docs" / "reliability.md").read_text().split())
    read = sum(callable(expected) for _, _, expected in ROWS.values())
    assert f"{len(ROWS)} more, {len(ROWS) - read} refused and {read} read" in page
