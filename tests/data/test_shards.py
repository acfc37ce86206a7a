import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from radii.data.embeddings import Embeddings
from radii.data.reading import Part, joined
from radii.data.rows import row_norms
from radii.data.shards import Shards, Stamps
from radii.data.vectors import load


def cut(whole, *at):
    """The rows of one array as shards of it."""
    parts = np.split(whole, at)
    return Shards(parts, [f"part-{number}" for number in range(len(parts))])


@st.composite
def cut_arrays(draw):
    n, dim = draw(st.integers(1, 12)), draw(st.integers(1, 3))
    dtype = draw(st.sampled_from(["f2", "f4", "f8"]))
    whole = np.random.default_rng(draw(st.integers(0, 99))).normal(size=(n, dim)).astype(dtype)
    return whole, cut(whole, *sorted(draw(st.lists(st.integers(0, n), max_size=3))))


bound = st.none() | st.integers(-15, 15)


@given(cut_arrays(), bound, bound, st.sampled_from([None, 1, 2, 3, -1, -2]))
def test_slices_are_those_of_one_array(case, start, stop, step):
    whole, shards = case
    mine, theirs = shards[start:stop:step], whole[start:stop:step]
    assert mine.dtype == theirs.dtype
    assert mine.shape == theirs.shape
    assert np.array_equal(mine, theirs)


@given(cut_arrays(), st.data())
def test_rows_are_those_of_one_array(case, data):
    whole, shards = case
    n = len(whole)
    rows = data.draw(st.lists(st.integers(-n, n - 1), max_size=8))
    mask = data.draw(st.lists(st.booleans(), min_size=n, max_size=n))
    assert np.array_equal(shards[rows], whole[np.array(rows, dtype=int)])
    assert np.array_equal(shards[np.array(rows, dtype=np.int32)], whole[np.array(rows, dtype=int)])
    assert np.array_equal(shards[mask], whole[mask])
    assert shards[rows].flags.c_contiguous
    for row in rows:
        assert np.array_equal(shards[row], whole[row])
        assert np.array_equal(shards[np.int64(row)], whole[row])


@given(cut_arrays())
def test_it_looks_like_one_array(case):
    whole, shards = case
    for name in ("shape", "ndim", "dtype", "size", "itemsize", "nbytes"):
        assert getattr(shards, name) == getattr(whole, name)
    assert len(shards) == len(whole)
    assert np.array_equal(np.asarray(shards), whole)
    assert np.asarray(shards, dtype=np.float64).dtype == np.float64
    assert np.array_equal(shards.astype("f8"), whole.astype("f8"))
    assert np.array_equal(row_norms(shards), row_norms(whole))


@pytest.mark.parametrize("key", [5, -6, [0, 5], np.array([True, False]), 1.0, (0, 1), [[0, 1]], [0.5]])
def test_what_is_no_row_is_an_index_error(key):
    with pytest.raises(IndexError):
        cut(np.ones((5, 2)), 2)[key]


def test_a_slice_within_a_shard_is_a_view_and_across_shards_a_copy():
    whole = np.ones((6, 2))
    shards = cut(whole, 3)
    assert np.shares_memory(shards[3:5], whole)
    assert not np.shares_memory(shards[2:4], whole)
    with pytest.raises(ValueError, match="copy"):
        np.array(shards, copy=False)


def test_embeddings_of_shards_are_those_of_one_array():
    whole = (np.arange(24).reshape(8, 3) + 1.0).astype(np.float16)
    ids = list("abcdefgh")
    one, many = Embeddings(ids, whole), Embeddings(ids, cut(whole, 3, 3, 7))
    assert np.array_equal(one.norms, many.norms)
    for rows in (1, 2, 5, 100):
        for mine, theirs in zip(many.blocks(rows), one.blocks(rows), strict=True):
            assert mine[0] == theirs[0]
            assert np.array_equal(mine[1], theirs[1])
    some = np.array([7, 0, 3])
    assert np.array_equal(many.part(some).vectors, whole[some])
    assert many.part(some).ids == ["h", "a", "d"]
    assert np.array_equal(many.widened().vectors, one.widened().vectors)
    assert many.moderate() is many


def test_moderate_scales_shards_as_one_array():
    whole = np.array([[3.0, 4.0], [1e200, 2e200], [1e-200, 0.0]])
    one, many = Embeddings.of(whole), Embeddings(["0", "1", "2"], cut(whole, 1))
    assert np.array_equal(many.moderate().vectors, one.moderate().vectors)


@pytest.mark.parametrize(("value", "found"), [(np.nan, "NaN or infinity"), (0.0, "all zeros")])
def test_a_bad_row_is_named_by_its_file_and_its_row_there(tmp_path, refused, value, found):
    for number in range(3):
        part = np.ones((4, 2))
        part[1] = value if number == 2 else 1.0
        np.save(tmp_path / f"p{number}.npy", part)
    error = refused(lambda: load(tmp_path).norms, found, "first row 9", "id '9'")
    assert error.where == f"{tmp_path / 'p2.npy'}, row 1"


def part(name, vectors, ids=None):
    return Part(name, np.asarray(vectors), ids, None)


def test_files_that_do_not_go_together_are_refused_naming_both(refused):
    one = part("a.npy", np.ones((2, 3), "f4"))
    refused(lambda: joined([one, part("b.npy", np.ones((2, 4), "f4"))], "dir"), "b.npy: 4 dim", "3 in a.npy")
    refused(
        lambda: joined([one, part("b.npy", np.ones((2, 3), "f2"))], "dir"), "b.npy: dtype float16", "a.npy"
    )
    ids = part("b.npy", np.ones((2, 3), "f4"), ["x", "y"])
    refused(lambda: joined([one, ids], "dir"), "a.npy: has no ids, b.npy has", "ids=")
    refused(lambda: joined([ids, one], "dir"), "a.npy: has no ids, b.npy has")


def test_an_id_of_two_files_is_refused_naming_both_rows(refused):
    parts = [part("a.npy", np.ones((3, 2)), ["x", "y", "z"]), part("b.npy", np.ones((2, 2)), ["w", "y"])]
    refused(lambda: joined(parts, "dir"), "b.npy, row 1: id 'y' again, first in a.npy, row 1")


def test_a_shard_that_changes_while_it_is_read_is_noticed(tmp_path, refused):
    for name in ("a", "b"):
        np.save(tmp_path / f"{name}.npy", np.ones((2, 2)))
    both = load(tmp_path)
    assert isinstance(both.stamp, Stamps)
    with open(tmp_path / "b.npy", "ab") as file:
        file.write(b"more")
    refused(lambda: next(both.blocks()), "b.npy: changed while it was read")
    refused(lambda: both.norms, "b.npy: changed while it was read")
