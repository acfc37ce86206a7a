"""Controlled training: runs of one structure advance together, as one array with a leading axis."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from radii.data.embeddings import Floats
from radii.dynamics.config import Setting
from radii.dynamics.encoders import Encoder
from radii.dynamics.losses import embedding_gradient
from radii.dynamics.moments import Moments
from radii.dynamics.optimisers import Optimiser
from radii.dynamics.result import Run, judge
from radii.dynamics.world import Pairs, World
from radii.errors import InputError, MissingExtraError, NumericalError

Progress = Callable[[int, int], None]  # (run-steps done, run-steps in all)

CHUNK = 256  # steps whose pairs are drawn at a time
WIDTH = 32  # runs that advance together: enough to hide the overhead, few enough to stay in the cache


def simulate(
    settings: Sequence[Setting],
    *,
    progress: Progress | None = None,
    width: int = WIDTH,
) -> list[Run]:
    """Train every setting and measure it after burn-in; results in the order given.

    Settings that share their structure (all but η, λ, τ, β, ambiguity, frequency, outward push, initial norm
    and seed) advance together, up to `width` at a time. `progress` is called with run-steps.

    Raises
    ------
    InputError
        On no settings.
    MissingExtraError
        Without torch.
    NumericalError
        When a run leaves the numbers; the message names its setting.
    """
    found: dict[int, Run] = {}
    count = Counter(settings, progress)
    for rows in plan(settings, width):
        batch = Batch([settings[row] for row in rows])
        while not batch.finished:
            count.add(batch.advance(CHUNK), rows)
        found.update(zip(rows, batch.results(), strict=True))
    return [found[row] for row in range(len(settings))]


class Counter:
    """Tells `progress` how many run-steps of all are done."""

    def __init__(self, settings: Sequence[Setting], progress: Progress | None) -> None:
        self._total = sum(s.burn_in + s.steps for s in settings)
        self._done, self._progress = 0, progress

    def add(self, steps: int, rows: Sequence[int]) -> None:
        """So many more steps of each of these runs."""
        self._done += steps * len(rows)
        if self._progress is not None:
            self._progress(self._done, self._total)


def plan(settings: Sequence[Setting], width: int = WIDTH) -> list[list[int]]:
    """Rows of `settings` that advance together, batch by batch; raises as `simulate` does."""
    if not settings:
        raise InputError("no settings", where="simulate", fix="give at least one")
    try:
        import torch  # noqa: F401
    except ImportError as error:
        raise MissingExtraError("torch", "models") from error
    groups: dict[Any, list[int]] = {}
    for row, setting in enumerate(settings):
        groups.setdefault(setting.structure, []).append(row)
    return [rows[at : at + width] for rows in groups.values() for at in range(0, len(rows), width)]


class Batch:
    """Runs of one structure under way. Advance it until `finished`, then ask for `results`."""

    def __init__(self, settings: list[Setting]) -> None:
        import torch

        self.settings = settings
        self._one = one = settings[0]
        dtype = getattr(torch, one.precision)

        def column(name: str) -> Any:
            return torch.tensor([getattr(s, name) for s in settings], dtype=dtype)

        self._eta, self._tau = column("eta")[:, None], column("tau")[:, None, None]
        self._outward = column("outward")[:, None, None] if any(s.outward for s in settings) else None
        self.worlds = [World.of(s) for s in settings]
        self._pairs = [Pairs(w, s) for w, s in zip(self.worlds, settings, strict=True)]
        self.encoder = Encoder(settings)
        self.optimiser = Optimiser(
            one.optimiser, column("eta"), column("lam"), column("beta"), one.beta2, one.epsilon
        )
        with torch.no_grad():
            self._vectors = self.encoder.embed(self.encoder.params)
        self.moments = Moments(tuple(self._vectors.shape), one.power, one.steps, one.lags, one.samples, dtype)
        self.taken = 0

    @property
    def finished(self) -> bool:
        """Whether every step was taken."""
        return self.taken >= self._one.burn_in + self._one.steps

    def advance(self, steps: int) -> int:
        """Take up to so many steps; the number taken. Raises NumericalError when a run leaves the numbers."""
        import torch

        steps = min(steps, self._one.burn_in + self._one.steps - self.taken)
        drawn = [np.concatenate(pairs.draw(steps), axis=1) for pairs in self._pairs]
        offsets = np.arange(len(drawn))[:, None, None] * self._one.n_items
        rows = torch.from_numpy(np.ascontiguousarray((np.stack(drawn) + offsets).transpose(1, 0, 2)))
        with torch.no_grad():
            for step in range(steps):
                self._step(rows[step])
        lost = ~torch.isfinite((self._vectors**2).sum(dim=2)).all(dim=1)
        if lost.any():
            at = self.settings[int(lost.nonzero()[0])]
            raise NumericalError(
                f"training left the numbers by step {self.taken} at η = {at.eta:g}, λ = {at.lam:g}"
            )
        return steps

    def _step(self, rows: Any) -> None:
        """One step of every run on `rows` (n_runs, 2 · batch) of the flattened items."""
        import torch

        vectors = self._vectors
        runs, items, dim = vectors.shape
        given = vectors.reshape(runs * items, dim)[rows.reshape(-1)].view(runs, -1, dim)
        norms = torch.linalg.vector_norm(given, dim=2, keepdim=True)
        pull = embedding_gradient(
            self._one.loss, given, self._tau, bias=self._one.bias, margin=self._one.margin
        )
        if self._outward is not None:
            pull -= self._outward * given / norms
        by_vectors = torch.zeros(runs * items, dim, dtype=vectors.dtype)
        by_vectors.index_add_(0, rows.reshape(-1), (pull / norms).view(-1, dim))
        by_vectors = by_vectors.view(runs, items, dim)
        with torch.enable_grad():
            gradients = self.encoder.gradients(by_vectors)
        params = self.encoder.params
        step = self.optimiser.step(params, gradients)
        measured = self.taken >= self._one.burn_in
        decayed = [p + d for p, d in zip(params, step.decay, strict=True)]
        between = self.encoder.embed(decayed) if measured else None
        self.encoder.params = [p + t for p, t in zip(decayed, step.task, strict=True)]
        self._vectors = self.encoder.embed(self.encoder.params)
        if measured:
            # A network has no gradient per item in its parameters: what its items' losses ask for stands in.
            fresh = step.fresh[0] if self._one.encoder == "table" else by_vectors
            self.moments.add(vectors, between, self._vectors, fresh, self._eta)
        self.taken += 1

    def results(self) -> list[Run]:
        """One Run per setting; raises NumericalError before the end, when there is nothing to report."""
        import torch

        if not self.finished:
            raise NumericalError(f"{self.taken} steps taken of {self._one.burn_in + self._one.steps}")
        means = self.moments.means()
        series = {
            name: torch.stack(kept).numpy() if kept else np.empty((0, *means["norm"].shape))
            for name, kept in self.moments.series.items()
        }
        heat = means["second"] - (means.pop("mean") ** 2).sum(axis=2)
        return [
            self._run(i, {k: v[..., i, :] for k, v in means.items()}, heat[i], series)
            for i in range(len(heat))
        ]

    def _run(self, i: int, rows: dict[str, Floats], heat: Floats, series: dict[str, Floats]) -> Run:
        """Run i, from its own rows of the means."""
        setting, world, lengths = self.settings[i], self.worlds[i], self.encoder.lengths
        return Run(
            setting=setting,
            norm=rows["norm"],
            square=rows["square"],
            drift=rows["drift"],
            second_moment=rows["second"],
            heat=heat,
            alpha=rows["alpha"],
            moved=rows["moved"],
            gain=rows["gain"],
            loss=rows["loss"],
            fresh_drift=rows["fresh_drift"],
            fresh_second=rows["fresh_second"],
            lagged=rows["lagged"],
            drift_samples=series["drift"][:, i],
            square_samples=series["square"][:, i],
            ambiguity=world.ambiguity,
            weight=world.weight,
            length=None if lengths is None else lengths[i],
            stationarity=judge(setting, rows["alpha"], rows["drift"], rows["second"], rows["blocks"]),
        )

    def state(self) -> dict[str, Any]:
        """Everything that changes from step to step, for a checkpoint."""
        return {
            "taken": self.taken,
            "params": self.encoder.params,
            "vectors": self._vectors,
            "optimiser": self.optimiser.state(),
            "moments": self.moments.state(),
            "draws": [pairs.rng.bit_generator.state for pairs in self._pairs],
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Continue from `state()` of a batch with the same settings: the same results as without a break."""
        self.taken, self.encoder.params, self._vectors = state["taken"], state["params"], state["vectors"]
        self.optimiser.restore(state["optimiser"])
        self.moments.restore(state["moments"])
        for pairs, draws in zip(self._pairs, state["draws"], strict=True):
            pairs.rng.bit_generator.state = draws
