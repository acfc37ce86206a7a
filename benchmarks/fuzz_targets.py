"""What is fuzzed: every reader of radii, with files that it reads."""

from __future__ import annotations

import gzip
import io
import json
import random
import tarfile
import zipfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import cbor2
import fuzz_damage as grow
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import safetensors.numpy

from radii.data import beir, car, classic, contrasts, human, pairs, qrels, synsets, texts, tokenizer, trec
from radii.data.vectors import load
from radii.deploy.correction import correction
from radii.deploy.export import export, restore
from radii.deploy.manifest import read_manifest
from radii.dynamics.config import read_settings
from radii.probing.report import read_report as read_probe
from radii.report.reading import read_report
from radii.signals.columns import read_columns

MATRIX = np.arange(1, 25, dtype=np.float32).reshape(6, 4)
_KEPT = Path(__file__).parents[1] / "tests" / "report"
IDS = ["a", "b", "c", "d", "é", "7"]


@dataclass(frozen=True)
class Target:
    """A reader under test.

    Attributes
    ----------
    file : str
        Name under which the damaged file is read.
    valid : list of bytes
    read : callable
        Takes the path of the file.
    beside : dict
        Whole files that lie in the same folder.
    grown : callable, optional
        From a random generator to a file of random structure.
    """

    file: str
    valid: Sequence[bytes]
    read: Callable[[Path], object]
    beside: dict[str, bytes] = field(default_factory=dict)
    grown: Callable[[random.Random], bytes] | None = None


# Files -----------------------------------------------------------------------------------------------------


def _saved(write: Callable[[Any], object]) -> bytes:
    file = io.BytesIO()
    write(file)
    return file.getvalue()


def _zipped(files: dict[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", method) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return file.getvalue()


def _tarred(pages: dict[str, bytes], escaping: bool = False) -> bytes:
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w:gz") as archive:
        for name, content in pages.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
        if escaping:
            link = tarfile.TarInfo("../link")
            link.type, link.linkname = tarfile.SYMTYPE, "../../etc/passwd"
            archive.addfile(link)
    return file.getvalue()


def _read_vectors(path: Path) -> object:
    return load(path).norms


def _read_ids(path: Path) -> object:
    return load(path.with_name("docs.npy"), ids=path).rows


NPY = {
    dtype: _saved(partial(np.save, arr=np.asarray(MATRIX, dtype, order=order)))
    for dtype, order in (("<f4", "C"), (">f8", "F"), ("<f2", "C"))
}
_PARQUET = [
    _saved(
        lambda file: pq.write_table(pa.table({"v": MATRIX.tolist(), "id": IDS}), file, compression="none")
    ),
    _saved(
        lambda file: pq.write_table(
            pa.table({"v": pa.array(MATRIX.tolist(), pa.list_(pa.float32(), 4)), "id": pa.array(IDS)}),
            file,
            row_group_size=2,
            compression="zstd",
        )
    ),
]
_QRELS = [b"q1 0 a 1\nq1 0 b -1\nq2 0 c 2\n", b"query-id\tcorpus-id\tscore\nq1\ta\t1\nq2\tb\t2.0\n"]
_JSONL = b'{"_id": "a", "title": "t", "text": "x"}\n{"_id": 7, "text": ""}\n'
_TREC = b"<DOC>\n<DOCNO> 1 </DOCNO><TEXT>a &amp; b</TEXT>\n</DOC>\n<doc><docno>2</docno></doc>\n"
_TOPICS = b"<top><num> Number: 1 <title> a\n<desc> Description: b </top>\n"
_BEIR = {
    "x/corpus.jsonl": _JSONL,
    "x/queries.jsonl": _JSONL,
    "x/qrels/test.tsv": b"query-id\tcorpus-id\tscore\na\t7\t1\n",
}
_PARAGRAPHS = [[0, b"p1", [[0, "A hub "], [1, [0, "Near", [], b"Near", "close"]]]], [0, b"p2", []]]
_OUTLINES = [[0, "Yin", b"Yin", [[0, "In", b"In", [[0, "Deep", b"Deep", []]]]]]]
_COUNTS = np.array([[4, 0, 0], [1, 1, 0]])
_SHARES = _COUNTS / _COUNTS.sum(axis=1, keepdims=True)
_WORDNET = {
    "index.noun": b"  1 licence\nanimal n 1 1 @ 1 0 00000002\n",
    "data.noun": b"  1 licence\n00000002 03 n 01 animal 0 001 @ 00000001 n 0000 | what lives\n",
}
_TOKENIZER = {
    "version": "1.0",
    "pre_tokenizer": {"type": "Whitespace"},
    "model": {"type": "WordLevel", "vocab": {"a": 0, "b": 1, "[UNK]": 2}, "unk_token": "[UNK]"},
}
_CACM = {"CACM-1.html": b"<pre>On hubs</pre>", "x/CACM-2.html": "é".encode()}


def _packed(some: Sequence[bytes]) -> list[bytes]:
    return [gzip.compress(content, mtime=0) for content in some]


def _members(valid: Sequence[bytes]) -> Callable[[random.Random], bytes]:
    """Damaged inside: an archive that is whole, of a file that is not."""
    return lambda rng: gzip.compress(grow.damaged(valid, rng), mtime=0)


def _damaged_collection(rng: random.Random) -> bytes:
    methods = [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA]
    return _zipped({n: grow.damaged([c], rng) for n, c in _BEIR.items()}, rng.choice(methods))


NAMES = (
    "npy",
    "npz",
    "safetensors",
    "parquet",
    "ids",
    "qrels",
    "qrels.gz",
    "jsonl",
    "tsv",
    "pairs jsonl",
    "pairs tsv",
    "trec",
    "topics",
    "beir",
    "cacm",
    "cranfield",
    "car paragraphs",
    "car outlines",
    "hypernyms",
    "qulac",
    "cifar10h",
    "synsets",
    "index of synsets",
    "tokenizer",
    "columns csv",
    "columns parquet",
    "settings",
    "manifest",
    "export's vectors",
    "export's ids",
    "export's undo",
    "report",
    "probe",
)


def targets(folder: Path) -> dict[str, Target]:
    """Every reader; `folder` is used to make an export."""
    docs = load(_written(folder / "docs.npy", NPY["<f4"]))
    export(docs, correction("norm exponent", {"gamma": -0.3}, docs), folder / "export")
    made = {path.name: path.read_bytes() for path in (folder / "export").iterdir()}

    def exported(name: str) -> Target:
        return Target(name, [made[name]], lambda path: restore(path.parent), made)

    def read_car(path: Path) -> object:
        return car.read_paragraphs(path) if path.name == "p.cbor" else car.read_outlines(path)

    return {
        "npy": Target("v.npy", list(NPY.values()), _read_vectors, grown=grow.npy),
        "npz": Target(
            "v.npz",
            [
                _saved(lambda f: np.savez(f, v=MATRIX, ids=IDS)),
                _saved(lambda f: np.savez_compressed(f, v=MATRIX)),
            ],
            _read_vectors,
            grown=grow.npz,
        ),
        "safetensors": Target(
            "v.safetensors",
            [
                safetensors.numpy.save({"v": MATRIX.astype(t)}, {"ids": json.dumps(IDS)})
                for t in ("f2", "f4", "f8")
            ],
            _read_vectors,
            grown=grow.tensors,
        ),
        "parquet": Target("v.parquet", _PARQUET, _read_vectors, grown=grow.table),
        "ids": Target("ids.txt", ["\n".join(IDS).encode()], _read_ids, {"docs.npy": NPY["<f4"]}),
        "qrels": Target("qrels.tsv", _QRELS, qrels.read_qrels),
        "qrels.gz": Target("qrels.tsv.gz", _packed(_QRELS), qrels.read_qrels, grown=_members(_QRELS)),
        "jsonl": Target("a.jsonl", [_JSONL], texts.read_texts, grown=grow.json_lines),
        "tsv": Target("a.tsv", [b"a\tone\nb\ttwo\r\n"], texts.read_texts),
        "pairs jsonl": Target(
            "a.jsonl", [b'{"anchor": "a", "positive": "b"}\n'], pairs.read_pairs, grown=grow.json_lines
        ),
        "pairs tsv": Target("a.tsv", [b"a\tone\nb\ttwo\n"], pairs.read_pairs),
        "trec": Target("a.trec", [_TREC], trec.read_trec_documents),
        "topics": Target("a.trec", [_TOPICS], trec.read_trec_topics),
        "beir": Target(
            "b.zip", [_zipped(_BEIR), _zipped(_BEIR, 0)], beir.load_beir, grown=_damaged_collection
        ),
        "cacm": Target(
            "cacm.tar.gz",
            [_tarred(_CACM)],
            lambda path: classic.load_cacm(path.parent),
            {"qrels.cacm.txt": b"1 Q0 CACM-1 1\n", "topics.cacm.txt": _TREC},
            _members([gzip.decompress(_tarred(_CACM, escaping)) for escaping in (False, True)]),
        ),
        "cranfield": Target(
            "cranqrel",
            [b"1 1 1\n1 2 2\n"],
            lambda path: classic.load_cranfield(path.parent),
            {"cran.all.1400.xml": _TREC.replace(b"DOC>", b"doc>"), "cran.qry.xml": _TOPICS},
        ),
        "car paragraphs": Target(
            "p.cbor", [b"".join(map(cbor2.dumps, _PARAGRAPHS))], read_car, grown=grow.cbor
        ),
        "car outlines": Target("o.cbor", [b"".join(map(cbor2.dumps, _OUTLINES))], read_car, grown=grow.cbor),
        "hypernyms": Target("h.txt", [b"owl-n\tbird-n\tTrue\thyper\n"], contrasts.read_hypernyms),
        "qulac": Target(
            "qulac.json",
            [
                json.dumps(
                    {n: {"0": "a"} for n in ("topic_facet_id", "topic_id", "topic", "facet_desc")}
                ).encode()
            ],
            contrasts.read_qulac,
            grown=grow.json_file,
        ),
        "cifar10h": Target(
            "cifar10h-counts.npy",
            [_saved(lambda file: np.save(file, _COUNTS))],
            lambda path: human.read_cifar10h(path.parent),
            {"cifar10h-probs.npy": _saved(lambda file: np.save(file, _SHARES))},
            grow.npy,
        ),
        "synsets": Target(
            "data.noun", [_WORDNET["data.noun"]], lambda p: synsets.read_synsets(p.parent), _WORDNET
        ),
        "index of synsets": Target(
            "index.noun", [_WORDNET["index.noun"]], lambda p: synsets.read_synsets(p.parent), _WORDNET
        ),
        "tokenizer": Target(
            "tokenizer.json",
            [json.dumps(_TOKENIZER).encode()],
            lambda path: tokenizer.read_tokenizer(path)("a b c"),
            grown=grow.json_file,
        ),
        "columns csv": Target(
            "c.csv",
            [b"id,x,y\na,1,2\nb,3,4.5\n", b'id,"x"\n"a",1e3\nb,-1\n'],
            lambda p: read_columns(p, ["a", "b"]),
        ),
        "columns parquet": Target(
            "c.parquet",
            [_saved(lambda file: pq.write_table(pa.table({"id": ["a", "b"], "x": [1.0, 2.0]}), file))],
            lambda path: read_columns(path, ["a", "b"]),
            grown=grow.table,
        ),
        "settings": Target(
            "s.toml", [b"[setting]\nlam = 0.1\n[grid]\neta = [0.1, 0.2]\n"], read_settings, grown=grow.toml
        ),
        "manifest": Target(
            "manifest.json", [made["manifest.json"]], lambda p: read_manifest(p.parent), grown=grow.json_file
        ),
        "export's vectors": exported("vectors.npy"),
        "export's ids": exported("vectors.ids.txt"),
        "export's undo": exported("restore.npz"),
        "report": Target(
            "report.json",
            [(_KEPT / "reports" / "1.0.json").read_bytes()],
            read_report,
            grown=grow.json_file,
        ),
        "probe": Target(
            "probe.json",
            [(_KEPT / "probes" / "1.0.json").read_bytes()],
            lambda p: read_probe(p.parent),
            grown=grow.json_file,
        ),
    }


def _written(path: Path, content: bytes) -> Path:
    path.write_bytes(content)
    return path
