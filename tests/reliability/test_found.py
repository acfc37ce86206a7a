"""What fuzzing found and no row of the catalogue holds: each input as small as it can be."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import zipfile

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from radii.data.embeddings import Embeddings
from radii.data.files import zip_names
from radii.data.human import read_cifar10h
from radii.data.tokenizer import read_tokenizer
from radii.data.vectors import load
from radii.deploy.correction import correction
from radii.deploy.export import export, restore
from radii.dynamics.config import parse_values, read_settings
from radii.signals.columns import read_columns
from tests.reliability.world import DOCS, header, npy


@pytest.fixture
def exported(tmp_path):
    export(DOCS, correction("norm exponent", {"gamma": -0.5}, DOCS), tmp_path)
    return tmp_path


def test_an_npz_header_that_promises_terabytes(tmp_path, refused):
    with zipfile.ZipFile(tmp_path / "v.npz", "w") as archive:
        archive.writestr("vectors.npy", header("<f4", (10**12, 4)) + bytes(96))
    refused(lambda: load(tmp_path / "v.npz"), "v.npz", "in front of 96 bytes")


def test_an_npz_whose_only_floats_are_called_ids(tmp_path, refused):
    np.savez(tmp_path / "v.npz", ids=np.eye(3))
    refused(lambda: load(tmp_path / "v.npz"), "v.npz", "array 'ids' is float64 (3, 3)")


FLIP = """
import sys
from radii.data.vectors import load
from radii.errors import InputError

path, data, start = sys.argv[1], bytearray(open(sys.argv[1], "rb").read()), int(sys.argv[2])
for at in range(start, len(data)):
    spoilt = bytearray(data)
    spoilt[at] ^= 0x70  # high bits: among them the lengths of lists
    open(path, "wb").write(spoilt)
    try:
        load(path)
    except InputError as error:
        print(error)
"""


HIGHEST = """
import sys
from contextlib import suppress
import pyarrow
from radii.data.vectors import load
from radii.errors import InputError
with suppress(InputError):
    load(sys.argv[1])
print(pyarrow.default_memory_pool().max_memory())
"""


def test_no_byte_of_a_parquet_footer_ends_the_process(tmp_path):
    """Arrow's own code did where the footer's count of a column was asked for."""
    path = tmp_path / "v.parquet"
    pq.write_table(pa.table({"id": ["a", "b"], "v": [[1.0, 2.0], [3.0, 4.0]]}), path)
    length = int.from_bytes(path.read_bytes()[-8:-4], "little")
    command = [sys.executable, "-c", FLIP, str(path), str(path.stat().st_size - 8 - length)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stderr) == (0, "")
    assert "histogram size mismatch" in done.stdout


def test_a_parquet_page_that_promises_half_a_gigabyte(tmp_path, refused):
    """No room is made for it: the file has a thousand bytes."""
    path = tmp_path / "v.parquet"
    rows = [np.arange(4.0) + row for row in range(9)]
    pq.write_table(pa.table({"vector": rows}), path, compression="none")
    chunk = pq.ParquetFile(path).metadata.row_group(0).column(0)
    data, at = path.read_bytes(), chunk.dictionary_page_offset
    # Thrift: a header's first three fields are integers of 32 bits, the type, the size unpacked, the size.
    varint = rb"[\x80-\xff]*[\x00-\x7f]"
    begin, end = re.match(rb"\x15.\x15" + varint + rb"\x15(" + varint + rb")", data[at:], re.S).span(1)
    promise = bytes([0x80, 0x80, 0x80, 0xC0, 0x03])  # 469,762,048 is twice this, as zigzag has it
    path.write_bytes(data[: at + begin] + promise + data[at + end :])
    refused(lambda: load(path), path, "not a .parquet file")
    # In a process of its own, as the highest of this one may be another test's.
    done = subprocess.run(
        [sys.executable, "-c", HIGHEST, str(path)], capture_output=True, text=True, timeout=120
    )
    assert int(done.stdout) < 1 << 20, done.stderr


def test_an_export_whose_header_names_another_order_of_bytes(exported, refused):
    path = exported / "vectors.npy"
    data = path.read_bytes()
    assert data.count(b"<f4") == 1
    path.write_bytes(data.replace(b"<f4", b">f4"))
    refused(lambda: restore(exported), "vectors.npy", ">f4", "float32")


def test_strings_by_the_name_that_numpy_gave_up(tmp_path, refused):
    (tmp_path / "v.npy").write_bytes(header("|a4", (2, 2)) + bytes(16))
    refused(lambda: load(tmp_path / "v.npy"), "v.npy", "dtype |S4")


def test_counts_that_promise_terabytes(tmp_path, refused):
    (tmp_path / "cifar10h-counts.npy").write_bytes(header("<i8", (10**12, 10)))
    refused(lambda: read_cifar10h(tmp_path), "cifar10h-counts.npy", "not a .npy file")


# `descr` and `shape` are Python that numpy evaluates, tokenises again, and takes apart.
@pytest.mark.parametrize(
    ("descr", "shape"), [((), (2, 2)), ("<f4", "x"), ("<f4", (1,) * 70), (10**30, (2, 2))]
)
def test_headers_that_are_no_array(tmp_path, refused, descr, shape):
    (tmp_path / "v.npy").write_bytes(header(descr, shape) + bytes(96))
    refused(lambda: load(tmp_path / "v.npy"), "v.npy", "not a .npy file")


def test_numbers_of_thousands_of_digits_in_toml(tmp_path, refused):
    (tmp_path / "s.toml").write_text("[setting]\nseed = " + "9" * 5000)
    refused(lambda: read_settings(tmp_path / "s.toml"), "s.toml", "not TOML")
    refused(lambda: read_settings(tmp_path / "none.toml"), "no such file")
    assert parse_values(["seed=" + "9" * 5000]) == {"seed": "9" * 5000}


@pytest.mark.parametrize("nested", [False, True])
def test_numbers_of_thousands_of_digits_in_cbor(tmp_path, refused, nested):
    cbor2 = pytest.importorskip("cbor2")
    from radii.data.car import read_outlines

    (tmp_path / "o.cbor").write_bytes(cbor2.dumps([[10**5000]] if nested else 10**5000))
    refused(lambda: read_outlines(tmp_path / "o.cbor"), "o.cbor, item 1", "is no page outline")


@pytest.mark.parametrize(
    ("name", "item"),
    [("read_outlines", [0, "a", b"a", [{}]]), ("read_paragraphs", [0, b"a", [[1, {}]]])],
)
def test_a_cbor_map_where_a_list_belongs(tmp_path, refused, name, item):
    cbor2 = pytest.importorskip("cbor2")
    from radii.data import car

    (tmp_path / "a.cbor").write_bytes(cbor2.dumps(item))
    refused(lambda: getattr(car, name)(tmp_path / "a.cbor"), "a.cbor, item 1", "is no pa")


def test_a_tokenizer_damaged_inside(tmp_path, refused):
    pytest.importorskip("tokenizers")
    path = tmp_path / "tokenizer.json"
    path.write_text(json.dumps({"model": {"type": "WordLevel", "vocab": 7}}))
    refused(lambda: read_tokenizer(path), path, "a tokenizer that does not work")


def test_a_tokenizer_that_fails_when_it_is_used(tmp_path, refused):
    pytest.importorskip("tokenizers")
    path = tmp_path / "tokenizer.json"
    model = {"type": "WordLevel", "vocab": {"a": 0}, "unk_token": "?"}
    path.write_text(json.dumps({"version": "1.0", "model": model}))
    tokenize = read_tokenizer(path)
    assert tokenize("a") == ["a"]
    refused(lambda: tokenize("b"), path, "a tokenizer that does not work")


def test_a_zip_file_of_a_version_to_come(tmp_path, refused):
    path = tmp_path / "b.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("a", "")
    content = bytearray(path.read_bytes())
    content[content.index(b"PK\x01\x02") + 6] = 143  # "version needed to extract" of the central directory
    path.write_bytes(content)
    refused(lambda: zip_names(path), path, "zip file version 14.3")


def test_parquet_strings_that_are_no_utf8(tmp_path, refused):
    path = tmp_path / "c.parquet"
    pq.write_table(pa.table({"id": ["abc", "abd"], "x": [1.0, 2.0]}), path, compression="none")
    path.write_bytes(path.read_bytes().replace(b"abd", b"ab\xe9"))
    refused(lambda: read_columns(path, ["abc"]), path, "not a .parquet file", "UTF8")


@pytest.mark.parametrize("name", ["vectors.npy", "restore.npz"])
@pytest.mark.parametrize("damage", [b"", b"text", npy(np.ones(3))])
def test_an_export_damaged_by_hand(exported, refused, name, damage):
    (exported / name).write_bytes(damage)
    refused(lambda: restore(exported), name)


@pytest.mark.parametrize(
    "arrays",
    [
        {"factor": np.ones(8), "norms": np.ones(8)},
        {"factor": np.ones(7), "norms": np.ones(8), "along": np.ones((8, 0))},
        {"factor": np.ones(8), "norms": np.ones(8, int), "along": np.ones((8, 0))},
        {"factor": np.ones(8), "norms": np.ones(8), "along": np.ones((8, 2))},
    ],
)
def test_an_undo_of_other_documents(exported, refused, arrays):
    np.savez(exported / "restore.npz", **arrays)
    refused(lambda: restore(exported), "restore.npz")


@pytest.mark.parametrize("name", ["a\nb", "a\r", " ", ""])
def test_an_id_that_fits_on_no_line_is_refused_before_anything_is_written(tmp_path, refused, name):
    docs = Embeddings([name, *DOCS.ids[1:]], DOCS.vectors, "docs.npz")
    change = correction("norm exponent", {"gamma": -0.5}, docs)
    refused(lambda: export(docs, change, tmp_path / "out"), "docs.npz", "row 0", "line break")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["a\tb", '"a"', "a\u2028b", "\x1b[31m", "a b "])
def test_other_ids_come_back_as_they_were(tmp_path, name):
    docs = Embeddings([name, *DOCS.ids[1:]], DOCS.vectors, "docs.npz")
    export(docs, correction("norm exponent", {"gamma": -0.5}, docs), tmp_path)
    assert list(restore(tmp_path).ids) == list(docs.ids)
