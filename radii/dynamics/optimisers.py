"""Optimisers for many runs at once, each step split into what the task did and what weight decay did.

Displacements are linear in the gradient given the state, so coupled decay (an L2 term in the gradient) is
followed through the same buffers beside the task: task + decay is what the usual optimiser would do.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from radii.dynamics.config import OptimiserName


@dataclass
class Step:
    """Displacements of the parameters in one step, one tensor per parameter, leading axis: runs.

    Attributes
    ----------
    task, decay : list of tensors
        Add both to the parameters.
    fresh : list of tensors
        What the newest gradient looks like to the optimiser, before momentum and η: g, or g/√v under Adam.
    """

    task: list[Any]
    decay: list[Any]
    fresh: list[Any]


class Optimiser:
    """SGD (with momentum: coupled; SGDW: decoupled), Adam (coupled), AdamW and Lion (decoupled).

    As PyTorch defines them: momentum without dampening, Adam with bias correction; Lion as in Chen et al.
    (2023), arXiv 2302.06675. Decoupled decay: Loshchilov and Hutter (2019), arXiv 1711.05101.

    Parameters
    ----------
    kind : name
    eta, lam, beta : (n_runs,) tensors
    beta2, epsilon : float
    """

    def __init__(
        self, kind: OptimiserName, eta: Any, lam: Any, beta: Any, beta2: float, epsilon: float
    ) -> None:
        self.kind, self.eta, self.lam, self.beta = kind, eta, lam, beta
        self.beta2, self.epsilon = beta2, epsilon
        self.count = 0
        self.buffers: dict[str, list[Any]] = {}

    def step(self, params: list[Any], gradients: list[Any]) -> Step:
        """Displacements for these gradients; moves the optimiser's state, not the parameters."""
        if not self.buffers:
            self._start(params)
        self.count += 1
        parts = [self._one(i, p, g) for i, (p, g) in enumerate(zip(params, gradients, strict=True))]
        task, decay, fresh = (list(column) for column in zip(*parts, strict=True))
        return Step(task, decay, fresh)

    def _start(self, params: list[Any]) -> None:
        import torch

        names = {
            "sgd": (),
            "momentum": ("task", "decay"),
            "sgdw": ("task",),
            "adam": ("task", "decay", "square"),
            "adamw": ("task", "square"),
            "lion": ("task",),
        }
        self.buffers = {name: [torch.zeros_like(p) for p in params] for name in names[self.kind]}

    def _one(self, i: int, param: Any, gradient: Any) -> tuple[Any, Any, Any]:
        eta, lam, beta = (x.view(-1, *[1] * (param.dim() - 1)) for x in (self.eta, self.lam, self.beta))
        decoupled = param * (-eta * lam)
        if self.kind == "sgd":
            return gradient * -eta, decoupled, gradient
        task = self.buffers["task"][i]
        if self.kind in ("momentum", "sgdw"):
            task.mul_(beta).add_(gradient)
            if self.kind == "sgdw":
                return task * -eta, decoupled, gradient
            decay = self.buffers["decay"][i]
            decay.mul_(beta).add_(param * lam)
            return task * -eta, decay * -eta, gradient
        if self.kind == "lion":
            moved = (task * beta + gradient * (1 - beta)).sign()
            task.mul_(self.beta2).add_(gradient, alpha=1 - self.beta2)
            return moved * -eta, decoupled, gradient
        task.mul_(beta).add_(gradient * (1 - beta))
        whole = gradient if self.kind == "adamw" else gradient + param * lam
        square = self.buffers["square"][i]
        square.mul_(self.beta2).addcmul_(whole, whole, value=1 - self.beta2)
        scale = (square / (1 - self.beta2**self.count)).sqrt_().add_(self.epsilon)
        rate = -eta / (1 - beta**self.count)
        if self.kind == "adamw":
            return task * rate / scale, decoupled, gradient / scale
        decay = self.buffers["decay"][i]
        decay.mul_(beta).add_(param * lam * (1 - beta))
        return task * rate / scale, decay * rate / scale, gradient / scale

    def state(self) -> dict[str, Any]:
        """Everything that changes from step to step."""
        return {"count": self.count, "buffers": self.buffers}

    def restore(self, state: dict[str, Any]) -> None:
        """Continue from `state()`."""
        self.count, self.buffers = state["count"], state["buffers"]
