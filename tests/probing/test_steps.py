"""Virtual steps: against autograd by hand, forward mode, and bit-for-bit restoration whatever happens."""

import signal

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from radii.errors import NumericalError  # noqa: E402
from radii.probing.adapters import Adapter, choose_parameters, held, moved  # noqa: E402
from radii.probing.objectives import infonce, objective, siglip  # noqa: E402
from radii.probing.steps import (  # noqa: E402
    direction,
    forward_mode,
    gradients_of,
    scaled_step,
    virtual_step,
)


class Small(torch.nn.Module):
    """Two layers with dropout and batch statistics, in double precision; the last is linear without bias."""

    def __init__(self, seed=0):
        super().__init__()
        torch.manual_seed(seed)
        self.body = torch.nn.Linear(6, 8)
        self.batch = torch.nn.BatchNorm1d(8)
        self.dropout = torch.nn.Dropout(0.5)
        self.head = torch.nn.Linear(8, 5, bias=False)
        self.double()

    def forward(self, x):
        return self.head(self.dropout(torch.tanh(self.batch(self.body(x)))))


def adapted(module):
    return Adapter("small", module, lambda xs: torch.tensor(np.array(xs)), module, head=("head.weight",))


@pytest.fixture
def small():
    return adapted(Small())


def inputs(n=9, seed=1):
    return torch.tensor(np.random.default_rng(seed).normal(size=(n, 6)))


def loss_of(adapter):
    return infonce(adapter.embed(inputs(6, 2)), adapter.embed(inputs(6, 3)), 0.1)


def state(adapter):
    return [
        (p.data_ptr(), p.detach().numpy().tobytes(), p.requires_grad) for p in adapter.module.parameters()
    ]


def test_a_virtual_step_is_sgd(small):
    chosen = choose_parameters([small], "all")
    twin = Small()
    twin.eval()
    optimizer = torch.optim.SGD(twin.parameters(), lr=0.01)
    loss_of(adapted(twin)).backward()
    optimizer.step()
    with held([small], chosen):
        steps = direction("sgd", []).displacements(gradients_of(loss_of(small), list(chosen.values())), 0.01)
        reached = virtual_step(list(chosen.values()), steps, lambda: small.embed(inputs()))
    torch.testing.assert_close(reached, twin(inputs()).detach(), rtol=1e-12, atol=0)
    assert small.module.head.weight.grad is None


def test_adamw_is_torchs_own_once_its_second_moment_is_known(small):
    # Two batches alike: m₂ is g² and v = g / (|g| + ε), as in torch's first step.
    chosen = choose_parameters([small], "all")
    with held([small], chosen):
        values = list(chosen.values())
        found = direction("adamw", [lambda: gradients_of(loss_of(small), values)] * 2)
        steps = found.displacements(gradients_of(loss_of(small), values), 0.01)
    twin = Small()
    twin.eval()
    before = [p.detach().clone() for p in twin.parameters()]
    optimizer = torch.optim.AdamW(twin.parameters(), lr=0.01, weight_decay=0.0)
    loss_of(adapted(twin)).backward()
    optimizer.step()
    for step, old, new in zip(steps, before, twin.parameters(), strict=True):
        torch.testing.assert_close(step, new.detach() - old, rtol=1e-6, atol=1e-12)


def test_adamw_takes_the_mean_square_of_its_warm_up():
    found = direction("adamw", [lambda: [torch.tensor([3.0]), None], lambda: [torch.tensor([5.0]), None]])
    [step, none] = found.displacements([torch.tensor([17.0**0.5]), None], 1.0)
    assert none is None
    assert float(step) == pytest.approx(-1.0)


@pytest.mark.parametrize("params", ["all", "head", "body"])
def test_forward_mode_agrees_to_first_order(small, params):
    chosen = choose_parameters([small], params)
    values = list(chosen.values())
    with held([small], chosen):
        start = small.embed(inputs()).detach()
        errors = []
        for eta in (1e-2, 1e-3):
            steps = direction("sgd", []).displacements(gradients_of(loss_of(small), values), eta)
            first = forward_mode(small, inputs(), chosen, [s.clone() for s in steps])
            exact = virtual_step(values, steps, lambda: small.embed(inputs())) - start
            assert float(first.norm()) > 0
            errors.append(float((exact - first).norm() / first.norm()))
    # Relative error of the first order is O(η); a head alone is linear, so there it is rounding.
    assert errors[1] < 1e-9 if params == "head" else errors[1] < 0.15 * errors[0]


def test_a_decay_step_of_a_linear_head_is_radial(small):
    chosen = choose_parameters([small], "head")
    with held([small], chosen):
        start = small.embed(inputs()).detach()
        decayed = scaled_step(list(chosen.values()), 1 - 1e-3, lambda: small.embed(inputs()))
    torch.testing.assert_close(decayed, start * (1 - 1e-3))


# Restoration ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("error", [None, ValueError, KeyboardInterrupt])
def test_all_is_put_back_bit_for_bit(small, error):
    small.module.train()
    small.module.batch.eval()
    small.module.body.bias.requires_grad_(False)
    before, modes = state(small), [m.training for m in small.module.modules()]
    buffers = [b.clone() for b in small.module.buffers()]
    chosen = choose_parameters([small], "all")

    def embed():
        assert not small.module.dropout.training
        if error:
            raise error
        return small.embed(inputs())

    def run():
        with held([small], chosen):
            steps = [torch.randn_like(p) for p in chosen.values()]
            return virtual_step(list(chosen.values()), steps, embed)

    if error:
        with pytest.raises(error):
            run()
    else:
        run()
    assert state(small) == before
    assert [m.training for m in small.module.modules()] == modes
    assert all(map(torch.equal, buffers, small.module.buffers()))


@pytest.mark.slow
def test_a_storm_of_interrupts_leaves_the_parameters_alone(small):
    before, hits = state(small), 0
    chosen = choose_parameters([small], "all")
    old = signal.signal(signal.SIGALRM, signal.default_int_handler)
    rng = np.random.default_rng(0)
    try:
        for _ in range(3000):
            try:
                with held([small], chosen):
                    signal.setitimer(signal.ITIMER_REAL, rng.uniform(1e-6, 3e-4))
                    with moved(list(chosen.values()), [p.data + 1 for p in chosen.values()]):
                        pass
                    signal.setitimer(signal.ITIMER_REAL, 0)
            except KeyboardInterrupt:
                hits += 1
            signal.setitimer(signal.ITIMER_REAL, 0)
            assert state(small) == before
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, old)
    assert hits > 100


# Which parameters ----------------------------------------------------------------------------------------


def test_parameters_are_named_once(small):
    assert list(choose_parameters([small, small], "all")) == [n for n, _ in small.module.named_parameters()]
    assert list(choose_parameters([small], "head")) == ["head.weight"]
    assert list(choose_parameters([small], r"^body\.")) == ["body.weight", "body.bias"]


def test_two_towers_with_the_same_names_are_both_moved():
    found = choose_parameters([adapted(Small()), adapted(Small(1))], "head")
    assert list(found) == ["head.weight", "small:head.weight"]


def test_refusals(small, refused):
    refused(lambda: choose_parameters([small], "tail"), "'tail'", "head.weight")
    refused(lambda: choose_parameters([small], "("), "(")
    refused(lambda: direction("lion", []), "lion")
    refused(lambda: direction("adamw", []), "0 warm-up")
    small.module.head.weight = torch.nn.Parameter(small.module.body.weight.data[:5])
    refused(lambda: choose_parameters([small], "all"), "share memory")


def test_a_loss_that_is_not_finite_is_numerical_trouble(small):
    with pytest.raises(NumericalError, match="surrogate loss"):
        gradients_of(small.module.head.weight.sum() * float("nan"), [small.module.head.weight])


# Objectives ----------------------------------------------------------------------------------------------


def views(seed=0):
    rng = np.random.default_rng(seed)
    return torch.tensor(rng.normal(size=(4, 3))), torch.tensor(rng.normal(size=(4, 3)))


def cosines(a, b):
    a, b = a.numpy(), b.numpy()
    return (a / np.linalg.norm(a, axis=1)[:, None]) @ (b / np.linalg.norm(b, axis=1)[:, None]).T


def test_infonce_is_its_formula():
    a, b = views()
    e = np.exp(cosines(a, b) / 0.2)
    one, other = -np.log(np.diag(e) / e.sum(axis=1)).mean(), -np.log(np.diag(e) / e.sum(axis=0)).mean()
    assert float(infonce(a, b, 0.2)) == pytest.approx(one)
    assert float(infonce(a, b, 0.2, symmetric=True)) == pytest.approx((one + other) / 2)


def test_siglip_is_its_formula():
    a, b = views()
    signs = 2 * np.eye(4) - 1
    truth = np.log1p(np.exp(-signs * (10 * cosines(a, b) - 10))).sum() / 4
    assert float(siglip(a, b, 10.0, -10.0)) == pytest.approx(truth)


@pytest.mark.parametrize("name", ["infonce", "siglip", "simcse"])
def test_objectives_ignore_the_radius(name):
    a, b = (view.requires_grad_() for view in views())
    loss = objective(name).loss
    assert loss(a * 7, b * 0.2).item() == pytest.approx(loss(a, b).item())
    for view, gradient in zip((a, b), torch.autograd.grad(loss(a, b), (a, b)), strict=True):
        assert (view * gradient).sum(dim=1).abs().max().item() < 1e-12
        assert gradient.norm().item() > 1e-6


def test_objective_refusals(refused):
    refused(lambda: objective("triplet"), "triplet", "infonce")
    refused(lambda: objective("infonce", tau=0), "tau 0")
