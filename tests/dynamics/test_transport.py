"""Transport: the kernel against finite differences, its parts against the displacements they sum to."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from radii.dynamics.config import Setting  # noqa: E402
from radii.dynamics.encoders import Encoder  # noqa: E402
from radii.dynamics.transport import tangent_kernel, transport  # noqa: E402

NETWORK = {"encoder": "mlp", "n_items": 10, "features": 6, "hidden": 7, "dim": 3, "precision": "float64"}


@pytest.mark.parametrize("layer_norm", [False, True])
def test_the_kernel_is_what_a_small_step_does(layer_norm):
    encoder = Encoder([Setting(**NETWORK, layer_norm=layer_norm)])
    kernel = tangent_kernel(encoder)
    np.testing.assert_allclose(kernel, kernel.transpose(2, 3, 0, 1), rtol=1e-10, atol=1e-14)
    gradient = torch.zeros(1, 10, 3, dtype=torch.float64)
    gradient[0, 4] = torch.tensor([1.0, -2.0, 0.5])
    by_params = encoder.gradients(gradient)
    h = 1e-6
    ahead, back = (
        encoder.embed([p + s * h * g for p, g in zip(encoder.params, by_params, strict=True)])
        for s in (1, -1)
    )
    moved = ((ahead - back)[0] / (2 * h)).numpy()
    np.testing.assert_allclose(kernel[:, :, 4] @ gradient[0, 4].numpy(), moved, rtol=1e-5, atol=1e-9)


def test_items_of_a_table_heat_only_themselves():
    encoder = Encoder([Setting(n_items=10, dim=3, precision="float64")])
    kernel = tangent_kernel(encoder)
    gradients = np.random.default_rng(0).normal(size=(50, 10, 3))
    norms = np.linspace(1, 2, 10)
    found = transport(kernel, gradients, norms)
    heat = norms**2 * gradients.var(axis=0).sum(axis=1)
    np.testing.assert_allclose(found.heat, heat, rtol=1e-12)
    np.testing.assert_allclose(found.delivered, np.diag(heat), atol=1e-12)
    assert found.top(3, 2)[0] == (3, pytest.approx(1.0))


def test_the_parts_sum_to_the_heat_of_the_displacement():
    rng = np.random.default_rng(1)
    jacobian = rng.normal(size=(12, 30))
    kernel = (jacobian @ jacobian.T).reshape(4, 3, 4, 3)
    gradients, norms = rng.normal(size=(60, 4, 3)), np.array([1.0, 2.0, 0.5, 3.0])
    u = -norms[:, None] * np.einsum("ikjl,bjl->bik", kernel, gradients)
    found = transport(kernel, gradients, norms)
    np.testing.assert_allclose(found.heat, u.var(axis=0).sum(axis=1), rtol=1e-10)
    np.testing.assert_allclose(found.delivered.sum(axis=1), found.heat, rtol=1e-12)
    # By hand for one pair: the covariance of what item 2 sends to item 0 with all that item 0 gets.
    sent = -norms[0] * gradients[:, 2] @ kernel[0, :, 2].T
    expected = ((sent - sent.mean(axis=0)) * (u[:, 0] - u[:, 0].mean(axis=0))).sum(axis=1).mean()
    assert found.delivered[0, 2] == pytest.approx(expected)
    shares = [share for _, share in found.top(0, 4)]
    assert shares == sorted(shares, reverse=True)
    assert sum(shares) == pytest.approx(1)


def test_bad_shapes_are_refused(refused):
    kernel, gradients, norms = np.zeros((4, 3, 4, 3)), np.zeros((5, 4, 3)), np.ones(4)
    refused(lambda: transport(kernel[:3], gradients, norms), "(3, 3, 4, 3)")
    refused(lambda: transport(kernel, gradients[:, :, :2], norms), "(5, 4, 2)")
    refused(lambda: transport(kernel, gradients[:1], norms), "1 minibatches")
