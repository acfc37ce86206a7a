import numpy as np
import pytest

from radii.claims.across import controlled, of_a_class, said, two_views
from radii.dynamics.config import setting
from radii.probing.objectives import objective
from radii.probing.run import probe

torch = pytest.importorskip("torch")

SMALL = {"n_items": 20, "dim": 4, "batch": 8, "burn_in": 200, "steps": 32, "ambiguity": (0.0, 0.6)}


@pytest.mark.parametrize(("encoder", "power"), [("table", 1.0), ("mlp", None)])
def test_a_controlled_run_is_probed_as_it_was_trained(encoder, power):
    case = controlled(setting({**SMALL, "encoder": encoder}), minibatches=40)
    assert len(case.pairs) == 320
    batch = case.adapter.collate([3, 0, 3])
    with torch.no_grad():
        vectors = case.adapter.embed(batch)
        assert vectors.shape == (3, 4)
        assert torch.equal(vectors[0], vectors[2])
        parameters = dict(case.adapter.module.named_parameters())
        for name in case.adapter.head:
            parameters[name] *= 2
        torch.testing.assert_close(case.adapter.embed(batch), 2 * vectors)
    found = probe(
        case.adapter,
        case.pairs,
        case.inputs,
        objective=objective("infonce", tau=case.tau),
        batches=8,
        batch_size=case.batch,
    )
    if power is not None:  # of a free table everything is known
        assert found.report.power.value == pytest.approx(power, abs=0.02)
        np.testing.assert_allclose(found.columns["damping"], 1, rtol=1e-3)
    names = [s.name for s in said(case.name, found)]
    assert names == [
        f"{case.name}: {what}"
        for what in (
            "Spearman(norm, raw heat)",
            "Spearman(norm, scale-normalised heat)",
            "Spearman(norm, angular heat)",
            "the same from the factor R² alone",
        )
    ]


def test_statements_have_the_targets_of_the_method():
    case = controlled(setting({**SMALL, "encoder": "table"}), minibatches=40)
    found = probe(case.adapter, case.pairs, case.inputs, batches=4, batch_size=8, exponent_batches=0)
    raw, scaled, angular, factor = said("table", found)
    assert (raw.target, angular.status, factor.status) == ("interval above 0", "reported", "reported")
    assert scaled.target == f"interval above {round(found.report.by_radius.high, 3):g}"
    assert (factor.value, factor.low) == (found.report.by_radius.mean, found.report.by_radius.low)


def test_pairs_of_a_class_are_two_images():
    labels = np.array([0, 1, 0, 1, 0, 1, 1])
    pixels = np.arange(7)[:, None]
    pairs = of_a_class(pixels, labels)
    assert len(pairs) == 7
    for row, (one, other) in enumerate(pairs):
        assert one == row
        assert one != other
        assert labels[other[0]] == labels[row]


def test_two_views_are_images_of_the_same():
    pixels = np.full((3, 32, 32, 3), (200, 100, 50), dtype=np.uint8)
    pairs = two_views(pixels)
    assert len(pairs) == 3
    for view in (view for pair in pairs for view in pair):
        assert (view.shape, view.dtype) == ((32, 32, 3), np.uint8)
        assert np.ptp(view, axis=(0, 1)).max() <= 1  # one colour stays one, up to rounding
    assert any((one != other).any() for one, other in pairs)
