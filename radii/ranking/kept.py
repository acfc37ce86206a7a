"""What was found in finished parts, kept in a folder, so that an interrupted run goes on from there.

A part's file bears in its name a digest of all that its content depends on, and holds a checksum of itself.
It is written whole or not at all. What is not there, does not match or is damaged is computed again; files of
other inputs are left alone. Two runs may share a folder: they write the same bytes under the same names.
"""

from __future__ import annotations

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
from radii.data.formats import read_arrays as stored
from radii.errors import InputError
from radii.ranking.candidates import Candidates
from radii.ranking.family import Group
from radii.ranking.partition import Asked, restricted, within

_FORMAT = 1
_Known = bytes | npt.NDArray[Any]


@dataclass(frozen=True, eq=False)
class Folder:
    """The folder of a run, and what every part of that run depends on. Made by `Folder.of`."""

    path: Path
    docs: Embeddings
    group: Group
    common: bytes

    @classmethod
    def of(cls, docs: Embeddings, group: Group, asked: Asked) -> Folder | None:
        """Of the search's `work`; none if it names none. InputError where it cannot be written."""
        if asked.search.work is None:
            return None
        writable(asked.search.work / "part")
        # Backends here sum cosines in one order. How the work is cut changes no result, and is left out.
        backend = asked.search.backend if asked.search.backend not in ("auto", "ray") else "numba"
        lefts = [family.affine.left for family in group.families if family.affine is not None]
        queries = [group.queries.vectors, group.queries.norms, *lefts]
        common = common_digest("candidates", (asked.k, asked.gamma_range, backend), queries)
        return cls(asked.search.work, docs, group, common)

    def read(self, rows: slice) -> list[Candidates] | None:
        """What an earlier run found in this part; none if it did not, or if the file is damaged."""
        arrays = read_arrays(self._file(rows), 3 * len(self.group.families))
        if arrays is None:
            return None
        return [Candidates(*arrays[at : at + 3]) for at in range(0, len(arrays), 3)]

    def write(self, rows: slice, found: Sequence[Candidates]) -> None:
        """Keep what was found in this part."""
        write_arrays(
            self._file(rows), [part for one in found for part in (one.offsets, one.rows, one.cosines)]
        )

    def _file(self, rows: slice) -> Path:
        """Where this part is kept: its rows, and a digest of all that its content depends on."""
        known: list[_Known] = [self.common, within(self.group.excluded, rows)]
        for family in self.group.families:
            own = restricted(family, rows)
            known += [repr((own.additive, own.base is None, own.affine is None)).encode(), own.slope]
            known += [] if own.base is None else [own.base]
            known += [] if own.affine is None else [own.affine.right, own.affine.scale]
        return part_file(self.path, "part", self.docs, rows, known)


def common_digest(kind: str, said: object, arrays: Iterable[npt.NDArray[Any]]) -> bytes:
    """Of what all parts of a run depend on, and of this version."""
    return _digest([repr((kind, _FORMAT, version("radii"), said)).encode(), *map(np.asarray, arrays)])


def part_file(folder: Path, kind: str, docs: Embeddings, rows: slice, known: Iterable[_Known]) -> Path:
    """Where a part is kept: its rows, and a digest of these documents and of what else it depends on."""
    own: list[_Known] = [
        repr((rows.start, rows.stop, docs.dim, str(docs.vectors.dtype))).encode(),
        # A file is known by its stamp; an array only by its bytes.
        repr(docs.stamp).encode() if docs.stamp is not None else np.asarray(docs.vectors[rows]),
        docs.norms[rows],
    ]
    return folder / f"{kind}-{rows.start:012d}-{rows.stop:012d}-{_digest([*own, *known]).hex()}.npz"


def read_arrays(path: Path, count: int) -> list[npt.NDArray[Any]] | None:
    """What `write_arrays` wrote there; none if it did not, or if the file is damaged."""
    try:
        *arrays, checksum = stored(path, [*(f"array_{place}" for place in range(count)), "checksum"]).values()
    except InputError:
        return None
    return arrays if checksum.tobytes() == _digest([path.name.encode(), *arrays]) else None


def write_arrays(path: Path, arrays: Sequence[npt.NDArray[Any]]) -> None:
    """Write a whole file or none, with a checksum over its name and content."""
    checksum = np.frombuffer(_digest([path.name.encode(), *arrays]), dtype=np.uint8)
    named: dict[str, Any] = {f"array_{place}": array for place, array in enumerate(arrays)}
    with atomic_write(path) as file:
        np.savez(file, checksum=checksum, **named)


def _digest(parts: Iterable[_Known]) -> bytes:
    """Of bytes and of arrays, of which type and shape count too."""
    digest = xxhash.xxh3_128()
    for part in parts:
        if not isinstance(part, bytes):
            digest.update(repr((part.dtype.str, part.shape)).encode())
            digest.update(np.ascontiguousarray(part).view(np.uint8).data if part.size else b"")
        else:
            digest.update(len(part).to_bytes(8, "little") + part)
    return digest.digest()
