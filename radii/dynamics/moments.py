"""Moments of a run, summed while it goes: never an array over steps, items and dimensions."""

from __future__ import annotations

from typing import Any

import numpy as np

from radii.data.embeddings import Floats

BLOCKS = 8  # parts of the measured window, each with its own mean of R²

_PER_ITEM = (
    *("norm", "square", "drift", "second", "alpha", "moved", "gain", "loss"),
    *("fresh_drift", "fresh_second"),
)


class Moments:
    """Running sums over measured steps, each (n_runs, n_items) in float64 unless said otherwise.

    With u = R^p Δz_task / η: `norm` R, `square` R² and `blocks` (BLOCKS, ...) its sums by part of the window,
    `drift` ⟨ẑ, u⟩, `second` ‖u‖², `mean` u itself (n_runs, n_items, dim), `alpha` −⟨ẑ, Δz_decay⟩ / R, `moved`
    whether u ≠ 0; for the balance `gain` 2⟨z⁻, Δz_task⟩ + ‖Δz_task‖², z⁻ the vector after decay, and `loss`
    what decay took of R². With `lags` also, of the newest gradient q scaled like u: `fresh_drift` ⟨ẑ, −q⟩,
    `fresh_second` ‖q‖² and `lagged` (lags, ...) ⟨q_t, q_{t−k}⟩, k from 1.
    """

    def __init__(
        self, shape: tuple[int, int, int], power: int, steps: int, lags: int, samples: int, dtype: Any
    ) -> None:
        import torch

        runs, items, _ = shape
        self._power, self._steps, self._lags = power, steps, lags
        self.count = 0
        self.sums: dict[str, Any] = {n: torch.zeros(runs, items, dtype=torch.float64) for n in _PER_ITEM}
        self.sums["mean"] = torch.zeros(shape, dtype=dtype)
        self.sums["blocks"] = torch.zeros(BLOCKS, runs, items, dtype=torch.float64)
        self.sums["lagged"] = torch.zeros(lags, runs, items, dtype=torch.float64)
        self._recent: list[Any] = []  # q of the last steps, the newest first
        self._kept = frozenset(np.linspace(0, steps - 1, samples).astype(int).tolist()) if samples else ()
        self.series: dict[str, list[Any]] = {"drift": [], "square": []}

    def add(self, before: Any, decayed: Any, after: Any, fresh: Any, eta: Any) -> None:
        """Take in one step: (n_runs, n_items, dim) vectors before it, after decay, and after it.

        `fresh` is the newest gradient of every item as the optimiser sees it; `eta` (n_runs, 1).
        """
        import torch

        dot = torch.linalg.vecdot
        task = after - decayed
        square = dot(before, before)
        norm = square.sqrt()
        scale = norm / eta if self._power else 1 / eta.expand_as(norm)
        length = dot(task, task)
        outward = dot(before, task) / norm * scale
        second = length * scale**2
        rest = dot(decayed, decayed)
        sums = {
            "norm": norm,
            "square": square,
            "drift": outward,
            "second": second,
            "alpha": 1 - dot(before, decayed) / square,
            "moved": length > 0,
            "gain": 2 * dot(decayed, task) + length,
            "loss": square - rest,
        }
        self.sums["mean"].addcmul_(task, scale[:, :, None])
        for name, value in sums.items():
            self.sums[name] += value
        self.sums["blocks"][self.count * BLOCKS // self._steps] += square
        if self._lags:
            q = fresh * norm[:, :, None] if self._power else fresh
            self.sums["fresh_drift"] -= dot(before, q) / norm
            self.sums["fresh_second"] += dot(q, q)
            for k, earlier in enumerate(self._recent):
                self.sums["lagged"][k] += dot(q, earlier)
            self._recent = [q, *self._recent[: self._lags - 1]]
        if self.count in self._kept:
            self.series["drift"].append(outward.float())
            self.series["square"].append(second.float())
        self.count += 1

    def means(self) -> dict[str, Floats]:
        """Every sum over the number of its steps, as numpy arrays."""
        out = {name: (total / self.count).numpy() for name, total in self.sums.items() if name != "blocks"}
        at = np.arange(self.count) * BLOCKS // self._steps
        sizes = np.bincount(at, minlength=BLOCKS).astype(np.float64)
        out["blocks"] = self.sums["blocks"].numpy() / sizes[:, None, None]
        if self._lags:
            # Lag k was first seen at step k.
            seen = self.count - np.arange(1, self._lags + 1)
            out["lagged"] = out["lagged"] * self.count / seen[:, None, None]
        return out

    def state(self) -> dict[str, Any]:
        """Everything that changes from step to step."""
        return {"count": self.count, "sums": self.sums, "recent": self._recent, "series": self.series}

    def restore(self, state: dict[str, Any]) -> None:
        """Continue from `state()`."""
        self.count, self.sums = state["count"], state["sums"]
        self._recent, self.series = state["recent"], state["series"]
