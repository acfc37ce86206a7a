import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from safetensors.numpy import save_file
from safetensors.torch import save_file as save_torch_file

from radii.data.files import atomic_write
from radii.data.vectors import ids_path, load

ABC = ["a", "b", "c"]
MATRIX = np.arange(12, dtype=np.float32).reshape(3, 4) + 1


# --- writers, one per format: (path without suffix, vectors, ids) -> path


def write_npy(path, vectors, ids):
    path = path.with_suffix(".npy")
    np.save(path, vectors)
    if ids is not None:
        with atomic_write(ids_path(path), mode="w") as file:
            file.writelines(f"{name}\n" for name in ids)
    return path


def write_npz(path, vectors, ids):
    path = path.with_suffix(".npz")
    np.savez(path, vectors=vectors, **({} if ids is None else {"ids": np.array(ids)}))
    return path


def write_safetensors(path, vectors, ids):
    path = path.with_suffix(".safetensors")
    save_file(
        {"embeddings": np.ascontiguousarray(vectors)}, path, None if ids is None else {"ids": json.dumps(ids)}
    )
    return path


def write_parquet(path, vectors, ids, fixed=True):
    path = path.with_suffix(".parquet")
    flat = pa.array(vectors.ravel())
    if fixed:
        column = pa.FixedSizeListArray.from_arrays(flat, vectors.shape[1])
    else:
        column = pa.ListArray.from_arrays(
            np.arange(len(vectors) + 1, dtype=np.int32) * vectors.shape[1], flat
        )
    pq.write_table(pa.table({"vector": column, **({} if ids is None else {"id": pa.array(ids)})}), path)
    return path


def write_parquet_lists(path, vectors, ids):
    return write_parquet(path, vectors, ids, fixed=False)


WRITERS = [write_npy, write_npz, write_safetensors, write_parquet, write_parquet_lists]

matrices = st.sampled_from([np.float16, np.float32, np.float64]).flatmap(
    lambda dtype: hnp.arrays(dtype, hnp.array_shapes(min_dims=2, max_dims=2, max_side=6))
)
# numpy strings drop trailing NULs, and lines end at newlines
names = st.text(st.characters(codec="utf-8", exclude_categories=("Cc",)), min_size=1).filter(str.strip)


@pytest.mark.parametrize("write", WRITERS)
@given(data=st.data(), vectors=matrices)
def test_round_trip_bit_for_bit(tmp_path_factory, write, data, vectors):
    n = len(vectors)
    ids = data.draw(st.none() | st.lists(names, min_size=n, max_size=n, unique=True))
    if write is write_npy and ids:  # a byte order mark at the start of a text file is none of its text
        assume(not ids[0].startswith("\ufeff"))
    path = write(tmp_path_factory.mktemp("vectors") / "v", vectors, ids)
    back = load(path)
    assert back.vectors.dtype == vectors.dtype
    assert back.vectors.tobytes() == vectors.tobytes()
    assert list(back.ids) == (ids or [str(row) for row in range(n)])
    assert back.source == str(path)


@pytest.mark.parametrize("write", [write_npz, write_safetensors, write_parquet])
def test_integer_ids_become_strings(tmp_path, write):
    assert list(load(write(tmp_path / "v", MATRIX, [7, -1, 2**40])).ids) == ["7", "-1", str(2**40)]


@pytest.mark.parametrize("write", WRITERS)
def test_the_id_argument_wins(tmp_path, write):
    path = write(tmp_path / "v", MATRIX, ["x", "y", "z"])
    (tmp_path / "mine.txt").write_text("a\nb\nc\n")
    assert list(load(path, ids=tmp_path / "mine.txt").ids) == ABC


@pytest.mark.parametrize("write", [write_npy, write_safetensors])
def test_uncompressed_files_stay_on_disk(tmp_path, write):
    assert isinstance(load(write(tmp_path / "v", MATRIX, None)).vectors, np.memmap)


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("dtype", [">f2", ">f4", ">f8", "<f4"])
def test_npy_byte_and_memory_order(tmp_path, dtype, order):
    np.save(tmp_path / "v.npy", np.asarray(MATRIX, dtype=dtype, order=order))
    vectors = load(tmp_path / "v.npy").vectors
    assert vectors.dtype == np.dtype(dtype).newbyteorder("=")
    assert vectors.dtype.isnative
    assert vectors.flags.f_contiguous == (order == "F")
    assert np.array_equal(vectors, MATRIX)


def test_npz_takes_the_only_matrix_or_the_named_one(tmp_path):
    others = {"counts": np.zeros((3, 2), int), "idf": np.ones(3)}
    np.savez_compressed(tmp_path / "only.npz", matrix=MATRIX, **others)
    np.savez(tmp_path / "named.npz", matrix=MATRIX, embeddings=MATRIX + 1, **others)
    assert np.array_equal(load(tmp_path / "only.npz").vectors, MATRIX)
    assert np.array_equal(load(tmp_path / "named.npz").vectors, MATRIX + 1)


def test_safetensors_with_an_odd_header_are_aligned(tmp_path):
    header = b'{"v":{"dtype":"F32","shape":[3,4],"data_offsets":[0,48]}}'
    header += b" " * (1 - len(header) % 2)
    (tmp_path / "v.safetensors").write_bytes(len(header).to_bytes(8, "little") + header + MATRIX.tobytes())
    vectors = load(tmp_path / "v.safetensors").vectors
    assert vectors.flags.aligned
    assert np.array_equal(vectors, MATRIX)


def test_values_are_not_looked_at_before_the_norms(tmp_path, refused):
    np.save(tmp_path / "v.npy", np.array([[1.0, 2.0], [np.nan, 1.0]]))
    docs = load(tmp_path / "v.npy")
    refused(lambda: docs.norms, tmp_path / "v.npy", "NaN", "first row 1")


@given(vectors=hnp.arrays(np.float32, (2, 3)))
def test_bfloat16_is_read_as_its_float32(tmp_path_factory, vectors):
    path = tmp_path_factory.mktemp("bf16") / "v.safetensors"
    stored = torch.from_numpy(vectors).to(torch.bfloat16)
    save_torch_file({"v": stored, "count": torch.ones(2, 3, dtype=torch.int64)}, path)
    assert load(path).vectors.dtype == np.float32
    assert np.array_equal(load(path).vectors, stored.float().numpy(), equal_nan=True)


@pytest.mark.parametrize("name", ["id", "_id", "doc_id", "docid", "docno", "ids", "anything"])
@pytest.mark.parametrize("kind", [pa.string(), pa.large_string(), pa.string_view()])
def test_parquet_id_columns(tmp_path, name, kind):
    columns = {"v": MATRIX.tolist(), name: pa.array(ABC, kind)}
    if name != "anything":
        columns |= {"title": ABC, "year": [1, 1, 1]}
    pq.write_table(pa.table(columns), tmp_path / "v.parquet")
    assert list(load(tmp_path / "v.parquet").ids) == ABC


def test_parquet_dictionary_ids_extra_lists_and_row_groups(tmp_path):
    lists = {
        "vector": pa.array(MATRIX.tolist()),
        "sparse": pa.array(MATRIX.tolist()),
        "codes": [[1], [2], [3]],
    }
    table = pa.table({"id": pa.array(ABC).dictionary_encode(), **lists})
    pq.write_table(table, tmp_path / "v.parquet", row_group_size=2)
    back = load(tmp_path / "v.parquet")
    assert list(back.ids) == ABC
    assert np.array_equal(back.vectors, MATRIX)
    assert back.vectors.dtype == np.float64


def test_parquet_over_several_batches(tmp_path):
    vectors = np.arange(60_000, dtype=np.float32).reshape(20_000, 3) + 1
    back = load(write_parquet(tmp_path / "v", vectors, list(range(20_000))))
    assert np.array_equal(back.vectors, vectors)
    assert back.rows["19999"] == 19_999


# --- ids beside the file


@pytest.mark.parametrize("content", [b"a\nb\nc\n", b"\xef\xbb\xbfa\r\nb\r\nc\r\n", b"a\nb\nc"])
@pytest.mark.parametrize("name", ["docs.v1.ids.txt", "docs.v1.txt"])
def test_ids_beside_the_file(tmp_path, content, name):
    np.save(tmp_path / "docs.v1.npy", MATRIX)
    (tmp_path / name).write_bytes(content)
    assert list(load(tmp_path / "docs.v1.npy").ids) == ABC


def test_ids_txt_comes_first(tmp_path):
    np.save(tmp_path / "docs.npy", MATRIX)
    (tmp_path / "docs.txt").write_text("the text of\nthree\ndocuments\n")
    (tmp_path / "docs.ids.txt").write_text("a\nb\nc\n")
    assert list(load(str(tmp_path / "docs.npy")).ids) == ABC


BAD_IDS = {
    "empty line": (b"a\n\nc\n", [", line 2", "an empty line", "one id per line"]),
    "blank line": (b"a\n \t\r\nc\n", [", line 2", "an empty line"]),
    "line at the end": (b"a\nb\nc\n\n", [", line 4", "an empty line", "at the end"]),
    "too few": (b"a\nb\n", ["2 ids for 3 vectors", "one id per row"]),
    "too many": (b"a\nb\nc\nd\n", ["4 ids for 3 vectors"]),
    "none": (b"", ["0 ids for 3 vectors"]),
    "duplicate": (b"a\nb\na\n", [", line 3", "duplicate id 'a', first on line 1", "unique"]),
    "not UTF-8": (b"a\nb\n\xe9\n", [", line 3", "not UTF-8"]),
    "missing": (None, ["no such file"]),
}


@pytest.mark.parametrize(("content", "fragments"), BAD_IDS.values(), ids=BAD_IDS)
def test_bad_id_files_are_refused(tmp_path, refused, content, fragments):
    np.save(tmp_path / "docs.npy", MATRIX)
    ids = tmp_path / "mine.txt"
    if content is not None:
        ids.write_bytes(content)
    refused(lambda: load(tmp_path / "docs.npy", ids=ids), ids, *fragments)


def test_detic(shared_data):
    docs = load(shared_data / "detic_clip_text" / "lvis_v1_clip_a+cname.npy")
    assert docs.vectors.shape == (1203, 512)
    assert docs.vectors.dtype == np.float16
    assert (docs.ids[0], docs.ids[-1]) == ("0", "1202")
    assert docs.norms.min() > 7
    assert docs.norms.max() < 14
