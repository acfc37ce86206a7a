"""Bad and odd inputs, one row each: file, fault, and what the command line makes of it.

A row is refused in one line that names the place, what was found, the likely cause and the fix, with exit
code 2, nothing on standard output and nothing written; or it is read, and what comes out is checked.
"""

from __future__ import annotations

import gzip
import json
import os
import pickle
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from radii.cli import main
from tests.planted import long_distractors
from tests.reliability.world import (
    DOCS,
    LINES,
    World,
    bfloat16,
    header,
    npy,
    npz,
    parquet,
    same,
    tensors,
)

V = DOCS.vectors
ROWS = V.tolist()
IDS = list(DOCS.ids)
ZERO, NAN, INF = 0.0, np.nan, np.inf


class Trap:
    """Unpickled, it leaves a file behind."""

    def __init__(self, place):
        self.place = str(place)

    def __reduce__(self):
        return (open, (self.place, "w"))


# Spoilers and checks that take more than a line -----------------------------------------------------------


def zeros_among_many(w):
    w.docs(npy(np.concatenate([V, np.zeros((100, 8)), np.repeat(V, 40, axis=0)])))
    w.text("docs.ids.txt", "".join(f"{i}\n" for i in [*IDS, *range(420)]))


def pickled(w):
    w.docs(pickle.dumps(Trap(w / "trap")))


def pickled_ids(w):
    w.docs(npz(v=V, ids=np.array([*IDS[:-1], Trap(w / "trap")], dtype=object)), ".npz")


def pickled_type(w):
    """What pyarrow before 14.0.1 unpickled on reading."""
    told = {
        b"ARROW:extension:name": b"arrow.py_extension_type",
        b"ARROW:extension:metadata": pickle.dumps(Trap(w / "trap")),
    }
    schema = pa.schema([pa.field("v", pa.list_(pa.float64()), metadata=told), pa.field("id", pa.string())])
    w.docs(parquet(schema, v=ROWS, id=IDS), ".parquet")


def escaping_members(w):
    w.docs(npz(**{"vectors": V, "../../trap": V[0], "/tmp/trap": V[0]}), ".npz")


def nothing_was_unpacked(w, out):
    same()(w, out)
    assert not list(w.folder.parent.rglob("trap*"))


def written_in_place(w):
    path = w / "docs.npy"

    def change():
        with open(path, "r+b") as file:
            file.seek(-8, os.SEEK_END)
            file.write(b"\0" * 8)
        os.utime(path, ns=(1, 1))

    w.during(change)


def cut_while_read(w):
    w.during(lambda: os.truncate(w / "docs.npy", 600))


def replaced_while_read(w):
    def change():
        np.save(w / "new.npy", V[::-1])
        os.replace(w / "new.npy", w / "docs.npy")

    w.during(change)


def read_only(w):
    (w / "docs.npy").chmod(0o444)
    w.before = (w / "docs.npy").read_bytes()


def untouched(w, out):
    same()(w, out)
    assert (w / "docs.npy").read_bytes() == w.before


def renamed(old, new):
    """Another id for good0, in the documents and in the judgements."""

    def spoil(w):
        w.text("docs.ids.txt", "".join(f"{new if i == old else i}\n" for i in IDS))
        w.text("qrels.tsv", "".join(LINES).replace(f"\t{old}\t", f"\t{new}\t"))

    return spoil


def report(w):
    return json.loads((w / "out" / "report.json").read_text())


def norm_of_thousand(w, out):
    assert report(w)["norms"]["largest"] == 1000.0


def exact_ids(w, out):
    """Exact in the file, which is ASCII where a terminal could be steered; spelled out on the terminal."""
    text = (w / "out" / "report.json").read_text()
    known = {d["id"] for d in json.loads(text)["norms"]["longest"]}
    assert {"a\tb", 'c"d', "e\nf", "\ufeffg", "\x1b[31mh", "\x9bi"} <= known
    assert text.replace("\n", "").isprintable()
    assert all(line.isprintable() for line in out.splitlines())
    assert "\x1b" not in out


def steering_column(w):
    """A column that is the norm, so that the verdict names it; of enough queries for one."""
    larger, queries, qrels = long_distractors()
    for name, given in (("docs", larger), ("queries", queries)):
        np.save(w / f"{name}.npy", given.vectors)
        w.text(f"{name}.ids.txt", "".join(f"{i}\n" for i in given.ids))
    w.text("qrels.tsv", "".join(f"{q}\t{d}\t{g}\n" for q, judged in qrels.items() for d, g in judged.items()))
    rows = "".join(f"{i},{norm}\n" for i, norm in zip(larger.ids, larger.norms, strict=True))
    w.text("c.csv", "id,\x1b[31mx\x9b\n" + rows)


def named_but_not_steered(w, out):
    assert "\\x1b[31mx\\x9b" in out
    assert all(line.isprintable() for line in out.splitlines())
    assert "\x1b[31mx\x9b" in {arm["name"] for arm in report(w)["arms"]}


def nothing_to_count_through(w, out):
    [finding] = [f for f in report(w)["findings"] if f["code"] == "R204"]
    assert finding["status"] == "not applicable"
    assert report(w)["data"]["n_judged"] == 4


def half_ties(w):
    """Two directions whose cosines, 0.99995 and 0.99990, are one number in half precision."""
    near, far = np.cos(0.01), np.cos(0.0141)
    assert np.float16(near) == np.float16(far)
    w.docs(npy(np.array([[far, np.sin(0.0141)], [near, np.sin(0.01)]])))
    np.save(w / "queries.npy", np.array([[1.0, 0.0]]))
    w.text("docs.ids.txt", "far\nnear\n")
    w.text("queries.ids.txt", "q\n")
    w.text("qrels.tsv", "q\tnear\t1\n")


def nearer_is_first(w, out):
    found = json.loads(out)
    assert set(found["values"]) == {1.0}


def device(w):
    (w / "qrels.tsv").unlink()
    (w / "qrels.tsv").symlink_to("/dev/zero")


def pipe(w):
    (w / "docs.npy").unlink()
    os.mkfifo(w / "docs.npy")


def loop(name):
    def spoil(w):
        (w / name).unlink(missing_ok=True)
        (w / "other").symlink_to(w / name)
        (w / name).symlink_to(w / "other")

    return spoil


def broken_medium(w):
    """Opens, and fails when it is read, also for root, whom permissions do not stop."""
    (w / "qrels.tsv").unlink()
    (w / "qrels.tsv").symlink_to("/proc/self/mem")


def gone(name):
    return lambda w: (w / name).unlink()


def folder(name):
    def spoil(w):
        (w / name).unlink(missing_ok=True)
        (w / name).mkdir(parents=True)

    return spoil


def typed(array, suffix=".npy"):
    return lambda w: w.docs(npy(array) if suffix == ".npy" else npz(v=array), suffix)


def docs(content, suffix=".npy"):
    return lambda w: w.docs(content, suffix)


def text(name, content):
    return lambda w: w.text(name, content)


def nothing(w):
    pass


QRELS = "".join(LINES)
TREC = "".join(f"{q} 0 {d} {g}\n" for q, d, g in (line.split() for line in LINES))
LISTS = pa.list_(pa.float64())
OBJECTS = np.array([[1.0], [1.0, 2.0]], dtype=object)
STRUCTURED = np.zeros(8, [("id", "U3"), ("v", "f4", 8)])
GZ = gzip.compress(QRELS.encode(), mtime=0)
NO_QRELS, AUDIT = ("--no-qrels",), "audit"

# file × fault: (spoil, fragments of the refusal or a check of what was read, command, more words)
CATALOGUE = {
    # .npy
    "npy: truncated": (docs(npy(V)[:-9]), ["docs.npy", "not a .npy file", "interrupted copy", "export"]),
    "npy: header cut": (docs(npy(V)[:40]), ["docs.npy", "not a .npy file"]),
    "npy: wrong magic": (docs(b"0.1 0.2\n"), ["docs.npy", "magic", "another format"]),
    "npy: no bytes": (docs(b""), ["docs.npy", "not a .npy file"]),
    "npy: promises 10^12 rows": (docs(header("<f8", (10**12, 8))), ["docs.npy", "not a .npy file"]),
    "npy: promises 2^62 x 4": (docs(header("<f8", (2**62, 4))), ["docs.npy", "not a .npy file"]),
    "npy: negative shape": (docs(header("<f8", (-8, -8)) + bytes(512)), ["docs.npy", "not a .npy file"]),
    "npy: Fortran order": (typed(np.asfortranarray(V)), same()),
    "npy: big-endian": (typed(V.astype(">f8")), same()),
    "npy: big-endian half, Fortran order": (typed(np.asarray(V, ">f2", order="F")), same(2e-3)),
    "npy: written by Python 2": (docs(npy(V).replace(b"(8, 8), ", b"(8L, 8),")), same()),
    "npy: structured": (typed(STRUCTURED), ["docs.npy", "fields id, v", "save the vectors alone"]),
    "npy: objects": (typed(OBJECTS), ["docs.npy", "pickled array", "plain float array"]),
    "npy: a pickle": (pickled, ["docs.npy", "not a .npy file"]),
    "npy: int8": (typed(V.astype(np.int8)), ["docs.npy", "dtype int8", "quantised"]),
    "npy: bool": (typed(V > 0), ["docs.npy", "dtype bool"]),
    "npy: complex": (typed(V.astype(complex)), ["docs.npy", "dtype complex128"]),
    "npy: extended precision": (typed(V.astype(np.longdouble)), ["docs.npy", "give float16"]),
    "npy: 1-D": (typed(V[0]), ["docs.npy", "1-D", "(n, dim)"]),
    "npy: 3-D": (typed(V[None]), ["docs.npy", "3-D", "(n, dim)"]),
    "npy: no rows": (typed(V[:0]), ["docs.npy", "empty array", "nothing was exported"]),
    "npy: no columns": (typed(V[:, :0]), ["docs.npy", "empty array"]),
    "npy: other dims than the queries": (
        typed(np.ones((8, 5))),
        ["docs.npy", "5 dimensions against 8", "queries.npy"],
    ),
    # Values
    "row: zeros": (lambda w: w.row(3, ZERO), ["docs.npy", "1 rows are all zeros, first row 3 (id 'bad1')"]),
    "row: zeros in half precision": (
        lambda w: w.row(3, ZERO, "<f2"),
        ["docs.npy", "first row 3 (id 'bad1')"],
    ),
    "row: a hundred zeros among 428": (
        zeros_among_many,
        ["docs.npy", "100 rows are all zeros, first row 8 (id '0')"],
    ),
    "row: NaN": (
        lambda w: w.row(2, NAN),
        ["docs.npy", "1 rows hold NaN or infinity, first row 2 (id 'good1')"],
    ),
    "row: one NaN in one": (lambda w: w.row((2, 0), NAN, "<f4"), ["docs.npy", "first row 2 (id 'good1')"]),
    "row: infinity": (lambda w: w.row((7, 1), INF), ["docs.npy", "NaN or infinity, first row 7 (id 'bad3')"]),
    "row: minus infinity in half precision": (
        lambda w: w.row((7, 1), -INF, "<f2"),
        ["first row 7 (id 'bad3')"],
    ),
    "row: a signalling NaN": (
        docs(npy(V.astype("<f4")).replace(np.float32(0.9).tobytes(), b"\x01\x00\x80\x7f", 1)),
        ["docs.npy", "1 rows hold NaN or infinity, first row 0"],
    ),
    "row: NaN in a query": (
        lambda w: np.save(w / "queries.npy", np.full((4, 8), NAN)),
        ["queries.npy", "4 rows hold NaN", "first row 0 (id 'q0')"],
    ),
    "row: zeros in a query": (lambda w: np.save(w / "queries.npy", V[:4] * 0), ["queries.npy", "all zeros"]),
    "row: half precision near 6e4": (typed((V * 32768).astype(np.float16)), same(2e-3)),
    "row: (600, 800) in half precision": (
        lambda w: np.save(w / "docs.npy", np.array([[600, 800] + [0] * 6] * 8, np.float16)),
        norm_of_thousand,
        AUDIT,
        NO_QRELS,
    ),
    "row: subnormal halves": (typed((V * 2.0**-16).astype(np.float16)), same(2e-2)),
    "row: subnormal floats": (typed((V * 2.0**-130).astype(np.float32)), same(1e-4)),
    "row: subnormal doubles": (typed(V * 2.0**-1060), same(1e-3)),
    "row: doubles near the largest": (typed(V * 2.0**1020), same()),
    "row: cosines that tie in half precision": (half_ties, nearer_is_first),
    # .npz
    "npz: truncated": (docs(npz(v=V)[:-30], ".npz"), ["docs.npz", "not a .npz file", "again"]),
    "npz: damaged inside": (docs(npz(v=V).replace(V[:1].tobytes(), bytes(64)), ".npz"), ["docs.npz", "CRC"]),
    "npz: no matrix": (docs(npz(c=V.astype(int)), ".npz"), ["docs.npz", "no 2-D float array", "'c' int64"]),
    "npz: two matrices": (docs(npz(a=V, b=V), ".npz"), ["docs.npz", "2 2-D float arrays", "'vectors'"]),
    "npz: duplicate ids": (docs(npz(v=V, ids=["a"] * 8), ".npz"), ["docs.npz", "duplicate ids: 'a'"]),
    "npz: pickled ids": (pickled_ids, ["docs.npz", "pickled array", "ids as strings"]),
    "npz: members that would escape": (escaping_members, nothing_was_unpacked),
    "npz: ids of any characters": (
        docs(npz(v=V, ids=["a\tb", 'c"d', "e\nf", "\ufeffg", "\x1b[31mh", "\x9bi", "j\r", "k"]), ".npz"),
        exact_ids,
        AUDIT,
        NO_QRELS,
    ),
    # .safetensors
    "safetensors: truncated": (docs(tensors(v=V)[:-9], ".safetensors"), ["docs.safetensors", "interrupted"]),
    "safetensors: header of 2^40 bytes": (
        docs((2**40).to_bytes(8, "little") + tensors(v=V)[8:], ".safetensors"),
        ["docs.safetensors", "not a .safetensors file"],
    ),
    "safetensors: integers": (
        docs(tensors(c=V.astype(int)), ".safetensors"),
        ["no 2-D float tensor", "'c' I64"],
    ),
    "safetensors: two matrices": (docs(tensors(a=V, b=V), ".safetensors"), ["2 2-D float tensors"]),
    "safetensors: ids that are no list": (
        docs(tensors({"a": 1}, v=V), ".safetensors"),
        ["metadata 'ids' is"],
    ),
    "safetensors: bfloat16": (docs(bfloat16(V), ".safetensors"), same(1e-2)),
    # .parquet
    "parquet: truncated": (docs(parquet(v=ROWS, id=IDS)[:-9], ".parquet"), ["docs.parquet", "interrupted"]),
    "parquet: null in a list": (
        docs(parquet(v=[[None, *r[1:]] if i == 5 else r for i, r in enumerate(ROWS)], id=IDS), ".parquet"),
        ["docs.parquet", "row 5 of column 'v'", "holds a null", "drop the row"],
    ),
    "parquet: null for a list": (
        docs(parquet(v=[*ROWS[:7], None], id=IDS), ".parquet"),
        ["docs.parquet", "row 7 of column 'v' is null"],
    ),
    "parquet: a ragged row": (
        docs(parquet(v=[*ROWS[:6], ROWS[6][:3], ROWS[7]], id=IDS), ".parquet"),
        ["docs.parquet", "row 6 of column 'v' has 3 values, not 8", "vectors of two models"],
    ),
    "parquet: a null and a ragged row": (
        docs(parquet(v=[None, ROWS[1][:3], *ROWS[2:]], id=IDS), ".parquet"),
        ["docs.parquet", "row 0 of column 'v' is null"],
    ),
    "parquet: other dims in another row group": (
        docs(parquet(v=ROWS[:3] + [r[:4] for r in ROWS[3:]], id=IDS), ".parquet"),
        ["docs.parquet", "row 3 of column 'v' has 4 values, not 8"],
    ),
    "parquet: null id": (
        docs(parquet(v=ROWS, id=[None, *IDS[1:]]), ".parquet"),
        ["row 0 of column 'id' is null"],
    ),
    "parquet: dictionary of ids": (
        docs(parquet(v=ROWS, id=pa.array(IDS).dictionary_encode()), ".parquet"),
        same(),
    ),
    "parquet: dictionary of numbers": (
        docs(parquet(v=pa.array([r[0] for r in ROWS]).dictionary_encode(), id=IDS), ".parquet"),
        ["docs.parquet", "no list<float> column"],
    ),
    "parquet: lists of integers": (
        docs(parquet(v=[[1, 2]] * 8, id=IDS), ".parquet"),
        ["no list<float> column"],
    ),
    "parquet: a pickled type": (pickled_type, nothing_was_unpacked),
    # Files
    "file: missing": (gone("queries.npy"), ["queries.npy", "no such file", "check the path"]),
    "file: an empty folder": (folder("docs.npy"), ["docs.npy", "holds no file of vectors", "name a folder"]),
    "file: unknown suffix": (docs(b"x", ".pt"), ["docs.pt", "unknown suffix '.pt'", "never unpickles"]),
    "file: gzipped vectors": (docs(gzip.compress(npy(V)), ".gz"), ["docs.gz", "unknown suffix '.gz'"]),
    "file: a loop of links": (loop("qrels.tsv"), ["qrels.tsv", "cannot be read", "symbolic links"]),
    "file: a pipe for vectors": (pipe, ["docs.npy", "not a regular file"]),
    "file: a device": (device, ["qrels.tsv", "a device, not a file"]),
    "file: fails when it is read": (broken_medium, ["qrels.tsv", "cannot be read"]),
    "file: written to while it is read": (
        written_in_place,
        ["docs.npy", "changed while it was read", "complete"],
    ),
    "file: cut while it is read": (
        cut_while_read,
        ["docs.npy", "changed while it was read (640 bytes", "600 now"],
    ),
    "file: replaced while it is read": (replaced_while_read, same()),
    "file: read-only, not normalised in place": (read_only, untouched),
    # Ids beside the vectors
    "ids: duplicate": (
        text("docs.ids.txt", "a\n" * 8),
        ["docs.ids.txt, line 2", "duplicate id 'a', first on line 1"],
    ),
    "ids: an empty line": (text("docs.ids.txt", "a\n\nb\n"), ["docs.ids.txt, line 2", "an empty line"]),
    "ids: too few": (
        text("docs.ids.txt", "a\nb\n"),
        ["docs.ids.txt", "2 ids for 8 vectors", "one id per row"],
    ),
    "ids: CRLF": (lambda w: w.text("docs.ids.txt", "\r\n".join(IDS) + "\r\n"), same()),
    "ids: byte order mark": (lambda w: w.text("docs.ids.txt", "\ufeff" + "\n".join(IDS)), same()),
    "ids: quotes and spaces": (renamed("good0", '"good 0"'), same()),
    "ids: a line separator and an escape": (renamed("good0", "go\u2028\x1b[31mod"), same()),
    "ids: a tab": (renamed("good0", "go\tod"), ["qrels.tsv, line 2", "3 columns in"]),
    "ids: not UTF-8": (text("docs.ids.txt", b"a\nb\n\xe9\n"), ["docs.ids.txt, line 3", "not UTF-8"]),
    "ids: UTF-16": (text("docs.ids.txt", "a\n".encode("utf-16")), ["docs.ids.txt, line 1", "not UTF-8"]),
    "ids: gzipped": (
        lambda w: w.text("names.gz", gzip.compress("\n".join(IDS).encode())),
        same(),
        "path",
        ("--ids", "{folder}/names.gz"),
    ),
    # Judgements
    "qrels: TREC": (text("qrels.tsv", TREC), same()),
    "qrels: CRLF": (text("qrels.tsv", QRELS.replace("\n", "\r\n")), same()),
    "qrels: byte order mark": (text("qrels.tsv", "\ufeff" + QRELS), same()),
    "qrels: empty lines": (text("qrels.tsv", QRELS.replace("\n", "\n\n \n")), same()),
    "qrels: gzipped": (text("q.gz", GZ), same(), "path", ("--qrels", "{folder}/q.gz")),
    "qrels: gzip cut short": (
        text("q.gz", GZ[:-9]),
        ["q.gz", "whole gzip"],
        "path",
        ("--qrels", "{folder}/q.gz"),
    ),
    "qrels: not gzip": (
        text("q.gz", QRELS),
        ["q.gz", "plain file named .gz"],
        "path",
        ("--qrels", "{folder}/q.gz"),
    ),
    "qrels: 1.0 for 1": (text("qrels.tsv", QRELS.replace("\t1\n", "\t1.0\n")), same()),
    "qrels: a fraction": (
        text("qrels.tsv", "q0\tgood0\t0.5\n"),
        ["qrels.tsv, line 1", "grade '0.5'", "integer"],
    ),
    "qrels: NaN": (text("qrels.tsv", "q0\tgood0\tnan\n"), ["qrels.tsv, line 1", "grade 'nan'"]),
    "qrels: five columns": (
        text("qrels.tsv", "q0 0 good0 1 x\n"),
        ["qrels.tsv, line 1", "5 columns", "TREC"],
    ),
    "qrels: no iteration": (text("qrels.tsv", "q0 good0 1\n"), ["qrels.tsv, line 1", "3 columns", "by tabs"]),
    "qrels: a run": (
        text("qrels.tsv", "q0 Q0 good0 1 0.5 x\n"),
        ["qrels.tsv, line 1", "6 columns", "a run file"],
    ),
    "qrels: both formats": (text("qrels.tsv", QRELS + "q0 0 bad0 1\n"), ["qrels.tsv, line 9", "1 column in"]),
    "qrels: unknown document": (
        text("qrels.tsv", QRELS + "q0\tgone\t1\n"),
        ["qrels.tsv", "1 unknown document ids: 'gone'", "docs.npy", "--allow-missing"],
    ),
    "qrels: unknown document, allowed": (
        text("qrels.tsv", QRELS + "q0\tgone\t1\n"),
        same(),
        "path",
        ("--allow-missing",),
    ),
    "qrels: unknown query": (
        text("qrels.tsv", QRELS + "q9\tgood0\t1\n"),
        ["qrels.tsv", "1 unknown query ids: 'q9'", "--allow-missing"],
    ),
    "qrels: queries of others": (
        text("qrels.tsv", "x\tgood0\t1\n"),
        ["qrels.tsv", "none of the 1 judged queries"],
    ),
    "qrels: nothing relevant": (
        text("qrels.tsv", "q0\tgood0\t0\n"),
        ["queries.npy", "every grade is 0 or below"],
    ),
    "qrels: a grade of 1,000,001": (text("qrels.tsv", QRELS.replace("\t1\n", "\t1000001\n")), same()),
    "qrels: a grade of 2^31 - 1": (
        text("qrels.tsv", QRELS.replace("\t1\n", "\t2147483647\n")),
        nothing_to_count_through,
        AUDIT,
    ),
    "qrels: a grade of 2^31": (
        text("qrels.tsv", "q0\tgood0\t2147483648\n"),
        ["line 1", "grade '2147483648'"],
    ),
    "qrels: negative grades": (text("qrels.tsv", QRELS.replace("\t0\n", "\t-2\n")), same()),
    "qrels: a document twice": (text("qrels.tsv", QRELS + LINES[0]), same()),
    "qrels: a document with two grades": (
        text("qrels.tsv", QRELS + "q0\tgood0\t2\n"),
        ["qrels.tsv, line 9", "grade 2, and 1 on line 1", "one grade"],
    ),
    "qrels: empty": (text("qrels.tsv", ""), ["qrels.tsv", "no judgements"]),
    "qrels: only a header": (
        text("qrels.tsv", "query-id\tcorpus-id\tscore\n"),
        ["qrels.tsv", "only a header"],
    ),
    "qrels: Latin-1": (
        text("qrels.tsv", QRELS.encode() + b"q0\t\xe9\t1\n"),
        ["qrels.tsv, line 9", "not UTF-8"],
    ),
    # Texts and columns
    "texts: cut JSON": (
        text("t.jsonl", '{"_id": "good0", "text": "a"}\n{"_id": '),
        ["t.jsonl, line 2", "invalid JSON"],
        AUDIT,
        ("--texts", "{folder}/t.jsonl"),
    ),
    "texts: lists 200,000 deep": (
        text("t.jsonl", "[" * 200_000),
        ["t.jsonl, line 1", "invalid JSON"],
        AUDIT,
        ("--texts", "{folder}/t.jsonl"),
    ),
    "texts: an id twice": (
        text("t.tsv", "good0\ta\ngood0\tb\n"),
        ["t.tsv, line 2", "duplicate id 'good0'"],
        AUDIT,
        ("--texts", "{folder}/t.tsv"),
    ),
    "texts: of another corpus": (
        text("t.tsv", "x\ta\n"),
        ["t.tsv", "no text has the id of a document"],
        AUDIT,
        ("--texts", "{folder}/t.tsv"),
    ),
    "columns: no ids": (
        text("c.csv", "x,y\n1,2\n"),
        ["c.csv", "no id column"],
        AUDIT,
        ("--signals", "{folder}/c.csv"),
    ),
    "columns: NaN": (
        text("c.csv", "id,x\n" + "".join(f"{i},nan\n" for i in IDS)),
        ["c.csv", "column 'x' is nan for id 'good0'"],
        AUDIT,
        ("--signals", "{folder}/c.csv"),
    ),
    "columns: of one document": (
        text("c.csv", "id,\x1b[31mx\ngood0,1\n"),
        ["c.csv", "no row for 7 of 8 documents"],
        AUDIT,
        ("--signals", "{folder}/c.csv"),
    ),
    "columns: a name that steers a terminal, read": (
        steering_column,
        named_but_not_steered,
        AUDIT,
        ("--signals", "{folder}/c.csv"),
    ),
    "columns: uneven rows": (
        text("c.csv", "id,x\ngood0,1,2\n"),
        ["c.csv", "not a .csv file"],
        AUDIT,
        ("--signals", "{folder}/c.csv"),
    ),
    # Output
    "out: below a file": (
        text("file", ""),
        ["report.json", "cannot be written", "a folder you can write to"],
        AUDIT,
        ("--out", "{folder}/file/below"),
    ),
    "out: a folder in its place": (folder("out/report.json"), ["report.json", "is a folder"], AUDIT),
    "out: a device": (nothing, ["not a regular file"], "path", ("--out", "{folder}/null.json")),
    "out: a system that is read-only": (nothing, ["cannot be written"], AUDIT, ("--out", "/proc/radii")),
    "out: a name too long": (
        nothing,
        ["cannot be written", "too long"],
        AUDIT,
        ("--out", "{folder}/" + "x" * 300),
    ),
    "out: another format": (nothing, ["output format '.xml'"], "path", ("--out", "{folder}/a.xml")),
}


@pytest.fixture
def run(monkeypatch, capsys):
    def call(words):
        monkeypatch.setattr(sys, "argv", ["radii", *words])
        with pytest.raises(SystemExit) as ended:
            main()
        return ended.value.code or 0, *capsys.readouterr()

    return call


@pytest.fixture
def world(tmp_path, monkeypatch):
    folder = tmp_path / "world"
    folder.mkdir()
    (folder / "null.json").symlink_to("/dev/null")
    return World.made(folder, monkeypatch)


def test_there_are_enough_rows_and_the_page_counts_them():
    read = sum(callable(expected) for _, expected, *_ in CATALOGUE.values())
    assert len(CATALOGUE) >= 80
    page = " ".join((Path(__file__).parents[2] / "docs" / "reliability.md").read_text().split())
    assert f"{len(CATALOGUE)} rows, file × fault" in page
    assert f"{len(CATALOGUE) - read} are refused, {read} are read" in page


@pytest.mark.parametrize("row", CATALOGUE)
def test_catalogue(world, run, row):
    spoil, expected, *how = CATALOGUE[row]
    spoil(world)
    command, more = how[0] if how else "path", how[1] if len(how) > 1 else ()
    before = world.files()
    code, out, err = run(world.words(command, *more))
    assert not list(world.folder.parent.rglob("trap*")), "something was unpickled or unpacked"
    if callable(expected):
        assert (code, err) == (0, "")
        expected(world, out)
        return
    assert (code, out) == (2, "")
    assert err.startswith("radii: ")
    assert err[:-1].isprintable(), "more than one line, or control characters"
    assert "Fix: " in err
    for fragment in expected:
        assert fragment in err
    after = world.files()
    assert after.keys() == before.keys(), "something was written"
    if "while" not in row:
        assert after == before
