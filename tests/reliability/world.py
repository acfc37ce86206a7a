"""A small corpus on disk whose path is known, and how to spoil it.

It is `tests.planted.long_distractors(4)`: RR@10 is 1 below −FLIP, 3/4 up to FLIP, 1/2 above.
"""

from __future__ import annotations

import io
import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import safetensors.numpy

from radii.data.embeddings import Embeddings
from tests.planted import FLIP, long_distractors

DOCS, QUERIES, QRELS = long_distractors(4)
LINES = [f"{q}\t{d}\t{g}\n" for q, judged in QRELS.items() for d, g in judged.items()]


@dataclass
class World:
    """Files in a folder: docs.npy, queries.npy, ids beside them, qrels.tsv."""

    folder: Path
    patch: pytest.MonkeyPatch

    @classmethod
    def made(cls, folder: Path, patch: pytest.MonkeyPatch) -> World:
        world = cls(folder, patch)
        for name, given in (("docs", DOCS), ("queries", QUERIES)):
            np.save(folder / f"{name}.npy", given.vectors)
            world.text(f"{name}.ids.txt", "".join(f"{i}\n" for i in given.ids))
        world.text("qrels.tsv", "".join(LINES))
        return world

    def __truediv__(self, name: str) -> Path:
        return self.folder / name

    def text(self, name: str, text: str | bytes) -> None:
        (self / name).write_bytes(text if isinstance(text, bytes) else text.encode())

    def docs(self, content: bytes, suffix: str = ".npy") -> None:
        """The documents as these bytes, under a name of this suffix, which is the only one then."""
        (self / "docs.npy").unlink()
        self.text(f"docs{suffix}", content)

    def row(self, number: int, value: object, dtype: str = "<f8") -> None:
        """A row of the documents replaced."""
        vectors = DOCS.vectors.astype(dtype)
        vectors[number] = value
        np.save(self / "docs.npy", vectors)

    def during(self, change) -> None:
        """Call `change` in the middle of reading: after the norms are computed, before they are used."""
        from radii.data import embeddings

        before = embeddings.row_norms

        def then(vectors):
            norms = before(vectors)
            change()
            return norms

        self.patch.setattr(embeddings, "row_norms", then)

    @property
    def vectors(self) -> Path:
        """The file of the documents."""
        return next(p for p in self.folder.glob("docs.*") if not p.name.endswith(".txt"))

    def words(self, command: str, *more: object) -> list[str]:
        """A command line about this folder."""
        given = [command, self.vectors, "--queries", self / "queries.npy"]
        if command == "audit":
            given += ["--out", self / "out"]
        if "--no-qrels" not in more:
            given += ["--qrels", self / "qrels.tsv", "--metric", "RR@10"]
        given += [word for word in more if word != "--no-qrels"]  # the last of an option given twice counts
        return [str(word).replace("{folder}", str(self.folder)) for word in given]

    def files(self) -> dict[str, bytes | None]:
        """Everything there is, by name."""
        return {
            str(p.relative_to(self.folder)): p.read_bytes() if p.is_file() and not p.is_symlink() else None
            for p in self.folder.rglob("*")
        }


def npy(array) -> bytes:
    file = io.BytesIO()
    np.save(file, array)
    return file.getvalue()


def npz(**arrays) -> bytes:
    file = io.BytesIO()
    np.savez(file, **arrays)
    return file.getvalue()


def tensors(ids=None, **arrays) -> bytes:
    return safetensors.numpy.save(arrays, None if ids is None else {"ids": json.dumps(ids)})


def parquet(schema: pa.Schema | None = None, **columns) -> bytes:
    file = io.BytesIO()
    pq.write_table(pa.table(columns, schema=schema), file, row_group_size=3)
    return file.getvalue()


def bfloat16(vectors) -> bytes:
    """A safetensors file of the upper halves of float32, rounded to nearest."""
    bits = np.ascontiguousarray(vectors, dtype="<f4").view("<u4")
    half = ((bits + 0x8000) >> 16).astype("<u2")
    header = json.dumps(
        {"v": {"dtype": "BF16", "shape": list(vectors.shape), "data_offsets": [0, half.nbytes]}}
    ).encode()
    return len(header).to_bytes(8, "little") + header + half.tobytes()


def header(descr: object, shape: object) -> bytes:
    """The first bytes of an .npy file that promises this array."""
    text = repr({"descr": descr, "fortran_order": False, "shape": shape}).encode() + b"\n"
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text


def same(tolerance: float = 1e-12):
    """A check that the path came out as it is known."""

    def check(world: World, out: str) -> None:
        found = json.loads(out)
        assert found["edges"] == pytest.approx([-1, -FLIP, FLIP, 1], abs=tolerance)
        assert found["values"] == pytest.approx([1, 0.75, 0.5], abs=1e-12)

    return check


def embeddings(vectors) -> Embeddings:
    """Vectors with the ids of the documents."""
    return Embeddings(DOCS.ids, vectors, "docs")
