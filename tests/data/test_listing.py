import os
import resource

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from radii.data.listing import is_url, local_places, natural
from radii.data.vectors import load


def fill(folder, *names, rows=2):
    """Files of vectors; the first entry of each counts the rows of all of them."""
    at = 0
    for name in names:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        with open(path, "wb") as file:  # np.save would add a suffix
            np.save(file, np.stack([np.arange(at, at + rows), np.ones(rows)], axis=1) + 1)
        at += rows


def names(path):
    return [place.name.rpartition("/")[2] for place in local_places(path)]


def test_a_folder_is_read_in_natural_order_without_what_is_hidden(tmp_path):
    fill(tmp_path, "part-9.npy", "part-10.npy", "part-11.NPY")
    for other in (".part-0.npy", "_metadata.npy", "_SUCCESS", "README.md", "part-9.json", ".part-9.npy.crc"):
        (tmp_path / other).write_text("x")
    assert names(tmp_path) == ["part-9.npy", "part-10.npy", "part-11.NPY"]
    both = load(tmp_path)
    assert np.array_equal(np.asarray(both.vectors)[:, 0], np.arange(6) + 1.0)
    assert both.ids == [str(row) for row in range(6)]
    assert both.source == str(tmp_path)


@given(st.lists(st.integers(0, 10**6), unique=True))
def test_numbers_in_names_are_in_order_of_their_values(numbers):
    shuffled = sorted((f"p{n}-of-9.npy" for n in numbers), key=natural)
    assert shuffled == [f"p{n}-of-9.npy" for n in sorted(numbers)]


@pytest.mark.parametrize(
    ("pattern", "found"),
    [
        ("*.npy", ["a.npy", "b.npy"]),
        ("[a].npy", ["a.npy"]),
        ("?.npy", ["a.npy", "b.npy"]),
        ("**/*.npy", ["a.npy", "b.npy", "d2.npy", "d10.npy"]),
        ("deep/*", ["d2.npy", "d10.npy"]),
        ("d*/d*.npy", ["d2.npy", "d10.npy"]),
    ],
)
def test_patterns(tmp_path, pattern, found):
    fill(tmp_path, "a.npy", "b.npy", "deep/d10.npy", "deep/d2.npy", ".git/c.npy", "deep/_old/e.npy")
    (tmp_path / "deep" / "d2.ids.txt").write_text("x\ny\n")
    assert names(tmp_path / pattern) == found


def test_a_pattern_may_be_relative(tmp_path, monkeypatch):
    fill(tmp_path, "parts/a.npy", "parts/b.npy")
    monkeypatch.chdir(tmp_path)
    assert names("parts/*.npy") == names("*/*.npy") == names("**/*.npy") == ["a.npy", "b.npy"]


def test_a_name_that_exists_is_no_pattern(tmp_path):
    fill(tmp_path, "a[1].npy", "a1.npy")
    assert names(tmp_path / "a[1].npy") == ["a[1].npy"]


def test_a_folder_with_one_file_is_that_file(tmp_path):
    fill(tmp_path, "a.npy")
    (tmp_path / "a.ids.txt").write_text("x\ny\n")
    one = load(tmp_path)
    assert isinstance(one.vectors, np.memmap)
    assert one.ids == ["x", "y"]


def test_ids_lie_beside_each_shard_or_in_one_file_for_all(tmp_path):
    fill(tmp_path, "a.npy", "b.npy")
    (tmp_path / "a.ids.txt").write_text("x\ny\n")
    (tmp_path / "b.txt").write_text("v\nw\n")
    assert load(tmp_path).ids == ["x", "y", "v", "w"]
    (tmp_path / "all.lst").write_text("1\n2\n3\n4\n")
    assert load(tmp_path, ids=tmp_path / "all.lst").ids == ["1", "2", "3", "4"]


def test_files_without_rows_are_skipped(tmp_path, refused):
    fill(tmp_path, "a.npy", "c.npy")
    np.save(tmp_path / "b.npy", np.empty((0, 2)))
    assert load(tmp_path).vectors.shape == (4, 2)
    np.save(tmp_path / "a.npy", np.empty((0, 2)))
    np.save(tmp_path / "c.npy", np.empty((0, 2)))
    refused(lambda: load(tmp_path), tmp_path, "3 files without a row")


def spark(folder):
    fill(folder, "docs.npy/a.npy", "docs.npy/b.npy")


def mixed(folder):
    fill(folder, "docs.npy/a.npy")
    (folder / "docs.npy" / "b.parquet").write_bytes(b"")


def hidden(folder):
    fill(folder, "docs.npy/.a.npy", "docs.npy/_temporary/a.npy")


def nested(folder):
    fill(folder, "docs.npy/a.npy", "docs.npy/old/b.npy")


def only_nested(folder):
    fill(folder, "docs.npy/day=1/b.npy")


def linked_twice(folder):
    fill(folder, "docs.npy/a.npy")
    (folder / "docs.npy" / "latest.npy").symlink_to("a.npy")


def dangling(folder):
    fill(folder, "docs.npy/a.npy")
    (folder / "docs.npy" / "b.npy").symlink_to("b.npy")


def loop(folder):
    (folder / "docs.npy").symlink_to("docs.npy")


def pipe(folder):
    fill(folder, "docs.npy/a.npy")
    os.mkfifo(folder / "docs.npy" / "b.npy")


BAD = {
    "files of several kinds": (mixed, "docs.npy", ["files of 2 kinds", "'a.npy'", "'b.parquet'", "*.npy"]),
    "hidden files alone": (hidden, "docs.npy", ["holds no file of vectors", ".npy, .npz"]),
    "a nested folder": (nested, "docs.npy", ["old/b.npy lies deeper", "docs.npy/*.npy", "/**/*.npy"]),
    "nested folders alone": (only_nested, "docs.npy", ["day=1/b.npy lies deeper", "docs.npy/**/*.npy"]),
    "one file, two names": (linked_twice, "docs.npy", ["latest.npy: is the same file as", "a.npy"]),
    "a link to itself in a folder": (dangling, "docs.npy", ["b.npy: cannot be read", "symbolic links"]),
    "a folder that links to itself": (loop, "docs.npy", ["docs.npy: cannot be read", "symbolic links"]),
    "a pipe in a folder": (pipe, "docs.npy", ["b.npy: not a regular file"]),
    "no match": (spark, "*.parquet", ["*.parquet: no file matches", "working folder"]),
    "a match of folders": (spark, "d*", ["matches 'docs.npy', but no file of vectors"]),
    "no such folder": (spark, "none/*.npy", ["no file matches"]),
    "no pattern": (spark, "a**/*.npy", ["a**/*.npy: "]),
}


@pytest.mark.parametrize("fault", BAD)
def test_refused(tmp_path, refused, fault):
    spoil, name, fragments = BAD[fault]
    spoil(tmp_path)
    refused(lambda: load(tmp_path / name), *fragments)


def test_a_loop_of_folders_ends(tmp_path):
    fill(tmp_path, "parts/a.npy")
    (tmp_path / "parts" / "self").symlink_to(tmp_path / "parts")
    assert names(tmp_path / "parts") == ["a.npy"]
    assert names(tmp_path / "**" / "*.npy") == ["a.npy"]


def test_more_files_than_handles_are_refused(tmp_path, monkeypatch, refused):
    fill(tmp_path, *(f"{n}.npy" for n in range(8)))
    monkeypatch.setattr(resource, "getrlimit", lambda _: (70, 70))
    refused(lambda: load(tmp_path), "8 files", "open 70", "ulimit -n 1032")
    (tmp_path / "7.npy").unlink()
    (tmp_path / "6.npy").unlink()
    assert len(load(tmp_path)) == 12


@pytest.mark.parametrize(
    ("text", "url"),
    [
        ("s3://bucket/docs.npy", True),
        ("memory://docs.npy", True),
        ("file:///docs.npy", True),
        ("https://host/a.npy?b=c", True),
        ("C://docs.npy", False),
        ("docs.npy", False),
        ("qdrant:http://localhost:6333", False),
        ("milvus:https://host", False),
        ("faiss:docs.index", False),
        ("a/b://c.npy", False),
    ],
)
def test_urls(text, url):
    assert is_url(text) is url


def test_progress_counts_files(tmp_path):
    fill(tmp_path, "a.npy", "b.npy")
    seen = []
    load(tmp_path, progress=lambda *told: seen.append(told))
    assert seen == [(1, 2), (2, 2)]
