"""Training: against a plain loop, alone or together, broken off or not, and against the equation."""

from dataclasses import replace

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from radii import radial_chain  # noqa: E402
from radii.dynamics.config import Setting  # noqa: E402
from radii.dynamics.encoders import Encoder  # noqa: E402
from radii.dynamics.losses import loss_value  # noqa: E402
from radii.dynamics.training import Batch, plan, simulate  # noqa: E402
from radii.dynamics.world import Pairs, World  # noqa: E402
from radii.errors import InputError, NumericalError  # noqa: E402

SMALL = {"n_items": 20, "dim": 6, "batch": 8, "burn_in": 40, "steps": 60, "precision": "float64"}
ARRAYS = ("norm", "square", "drift", "second_moment", "heat", "alpha", "gain", "loss", "lagged")


def plain_loop(setting):
    """Autograd and torch.optim, one run at a time; every vector kept."""
    encoder = Encoder([setting])
    params = [torch.nn.Parameter(p.clone()) for p in encoder.params]
    pairs = Pairs(World.of(setting), setting)
    anchors, positives = pairs.draw(setting.burn_in + setting.steps)
    made = {
        "sgd": lambda: torch.optim.SGD(params, lr=setting.eta, weight_decay=setting.lam),
        "adamw": lambda: torch.optim.AdamW(
            params,
            lr=setting.eta,
            weight_decay=setting.lam,
            betas=(setting.beta, setting.beta2),
            eps=setting.epsilon,
        ),
    }
    optimiser, seen = made[setting.optimiser](), []
    for a, b in zip(anchors, positives, strict=True):
        z = encoder.embed(params)[0]
        seen.append(z.detach().clone())
        unit = torch.nn.functional.normalize(z, dim=1)
        cosines = (unit[a] @ unit[b].T)[None]
        loss = loss_value(setting.loss, cosines, setting.tau, bias=setting.bias, margin=setting.margin)
        optimiser.zero_grad()
        loss.sum().backward()
        optimiser.step()
    seen.append(encoder.embed(params)[0].detach().clone())
    return torch.stack(seen).numpy()


@pytest.mark.parametrize("loss", ["infonce", "infonce-two-sided", "siglip", "triplet"])
@pytest.mark.parametrize("optimiser", ["sgd", "adamw"])
def test_moments_are_those_of_a_plain_loop(loss, optimiser):
    setting = Setting(**SMALL, loss=loss, optimiser=optimiser, eta=0.05, lam=0.3, ambiguity=0.3)
    [run] = simulate([setting])
    z = plain_loop(setting)[setting.burn_in :]
    norms = np.linalg.norm(z[:-1], axis=2)
    u = norms[:, :, None] ** setting.power * (z[1:] - (1 - 0.05 * 0.3) * z[:-1]) / 0.05
    np.testing.assert_allclose(run.norm, norms.mean(axis=0), rtol=1e-8)
    np.testing.assert_allclose(run.square, (norms**2).mean(axis=0), rtol=1e-8)
    np.testing.assert_allclose(run.second_moment, (u**2).sum(axis=2).mean(axis=0), rtol=1e-7)
    outward = (z[:-1] * u).sum(axis=2) / norms
    np.testing.assert_allclose(run.drift, outward.mean(axis=0), rtol=1e-6, atol=1e-12)
    np.testing.assert_allclose(run.heat, u.var(axis=0).sum(axis=1), rtol=1e-7)
    np.testing.assert_allclose(run.alpha, 0.05 * 0.3, rtol=1e-12)
    np.testing.assert_allclose(run.moved, (np.abs(u) > 1e-13).any(axis=2).mean(axis=0))
    changes = (z[1:] ** 2).sum(axis=2) - norms**2
    np.testing.assert_allclose(run.gain - run.loss, changes.mean(axis=0), atol=1e-12)


NETWORKS = [
    {"head": True, "layer_norm": True},
    {"head": True, "layer_norm": False},
    {"head": False},
    {"head": True, "activation": "none", "text_length": (2, 9)},
    {"head": False, "text_length": (2, 9)},
]


@pytest.mark.parametrize("network", NETWORKS)
def test_networks_train_as_in_a_plain_loop(network):
    setting = Setting(
        **SMALL | {"dim": 5}, encoder="mlp", features=7, hidden=9, **network, eta=0.05, lam=0.02
    )
    [run] = simulate([setting])
    z = plain_loop(setting)[setting.burn_in : -1]
    np.testing.assert_allclose(run.norm, np.linalg.norm(z, axis=2).mean(axis=0), rtol=1e-7)
    assert (run.length is not None) == ("text_length" in network)


def test_lags_are_those_of_the_gradients():
    setting = Setting(**SMALL, eta=0.05, lam=0.3, lags=3)
    [run] = simulate([setting])
    z = plain_loop(setting)[setting.burn_in :]
    norms = np.linalg.norm(z[:-1], axis=2, keepdims=True)
    q = -norms * (z[1:] - (1 - 0.05 * 0.3) * z[:-1]) / 0.05  # plain SGD: u = −R g
    for k in (1, 2, 3):
        np.testing.assert_allclose(
            run.lagged[k - 1], (q[k:] * q[:-k]).sum(axis=2).mean(axis=0), rtol=1e-6, atol=1e-9
        )
    np.testing.assert_allclose(run.fresh_second, run.second_moment, rtol=1e-7)


def some_settings():
    return [
        Setting(**SMALL, eta=eta, lam=0.1, seed=s, lags=2, samples=20) for eta in (0.02, 0.1) for s in (0, 1)
    ]


def assert_same(one, other, rtol=0.0):
    for name in (*ARRAYS, "drift_samples", "square_samples"):
        np.testing.assert_allclose(
            getattr(one, name), getattr(other, name), rtol=rtol, atol=rtol, err_msg=name
        )
    assert one.setting == other.setting


def test_runs_do_not_depend_on_their_company():
    together = simulate(some_settings())
    for alone, run in zip(some_settings(), together, strict=True):
        assert_same(simulate([alone])[0], run, rtol=1e-7)


def test_order_is_kept_across_batches_and_progress_reaches_the_end():
    settings = some_settings()
    settings.insert(1, Setting(**SMALL | {"batch": 4}))
    heard = []
    runs = simulate(settings, width=2, progress=lambda done, total: heard.append((done, total)))
    assert [run.setting for run in runs] == settings
    assert plan(settings, 2) == [[0, 2], [3, 4], [1]]
    assert heard[-1] == (500, 500)
    assert heard == sorted(heard)


def test_a_run_broken_off_and_restored_is_the_same(tmp_path):
    whole = Batch(some_settings())
    broken = Batch(some_settings())
    for _ in range(10):
        whole.advance(10)
    for _ in range(5):
        broken.advance(10)
    torch.save(broken.state(), tmp_path / "state.pt")
    again = Batch(some_settings())
    again.restore(torch.load(tmp_path / "state.pt", weights_only=False))
    for _ in range(5):
        again.advance(10)
    for one, other in zip(whole.results(), again.results(), strict=True):
        assert_same(one, other)


# Equilibria ------------------------------------------------------------------------------------------------

WORLD = {"n_items": 60, "dim": 12, "batch": 24, "ambiguity": (0.0, 0.6), "tau": 0.2}


def test_the_equation_predicts_every_norm():
    settings = [Setting(**WORLD, eta=0.1, lam=0.05, burn_in=900, steps=3000, seed=s) for s in range(3)]
    for run in simulate(settings):
        assert run.stationarity.reached
        errors = run.predicted() / run.equilibrium() - 1
        assert np.median(np.abs(errors)) < 0.01
        # Exact but for what R² still changed.
        np.testing.assert_allclose(run.gain, run.loss, rtol=0.03)


def test_where_damping_is_strong_the_chain_predicts_and_the_closed_form_does_not():
    setting = Setting(**WORLD | {"batch": 8}, eta=0.1, lam=0.5, burn_in=500, steps=6000, samples=6000)
    [run] = simulate([setting])
    law = radial_chain(
        eta=0.1, alpha=0.05, drift_samples=run.drift_samples, square_samples=run.square_samples.astype(float)
    )
    by_chain = np.median(np.abs(law.mean / run.norm - 1))
    by_formula = np.median(np.abs(run.predicted() / run.norm - 1))
    assert by_chain < 0.02
    assert by_formula > 0.04


def test_an_outward_push_is_drift_to_order():
    """Each item is in 2·batch/n of the pairs a step, and every appearance pushes by 3."""
    setting = Setting(**WORLD, frequency=1.0, outward=3.0, eta=0.004, lam=1.0, burn_in=1200, steps=5000)
    [run] = simulate([setting])
    assert run.drift.mean() == pytest.approx(3.0 * 2 * 24 / 60, rel=1e-5)
    np.testing.assert_allclose(run.equilibrium() ** 2, run.drift / 1.0, rtol=0.03)
    assert run.stationarity.relaxation == pytest.approx(1 / (2 * 0.004), rel=0.02)  # 1/(2α), not 1/(4α)


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"lam": 0.0}, "nothing damps"),
        ({"burn_in": 10}, "10 steps of burn-in where relaxation takes 126"),
        ({"lam": 0.005, "burn_in": 2000}, "measured steps where"),
        ({"initial_norm": 60.0, "burn_in": 80}, "still changes"),
    ],
)
def test_what_is_no_equilibrium_is_not_reported(changed, reason):
    setting = Setting(**WORLD | {"eta": 0.1, "lam": 0.1, "burn_in": 200, "steps": 600} | changed)
    [run] = simulate([setting])
    assert not run.stationarity.reached
    with pytest.raises(NumericalError, match=reason):
        run.equilibrium()
    written = run.to_json()
    assert (written["equilibrium"], written["predicted"]) == (None, None)
    assert written["stationarity"]["reasons"]


def test_items_that_decay_lengthens_are_left_out_of_the_prediction():
    [run] = simulate([Setting(**SMALL, eta=0.1, lam=0.5)])
    run = replace(run, stationarity=replace(run.stationarity, reached=True))
    odd = replace(run, alpha=np.where(np.arange(20) == 3, -0.01, run.alpha))
    assert odd.predictable.sum() == 19
    np.testing.assert_allclose(odd.errors(), np.delete(run.errors(), 3))
    np.testing.assert_allclose(run.errors(), np.abs(run.predicted() / run.norm - 1))
    with pytest.raises(InputError, match=r"alpha: -0\.01 at position 3"):
        odd.predicted()
    assert run.to_json()["predicted"] is not None
    assert odd.to_json()["predicted"] is None


def test_a_run_that_leaves_the_numbers_says_where():
    with pytest.raises(NumericalError, match="η = 1e"):
        simulate([Setting(**SMALL, eta=1e300, lam=0.0)])


def test_no_settings_are_refused(refused):
    refused(lambda: simulate([]), "no settings")


def test_results_before_the_end_are_refused():
    batch = Batch([Setting(**SMALL)])
    batch.advance(10)
    with pytest.raises(NumericalError, match="10 steps taken of 100"):
        batch.results()
