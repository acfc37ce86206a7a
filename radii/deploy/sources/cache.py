"""Reading an engine into a folder, batch by batch, so that a reading that broke off goes on where it stopped.

vectors.npy.part, ids.part     what was read so far
state.json                     how much of both counts, and where to go on
vectors.npy, vectors.ids.txt   when all is read: a vectors file like any other
"""

from __future__ import annotations

import io
import os
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
from pydantic import BaseModel, ConfigDict, ValidationError

from radii.data.files import StrPath, atomic_write, open_text
from radii.data.locks import only_writer
from radii.data.vectors import check_writable_ids, ids_path
from radii.deploy.sources.base import Cursor, Source
from radii.errors import InputError

STATE, VECTORS = "state.json", "vectors.npy"
_PART, _NAMES = "vectors.npy.part", "ids.part"
_HEADER = 128


class State(BaseModel):
    """How far a reading has come, and of what."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    address: str
    count: int
    dim: int
    metric: str | None
    stamp: str
    rows: int = 0
    bytes: int = 0  # of the ids
    after: Cursor = None
    ended: bool = False
    complete: bool = False
    read: str = ""

    def same(self, other: State) -> bool:
        """Whether both are readings of the same contents, as far as can be told."""
        return self.model_dump(include={"address", "count", "dim", "metric", "stamp"}) == other.model_dump(
            include={"address", "count", "dim", "metric", "stamp"}
        )


def gather(
    source: Source, address: str, folder: StrPath, progress: Callable[[int, int], None] | None = None
) -> State:
    """Read an open source into `folder`, or what is left of it, unless a whole reading of it lies there.

    A reading is taken up again when address, count, columns, metric and stamp are still the same.

    Raises InputError on an empty source, on an id that does not fit on a line, where another process reads
    into the same folder, and as its `batches` does; what was read until then is kept.
    """
    if source.count == 0:
        raise InputError("holds no vectors", where=address, fix="load it first, or name another collection")
    with only_writer(folder):
        return _gather(source, address, Path(folder), progress)


def _gather(source: Source, address: str, place: Path, progress: Callable[[int, int], None] | None) -> State:
    state = State(
        address=address, count=source.count, dim=source.dim, metric=source.metric, stamp=source.stamp
    )
    known = _state(place)
    if known is not None and known.same(state) and (known.complete or _usable(place, known)):
        state = known
    if state.complete:
        return state
    mode = "r+b" if state.rows else "w+b"
    with open(place / _PART, mode) as data, open(place / _NAMES, mode) as names:
        data.truncate(max(_HEADER, _at(state)))
        data.seek(_at(state))
        names.truncate(state.bytes)
        names.seek(state.bytes)
        for batch in () if state.ended else source.batches(state.after):
            if batch.vectors.shape[1] != source.dim:
                raise InputError(
                    f"vectors of {batch.vectors.shape[1]} and of {source.dim} columns",
                    where=address,
                    fix="name the one to read: ?vector=",
                )
            if any("\n" in name for name in batch.ids):
                raise InputError("an id with a line break", where=address, fix="name another column: ?id=")
            data.write(np.ascontiguousarray(batch.vectors, dtype="<f4").data)
            check_writable_ids(batch.ids, address)
            names.write("".join(f"{name}\n" for name in batch.ids).encode())
            data.flush()
            names.flush()
            state = state.model_copy(
                update={
                    "rows": state.rows + len(batch.ids),
                    "bytes": names.tell(),
                    "after": batch.after,
                    "ended": batch.after is None,
                }
            )
            _save(place, state)
            if progress is not None:
                progress(state.rows, state.count)
        data.seek(0)
        data.write(_header(state.rows, state.dim))
    os.replace(place / _PART, place / VECTORS)
    os.replace(place / _NAMES, ids_path(place / VECTORS))
    state = state.model_copy(
        update={"complete": True, "read": datetime.now(UTC).isoformat(timespec="seconds")}
    )
    _save(place, state)
    return state


def _state(place: Path) -> State | None:
    if not (place / STATE).is_file():
        return None
    with open_text(place / STATE) as file:
        text = file.read()
    try:
        return State.model_validate_json(text)
    except ValidationError:
        return None  # of another version: read again


def _usable(place: Path, state: State) -> bool:
    """Whether the parts hold at least what the state counts."""
    sizes = {name: (place / name).stat().st_size for name in (_PART, _NAMES) if (place / name).is_file()}
    return sizes.get(_PART, -1) >= _at(state) and sizes.get(_NAMES, -1) >= state.bytes


def _at(state: State) -> int:
    return _HEADER + 4 * state.rows * state.dim


def _header(rows: int, dim: int) -> bytes:
    text = io.BytesIO()
    np.lib.format.write_array_header_1_0(text, {"descr": "<f4", "fortran_order": False, "shape": (rows, dim)})
    return text.getvalue()


def _save(place: Path, state: State) -> None:
    with atomic_write(place / STATE, mode="w") as file:
        file.write(state.model_dump_json(indent=1) + "\n")
