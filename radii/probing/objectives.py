"""Surrogate objectives: contrastive losses that read directions only.

Nobody has the training stream of somebody else's model. A probe takes its minibatches from one of these, and
says so in its report.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from radii.errors import InputError
from radii.probing.adapters import Tensor

Name = Literal["infonce", "siglip", "simcse"]
NAMES: tuple[Name, ...] = ("infonce", "siglip", "simcse")


@dataclass(frozen=True)
class Objective:
    """A loss of two (batch, dim) tensors whose rows belong together, and where the second view comes from.

    Attributes
    ----------
    name : 'infonce', 'siglip' or 'simcse'
    loss : callable
        (anchors, positives) → scalar tensor; un-normalised vectors go in, only their directions count.
    dropout_views : bool
        Whether both views are the anchor itself under two dropout masks. Re-embedding is without dropout.
    """

    name: Name
    loss: Callable[[Tensor, Tensor], Tensor]
    dropout_views: bool


def objective(
    name: str,
    *,
    tau: float = 0.05,
    symmetric: bool = False,
    scale: float = 10.0,
    bias: float = -10.0,
) -> Objective:
    """Look up an objective by name; `tau` is for infonce and simcse, `scale` and `bias` for siglip.

    Raises InputError on an unknown name and on a temperature or scale that is not above 0.

    >>> objective("simcse").dropout_views
    True
    """
    if not tau > 0 or not scale > 0:
        raise InputError(f"tau {tau:g}, scale {scale:g}", where="objective", fix="give both above 0")
    if name == "infonce":
        return Objective("infonce", lambda a, b: infonce(a, b, tau, symmetric=symmetric), False)
    if name == "siglip":
        return Objective("siglip", lambda a, b: siglip(a, b, scale, bias), False)
    if name == "simcse":
        return Objective("simcse", lambda a, b: infonce(a, b, tau, symmetric=symmetric), True)
    raise InputError(f"{name!r}", where="objective", fix=f"give one of {', '.join(NAMES)}")


def infonce(anchors: Tensor, positives: Tensor, tau: float, *, symmetric: bool = False) -> Tensor:
    """Cross entropy of each anchor's own positive among all of the batch.

    L = −(1/B) Σ_i log [ exp(cos(a_i, p_i)/τ) / Σ_j exp(cos(a_i, p_j)/τ) ]; `symmetric` takes the mean with
    the same from positives to anchors. (B, dim) tensors in, a scalar out.

    Source: van den Oord, Li, Vinyals, arXiv:1807.03748; symmetric as in CLIP, arXiv:2103.00020. As `simcse`,
    on two dropout views of one text: Gao, Yao, Chen, arXiv:2104.08821.
    """
    import torch

    cosines = _cosines(anchors, positives) / tau
    own = torch.arange(len(cosines), device=cosines.device)
    loss = torch.nn.functional.cross_entropy(cosines, own)
    return (loss + torch.nn.functional.cross_entropy(cosines.T, own)) / 2 if symmetric else loss


def siglip(anchors: Tensor, positives: Tensor, scale: float, bias: float) -> Tensor:
    """Each pair of the batch judged alone, by a sigmoid.

    L = −(1/B) Σ_ij log σ( s_ij (t cos(a_i, p_j) + b) ), s_ij = 1 on the diagonal and −1 off it, t the scale
    and b the bias. (B, dim) tensors in, a scalar out. At initialisation t = 10 and b = −10.

    Source: Zhai et al., arXiv:2303.15343.
    """
    import torch

    logits = scale * _cosines(anchors, positives) + bias
    signs = 2 * torch.eye(len(logits), device=logits.device, dtype=logits.dtype) - 1
    return -torch.nn.functional.logsigmoid(signs * logits).sum() / len(logits)


def _cosines(anchors: Tensor, positives: Tensor) -> Tensor:
    import torch

    return torch.nn.functional.normalize(anchors, dim=1) @ torch.nn.functional.normalize(positives, dim=1).T
