import math

import numpy as np
import pytest
from scipy.special import softmax

from radii.claims.imaging import Plan, as_tensor, augment, linear_probe, supcon, train

torch = pytest.importorskip("torch")

TINY = Plan(((4, 2), (8, 2)), epochs=8, batch=20)


def stripes(n=80, seed=0):
    """Images of horizontal (class 0) and vertical (class 1) stripes of random colours, and their classes."""
    rng = np.random.default_rng(seed)
    labels = np.arange(n) % 2
    wave = 127 + 100 * np.sin(np.arange(32) * 1.2 + rng.uniform(0, 6, n)[:, None])
    images = np.where(labels[:, None, None] == 0, wave[:, :, None], wave[:, None, :])
    coloured = images[..., None] * rng.uniform(0.5, 1.0, (n, 1, 1, 3))
    return coloured.astype(np.uint8), labels.astype(np.int64)


@pytest.fixture(scope="module")
def trained():
    pixels, labels = stripes()
    return train(pixels, labels, "supervised", "adamw", TINY, seed=0)


def test_supcon_is_its_definition():
    rng = np.random.default_rng(0)
    z, labels, tau = rng.normal(size=(7, 3)), np.array([0, 1, 0, 2, 1, 0, 3]), 0.3
    unit = z / np.linalg.norm(z, axis=1, keepdims=True)
    each = []
    for i in range(7):
        positives = [j for j in range(7) if j != i and labels[j] == labels[i]]
        total = sum(math.exp(unit[i] @ unit[j] / tau) for j in range(7) if j != i)
        if positives:
            each.append(np.mean([-math.log(math.exp(unit[i] @ unit[p] / tau) / total) for p in positives]))
    found = supcon(torch.from_numpy(z), torch.from_numpy(labels), tau)
    assert len(each) == 5
    assert float(found) == pytest.approx(np.mean(each))


def test_supcon_reads_directions_only():
    z = torch.randn(6, 4, dtype=torch.float64, generator=torch.Generator().manual_seed(0), requires_grad=True)
    supcon(z, torch.tensor([0, 0, 1, 1, 2, 2]), 0.1).backward()
    radial = (z.grad * z).sum(dim=1)
    assert radial.abs().max() < 1e-12
    assert z.grad.abs().max() > 1e-3


def test_views_are_drawn_by_seed_and_stay_images():
    images = as_tensor(stripes(6)[0])
    assert images.shape == (6, 3, 32, 32)
    assert 0.5 < float(images.max()) <= 1.0
    first, again, other = (augment(images, torch.Generator().manual_seed(s)) for s in (0, 0, 1))
    assert torch.equal(first, again)
    assert not torch.equal(first, other)
    assert first.shape == images.shape
    assert float(first.min()) >= 0
    assert float(first.max()) <= 1


def test_a_view_of_one_colour_is_of_one_colour():
    images = as_tensor(np.full((5, 32, 32, 3), (200, 100, 50), dtype=np.uint8))
    views = augment(images, torch.Generator().manual_seed(0))
    assert float(views.std(dim=(2, 3)).max()) < 1e-6


@pytest.mark.parametrize("objective", ["supervised", "self-supervised"])
@pytest.mark.parametrize("optimizer", ["sgd", "adamw"])
def test_training_is_seeded_and_leaves_the_global_seed_alone(objective, optimizer):
    pixels, labels = stripes(40)
    plan = Plan(((4, 2),), epochs=1, batch=20)
    before = torch.random.get_rng_state()
    first, again, other = (train(pixels, labels, objective, optimizer, plan, s) for s in (3, 3, 4))
    assert torch.equal(torch.random.get_rng_state(), before)
    vectors = first.embed(pixels)[1]
    assert vectors.shape == (40, 64)
    np.testing.assert_array_equal(vectors, again.embed(pixels)[1])
    assert (vectors != other.embed(pixels)[1]).any()


def test_what_was_learnt_tells_unseen_classes_apart(trained):
    (pixels, labels), (others, truth) = stripes(), stripes(60, seed=1)
    features, vectors = trained.embed(others)
    assert features.shape == (60, 8)
    logits = linear_probe(trained.embed(pixels)[0], labels, features)
    assert (logits.argmax(axis=1) == truth).mean() > 0.9
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    cosines = unit @ unit.T
    same = truth[:, None] == truth
    assert cosines[same].mean() > cosines[~same].mean() + 0.1


def test_images_are_embedded_one_by_one(trained):
    pixels, _ = stripes(7)
    for whole, parts in zip(trained.embed(pixels), trained.embed(pixels, batch=2), strict=True):
        np.testing.assert_allclose(parts, whole, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(("place", "column"), [("features", 0), ("head", 1)])
def test_a_probe_sees_the_same_vectors(trained, place, column):
    pixels, _ = stripes(5)
    adapter = trained.adapter(place, "images")
    with torch.no_grad():
        found = adapter.embed(adapter.collate(list(pixels)))
        np.testing.assert_allclose(found.numpy(), trained.embed(pixels)[column], rtol=1e-5, atol=1e-6)
        parameters = dict(adapter.module.named_parameters())
        for name in adapter.head:
            parameters[name] *= 2
        doubled = adapter.embed(adapter.collate(list(pixels)))
        for name in adapter.head:
            parameters[name] /= 2
    assert bool(adapter.head) == (place == "head")
    np.testing.assert_allclose(doubled.numpy(), found.numpy() * (2 if adapter.head else 1), rtol=1e-5)


def test_the_linear_probe_is_at_its_minimum():
    rng = np.random.default_rng(0)
    x = np.column_stack([rng.normal(size=(60, 3)), np.ones(60)])  # the last is constant: left out
    labels = np.argmax(x[:, :3] + rng.normal(size=(60, 3)), axis=1)
    logits = linear_probe(x, labels, x, penalty=0.05)
    scaled = (x[:, :3] - x[:, :3].mean(axis=0)) / x[:, :3].std(axis=0)
    fit = np.linalg.lstsq(np.column_stack([scaled, np.ones(60)]), logits, rcond=None)[0]
    np.testing.assert_allclose(np.column_stack([scaled, np.ones(60)]) @ fit, logits, atol=1e-8)
    off = softmax(logits, axis=1) - np.eye(3)[labels]
    np.testing.assert_allclose(scaled.T @ off / 60 + 0.05 * fit[:3], 0, atol=1e-4)
    np.testing.assert_allclose(off.mean(axis=0), 0, atol=1e-4)
