"""Columns: formats and id types that are read, alignment, and everything that is refused."""

import gzip

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from radii.data.formats import ID_NAMES
from radii.signals.columns import read_columns


def write(path, data):
    """A table in the format of the suffix; None in text formats becomes an empty field."""
    if path.suffix == ".parquet":
        pq.write_table(pa.table(data), path)
        return path
    delimiter = "\t" if ".tsv" in path.name.lower() else ","
    rows = [data, *zip(*data.values(), strict=True)]
    text = "".join(delimiter.join("" if v is None else str(v) for v in row) + "\n" for row in rows)
    opened = gzip.open if path.suffix == ".gz" else open
    with opened(path, "wt", encoding="utf-8") as file:
        file.write(text)
    return path


@pytest.fixture(params=["s.parquet", "s.csv", "s.tsv", "s.csv.gz", "S.TSV"])
def path(request, tmp_path):
    return tmp_path / request.param


def test_columns_in_the_order_of_the_documents(path):
    write(path, {"position": [3, 1, 2], "id": ["c", "a", "x"], "heat": [0.5, -1e-3, 7.25]})
    found = read_columns(path, ["a", "c"])
    assert list(found) == ["position", "heat"]
    assert found["position"].tolist() == [1, 3]
    assert found["heat"].tolist() == [-1e-3, 0.5]
    assert all(column.dtype == np.float64 for column in found.values())


@pytest.mark.parametrize("name", ID_NAMES)
def test_every_name_of_the_ids(tmp_path, name):
    path = write(tmp_path / "s.csv", {name: ["a"], "x": [1]})
    assert read_columns(path, ["a"])["x"].tolist() == [1]


def test_ids_stay_as_they_are_written(tmp_path):
    path = write(tmp_path / "s.csv", {"id": ["007", "7", "NA", "1e2"], "x": [1, 2, 3, 4]})
    assert read_columns(path, ["7", "007", "1e2", "NA"])["x"].tolist() == [2, 1, 4, 3]


def test_byte_order_mark_and_quotes(tmp_path):
    path = tmp_path / "s.csv"
    path.write_bytes('\ufeffid,x\n"a,b",2\n'.encode())
    assert read_columns(path, ["a,b"])["x"].tolist() == [2]


def test_a_column_whose_type_shows_late(tmp_path):
    # Longer than the block from which a reader left to itself takes the types.
    n = 200_000
    path = write(tmp_path / "s.csv", {"id": range(n), "x": [*range(n - 1), 0.5]})
    assert read_columns(path, [str(n - 1), "0"])["x"].tolist() == [0.5, 0.0]


@pytest.mark.parametrize("kind", [pa.int8(), pa.uint64(), pa.int64(), pa.float16(), pa.float32()])
def test_number_types_of_parquet(tmp_path, kind):
    table = {"id": pa.array([2, 1]), "x": pa.array(np.array([5, 6]).astype(kind.to_pandas_dtype()), kind)}
    assert read_columns(write(tmp_path / "s.parquet", table), ["1", "2"])["x"].tolist() == [6, 5]


def test_dictionary_ids_of_parquet(tmp_path):
    path = write(tmp_path / "s.parquet", {"id": pa.array(["b", "a"]).dictionary_encode(), "x": [1, 2]})
    assert read_columns(path, ["a", "b"])["x"].tolist() == [2, 1]


def test_no_documents(path):
    write(path, {"id": ["a"], "x": [1.0]})
    assert read_columns(path, [])["x"].shape == (0,)


@pytest.mark.parametrize(
    ("data", "fragments"),
    [
        ({"id": ["a"], "x": [1.0]}, ["no row for 1 of 2 documents", "'b'"]),
        ({"id": ["a", "b", "a"], "x": [1, 2, 3]}, ["duplicate ids", "'a'", "'id'"]),
        ({"name": ["a", "b"], "x": [1, 2]}, ["no id column", "'name', 'x'"]),
        ({"id": ["a", "b"], "doc_id": ["a", "b"], "x": [1, 2]}, ["2 id columns"]),
        ({"id": ["a", "b"]}, ["no column beside 'id'"]),
        ({"id": ["a", "b"], "x": [1.0, None]}, ["column 'x'", "id 'b'"]),
        ({"id": ["a", "b"], "x": [float("nan"), 1.0]}, ["column 'x'", "nan", "id 'a'"]),
        ({"id": ["b", "a"], "x": [1.0, float("-inf")]}, ["column 'x'", "-inf", "id 'a'"]),
        ({"id": ["a", "b"], "title": ["one", "two"], "x": [1, 2]}, ["column 'title'", "'one'", "id 'a'"]),
        ({"id": ["a", "b"], "flag": [True, False]}, ["column 'flag'", "id 'a'"]),
    ],
)
def test_refusals(refused, path, data, fragments):
    write(path, data)
    refused(lambda: read_columns(path, ["a", "b"]), path.name, *fragments)


def test_text_among_numbers_names_the_value(refused, tmp_path):
    path = write(tmp_path / "s.csv", {"id": ["a", "b"], "x": ["1.5", "many"]})
    refused(lambda: read_columns(path, ["b", "a"]), "column 'x' is 'many' for id 'b'")


@pytest.mark.parametrize("ids", [[1.0, 2.0], ["a", None], [True, False]])
def test_ids_of_no_use(refused, tmp_path, ids):
    path = write(tmp_path / "s.parquet", {"id": ids, "x": [1, 2]})
    refused(lambda: read_columns(path, ["a"]), "id column 'id'")


def test_two_columns_of_one_name(refused, tmp_path):
    path = tmp_path / "s.csv"
    path.write_text("id,x,x\na,1,2\n")
    refused(lambda: read_columns(path, ["a"]), "two columns named 'x'")


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("s.parquet", b"not parquet"),
        ("s.parquet.gz", b""),
        ("s.csv", b""),
        ("s.csv", b"id,x\na,1,2\n"),
        ("s.csv", b"id,x\n\xff,1\n"),
        ("s.csv.gz", b"id,x\na,1\n"),
        ("s.xlsx", b""),
    ],
)
def test_files_that_are_something_else(refused, tmp_path, name, content):
    path = tmp_path / name
    path.write_bytes(content)
    refused(lambda: read_columns(path, ["a"]), name)


def test_a_missing_file(refused, tmp_path):
    refused(lambda: read_columns(tmp_path / "none.csv", ["a"]), "none.csv")
