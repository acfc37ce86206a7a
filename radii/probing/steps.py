"""Virtual optimiser steps: where the parameters would go, and where that would take the vectors."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from radii.errors import InputError, NumericalError
from radii.probing.adapters import Adapter, Batch, Tensor, moved, require_torch

Optimizer = Literal["sgd", "adamw"]
OPTIMIZERS: tuple[Optimizer, ...] = ("sgd", "adamw")
_EPSILON = 1e-8  # AdamW's default


@dataclass(frozen=True, eq=False)
class Direction:
    """The way an optimiser turns a gradient g into a displacement −η v.

    sgd: v = g. adamw: v = g / (sqrt(m₂) + 1e-8), with m₂ the mean of g² over warm-up batches: the running
    mean that a long run holds, without momentum. (A first step from fresh state would be sign descent.)

    Attributes
    ----------
    name : 'sgd' or 'adamw'
    second : list of tensor or None
        m₂ of each parameter, for adamw.
    """

    name: Optimizer
    second: list[Tensor | None] | None = None

    def displacements(self, gradients: Sequence[Tensor | None], eta: float) -> list[Tensor | None]:
        """−η v of each parameter, in the memory of its gradient; None where there is no gradient."""
        found: list[Tensor | None] = []
        for row, gradient in enumerate(gradients):
            if gradient is not None and self.second is not None and self.second[row] is not None:
                gradient.div_(self.second[row].sqrt().add_(_EPSILON))  # type: ignore[union-attr]
            found.append(None if gradient is None else gradient.mul_(-eta))
        return found


def direction(name: str, warm_up: Sequence[Callable[[], Sequence[Tensor | None]]]) -> Direction:
    """An optimiser by name; adamw calls each of `warm_up` once for the gradients of one batch.

    Raises InputError on an unknown name, and for adamw without a batch to warm up on.
    """
    if name == "sgd":
        return Direction("sgd")
    if name != "adamw" or not warm_up:
        raise InputError(
            f"{name!r} with {len(warm_up)} warm-up batches",
            where="optimizer",
            fix=f"give one of {', '.join(OPTIMIZERS)}, and adamw one or more warm-up batches",
        )
    second: list[Tensor | None] | None = None
    for gradients in (call() for call in warm_up):
        squares = [None if g is None else g.square_().div_(len(warm_up)) for g in gradients]
        second = squares if second is None else [_plus(a, b) for a, b in zip(second, squares, strict=True)]
    return Direction("adamw", second)


def _plus(total: Tensor | None, more: Tensor | None) -> Tensor | None:
    if total is None or more is None:
        return more if total is None else total
    return total.add_(more)


def gradients_of(loss: Tensor, parameters: Sequence[Any]) -> list[Tensor | None]:
    """∂loss/∂θ of every parameter, None where the loss does not depend on it; `.grad` is left alone.

    Raises NumericalError when the loss is not finite. A gradient that is not shows in the vectors.
    """
    torch = require_torch()
    if not torch.isfinite(loss):
        raise NumericalError(f"the surrogate loss is {loss.item()}: damaged weights, or vectors of length 0")
    return list(torch.autograd.grad(loss, parameters, allow_unused=True))


def virtual_step(
    parameters: Sequence[Any], displacements: Sequence[Tensor | None], embed: Callable[[], Tensor]
) -> Tensor:
    """What `embed` gives with every parameter moved by its displacement; the parameters are put back.

    The displacements' memory is used up: it holds the moved parameters, so that a step costs one copy.
    """
    torch = require_torch()
    with torch.no_grad():
        places = [
            None if delta is None else delta.add_(parameter.data)
            for parameter, delta in zip(parameters, displacements, strict=True)
        ]
        with moved(parameters, places):
            return embed()


def scaled_step(parameters: Sequence[Any], factor: float, embed: Callable[[], Tensor]) -> Tensor:
    """What `embed` gives with every parameter times `factor`: 1 − ηλ is a step of weight decay alone."""
    torch = require_torch()
    with torch.no_grad(), moved(parameters, [parameter.data * factor for parameter in parameters]):
        return embed()


def forward_mode(
    adapter: Adapter, batch: Batch, parameters: Mapping[str, Any], displacements: Sequence[Tensor | None]
) -> Tensor:
    """First-order displacement of the vectors, J Δθ: (n_items, dim), by one forward-mode pass.

    Equals the exact virtual step up to second order in Δθ, without the rounding of small differences.
    Attention runs in its plain form here: the fused kernels have no forward mode.

    Source: Baydin et al., arXiv:1502.05767, for forward-mode differentiation.
    """
    torch = require_torch()
    from torch.nn.attention import SDPBackend, sdpa_kernel

    class Call(torch.nn.Module):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.inner = adapter.module

        def forward(self) -> Tensor:
            return adapter.embed(batch)

    call = Call()
    names = {id(parameter): name for name, parameter in call.named_parameters()}
    here = [
        (names[id(parameter)], parameter.data, delta)
        for parameter, delta in zip(parameters.values(), displacements, strict=True)
        if delta is not None and id(parameter) in names  # the other tower's move does not reach this one
    ]
    keys = [name for name, _, _ in here]

    def at(*values: Tensor) -> Tensor:
        return torch.func.functional_call(call, dict(zip(keys, values, strict=True)), ())

    with torch.no_grad(), sdpa_kernel(SDPBackend.MATH), warnings.catch_warnings():
        # torch's own table of forward-mode rules warns of torch's own deprecation when first loaded.
        warnings.filterwarnings("ignore", "`torch.jit.script", DeprecationWarning)
        _, tangent = torch.func.jvp(at, tuple(p for _, p, _ in here), tuple(d for _, _, d in here))
    return tangent
