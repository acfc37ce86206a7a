"""Compact ids against the list and the dictionary that they stand for."""

import pickle

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from radii import Embeddings
from radii.data import ids as module
from radii.data.ids import Gathered, Names, RowNumbers, compact, first_repeat, hashes, rows_of
from radii.data.vectors import ids_path, load

texts = st.text(st.characters(codec="utf-8"), max_size=6)
lists = st.lists(texts, max_size=40)


def poor(text, ends):
    """A hash that tells almost nothing apart."""
    return (np.diff(ends, prepend=0) % 2).astype(np.uint64)


def constant(text, ends):
    return np.zeros(len(ends), dtype=np.uint64)


@pytest.mark.parametrize("hashed", [None, poor, constant])
@given(names=lists, others=lists)
@example(names=["", "a", "", "a\x00", "a"], others=["\ud800", "a\x00"])
@example(names=[], others=["a"])
def test_names_are_a_list_and_a_dictionary(hashed, names, others):
    some = Names.of(names, hashed)
    first = {}
    for row, name in enumerate(names):
        first.setdefault(name, row)
    assert list(some) == names
    assert some == names
    assert names == some
    assert len(some) == len(names)
    assert dict(some.rows) == first
    assert len(some.rows) == len(first)
    for name in [*names, *others]:
        assert some.rows.get(name, -1) == first.get(name, -1)
        assert (name in some) == (name in first)
    assert [some[row] for row in range(-len(names), len(names))] == names * 2
    assert some[1:7:2] == names[1:7:2]
    assert some[::-1] == names[::-1]
    repeats = [(names.index(name), row) for row, name in enumerate(names) if name in names[:row]]
    assert some.repeat == next(iter(repeats), None) == first_repeat(names)


@given(count=st.integers(0, 300), asked=st.lists(st.one_of(texts, st.integers(-9, 400).map(str))))
@example(
    count=100, asked=["007", "+7", "1_0", "-0", " 7", "7 ", "٣", "²", "1e1", "0x7", "9" * 5000, "100", ""]
)
def test_row_numbers_are_a_list_and_a_dictionary(count, asked):
    ids, names = RowNumbers(count), [str(row) for row in range(count)]
    known = {name: row for row, name in enumerate(names)}
    assert list(ids) == names
    assert ids == names
    assert dict(ids.rows) == known
    assert len(ids.rows) == count
    assert ids[2:9] == names[2:9]
    assert ids[::-3] == names[::-3]
    assert [ids[row] for row in range(-count, count)] == names * 2
    for name in [*asked, *names]:
        assert ids.rows.get(name, -1) == known.get(name, -1)
        assert (name in ids) == (name in known)
    assert 7 not in ids.rows
    assert None not in ids


@pytest.mark.parametrize("ids", [RowNumbers(3), Names.of(["a", "b", "c"])], ids=["numbers", "names"])
def test_they_are_sequences_and_nothing_else(ids):
    assert ids != RowNumbers(4)
    assert ids != {"a"}
    assert ids != "abc"
    assert ids[np.int64(1)] == list(ids)[1]
    assert pickle.loads(pickle.dumps(ids)) == ids
    assert repr(ids).startswith("<3 ids: ")
    for outside in (3, -4):
        with pytest.raises(IndexError, match="3 ids"):
            ids[outside]
    with pytest.raises(TypeError):
        ids["1"]


def test_hashes_differ_and_do_not_depend_on_what_stands_beside():
    names = [f"{kind}{i}" for kind in ("doc-", "d", "", "ü") for i in range(20_000)] + ["", "a\x00", "a"]
    some = Names.of(names)
    whole = hashes(some._text, some._ends)
    assert len(set(whole.tolist())) == len(set(names))
    for row in (0, 1, 8191, 8192, len(names) - 3):
        one = Names.of([names[row]])
        assert hashes(one._text, one._ends)[0] == whole[row]


def test_short_lists_and_lone_surrogates_stay_lists(monkeypatch):
    monkeypatch.setattr(module, "COMPACT_FROM", 3)
    assert type(compact(["a", "b"])) is list
    assert type(compact(["a", "b", "\ud800"])) is list
    assert type(compact(["a", "b", "c"])) is Names
    assert rows_of(["a", "b"]) == {"a": 0, "b": 1} == rows_of(Names.of(["a", "b"]))
    gathered = Gathered()
    assert gathered.ids() == []
    gathered.add(["a", "b"])
    assert type(gathered.ids()) is list
    gathered.add(["c"])
    assert gathered.ids() == ["a", "b", "c"]
    assert type(gathered.ids()) is Names


def write(folder, names):
    np.save(folder / "docs.npy", np.ones((len(names), 2), dtype=np.float16))
    ids_path(folder / "docs.npy").write_text("".join(f"{name}\n" for name in names), encoding="utf-8")
    return folder / "docs.npy"


@pytest.fixture
def everything_compact(monkeypatch):
    monkeypatch.setattr(module, "COMPACT_FROM", 1)


def test_a_file_of_ids_reads_the_same(tmp_path, everything_compact):
    names = [f"döc {i}" for i in range(20_000)]
    docs = load(write(tmp_path, names))
    assert type(docs.ids) is Names
    assert docs.ids == names
    assert docs.rows["döc 12345"] == 12345
    assert docs.part(np.array([7, 3])).ids == ["döc 7", "döc 3"]
    assert docs.widened().rows["döc 5"] == 5
    assert docs.in_order().ids[0] == "döc 0"


def test_duplicates_are_told_with_both_lines(tmp_path, everything_compact, refused):
    path = write(tmp_path, ["a", "b", "c", "b", "a"])
    refused(lambda: load(path), "duplicate id 'b', first on line 2", "docs.ids.txt, line 4")


def test_embeddings_refuse_duplicates_of_either_kind(refused):
    for ids in (["a", "b", "a"], Names.of(["a", "b", "a"])):
        refused(lambda ids=ids: Embeddings(ids, np.ones((3, 2))), "duplicate ids: 'a'")


def test_a_bare_array_has_row_numbers():
    docs = Embeddings.of(np.ones((3, 2)))
    assert docs.ids == ["0", "1", "2"]
    assert docs.rows["2"] == 2
    assert docs.in_order() is docs
