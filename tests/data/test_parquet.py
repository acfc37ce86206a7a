"""Parquet files that are unpacked into the cache, against the same files read whole."""

import os

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from radii.data import parquet, reading
from radii.data.cache import cache_folder
from radii.data.vectors import load


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    """Everything counts as large, and the cache is this test's own."""
    monkeypatch.setenv("RADII_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(reading, "IN_MEMORY", 0)
    return tmp_path / "cache" / "inputs"


def matrix(dtype, n=50, dim=3, seed=0):
    return np.random.default_rng(seed).normal(size=(n, dim)).astype(dtype)


def column(vectors, fixed):
    flat = pa.array(vectors.ravel())
    if fixed:
        return pa.FixedSizeListArray.from_arrays(flat, vectors.shape[1])
    ends = np.arange(len(vectors) + 1, dtype=np.int32) * vectors.shape[1]
    return pa.ListArray.from_arrays(pa.array(ends), flat)


def write(path, vectors, ids=None, *, fixed=True, row_group_size=7):
    table = {"vector": column(vectors, fixed), **({} if ids is None else {"id": ids})}
    pq.write_table(pa.table(table), path, row_group_size=row_group_size)


@pytest.mark.parametrize("fixed", [True, False])
@pytest.mark.parametrize("dtype", ["f2", "f4", "f8"])
def test_unpacked_bit_for_bit_and_mapped(tmp_path, monkeypatch, dtype, fixed, cache):
    vectors, ids = matrix(dtype), [f"d{row}" for row in range(50)]
    write(tmp_path / "v.parquet", vectors, ids, fixed=fixed)
    for batch in (1, 5, 8192):
        monkeypatch.setattr(parquet, "_BATCH_ROWS", batch)
        os.utime(tmp_path / "v.parquet", ns=(batch, batch))  # another version for the cache
        back = load(tmp_path / "v.parquet")
        assert isinstance(back.vectors, np.memmap)
        assert back.vectors.dtype == vectors.dtype
        assert back.vectors.tobytes() == vectors.tobytes()
        assert back.ids == ids
        assert back.source == str(tmp_path / "v.parquet")
        assert len(list(cache.iterdir())) == 1, "an older version is kept"


def test_columns_with_dots_and_others_beside_them(tmp_path):
    vectors = matrix("f4")
    table = {"a.b": column(vectors, False), "text": [str(row) for row in range(50)]}
    pq.write_table(pa.table(table), tmp_path / "v.parquet")
    back = load(tmp_path / "v.parquet").vectors
    assert isinstance(back, np.memmap)
    assert np.array_equal(back, vectors)


def test_small_files_stay_in_memory_and_out_of_the_cache(tmp_path, monkeypatch, cache):
    write(tmp_path / "v.parquet", matrix("f4"))
    for limit, mapped in ((50 * 3 * 4, False), (50 * 3 * 4 - 1, True)):
        monkeypatch.setattr(reading, "IN_MEMORY", limit)
        assert isinstance(load(tmp_path / "v.parquet").vectors, np.memmap) == mapped
        assert cache.exists() == mapped


def test_shards_share_the_memory_that_one_file_may_take(tmp_path, monkeypatch, cache):
    (tmp_path / "parts").mkdir()
    for number in range(3):
        write(tmp_path / "parts" / f"{number}.parquet", matrix("f4", n=10 * (number + 1)))
    monkeypatch.setattr(reading, "IN_MEMORY", 3 * 20 * 3 * 4)
    assert [isinstance(part, np.memmap) for part in load(tmp_path / "parts").vectors.parts] == [0, 0, 1]


def test_a_second_run_does_not_unpack_again(tmp_path, monkeypatch):
    vectors = matrix("f4")
    write(tmp_path / "v.parquet", vectors, [str(row) for row in range(50)])
    load(tmp_path / "v.parquet")
    monkeypatch.setattr(parquet, "_blocks", None)  # would fail when it is called
    assert np.array_equal(load(tmp_path / "v.parquet").vectors, vectors)


def test_a_changed_file_is_unpacked_again(tmp_path):
    write(tmp_path / "v.parquet", matrix("f4"))
    before = load(tmp_path / "v.parquet").vectors
    write(tmp_path / "v.parquet", matrix("f4", seed=1))
    assert np.array_equal(load(tmp_path / "v.parquet").vectors, matrix("f4", seed=1))
    assert np.array_equal(before, matrix("f4")), "what is mapped stays whole"


def test_an_interrupted_unpacking_goes_on_at_the_first_unfinished_shard(tmp_path, monkeypatch, cache):
    parts = tmp_path / "parts"
    parts.mkdir()
    for number in range(3):
        write(parts / f"{number}.parquet", matrix("f4", seed=number))
    asked, blocks = [], parquet._blocks

    def until(last):
        def some(table, column, rows):
            asked.append(table.path.name)
            for row, block in blocks(table, column, 7):
                if len(asked) == last and row > 7:
                    raise KeyboardInterrupt
                yield row, block

        return some

    monkeypatch.setattr(parquet, "_blocks", until(2))
    with pytest.raises(KeyboardInterrupt):
        load(parts)
    assert len(list(cache.iterdir())) == 1, "half a file, or not the whole one"
    monkeypatch.setattr(parquet, "_blocks", until(None))
    both = load(parts)
    assert asked == ["0.parquet", "1.parquet", "1.parquet", "2.parquet"]
    assert np.array_equal(both.vectors, np.concatenate([matrix("f4", seed=n) for n in range(3)]))


FAULTS = {
    "a null row": ([[1.0, 2.0], [3.0, 4.0], None], ["row group 1: row 2 of column 'v' is null"]),
    "a null": ([[1.0, 2.0], [3.0, 4.0], [5.0, None]], ["row group 1: row 2 of column 'v'", "holds a null"]),
    "ragged": ([[1.0, 2.0], [3.0]], ["row group 0: row 1 of column 'v' has 1 values, not 2"]),
}


@pytest.mark.parametrize("kind", [pa.float16(), pa.float32(), pa.float64()])
@pytest.mark.parametrize("fault", FAULTS)
def test_refused_with_the_row_and_nothing_is_left(tmp_path, refused, cache, fault, kind):
    rows, fragments = FAULTS[fault]
    schema = pa.schema([("v", pa.list_(kind))])
    rows = [None if row is None else [None if x is None else np.float16(x) for x in row] for row in rows]
    pq.write_table(pa.table({"v": rows}, schema=schema), tmp_path / "v.parquet", row_group_size=2)
    refused(lambda: load(tmp_path / "v.parquet"), tmp_path / "v.parquet", *fragments)
    assert not cache.parent.exists()


def test_a_cut_file_is_refused_and_nothing_is_left(tmp_path, refused, cache):
    write(tmp_path / "v.parquet", matrix("f4", n=5000), row_group_size=1000)
    whole = (tmp_path / "v.parquet").read_bytes()
    (tmp_path / "v.parquet").write_bytes(whole[:20_000] + bytes(20_000) + whole[40_000:])
    refused(lambda: load(tmp_path / "v.parquet"), "not a .parquet file")
    assert not cache.parent.exists()


def test_where_the_cache_lies(tmp_path, monkeypatch, refused):
    assert cache_folder() == tmp_path / "cache" / "inputs"
    monkeypatch.delenv("RADII_CACHE")
    monkeypatch.setenv("TMPDIR", str(tmp_path / "scratch"))
    own = cache_folder()
    assert own == tmp_path / "scratch" / f"radii-{os.getuid()}"
    assert own.stat().st_mode & 0o777 == 0o700
    own.rmdir()
    own.symlink_to(tmp_path)
    refused(cache_folder, "is not this user's folder", "RADII_CACHE")
    monkeypatch.delenv("TMPDIR")
    monkeypatch.chdir(tmp_path)
    assert cache_folder() == tmp_path / "radii-cache" / "inputs"


def test_a_cache_that_cannot_be_written_says_what_to_set(tmp_path, monkeypatch, refused):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("RADII_CACHE", str(tmp_path / "file"))
    write(tmp_path / "v.parquet", matrix("f4"))
    refused(lambda: load(tmp_path / "v.parquet"), "cannot be written", "set RADII_CACHE")
