"""What is trained: a free table of vectors, or a small network on fixed inputs; many runs at once."""

from __future__ import annotations

from typing import Any

import numpy as np

from radii.data.embeddings import Floats
from radii.dynamics.config import Setting

_LAYER_NORM_EPSILON = 1e-5


def inputs_of(setting: Setting) -> Floats:
    """Fixed inputs of the network, (n_items, features), drawn from the seed of the setting.

    Vectors: the centre of the item's cluster plus as much noise of its own, per coordinate N(0, 1/features).
    Texts (`text_length`): the mean of one-hot words, half from words of the cluster, half from all.
    """
    rng = np.random.default_rng([setting.seed, 2])
    n, f, size = setting.n_items, setting.features, setting.cluster_size
    if setting.text_length is None:
        centres = np.repeat(rng.normal(size=(n // size, f)), size, axis=0)
        vectors: Floats = (centres + rng.normal(size=(n, f))) / (2 * f) ** 0.5
        return vectors
    low, high = setting.text_length
    topics = rng.integers(0, f, size=(n // size, 8))
    counts = np.zeros((n, f))
    for item, length in enumerate(rng.integers(low, high + 1, size=n)):
        own = rng.random(length) < 0.5
        words = np.where(own, rng.choice(topics[item // size], size=length), rng.integers(0, f, size=length))
        np.add.at(counts[item], words, 1)
    return counts


class Encoder:
    """Parameters with a leading axis of runs, and the map from them to the vectors of all items.

    table   z_i is parameter i.
    mlp     z = W₃ · LN(act(W₂ act(W₁ x) + b)), LN as the setting says; without a head z = W₂ act(W₁ x) + b.
            Of a text x, W₁ embeds the words and averages them, with no activation after it; without a head
            that mean is z.
    """

    def __init__(self, settings: list[Setting]) -> None:
        import torch

        one = settings[0]
        self._setting, self._dtype = one, getattr(torch, one.precision)
        rngs = [np.random.default_rng([s.seed, 3]) for s in settings]

        def normal(*shape: int, scale: float) -> Any:
            drawn = np.stack([rng.normal(scale=scale, size=shape) for rng in rngs])
            return torch.tensor(drawn, dtype=self._dtype)

        self.lengths: Floats | None = None  # words of every text, (n_runs, n_items)
        norms = torch.tensor([s.initial_norm for s in settings], dtype=self._dtype)[:, None, None]
        if one.encoder == "table":
            drawn = normal(one.n_items, one.dim, scale=1.0)
            self.params = [drawn / torch.linalg.vector_norm(drawn, dim=2, keepdim=True) * norms]
            return
        counts = np.stack([inputs_of(s) for s in settings])
        if one.text_length is not None:
            self.lengths = counts.sum(axis=2)
            counts = counts / self.lengths[:, :, None]
        self.inputs = torch.tensor(counts, dtype=self._dtype)
        if not one.head and one.text_length is not None:
            self.params = [normal(one.features, one.dim, scale=one.dim**-0.5) * norms]
            return
        width = one.hidden if one.head else one.dim
        first = 1.0 if one.text_length is not None else one.features**-0.5
        self.params = [
            normal(one.features, one.hidden, scale=first),
            normal(one.hidden, width, scale=one.hidden**-0.5),
            normal(1, width, scale=0.01),
        ]
        if one.head:
            self.params.append(normal(one.hidden, one.dim, scale=one.hidden**-0.5) * norms)

    def embed(self, params: list[Any]) -> Any:
        """Vectors of all items, (n_runs, n_items, dim)."""
        import torch
        from torch.nn import functional

        one = self._setting
        if one.encoder == "table":
            return params[0]
        act: Any = functional.gelu if one.activation == "gelu" else torch.nn.Identity()
        hidden = torch.bmm(self.inputs, params[0])
        if len(params) == 1:
            return hidden
        if one.text_length is None:
            hidden = act(hidden)
        hidden = torch.baddbmm(params[2], hidden, params[1])
        if not one.head:
            return hidden
        hidden = act(hidden)
        if one.layer_norm:
            hidden = functional.layer_norm(hidden, hidden.shape[-1:], eps=_LAYER_NORM_EPSILON)
        return torch.bmm(hidden, params[3])

    def gradients(self, by_vectors: Any) -> list[Any]:
        """∂L/∂parameters, given ∂L/∂z of all items, (n_runs, n_items, dim)."""
        import torch

        if self._setting.encoder == "table":
            return [by_vectors]
        leaves = [p.detach().requires_grad_() for p in self.params]
        return list(torch.autograd.grad(self.embed(leaves), leaves, grad_outputs=by_vectors))
