import io
import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import safetensors.numpy
from hypothesis import given
from hypothesis import strategies as st

from radii.data.embeddings import Embeddings
from radii.data.vectors import load
from radii.errors import InputError

ABC = ["a", "b", "c"]
MATRIX = np.arange(12, dtype=np.float32).reshape(3, 4) + 1
ROWS = MATRIX.tolist()
OBJECTS = np.array([[1.0], [1.0, 2.0]], dtype=object)
INTS = np.zeros((2, 2), np.int8)
FLOATS = pa.list_(pa.float32())


def npy(array):
    file = io.BytesIO()
    np.save(file, array)
    return file.getvalue()


def npz(**arrays):
    file = io.BytesIO()
    np.savez(file, **arrays)
    return file.getvalue()


def tensors(ids=None, **arrays):
    return safetensors.numpy.save(arrays, None if ids is None else {"ids": ids})


def parquet(**columns):
    file = io.BytesIO()
    pq.write_table(pa.table(columns), file)
    return file.getvalue()


# an id column that says it is UTF-8 and is not
LATIN1 = parquet(v=ROWS, id=["abc", "abd", "abe"]).replace(b"abd", b"ab\xe9")


# suffix and fault × bytes of the file × fragments of the message
BAD = {
    "npy missing": (None, ["no such file", "check the path"]),
    "pt pickled": (b"x", ["unknown suffix '.pt'", ".npy, .npz, .safetensors, .parquet", "never unpickles"]),
    "npy truncated": (npy(MATRIX)[:-5], ["not a .npy file", "an interrupted copy", "again"]),
    "npy header cut": (npy(MATRIX)[:40], ["not a .npy file"]),
    "npy garbled": (npy(MATRIX).replace(b"(3, 4)", b"((3, 4"), ["not a .npy file"]),
    "npy wrong magic": (b"0.1 0.2 0.3\n", ["not a .npy file", "magic", "another format"]),
    "npy of no bytes": (b"", ["not a .npy file"]),
    "npy from npz": (npz(v=MATRIX), ["not a .npy file"]),
    "npy objects": (npy(OBJECTS), ["not a .npy file", "pickled array", "a plain float array"]),
    "npy structured": (
        npy(np.zeros(3, [("a", "f4")])),
        ["structured array with fields a", "plain float array"],
    ),
    "npy 0-D": (npy(np.float32(1)), ["0-D", "(n, dim)"]),
    "npy 1-D": (npy(MATRIX[0]), ["shape (4,), 1-D", "(n, dim)"]),
    "npy 3-D": (npy(MATRIX[None]), ["shape (1, 3, 4), 3-D"]),
    "npy int8": (npy(INTS), ["dtype int8", "quantised", "float16, float32 or float64"]),
    "npy complex": (npy(MATRIX.astype(complex)), ["dtype complex128"]),
    "npy no rows": (npy(MATRIX[:0]), ["empty array of shape (0, 4)"]),
    "npy no columns": (npy(MATRIX[:, :0]), ["empty array of shape (3, 0)"]),
    "npz truncated": (npz(v=MATRIX)[:-30], ["not a .npz file"]),
    "npz garbled": (npz(v=MATRIX).replace(b"\x80?", b"\x80@"), ["not a .npz file", "CRC"]),
    "npz of no bytes": (b"", ["not a .npz file"]),
    "npz from npy": (npy(MATRIX), ["not a .npz file"]),
    "npz no floats": (npz(c=INTS), ["no 2-D float array", "'c' int8 (2, 2)", "named 'vectors'"]),
    "npz empty": (npz(), ["no 2-D float array", "holds nothing"]),
    "npz two": (npz(a=MATRIX, b=MATRIX), ["2 2-D float arrays", "'a' float32 (3, 4), 'b'"]),
    "npz objects": (npz(v=MATRIX, ids=np.array(ABC, object)), ["not a .npz file", "ids as strings"]),
    "npz float ids": (npz(v=MATRIX, ids=np.ones(3)), ["'ids' is float64 (3,)", "strings or integers"]),
    "npz 2-D ids": (npz(v=MATRIX, ids=np.array([ABC])), ["'ids' is <U1 (1, 3)"]),
    "npz ids twice": (npz(v=MATRIX, ids=np.array([1, 1, 2])), ["duplicate ids: '1'"]),
    "npz ids count": (npz(v=MATRIX, ids=np.array([1, 2])), ["2 ids for 3 vectors"]),
    "safetensors truncated": (tensors(v=MATRIX)[:-5], ["not a .safetensors file"]),
    "safetensors header cut": (tensors(v=MATRIX)[:20], ["not a .safetensors file"]),
    "safetensors of no bytes": (b"", ["not a .safetensors file"]),
    "safetensors int": (tensors(c=INTS), ["no 2-D float tensor", "'c' I8 (2, 2)"]),
    "safetensors two": (tensors(a=MATRIX, b=MATRIX), ["2 2-D float tensors", "'a' F32 (3, 4)"]),
    "safetensors no rows": (tensors(v=MATRIX[:0]), ["empty array of shape (0, 4)"]),
    "safetensors ids text": (tensors("a,b,c", v=MATRIX), ["metadata 'ids' is 'a,b,c'", "json.dumps"]),
    "safetensors ids object": (tensors('{"a": 1}', v=MATRIX), ["metadata 'ids' is"]),
    "safetensors ids float": (tensors("[1.5, 2, 3]", v=MATRIX), ["metadata 'ids' is"]),
    "safetensors ids count": (tensors('["a"]', v=MATRIX), ["1 ids for 3 vectors"]),
    "parquet truncated": (parquet(v=ROWS)[:-5], ["not a .parquet file"]),
    "parquet of no bytes": (b"", ["not a .parquet file"]),
    "parquet ragged": (parquet(v=[[1.0, 2.0], [1.0]]), ["row 1", "'v' has 1 values, not 2", "one length"]),
    "parquet null row": (parquet(v=[[1.0], [2.0], None]), ["row 2 of column 'v' is null", "drop"]),
    "parquet null value": (parquet(v=[[1.0, 2.0], [None, 2.0]]), ["row 1 of column 'v'", "holds a null"]),
    "parquet null id": (parquet(v=ROWS, id=["a", None, "c"]), ["row 1 of column 'id' is null"]),
    "parquet Latin-1 ids": (LATIN1, ["not a .parquet file", "utf-8"]),
    "parquet no rows": (parquet(v=pa.array([], FLOATS)), ["empty array"]),
    "parquet empty lists": (parquet(v=pa.array([[]], FLOATS)), ["empty array"]),
    "parquet no list": (parquet(a=[1.0], b=["x"]), ["no list<float> column", "'a' double, 'b' string"]),
    "parquet int list": (parquet(v=[[1, 2]]), ["no list<float> column", "'v' list<element: int64>"]),
    "parquet two lists": (parquet(a=ROWS, b=ROWS), ["2 list<float> columns", "'a' list", "'vectors'"]),
    "parquet two names": (parquet(vector=ROWS, embedding=ROWS), ["2 list<float> columns"]),
    "parquet float ids": (parquet(v=ROWS, id=[1.0, 2.0, 3.0], t=ABC), ["no id column", "'id' double"]),
    "parquet two strings": (parquet(v=ROWS, title=ABC, text=ABC), ["2 id columns", "give ids="]),
    "parquet ids twice": (parquet(v=ROWS, id=["a", "b", "a"]), ["duplicate ids: 'a'"]),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_files_are_refused(tmp_path, refused, case):
    content, fragments = BAD[case]
    path = tmp_path / f"v.{case.split()[0]}"
    if content is not None:
        path.write_bytes(content)
    refused(lambda: load(path), path, *fragments)


def test_a_null_among_dictionary_ids_is_refused(tmp_path, refused):
    path = tmp_path / "v.parquet"
    path.write_bytes(parquet(v=ROWS, id=pa.array(["a", "b", None]).dictionary_encode()))
    refused(lambda: load(path), path, "row 2 of column 'id' is null")


def test_rows_are_counted_over_batches(tmp_path, refused):
    path = tmp_path / "v.parquet"
    path.write_bytes(parquet(v=[[1.0, 2.0]] * 9000 + [[None, 2.0]], id=list(range(9001))))
    refused(lambda: load(path), path, "row 9000 of column 'v'")


def test_an_empty_folder_is_refused(tmp_path, refused):
    refused(lambda: load(tmp_path), tmp_path, "holds no file of vectors")


def test_unusable_ids_in_the_file_do_not_matter_when_others_are_given(tmp_path):
    (tmp_path / "v.parquet").write_bytes(parquet(v=ROWS, title=ABC, text=ABC))
    (tmp_path / "ids.txt").write_text("a\nb\nc\n")
    assert list(load(tmp_path / "v.parquet", ids=tmp_path / "ids.txt").ids) == ABC


WHOLE = {
    ".npy": npy(MATRIX),
    ".npz": npz(v=MATRIX, ids=np.array(ABC)),
    ".safetensors": tensors(json.dumps(ABC), v=MATRIX),
    ".parquet": parquet(v=ROWS, id=ABC),
}


@pytest.mark.filterwarnings("ignore:Reading `.npy` or `.npz` file required additional header parsing")
@pytest.mark.parametrize("suffix", WHOLE)
@given(data=st.data())
def test_damaged_files_load_or_are_refused(tmp_path_factory, suffix, data):
    content = bytearray(WHOLE[suffix])
    content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    content = content[: data.draw(st.just(len(content)) | st.integers(0, len(content)))]
    path = tmp_path_factory.mktemp("damaged") / f"v{suffix}"
    path.write_bytes(content)
    try:
        loaded = load(path)
    except InputError:
        return
    assert isinstance(loaded, Embeddings)
