"""Contrastive losses that read cosines only, and their derivatives, for many runs at once.

`cosines` is (n_runs, batch, batch): row i is anchor i against every positive, the diagonal its own.
"""

from __future__ import annotations

from typing import Any

from radii.dynamics.config import Loss


def loss_value(kind: Loss, cosines: Any, tau: Any, *, bias: float, margin: float) -> Any:
    """Loss of each run, (n_runs,): the mean over its pairs.

    - infonce: −log softmax_j(C_ij/τ) at j = i; two-sided: the mean with the same over columns.
      Source: van den Oord et al. (2018), arXiv 1807.03748; Radford et al. (2021), arXiv 2103.00020.
    - siglip: −Σ_j log σ(±(C_ij/τ + bias)), + on the diagonal. Source: Zhai et al. (2023), arXiv 2303.15343.
    - triplet: mean over j ≠ i of max(0, margin − C_ii + C_ij); no τ. Source: Schroff et al. (2015),
      arXiv 1503.03832, on cosines.

    `tau` is (n_runs, 1, 1).
    """
    import torch
    from torch.nn import functional

    n = cosines.shape[-1]
    logits = cosines / tau
    if kind == "siglip":
        signs = 2 * torch.eye(n, dtype=cosines.dtype) - 1
        return -functional.logsigmoid(signs * (logits + bias)).sum(dim=2).mean(dim=1)
    if kind == "triplet":
        hinge = (margin - cosines.diagonal(dim1=1, dim2=2)[:, :, None] + cosines).clamp(min=0)
        return (hinge.sum(dim=2) - margin).mean(dim=1) / (n - 1)
    rows = -logits.log_softmax(dim=2).diagonal(dim1=1, dim2=2).mean(dim=1)
    if kind == "infonce":
        return rows
    return (rows - logits.log_softmax(dim=1).diagonal(dim1=1, dim2=2).mean(dim=1)) / 2


def loss_gradient(kind: Loss, cosines: Any, tau: Any, *, bias: float, margin: float) -> Any:
    """∂ loss_value / ∂ cosines, (n_runs, batch, batch), written out: no graph to build in the inner loop."""
    n = cosines.shape[-1]
    if kind == "triplet":
        violated = (cosines > cosines.diagonal(dim1=1, dim2=2)[:, :, None] - margin).to(cosines.dtype)
        violated.diagonal(dim1=1, dim2=2).zero_()
        violated.diagonal(dim1=1, dim2=2).copy_(-violated.sum(dim=2))
        return violated / (n * (n - 1))
    logits = cosines / tau
    if kind == "siglip":
        gradient = (logits + bias).sigmoid_()
    elif kind == "infonce":
        gradient = logits.softmax(dim=2)
    else:
        gradient = (logits.softmax(dim=2) + logits.softmax(dim=1)).div_(2)
    gradient.diagonal(dim1=1, dim2=2).sub_(1)
    return gradient.div_(tau * n)


def embedding_gradient(kind: Loss, vectors: Any, tau: Any, *, bias: float, margin: float) -> Any:
    """R ∂L/∂z of every row of (n_runs, 2 · batch, dim) vectors: anchors, then their positives.

    Tangential by construction, and free of R: g = (I − ẑẑᵀ) ∂L/∂ẑ. The gradient of z is this over R.
    """
    import torch

    unit = vectors / torch.linalg.vector_norm(vectors, dim=2, keepdim=True)
    half = unit.shape[1] // 2
    anchors, positives = unit[:, :half], unit[:, half:]
    by_cosine = loss_gradient(
        kind, torch.bmm(anchors, positives.transpose(1, 2)), tau, bias=bias, margin=margin
    )
    raw = torch.cat([torch.bmm(by_cosine, positives), torch.bmm(by_cosine.transpose(1, 2), anchors)], dim=1)
    return raw - (raw * unit).sum(dim=2, keepdim=True) * unit
