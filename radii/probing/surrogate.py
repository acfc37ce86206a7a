"""The machine behind a probe: minibatches of the surrogate, their gradients, and the inputs re-embedded."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from radii.data.embeddings import Floats
from radii.errors import InputError
from radii.probing.adapters import Adapter, Tensor, in_mode, require_torch
from radii.probing.objectives import Objective
from radii.probing.steps import Direction, forward_mode, gradients_of, virtual_step

Pair = tuple[Any, Any]


def minibatches(pairs: Sequence[Pair], size: int, seed: int) -> Iterator[list[Pair]]:
    """Minibatches without end: the pairs dealt in a random order, then again in another.

    Raises InputError on fewer pairs than one batch takes, or on batches of fewer than two.
    """
    if not 2 <= size <= len(pairs):
        raise InputError(
            f"{len(pairs)} pairs for batches of {size}",
            where="pairs",
            cause="too few pairs, or a batch too large",
            fix="give more pairs or a smaller batch size, of 2 or more",
        )

    def deal() -> Iterator[list[Pair]]:
        rng = np.random.default_rng([seed, 0])
        while True:
            order = rng.permutation(len(pairs))
            for start in range(0, len(pairs) - size + 1, size):
                yield [pairs[row] for row in order[start : start + size]]

    return deal()


@dataclass(eq=False)
class Inputs:
    """Items of an encoder, collated once, in batches of like lengths; vectors come in their own order."""

    encoder: Adapter
    items: Sequence[Any]
    size: int
    batches: list[Any] = field(init=False)
    order: npt.NDArray[np.intp] = field(init=False)

    def __post_init__(self) -> None:
        spread = [len(item) if isinstance(item, str) else 0 for item in self.items]
        self.order = np.argsort(spread, kind="stable")[::-1]
        parts = [self.order[at : at + self.size] for at in range(0, len(self.order), self.size)]
        self.batches = [self.encoder.collate([self.items[row] for row in part]) for part in parts]

    def vectors(self) -> Floats:
        """(n, dim) float64 at the parameters as they are."""
        torch = require_torch()
        with torch.no_grad():
            return self._ordered([self.encoder.embed(batch) for batch in self.batches])

    def tangents(self, parameters: dict[str, Any], displacements: Sequence[Tensor | None]) -> Floats:
        """(n, dim) float64 first-order displacements, by forward mode."""
        found = [forward_mode(self.encoder, batch, parameters, displacements) for batch in self.batches]
        return self._ordered(found)

    def _ordered(self, parts: Sequence[Tensor]) -> Floats:
        rows = np.concatenate([part.cpu().double().numpy() for part in parts])
        found = np.empty_like(rows)
        found[self.order] = rows
        return found


@dataclass(eq=False)
class Surrogate:
    """A surrogate training of an encoder, one virtual step at a time.

    Attributes
    ----------
    encoder, partner : Adapter
        Of anchors and of positives; the same for text against text.
    objective : Objective
    parameters : dict
        Those that steps move, by name.
    seed : int
        Of dropout views.
    radial, total : float
        Σ⟨∂L/∂z, ẑ⟩² and Σ‖∂L/∂z‖² over all vectors of all batches so far.
    """

    encoder: Adapter
    partner: Adapter
    objective: Objective
    parameters: dict[str, Any]
    seed: int
    radial: float = 0.0
    total: float = 0.0

    def gradients(self, pairs: Sequence[Pair], number: int) -> list[Tensor | None]:
        """∂L/∂θ of one minibatch; `number` seeds its dropout, where the objective has any."""
        first, second = self._views(pairs, number)
        loss = self.objective.loss(first, second)
        *found, of_first, of_second = gradients_of(loss, [*self.parameters.values(), first, second])
        for view, gradient in ((first, of_first), (second, of_second)):
            if gradient is not None:
                unit = view.detach() / view.detach().norm(dim=1, keepdim=True)
                self.radial += float(((gradient * unit).sum(dim=1) ** 2).sum())
                self.total += float((gradient**2).sum())
        if all(gradient is None for gradient in found):
            raise InputError(
                "the loss depends on none of the chosen parameters",
                where="params",
                cause="parameters of a tower that is not trained, or an unused pooler",
                fix="choose others, or 'all'",
            )
        return found

    def reach(self, displacements: Sequence[Tensor | None], inputs: Inputs) -> Floats:
        """Where one virtual step takes the inputs: (n, dim); uses up the displacements."""
        found: Floats = virtual_step(list(self.parameters.values()), displacements, inputs.vectors)
        return found

    def trial_rate(
        self, way: Direction, gradients: list[Tensor | None], anchors: Sequence[Any], wanted: float
    ) -> tuple[float, list[Tensor | None]]:
        """A rate at which the median anchor moves by `wanted` of its norm, and the displacements at it.

        Measured by one step of a guessed length, taken to be linear. Raises InputError where nothing moves.
        """
        torch = require_torch()
        steps = way.displacements(gradients, 1.0)
        own = Inputs(self.encoder, anchors, len(anchors))
        values = list(self.parameters.values())
        size = sum(float((s**2).sum()) for s in steps if s is not None) ** 0.5
        weight = sum(float((p.detach() ** 2).sum()) for p in values) ** 0.5
        guess = 1e-3 * weight / size if size else 0.0
        start = own.vectors()
        with torch.no_grad():
            reached = self.reach([None if s is None else s * guess for s in steps], own)
        moved = float(np.median(np.linalg.norm(reached - start, axis=1) / np.linalg.norm(start, axis=1)))
        if not moved > 0:
            raise InputError(
                "a virtual step moves nothing",
                where="objective",
                cause="pairs that the model tells apart perfectly, or parameters without effect",
                fix="give other pairs, a higher temperature, or more parameters",
            )
        eta = guess * wanted / moved
        return eta, [None if step is None else step.mul_(eta) for step in steps]

    def _views(self, pairs: Sequence[Pair], number: int) -> tuple[Tensor, Tensor]:
        anchors = self.encoder.collate([pair[0] for pair in pairs])
        if not self.objective.dropout_views:
            positives = self.partner.collate([pair[1] for pair in pairs])
            return self.encoder.embed(anchors), self.partner.embed(positives)
        torch = require_torch()
        with torch.random.fork_rng(), _dropout(self.encoder.module):
            torch.manual_seed(int(np.random.SeedSequence([self.seed, 1, number]).generate_state(1)[0]))
            first, second = self.encoder.embed(anchors), self.encoder.embed(anchors)
        if torch.equal(first, second):
            raise InputError(
                "two dropout views are equal", where=self.encoder.name, fix="take infonce: it has no dropout"
            )
        return first, second


def _dropout(module: Any) -> AbstractContextManager[None]:
    """Training mode for everything but batch statistics, which stay fixed."""
    parts = [part for part in module.modules() if "batchnorm" not in type(part).__name__.lower()]
    return in_mode(parts, training=True)
