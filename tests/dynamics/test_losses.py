"""Losses against PyTorch's own functions, their derivatives against autograd."""

import pytest

torch = pytest.importorskip("torch")
from torch.nn import functional  # noqa: E402

from radii.dynamics.losses import embedding_gradient, loss_gradient, loss_value  # noqa: E402

KINDS = pytest.mark.parametrize("kind", ["infonce", "infonce-two-sided", "siglip", "triplet"])
OPTIONS = {"bias": -1.5, "margin": 0.2}


def cosines(runs=3, n=6):
    generator = torch.Generator().manual_seed(0)
    return torch.rand(runs, n, n, generator=generator, dtype=torch.float64) * 2 - 1


TAU = torch.tensor([0.1, 0.3, 1.0], dtype=torch.float64)[:, None, None]


def reference(kind, c, tau):
    n = len(c)
    labels = torch.arange(n)
    if kind == "infonce":
        return functional.cross_entropy(c / tau, labels)
    if kind == "infonce-two-sided":
        return (functional.cross_entropy(c / tau, labels) + functional.cross_entropy(c.T / tau, labels)) / 2
    if kind == "siglip":
        target = torch.eye(n, dtype=c.dtype)
        logits = c / tau + OPTIONS["bias"]
        return functional.binary_cross_entropy_with_logits(logits, target, reduction="sum") / n
    terms = [functional.relu(0.2 - c[i, i] + c[i, j]) for i in range(n) for j in range(n) if i != j]
    return torch.stack(terms).mean()


@KINDS
def test_values_are_pytorchs(kind):
    c = cosines()
    found = loss_value(kind, c, TAU, **OPTIONS)
    for run in range(3):
        assert found[run].item() == pytest.approx(reference(kind, c[run], TAU[run, 0, 0]).item(), rel=1e-12)


@KINDS
def test_derivatives_are_autograds(kind):
    c = cosines().requires_grad_()
    loss_value(kind, c, TAU, **OPTIONS).sum().backward()
    torch.testing.assert_close(
        loss_gradient(kind, c.detach(), TAU, **OPTIONS), c.grad, rtol=1e-10, atol=1e-14
    )


@KINDS
def test_gradients_of_vectors_are_autograds_and_tangential(kind):
    generator = torch.Generator().manual_seed(1)
    z = torch.randn(3, 12, 4, generator=generator, dtype=torch.float64).requires_grad_()
    unit = functional.normalize(z, dim=2)
    c = unit[:, :6] @ unit[:, 6:].transpose(1, 2)
    loss_value(kind, c, TAU, **OPTIONS).sum().backward()
    norms = z.detach().norm(dim=2, keepdim=True)
    found = embedding_gradient(kind, z.detach(), TAU, **OPTIONS)
    torch.testing.assert_close(found / norms, z.grad, rtol=1e-9, atol=1e-13)
    assert (found * z.detach()).sum(dim=2).abs().max() < 1e-12
    # Longer vectors, the same u.
    again = embedding_gradient(kind, 7 * z.detach(), TAU, **OPTIONS)
    torch.testing.assert_close(again, found, rtol=1e-9, atol=1e-13)
