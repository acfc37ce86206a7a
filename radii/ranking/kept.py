"""Candidates of finished parts in a folder, so that an interrupted run goes on from there.

A part's file bears in its name a digest of all that its content depends on, and holds a checksum of itself.
It is written whole or not at all. What is not there, does not match or is damaged is computed again; files of
other inputs are left alone. Two runs may share a folder: they write the same bytes under the same names.
"""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import xxhash

from radii.data.embeddings import Embeddings
from radii.data.files import atomic_write, writable
from radii.ranking.candidates import Candidates
from radii.ranking.family import Family
from radii.ranking.partition import Asked, restricted, within
from radii.ranking.score import Ints

_FORMAT = "radii candidates 1"
_DAMAGE = (OSError, EOFError, ValueError, KeyError, zipfile.BadZipFile, zlib.error)


@dataclass(frozen=True, eq=False)
class Folder:
    """The folder of a run, and what every part of that run depends on. Made by `Folder.of`."""

    path: Path
    docs: Embeddings
    families: Sequence[Family]
    excluded: Ints
    common: bytes

    @classmethod
    def of(cls, docs: Embeddings, families: Sequence[Family], excluded: Ints, asked: Asked) -> Folder | None:
        """Of the search's `work`; none if it names none. InputError where it cannot be written."""
        if asked.search.work is None:
            return None
        writable(asked.search.work / "part")
        # Backends here sum cosines in one order. How the work is cut changes no result, and is left out.
        backend = asked.search.backend if asked.search.backend not in ("auto", "ray") else "numba"
        said = (_FORMAT, version("radii"), asked.k, asked.gamma_range, backend)
        queries = [asked.queries.vectors, asked.queries.norms]
        lefts = [family.affine.left for family in families if family.affine is not None]
        common = _digest([repr(said).encode(), *map(np.asarray, queries), *lefts])
        return cls(asked.search.work, docs, families, excluded, common)

    def read(self, rows: slice) -> list[Candidates] | None:
        """What an earlier run found in this part; none if it did not, or if the file is damaged."""
        path = self._file(rows)
        try:
            with open(path, "rb") as file, np.load(file, allow_pickle=False) as stored:
                arrays = [stored[name] for name in self._names()]
                checksum = stored["checksum"].tobytes()
        except _DAMAGE:
            return None
        if checksum != _digest([path.name.encode(), *arrays]):
            return None
        return [Candidates(*arrays[at : at + 3]) for at in range(0, len(arrays), 3)]

    def write(self, rows: slice, found: Sequence[Candidates]) -> None:
        """Keep what was found in this part."""
        path = self._file(rows)
        arrays = [array for one in found for array in (one.offsets, one.rows, one.cosines)]
        checksum = np.frombuffer(_digest([path.name.encode(), *arrays]), dtype=np.uint8)
        with atomic_write(path) as file:
            named: dict[str, Any] = dict(zip(self._names(), arrays, strict=True))
            np.savez(file, checksum=checksum, **named)

    def _names(self) -> list[str]:
        return [
            f"{what}_{place}"
            for place in range(len(self.families))
            for what in ("offsets", "rows", "cosines")
        ]

    def _file(self, rows: slice) -> Path:
        """Where this part is kept: its rows, and a digest of all that its content depends on."""
        docs = self.docs
        known: list[bytes | npt.NDArray[Any]] = [
            self.common,
            repr((rows.start, rows.stop, docs.dim, str(docs.vectors.dtype))).encode(),
            # A file is known by its stamp; an array only by its bytes.
            repr(docs.stamp).encode() if docs.stamp is not None else np.asarray(docs.vectors[rows]),
            docs.norms[rows],
            within(self.excluded, rows),
        ]
        for family in self.families:
            own = restricted(family, rows)
            known += [repr((own.additive, own.base is None, own.affine is None)).encode(), own.slope]
            known += [] if own.base is None else [own.base]
            known += [] if own.affine is None else [own.affine.right, own.affine.scale]
        return self.path / f"part-{rows.start:012d}-{rows.stop:012d}-{_digest(known).hex()}.npz"


def _digest(parts: Iterable[bytes | npt.NDArray[Any]]) -> bytes:
    """Of bytes and of arrays, of which type and shape count too."""
    digest = xxhash.xxh3_128()
    for part in parts:
        if not isinstance(part, bytes):
            digest.update(repr((part.dtype.str, part.shape)).encode())
            digest.update(np.ascontiguousarray(part).view(np.uint8).data if part.size else b"")
        else:
            digest.update(len(part).to_bytes(8, "little") + part)
    return digest.digest()
