"""`radii.monitor`: what happens to norms during real training, on a fixed set of inputs."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Any

import numpy as np

from radii.data.embeddings import Floats
from radii.data.files import StrPath
from radii.dynamics.stationary import relaxation_time, stationary_norm
from radii.errors import InputError, MissingExtraError, NumericalError
from radii.probing.adapters import Adapter, evaluating, moved, require_torch
from radii.probing.surrogate import Inputs

Record = dict[str, float | None]

EVERY = 100
_DECAY = 1e-3  # of the largest factor of the virtual decay step: far above the rounding of float32


def monitor(
    encoder: Any,
    items: Sequence[Any],
    *,
    positives: Sequence[Any] | None = None,
    optimizer: Any = None,
    every: int = EVERY,
    memory: float = 0.9,
    log: StrPath | None = None,
    tensorboard: StrPath | None = None,
) -> Monitor:
    """Watch the norms of `items` while a model trains.

    Call `step()` after every step of the optimiser, or give `trainer_callback()` to a transformers or
    sentence-transformers trainer, or `lightning_callback()` to a Lightning one. Every `every` steps the items
    are embedded before and after one real step, and once more after a virtual step of decay alone; training
    itself is left exactly as it would be.

    Parameters
    ----------
    encoder : Adapter or SentenceTransformer
        Of the model in training. A final Normalize stays in the model and is skipped here.
    items : sequence
        Fixed inputs, two or more; 64 are plenty.
    positives : sequence, optional
        What belongs with each item, for the alignment.
    optimizer : torch.optim.Optimizer, optional
        Gives learning rate and weight decay; the callbacks bring their own.
    every : int
        Steps from one record to the next.
    memory : float
        Weight of the past in the running means behind heat and drift, in [0, 1).
    log : path, optional
        JSONL file that a line per record is appended to.
    tensorboard : path, optional
        Folder for TensorBoard events.

    Raises
    ------
    InputError
        Unusable arguments.
    MissingExtraError
        Without torch, or without tensorboard when it is asked for.
    """
    if not isinstance(encoder, Adapter):
        from radii.probing.sentence import sentence_transformer

        encoder = sentence_transformer(encoder, before_normalize=True)
    return Monitor(encoder, items, positives, optimizer, every, memory, log, tensorboard)


class Monitor:
    """See `monitor`.

    Attributes
    ----------
    records : list of dict
        What was logged so far: `step`, `mean_log_norm`, `sd_log_norm`; `uniformity` and `alignment`; of real
        displacements `drift`, `heat`, `alpha` (medians over items), `equilibrium` (median of R*/R, the
        stationary norm over the norm) and `steps_to_equilibrium` (median relaxation time). None where
        unknown: heat before the third record, the equilibrium where there is none (no decay), alignment
        without positives, and what needs the optimiser without one.
    seconds : float
        Spent in here.
    """

    def __init__(
        self,
        encoder: Adapter,
        items: Sequence[Any],
        positives: Sequence[Any] | None,
        optimizer: Any,
        every: int,
        memory: float,
        log: StrPath | None,
        tensorboard: StrPath | None,
    ) -> None:
        require_torch()
        if every < 2 or not 0 <= memory < 1 or len(items) < 2:
            raise InputError(
                f"every {every}, memory {memory:g}, {len(items)} items",
                where="monitor",
                fix="every ≥ 2, 0 ≤ memory < 1, two items or more",
            )
        if positives is not None and len(positives) != len(items):
            raise InputError(
                f"{len(positives)} positives for {len(items)} items", where="monitor", fix="give one for each"
            )
        self.encoder, self.optimizer = encoder, optimizer
        self.every, self.memory = every, memory
        self.records: list[Record] = []
        self.seconds = 0.0
        self._steps = 0
        self._inputs = Inputs(encoder, items, 64)
        self._positives = None if positives is None else Inputs(encoder, positives, 64)
        self._before: Floats | None = None
        self._decay: Floats | None = None  # Δz of decay alone, at the step to come
        self._eta = 0.0  # its learning rate: after it a schedule has moved on
        self._running = _Running(memory)
        self._log: IO[str] | None = None if log is None else _open(log)
        self._writer = None if tensorboard is None else _writer(tensorboard)

    def step(self) -> Record | None:
        """Count one step of the optimiser; the record when one is due, else None.

        Raises NumericalError when a vector is zero or not finite.
        """
        began = time.perf_counter()
        self._steps += 1
        record = None
        if self._steps % self.every == self.every - 1:
            self._before = self._vectors(self._inputs)
            self._decay = self._decay_step(self._before)
        elif self._steps % self.every == 0:
            record = self._record()
        self.seconds += time.perf_counter() - began
        return record

    def trainer_callback(self) -> Any:
        """A transformers.TrainerCallback, which sentence-transformers' trainer takes too."""
        from radii.probing.callbacks import trainer_callback

        return trainer_callback(self)

    def lightning_callback(self) -> Any:
        """A Lightning Callback."""
        from radii.probing.callbacks import lightning_callback

        return lightning_callback(self)

    def close(self) -> None:
        """Close the files; records stay."""
        if self._log is not None:
            self._log.close()
        if self._writer is not None:
            self._writer.close()
        self._log = self._writer = None

    def _record(self) -> Record:
        reached = self._vectors(self._inputs)
        norms = np.linalg.norm(reached, axis=1)
        record: Record = {
            "step": self._steps,
            "mean_log_norm": float(np.log(norms).mean()),
            "sd_log_norm": float(np.log(norms).std()),
            "uniformity": uniformity(reached / norms[:, None]),
            "alignment": None if self._positives is None else self._alignment(reached / norms[:, None]),
        }
        record |= self._balance(reached)
        self.records.append(record)
        if self._log is not None:
            self._log.write(json.dumps(record, allow_nan=False) + "\n")
            self._log.flush()
        if self._writer is not None:
            for name, value in record.items():
                if value is not None and name != "step":
                    self._writer.add_scalar(f"radii/{name}", value, self._steps)
        return record

    def _alignment(self, units: Floats) -> float:
        if self._positives is None:
            raise InputError("no positives", where="monitor", fix="give positives")
        others = self._vectors(self._positives)
        return alignment(units, others / np.linalg.norm(others, axis=1, keepdims=True))

    def _balance(self, reached: Floats) -> Record:
        found: Record = dict.fromkeys(("drift", "heat", "alpha", "equilibrium", "steps_to_equilibrium"))
        if self._before is None or self._decay is None or self.optimizer is None:
            return found
        eta, start, norms = self._eta, self._before, np.linalg.norm(self._before, axis=1)
        if not eta > 0:
            return found
        units = start / norms[:, None]
        alpha = -np.einsum("nd,nd->n", units, self._decay) / norms
        u = norms[:, None] * (reached - start - self._decay) / eta
        self._running.add(u, units)
        found["alpha"] = float(np.median(alpha))
        found["drift"] = float(np.median(self._running.drift))
        if self._running.count >= 3:
            found["heat"] = float(np.median(self._running.heat()))
            settles = (alpha > 0) & (alpha < 1)
            if 2 * settles.sum() > len(settles):
                balance: dict[str, Any] = {
                    "eta": eta,
                    "alpha": alpha[settles],
                    "drift": self._running.drift[settles],
                    "second_moment": self._running.second[settles],
                }
                found["equilibrium"] = float(np.median(stationary_norm(**balance) / norms[settles]))
                found["steps_to_equilibrium"] = float(np.median(relaxation_time(**balance)))
        return found

    def _decay_step(self, start: Floats) -> Floats | None:
        """Δz of a step of decay alone, at the rates of the optimiser's groups; None without an optimiser."""
        if self.optimizer is None:
            return None
        groups = self.optimizer.param_groups
        self._eta = max(float(group["lr"]) for group in groups)
        factors = [float(group["lr"]) * float(group.get("weight_decay", 0.0)) for group in groups]
        largest = max(factors)
        if not largest > 0:
            return np.zeros_like(start)
        torch = require_torch()
        # Enlarged to stand out of the rounding, then brought back: the first order is what counts.
        enlarge = _DECAY / largest
        parameters, values = [], []
        with torch.no_grad():
            for group, factor in zip(groups, factors, strict=True):
                for parameter in group["params"] if factor > 0 else ():
                    parameters.append(parameter)
                    values.append(parameter.data * (1 - factor * enlarge))
            with moved(parameters, values):
                return (self._vectors(self._inputs) - start) / enlarge

    def _vectors(self, inputs: Inputs) -> Floats:
        with evaluating([self.encoder]):
            found = inputs.vectors()
        if not np.isfinite(found).all() or not np.linalg.norm(found, axis=1).all():
            raise NumericalError(f"step {self._steps}: a vector is zero or not finite: training has diverged")
        return found


class _Running:
    """Running means of u, ‖u‖² and ⟨ẑ, u⟩ with weight `memory` on the past.

    The last is taken at each record's own direction: today's has turned towards yesterday's u.
    """

    def __init__(self, memory: float) -> None:
        self.memory, self.count = memory, 0
        self._weight = self._squares = 0.0  # Σ w and Σ w² of the records so far

    def add(self, u: Floats, units: Floats) -> None:
        squared, along = np.einsum("nd,nd->n", u, u), np.einsum("nd,nd->n", units, u)
        if not self.count:
            self.mean, self.second, self.drift = (
                np.zeros_like(u),
                np.zeros_like(squared),
                np.zeros_like(along),
            )
        self._squares = self.memory**2 * self._squares + 1.0
        self._weight = self.memory * self._weight + 1.0
        self.count += 1
        self.mean += (u - self.mean) / self._weight
        self.second += (squared - self.second) / self._weight
        self.drift += (along - self.drift) / self._weight

    def heat(self) -> Floats:
        """Unbiased for independent records: (S − ‖μ‖²) / (1 − Σw² / (Σw)²)."""
        spread = self.second - np.einsum("nd,nd->n", self.mean, self.mean)
        found: Floats = np.maximum(spread, 0.0) / (1 - self._squares / self._weight**2)
        return found


def alignment(units: Floats, positives: Floats) -> float:
    """Mean squared distance of unit vectors that belong together: E ‖x̂ − ŷ‖², of two (n, dim) arrays.

    Source: Wang, Isola, arXiv:2005.10242, with their α = 2.

    >>> alignment(np.eye(2), np.eye(2)[::-1])
    2.0
    """
    return float(((units - positives) ** 2).sum(axis=1).mean())


def uniformity(units: Floats) -> float:
    """log E exp(−2 ‖x̂ − ŷ‖²) over distinct pairs of (n, dim) unit vectors; lower is more uniform.

    Source: Wang, Isola, arXiv:2005.10242, with their t = 2.

    >>> uniformity(np.eye(3))
    -4.0
    """
    rows, columns = np.triu_indices(len(units), 1)
    squared = 2 - 2 * (units @ units.T)[rows, columns]
    return float(np.log(np.exp(-2 * squared).mean()))


def _open(path: StrPath) -> IO[str]:
    try:
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        return open(path, "a", encoding="utf-8")
    except OSError as error:
        raise InputError(
            f"cannot be written: {error.strerror}", where=path, fix="name another file"
        ) from error


def _writer(folder: StrPath) -> Any:
    try:
        from torch.utils.tensorboard import SummaryWriter
    except ModuleNotFoundError as error:
        raise MissingExtraError("tensorboard", "monitor") from error
    return SummaryWriter(str(folder))
