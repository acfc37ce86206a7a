"""Optimisers against torch.optim, step by step; Lion against its definition."""

import pytest

torch = pytest.importorskip("torch")

from radii.dynamics.optimisers import Optimiser  # noqa: E402

ETA, LAM, BETA = 0.03, 0.2, 0.8


def gradients(steps=12):
    generator = torch.Generator().manual_seed(0)
    return torch.randn(steps, 1, 5, 3, generator=generator, dtype=torch.float64)


def ours(kind, start, grads):
    one = torch.ones(1, dtype=torch.float64)
    optimiser = Optimiser(kind, one * ETA, one * LAM, one * BETA, 0.95, 1e-8)
    params, seen = [start.clone()], []
    for g in grads:
        step = optimiser.step(params, [g])
        params = [p + t + d for p, t, d in zip(params, step.task, step.decay, strict=True)]
        seen.append(params[0].clone())
    return seen


def torchs(kind, start, grads):
    z = torch.nn.Parameter(start.clone())
    made = {
        "sgd": lambda: torch.optim.SGD([z], lr=ETA, weight_decay=LAM),
        "momentum": lambda: torch.optim.SGD([z], lr=ETA, weight_decay=LAM, momentum=BETA),
        "adam": lambda: torch.optim.Adam([z], lr=ETA, weight_decay=LAM, betas=(BETA, 0.95)),
        "adamw": lambda: torch.optim.AdamW([z], lr=ETA, weight_decay=LAM, betas=(BETA, 0.95)),
        # Decoupled: decay by hand around plain momentum.
        "sgdw": lambda: torch.optim.SGD([z], lr=ETA, momentum=BETA),
    }
    optimiser, seen = made[kind](), []
    for g in grads:
        z.grad = g.clone()
        if kind == "sgdw":
            with torch.no_grad():
                z.mul_(1 - ETA * LAM)
        optimiser.step()
        seen.append(z.detach().clone())
    return seen


@pytest.mark.parametrize("kind", ["sgd", "momentum", "sgdw", "adam", "adamw"])
def test_every_step_is_that_of_torch(kind):
    start, grads = torch.ones(1, 5, 3, dtype=torch.float64), gradients()
    for mine, theirs in zip(ours(kind, start, grads), torchs(kind, start, grads), strict=True):
        torch.testing.assert_close(mine, theirs, rtol=1e-9, atol=1e-12)


def test_lion_by_its_definition():
    start, grads = torch.ones(1, 5, 3, dtype=torch.float64), gradients()
    z, m = start.clone(), torch.zeros_like(start)
    for mine, g in zip(ours("lion", start, grads), grads, strict=True):
        z = z - ETA * (torch.sign(BETA * m + (1 - BETA) * g) + LAM * z)
        m = 0.95 * m + 0.05 * g
        torch.testing.assert_close(mine, z)


@pytest.mark.parametrize("kind", ["momentum", "adam"])
def test_coupled_decay_is_told_apart_from_the_task(kind):
    """Without gradients there is only decay; without λ only the task."""
    one = torch.ones(1, dtype=torch.float64)
    start, g = torch.ones(1, 5, 3, dtype=torch.float64), gradients(1)[0]
    only_decay = Optimiser(kind, one * ETA, one * LAM, one * BETA, 0.95, 1e-8).step([start], [0 * g])
    assert (only_decay.task[0] == 0).all()
    assert (only_decay.decay[0] < 0).all()
    only_task = Optimiser(kind, one * ETA, one * 0, one * BETA, 0.95, 1e-8).step([start], [g])
    assert (only_task.decay[0] == 0).all()
    assert (only_task.task[0] * g < 0).all()


def test_every_run_has_its_own_rates():
    both = Optimiser(
        "momentum", torch.tensor([0.1, 0.2]), torch.tensor([0.0, 0.5]), torch.tensor([0.9, 0.5]), 0.99, 1e-8
    )
    params = [torch.ones(2, 3, 2)]
    for _ in range(3):
        step = both.step(params, [torch.ones(2, 3, 2)])
    assert step.task[0][0, 0, 0].item() == pytest.approx(-0.1 * (1 + 0.9 + 0.81))
    assert step.task[0][1, 0, 0].item() == pytest.approx(-0.2 * (1 + 0.5 + 0.25))
    assert (step.decay[0][0] == 0).all()
