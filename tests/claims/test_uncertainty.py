import numpy as np
import pytest
from scipy import stats

from radii.claims.selective import auroc
from radii.claims.uncertainty import Scored, _uncertainty, correlation, resampled, score, split, within
from radii.data.images import Pictures

torch = pytest.importorskip("torch")


def network(n=50, seed=0, norms=None):
    rng = np.random.default_rng(seed)
    norm = rng.random(n) if norms is None else norms
    return Scored(
        norms={"backbone": norm, "head": -norm},
        by_margin=rng.random(n),
        by_probability=rng.random(n),
        wrong=rng.random(n) < 0.3,
        change=0.0,
    )


def test_halves_share_no_image_and_hold_each_class_alike():
    labels = np.random.default_rng(0).permutation(np.repeat(np.arange(3), 20))
    first, second = split(labels, 30)
    assert not set(first) & set(second)
    for half in (first, second):
        assert np.bincount(labels[half]).tolist() == [5, 5, 5]
    np.testing.assert_array_equal(first, split(labels, 30)[0])


def test_ranks_within_a_class_leave_nothing_of_the_class():
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 4, 200)
    ranks = within(labels * 100 + rng.random(200), labels)
    for label in range(4):
        n = (labels == label).sum()
        np.testing.assert_allclose(np.sort(ranks[labels == label]), (np.arange(n) + 0.5) / n)
    # One group, ties included: ranks as scipy's, so that ρ is what it was.
    values = rng.integers(0, 9, 200).astype(float)
    np.testing.assert_allclose(within(values, np.zeros(200)) * 200 + 0.5, stats.rankdata(values))


def test_correlation_is_the_mean_over_networks():
    rng = np.random.default_rng(0)
    goals = [rng.integers(0, 5, 80).astype(float), rng.random(60)]
    columns = [[g + rng.normal(size=len(g)) for _ in range(2)] for g in goals]
    expected = np.mean([stats.spearmanr(goals[half], columns[half][k])[0] for half in (0, 1) for k in (0, 1)])
    value, low, high = correlation(goals, columns, 200)
    assert value == pytest.approx(expected)
    assert low < value < high
    assert high - low < 0.5
    assert correlation(goals, columns, 200) == (value, low, high)


def test_intervals_of_a_correlation_cover_as_they_say():
    def one(seed):
        rng = np.random.default_rng(seed)
        halves = [rng.random(60), rng.random(60)]
        return correlation(halves, [[rng.random(60)], [rng.random(60)]], 100)

    assert 0.88 <= np.mean([low < 0 < high for _, low, high in map(one, range(100))]) <= 1.0


def test_measures_are_averaged_over_networks():
    scored = [[network(50, 0), network(50, 1)], [network(40, 2), network(40, 3)]]
    value, low, high = resampled(auroc, lambda s: s.by_margin, scored, 100)
    each = [auroc(s.by_margin, s.wrong) for half in scored for s in half]
    assert value == pytest.approx(np.mean(each))
    assert low < value < high


def test_a_planted_truth_is_found_with_its_sign():
    rng = np.random.default_rng(0)
    truth = [(rng.random(200), np.arange(200) % 4) for _ in range(2)]
    scored = [[network(200, 10 + i, entropy + 0.1 * rng.random(200))] for i, (entropy, _) in enumerate(truth)]
    found = {s.name: s for s in _uncertainty("x", scored, truth, 99)}
    for given in ("", " | class"):
        long, short = (found[f"x: Spearman({p} norm, entropy{given})"] for p in ("backbone", "head"))
        assert (long.status, short.status) == ("holds", "fails")
        assert long.value > 0.95
        assert short.value == pytest.approx(-long.value)
        assert abs(found[f"x: Spearman(probe's margin, entropy{given})"].value) < 0.2
    assert long.over == "400 images"


def test_an_encoder_is_scored_on_images_it_has_not_seen():
    class Known:
        """Its feature is the first pixel; its head doubles it."""

        change = 0.25

        def embed(self, pixels):
            features = np.stack([pixels[:, 0, 0, 0] - 100.0, np.ones(len(pixels))], axis=1)
            return features, 2 * features

    pixels = np.zeros((9, 32, 32, 3), dtype=np.uint8)
    pixels[:, 0, 0, 0] = [10, 20, 30, 170, 180, 190, 5, 195, 110]
    pictures = Pictures(pixels, np.array([0, 0, 0, 1, 1, 1, 0, 1, 0]), ("a", "b"))
    found = score(Known(), pictures, np.arange(6), np.arange(6, 9))
    assert found.wrong.tolist() == [False, False, True]  # 110 looks like class b
    np.testing.assert_allclose(found.norms["backbone"], np.hypot([95, 95, 10], 1))
    np.testing.assert_allclose(found.norms["head"], 2 * found.norms["backbone"])
    assert found.by_margin.argmax() == found.by_probability.argmax() == 2
    # Two classes: 1 − p = 1 / (1 + exp(margin)).
    np.testing.assert_allclose(found.by_probability, 1 / (1 + np.exp(-found.by_margin)))
    assert found.change == 0.25
