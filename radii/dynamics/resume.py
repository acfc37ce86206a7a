"""Controlled training that can be broken off: a checkpoint in a folder, from which it goes on."""

from __future__ import annotations

import pickle
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from radii.data.files import StrPath, atomic_write
from radii.dynamics.config import Setting
from radii.dynamics.result import Run
from radii.dynamics.training import CHUNK, WIDTH, Batch, Counter, Progress, plan
from radii.errors import InputError

CHECKPOINT = "checkpoint.pt"


def simulate_in(
    folder: StrPath,
    settings: Sequence[Setting],
    *,
    progress: Progress | None = None,
    every_seconds: float = 30.0,
    width: int = WIDTH,
) -> list[Run]:
    """Train as `radii.dynamics.training.simulate` does, with a checkpoint in `folder` every so many seconds.

    Goes on from a checkpoint of the same settings: the result is that of a run without a break. The
    checkpoint is removed at the end.

    Raises
    ------
    InputError
        On a checkpoint of other settings, or one that cannot be read; otherwise as `simulate`.
    """
    batches = plan(settings, width)
    path = Path(folder) / CHECKPOINT
    states = _load(path, settings, len(batches))
    count = Counter(settings, progress)
    found: dict[int, Run] = {}
    last = time.monotonic()
    for number, rows in enumerate(batches):
        batch = Batch([settings[row] for row in rows])
        if states[number] is not None:
            batch.restore(states[number])
            count.add(batch.taken, rows)
        while not batch.finished:
            count.add(batch.advance(CHUNK), rows)
            if time.monotonic() - last >= every_seconds:
                states[number] = batch.state()
                _save(path, settings, states)
                last = time.monotonic()
        states[number] = batch.state()
        found.update(zip(rows, batch.results(), strict=True))
    path.unlink(missing_ok=True)
    return [found[row] for row in range(len(settings))]


def _save(path: Path, settings: Sequence[Setting], states: list[Any]) -> None:
    import torch

    with atomic_write(path) as file:
        torch.save({"settings": [s.model_dump_json() for s in settings], "states": states}, file)


def _load(path: Path, settings: Sequence[Setting], batches: int) -> list[Any]:
    import torch

    if not path.exists():
        return [None] * batches
    try:
        # Tensors and plain values only: a checkpoint may run no code.
        kept = torch.load(path, weights_only=True)
        theirs, states = kept["settings"], kept["states"]
    except (RuntimeError, EOFError, OSError, KeyError, TypeError, pickle.UnpicklingError) as error:
        raise InputError(
            "not a checkpoint of radii", where=path, cause="a damaged or foreign file", fix="delete it"
        ) from error
    if theirs != [s.model_dump_json() for s in settings] or len(states) != batches:
        raise InputError(
            "a checkpoint of other settings",
            where=path,
            cause="the same folder was used for another simulation",
            fix="delete it, or name another folder",
        )
    return list(states)
