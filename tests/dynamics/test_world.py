"""The world: frequencies and ambiguities come out as they were put in."""

import numpy as np
import pytest

from radii.dynamics.config import Setting
from radii.dynamics.world import Pairs, World


def draws(setting, steps=4000):
    world = World.of(setting)
    return world, *(part.ravel() for part in Pairs(world, setting).draw(steps))


def test_items_are_drawn_by_their_weight_and_stray_by_their_ambiguity():
    setting = Setting(n_items=20, ambiguity=(0.0, 0.8), frequency=(1.0, 9.0), seed=4)
    world, anchors, positives = draws(setting)
    counts = np.bincount(anchors, minlength=20)
    expected = world.weight * len(anchors)
    assert (np.abs(counts - expected) < 5 * np.sqrt(expected)).all()
    assert world.weight.max() / world.weight.min() == pytest.approx(9)
    strayed = anchors // 5 != positives // 5
    rate = np.bincount(anchors, strayed, minlength=20) / counts
    error = np.sqrt(world.ambiguity * (1 - world.ambiguity) / counts)
    assert (np.abs(rate - world.ambiguity) <= 5 * error).all()
    assert sorted(world.ambiguity) == pytest.approx(np.linspace(0, 0.8, 20))


def test_positives_are_even_over_the_rest_of_the_cluster_and_over_other_clusters():
    _, anchors, positives = draws(Setting(n_items=15, ambiguity=0.5), steps=8000)
    assert (anchors != positives).all()
    at = anchors == 7  # cluster 5 … 9
    inside = np.bincount(positives[at & (positives // 5 == 1)], minlength=15)[[5, 6, 8, 9]]
    outside = np.bincount(positives[at & (positives // 5 != 1)], minlength=15)[[*range(5), *range(10, 15)]]
    for counts in (inside, outside):
        assert (np.abs(counts - counts.mean()) < 5 * np.sqrt(counts.mean())).all()


def test_a_stream_does_not_depend_on_how_it_is_drawn_and_only_on_its_seed():
    setting = Setting(n_items=20)
    world = World.of(setting)
    one, other = Pairs(world, setting).draw(256), Pairs(world, setting)
    parts = [other.draw(steps) for steps in (1, 200, 55)]
    np.testing.assert_array_equal(one, np.concatenate(parts, axis=1))
    assert (one[0] != Pairs(world, Setting(n_items=20, seed=1)).draw(256)[0]).any()


def test_given_values_stay_with_their_items():
    values = tuple(float(v) for v in np.linspace(0, 1, 10))
    world = World.of(Setting(n_items=10, ambiguity=values, frequency=2.0))
    assert tuple(world.ambiguity) == values
    assert world.weight == pytest.approx(np.full(10, 0.1))
