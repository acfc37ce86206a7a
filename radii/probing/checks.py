"""What a probe checks before its figures may be read: homogeneous head, exponent, damping, token lengths."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from radii.data.embeddings import Floats
from radii.errors import NumericalError
from radii.probing.adapters import Adapter, Tensor, moved, require_torch
from radii.probing.steps import scaled_step
from radii.probing.surrogate import Inputs

HEAD_SCALE = 2.0
DECAY = 1e-3  # ηλ of the virtual decay step: first order to 0.1 %, far above the rounding of float32


def damping(parameters: Sequence[Any], inputs: Inputs, start: Floats, *, matrices_only: bool) -> Floats:
    """Effective damping α of every input per unit of ηλ: (n,), −⟨ẑ, Δz⟩ / (R · ηλ) for a step of decay alone.

    1 for a free embedding table, k where z is homogeneous of degree k in the decayed parameters together.
    `matrices_only` leaves biases and the weights of norms undecayed, as many trainers do.
    """
    decayed = [p for p in parameters if p.ndim >= 2] if matrices_only else list(parameters)
    reached = scaled_step(decayed, 1 - DECAY, inputs.vectors)
    squares = np.einsum("nd,nd->n", start, start)
    found: Floats = -np.einsum("nd,nd->n", start, reached - start) / squares / DECAY
    return found


@dataclass(frozen=True, eq=False)
class Exponent:
    """p of Δz = −η R^(−p) v, measured with the head scaled by 2.

    Attributes
    ----------
    value : float or None
        Median over inputs; None with the `reason`.
    spread : (low, high) or None
        5th and 95th percentile over inputs.
    """

    value: float | None
    spread: tuple[float, float] | None
    reason: str


def exponent(
    encoder: Adapter, sample: Inputs, start: Floats, displaced: Floats, again: Callable[[Floats], Floats]
) -> Exponent:
    """Measure p by repeating steps with the head scaled: p = −log(‖Δz(2)‖ / ‖Δz(1)‖) / log 2.

    `start` holds the (n, dim) vectors of the sample and `displaced` their (batches, n, dim) displacements, at
    the model as it is; `again` gives the displacements of the scaled model from the vectors of that. ‖·‖ is
    the root of the mean square over batches.
    """
    named = dict(encoder.module.named_parameters())
    head = [named[name] for name in encoder.head]
    if not head:
        return Exponent(None, None, "the adapter names no head to scale")
    torch = require_torch()
    with torch.no_grad():
        values = [parameter.data * HEAD_SCALE for parameter in head]
    with moved(head, values):
        there = sample.vectors()
        off = np.abs(there - HEAD_SCALE * start).max() / np.abs(start).max()
        if off > 1e-3:
            return Exponent(None, None, f"vectors do not scale with the head: off by {off:.2g}")
        scaled = again(there)
    before, after = (np.sqrt((d**2).sum(axis=2).mean(axis=0)) for d in (displaced, scaled))
    moving = (before > 0) & (after > 0)
    if not moving.any():
        return Exponent(None, None, "nothing moves")
    each = -np.log(after[moving] / before[moving]) / np.log(HEAD_SCALE)
    low, high = np.quantile(each, [0.05, 0.95])
    return Exponent(float(np.median(each)), (float(low), float(high)), "measured with the head scaled by 2")


def token_turn(encoder: Adapter, items: Sequence[Any], step: float = 1e-2) -> float | None:
    """How far the length of one token's state turns the vector: mean ‖Δẑ‖ / step over inputs and tokens.

    Each attended token's state is lengthened by the factor 1 + step in turn. 0 where pooling takes one token;
    above 0 for mean pooling, where long states weigh more and the loss is not blind to their length. None for
    adapters without `states`, or when every text has one token.
    """
    if encoder.states is None:
        return None
    torch = require_torch()
    with torch.no_grad():
        states, mask, pool = encoder.states(encoder.collate(items))
        start = _unit(pool(states))
        turns, count = 0.0, 0.0
        many = (mask.sum(dim=1) > 1).to(states.dtype)
        for place in range(states.shape[1]):
            longer = states.clone()
            longer[:, place] *= 1 + step
            here = mask[:, place].to(states.dtype) * many
            turns += float(((_unit(pool(longer)) - start).norm(dim=1) * here).sum()) / step
            count += float(here.sum())
    return turns / count if count else None


def _unit(rows: Tensor) -> Tensor:
    return rows / rows.norm(dim=1, keepdim=True)


def radial_share(radial: float, total: float) -> float:
    """Share of ∂L/∂z that is along z: 0 for a loss that reads directions only. NumericalError without any."""
    if not total > 0:
        raise NumericalError("the surrogate loss has no gradient at the vectors")
    return radial / total
