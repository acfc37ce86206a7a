"""How files are damaged for `fuzz.py`: changes of valid ones, and headers of random structure."""

from __future__ import annotations

import io
import json
import random
import struct
import zipfile
from collections.abc import Sequence
from typing import Any

import cbor2
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

# Damage ----------------------------------------------------------------------------------------------------

_NUMBERS = [
    0,
    1,
    2,
    127,
    128,
    255,
    256,
    32767,
    65535,
    2**31 - 1,
    2**31,
    2**32 - 1,
    10**12,
    2**63 - 1,
    2**64 - 1,
]
_TOKENS = [
    *(
        b"-1",
        b"0",
        b"999999999999",
        b"1e999",
        b"NaN",
        b"null",
        b"true",
        b"''",
        b'"',
        b"\\",
        b"\\ud800",
        b"\x00",
    ),
    *(b"\n", b"\r\n", b"\t", b"\xef\xbb\xbf", b"\xff", b"\x1b[31m", b"[" * 300, b"(" * 300, b"{" * 300),
    *(b"-" * 3000, b"9" * 5000, b"<doc>", b"</", b"&#x110000;", b"../../", b"/etc/passwd", "٣".encode()),
]


def damaged(valid: Sequence[bytes], rng: random.Random) -> bytes:
    """One of the files, changed in one to four ways."""
    content = bytearray(rng.choice(valid))
    for _ in range(rng.randint(1, 4)):
        rng.choice(_CHANGES)(content, rng, valid)
    return bytes(content)


def _place(content: bytearray, rng: random.Random) -> int:
    # Headers and footers decide most: half of the changes hit the first or last 64 bytes.
    at = rng.randrange(len(content) + 1)
    near = rng.randrange(min(64, len(content)) + 1)
    return rng.choice([at, at, near, len(content) - near])


def _bit(content: bytearray, rng: random.Random, valid: Sequence[bytes]) -> None:
    at = _place(content, rng)
    if at < len(content):
        content[at] ^= 1 << rng.randrange(8)


def _bytes(content: bytearray, rng: random.Random, valid: Sequence[bytes]) -> None:
    at = _place(content, rng)
    content[at : at + rng.choice([1, 2, 8])] = rng.randbytes(rng.choice([1, 2, 8]))


def _number(content: bytearray, rng: random.Random, valid: Sequence[bytes]) -> None:
    at, size = _place(content, rng), rng.choice([1, 2, 4, 8])
    number = rng.choice(_NUMBERS) % 256**size
    content[at : at + size] = number.to_bytes(size, rng.choice(["little", "big"]))


def _token(content: bytearray, rng: random.Random, valid: Sequence[bytes]) -> None:
    at = _place(content, rng)
    content[at : at + rng.choice([0, 0, 1, 4])] = rng.choice(_TOKENS)


def _cut(content: bytearray, rng: random.Random, valid: Sequence[bytes]) -> None:
    del content[_place(content, rng) :]


def _remove(content: bytearray, rng: random.Random, valid: Sequence[bytes]) -> None:
    at = _place(content, rng)
    del content[at : at + rng.randint(1, 32)]


def _splice(content: bytearray, rng: random.Random, valid: Sequence[bytes]) -> None:
    other = rng.choice(valid)
    first = rng.randrange(len(other) + 1)
    at = _place(content, rng)
    content[at : at + rng.choice([0, 32])] = other[first : first + rng.randint(1, 200)]


_CHANGES = (_bit, _bytes, _number, _number, _token, _token, _cut, _remove, _splice)


# Structure -------------------------------------------------------------------------------------------------


def _json(rng: random.Random, depth: int = 4) -> Any:
    """Any JSON value, with the keys that readers look for."""
    kind = rng.randrange(8 if depth else 5)
    if kind < 5:
        return rng.choice([None, True, -1, 10**25, 0.5, "", "a", "F32", "é\x1b[0m", [], {}])
    if kind == 5:
        return [_json(rng, depth - 1) for _ in range(rng.randrange(4))]
    keys = ["_id", "text", "title", "anchor", "positive", "model", "type", "ids", "dtype", "shape", "x"]
    return {rng.choice(keys): _json(rng, depth - 1) for _ in range(rng.randrange(5))}


def json_lines(rng: random.Random) -> bytes:
    return b"\n".join(json.dumps(_json(rng)).encode() for _ in range(rng.randint(1, 4)))


def json_file(rng: random.Random) -> bytes:
    return json.dumps(_json(rng, 6)).encode()


def npy(rng: random.Random) -> bytes:
    """A header of any content in front of some bytes."""
    kinds = [
        "<f4",
        ">f8",
        "<f2",
        "|i1",
        "|O",
        "<U9",
        "<c8",
        "|V8",
        "f4,(9999999,)f4",
        [("a", "<f4", (10**6,))],
    ]
    shapes = [
        (),
        (4,),
        (6, 4),
        (10**12, 4),
        (-1, 4),
        (6, -4),
        (2**62, 4),
        (True, 4),
        (0, 10**18),
        (1,) * 70,
        "x",
    ]
    header = {
        "descr": rng.choice(kinds),
        "fortran_order": rng.choice([True, False, 0, None]),
        "shape": rng.choice(shapes),
    }
    if rng.random() < 0.3:
        header[rng.choice(["descr", "shape", "other"])] = rng.choice(
            [None, "-" * 20, (), 10**30, ("<f4", (2, 2))]
        )
    text = repr(header).encode("latin-1") + b"\n"
    version = rng.choice([1, 1, 2, 3, 4])
    size = struct.pack("<H" if version == 1 else "<I", rng.choice([len(text), len(text), 10, 9999]))
    return b"\x93NUMPY" + bytes([version, 0]) + size + text + rng.randbytes(rng.choice([0, 96, 192]))


def npz(rng: random.Random) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", rng.choice([zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])) as archive:
        for name in rng.sample(["vectors.npy", "ids.npy", "../a.npy", "/b.npy", "c", ""], rng.randint(0, 4)):
            archive.writestr(zipfile.ZipInfo(name), npy(rng))
    return file.getvalue()


def tensors(rng: random.Random) -> bytes:
    one = {
        "dtype": rng.choice(["F16", "F32", "F64", "BF16", "I8", "F8_E5M2", "x"]),
        "shape": rng.choice([[6, 4], [4], [10**12, 4], [2**32, 2**32], [0, 4], [-1, 4], [6.0, 4]]),
        "data_offsets": rng.choice([[0, 96], [0, 48], [48, 0], [0, 2**63], [0, 0], [96, 192]]),
    }
    header = {
        "v": one,
        "__metadata__": rng.choice([{"ids": json.dumps(list("abcdef"))}, {"ids": "[[]]"}, {}, {"ids": 1}]),
    }
    if rng.random() < 0.3:
        header[rng.choice(["v", "w", "__metadata__"])] = _json(rng)
    text = json.dumps(header).encode()
    size = rng.choice([len(text), len(text), len(text) + 8, 2**40, 2**64 - 1])
    return size.to_bytes(8, "little") + text + bytes(rng.choice([0, 48, 96]))


def table(rng: random.Random) -> bytes:
    """A parquet file of columns of any kind."""
    n = rng.choice([0, 1, 3])
    kinds = [
        pa.list_(pa.float32()),
        pa.list_(pa.float16()),
        pa.list_(pa.float64(), 2),
        pa.large_list(pa.float32()),
    ]
    kinds += [pa.string(), pa.int64(), pa.binary(), pa.bool_(), pa.date32(), pa.null(), pa.float64()]
    kinds += [
        pa.list_(pa.list_(pa.float32())),
        pa.dictionary(pa.int8(), pa.string()),
        pa.struct([("a", pa.float32())]),
    ]
    columns = {}
    for name in rng.sample(["vectors", "embedding", "id", "_id", "v", "é\x1b", ""], rng.randint(1, 4)):
        kind = rng.choice(kinds)
        columns[name] = pa.array([_cell(rng, kind) for _ in range(n)], kind)
    file = io.BytesIO()
    pq.write_table(pa.table(columns), file, compression=rng.choice(["none", "snappy", "zstd"]))
    return file.getvalue()


def _cell(rng: random.Random, kind: pa.DataType) -> Any:
    if rng.random() < 0.1 or pa.types.is_null(kind):
        return None
    if pa.types.is_struct(kind):
        return {"a": 1.0}
    if hasattr(kind, "value_type") and not pa.types.is_dictionary(kind):
        return [
            _cell(rng, kind.value_type)
            for _ in range(2 if rng.random() < 0.9 or pa.types.is_fixed_size_list(kind) else 3)
        ]
    if pa.types.is_floating(kind):
        value = rng.choice([1.0, -2.5, 0.0, float("nan"), float("inf"), 6e4])
        return np.float16(value) if pa.types.is_float16(kind) else value
    if pa.types.is_boolean(kind):
        return rng.choice([True, False])
    if pa.types.is_integer(kind) or pa.types.is_date(kind):
        return rng.choice([0, 1, 7])
    return rng.choice([b"a", b"b"]) if pa.types.is_binary(kind) else rng.choice(["a", "b", "\t\n\x1b"])


def cbor(rng: random.Random) -> bytes:
    """Random items, among them tags and lengths that promise too much."""
    some = [
        b"\x80",
        b"\x9f\xff",
        b"\x5b" + b"\xff" * 8,
        b"\x9b\x00\x00\x01" + b"\x00" * 5,
        b"\xbb" + b"\x00\x00\x00\x10" * 2,
    ]
    some += [
        cbor2.dumps(_json(rng)),
        b"\xc2\x59\x20\x00" + b"\xff" * 8192,
        b"\xd8\x23\x63(a+",
        b"\xd8\x1c\x81\xd8\x1d\x00",
    ]
    some += [
        b"\xc0\x61x",
        b"\xc1\xfb\x7f\xf0" + b"\x00" * 6,
        b"\xc4\x82\x1b" + b"\xff" * 8 + b"\x01",
        b"\x81" * 2000,
    ]
    return b"".join(rng.choice(some) for _ in range(rng.randint(1, 3)))


def toml(rng: random.Random) -> bytes:
    names = ["optimiser", "eta", "lam", "items", "dim", "steps", "seed", "ambiguity", "x"]
    values = [
        "0.1",
        '"sgd"',
        "[0.1, 0.2]",
        "-1",
        "1e400",
        "nan",
        "9" * 500,
        "{a = 1}",
        "1979-05-27",
        "true",
        "[]",
    ]
    lines = [f"{rng.choice(names)} = {rng.choice(values)}" for _ in range(rng.randint(0, 4))]
    return ("\n".join([rng.choice(["[setting]", "[grid]", "[other]", ""]), *dict.fromkeys(lines)])).encode()
