"""Who heats whom: an input's displacement, rebuilt from the gradients of all others by the tangent kernel.

A gradient step moves the parameters, and so every input. To first order in η

    u(x) = −R Σ_j K(x, x_j) g_j          K(x, x') = J(x) J(x')ᵀ,  J = ∂z/∂θ,  g_j = ∂L/∂z_j

so the heat of x is a sum over the training inputs that deliver it.

Source: Jacot, Gabriel, Hongler (2018), arXiv 1806.07572, for the kernel.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from radii.data.embeddings import Floats
from radii.dynamics.encoders import Encoder
from radii.errors import InputError


@dataclass(frozen=True, eq=False)
class Transport:
    """Heat of every input, by the input that delivers it.

    Attributes
    ----------
    heat : (n_items,) float64
        tr Cov(u) of the rebuilt u.
    delivered : (n_items, n_items) float64
        Row i: what each training input adds to the heat of i, tr Cov(−R K(x_i, x_j) g_j, u(x_i)); the row
        sums to its heat. An entry may be negative: that input cancels heat which others bring.
    """

    heat: Floats
    delivered: Floats

    def top(self, item: int, k: int = 5) -> list[tuple[int, float]]:
        """The k inputs that deliver most of an item's heat, each with its share."""
        order = np.argsort(-self.delivered[item], kind="stable")[:k]
        return [(int(j), float(self.delivered[item, j] / self.heat[item])) for j in order]


def tangent_kernel(encoder: Encoder, run: int = 0) -> Floats:
    """K of all pairs of inputs of one run, (n_items, dim, n_items, dim) float64."""
    import torch

    leaves = [p.detach().requires_grad_() for p in encoder.params]
    vectors = encoder.embed(leaves)[run]
    rows = []
    for value in vectors.reshape(-1):
        by_params = torch.autograd.grad(value, leaves, retain_graph=True)
        rows.append(torch.cat([g[run].reshape(-1) for g in by_params]))
    jacobian = torch.stack(rows).double().numpy()
    n, dim = vectors.shape
    kernel: Floats = (jacobian @ jacobian.T).reshape(n, dim, n, dim)
    return kernel


def transport(kernel: Floats, gradients: Floats, norms: Floats) -> Transport:
    """Heat and its sources from a kernel (n_items, dim, n_items, dim) and gradients of minibatches.

    Parameters
    ----------
    gradients : (n_batches, n_items, dim)
        ∂L/∂z of every input in each minibatch, zeros for those that are not in it.
    norms : (n_items,)
        R.

    Raises
    ------
    InputError
        On shapes that do not fit, or fewer than two minibatches.
    """
    n, dim = len(norms), kernel.shape[-1]
    if kernel.shape != (n, dim, n, dim) or gradients.shape[1:] != (n, dim):
        found = f"kernel {kernel.shape}, gradients {gradients.shape}, norms {norms.shape}"
        raise InputError(found, where="transport", fix="give (n, dim, n, dim), (batches, n, dim) and (n,)")
    if len(gradients) < 2:
        raise InputError(f"{len(gradients)} minibatches", where="transport", fix="give at least two")
    centred = gradients - gradients.mean(axis=0)
    delivered = np.empty((n, n))
    for i in range(n):
        # What each input sends to i, (n_batches, n_items, dim).
        sent = -norms[i] * np.einsum("kjl,bjl->bjk", kernel[i], centred, optimize=True)
        delivered[i] = np.einsum("bjk,bk->j", sent, sent.sum(axis=1)) / len(gradients)
    return Transport(delivered.sum(axis=1), delivered)
