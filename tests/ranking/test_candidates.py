"""Pruning never loses a line that ranks, and small problems give the same with it and without."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from radii.ranking import exhaustive
from radii.ranking.candidates import reachable
from radii.ranking.path import exponent_path
from tests.cases import corpora


@given(st.integers(0, 2**32 - 1), st.integers(1, 60), st.integers(1, 8), st.integers(1, 9))
def test_every_line_that_ranks_somewhere_is_kept(seed, n, k, n_nodes):
    rng = np.random.default_rng(seed)
    height, slope = rng.integers(-9, 9, n) / 3.0, rng.integers(-9, 9, n) / 4.0  # ties and parallels
    error = rng.choice([0.0, 0.1])
    nodes = np.linspace(-1.0, 1.0, n_nodes) if n_nodes > 1 else np.array([0.3])
    kept = reachable(height - error, height + error, slope, k, nodes)
    for gamma in np.linspace(nodes[0], nodes[-1], 50):
        at = height + gamma * slope
        ranks = at >= np.sort(at)[-min(k, n)]
        assert kept[ranks].all()


def test_pruning_prunes():
    rng = np.random.default_rng(0)
    height = rng.normal(size=2000)
    kept = reachable(height, height, 0.1 * rng.normal(size=2000), 10, np.linspace(-1, 1, 9))
    assert 10 <= kept.sum() < 60


@pytest.mark.parametrize("exclude", [False, True])
@given(corpora())
def test_small_problems_do_not_depend_on_whether_they_are_pruned(exclude, case):
    if exclude and len(case.docs) < 2:
        return
    found = []
    for few in (0, 600):
        exhaustive._FEW = few
        try:
            path = exponent_path(
                case.docs, case.queries, k=case.k, gamma_range=(case.low, case.high), exclude_self=exclude
            )
        finally:
            exhaustive._FEW = 600
        found.append([path.top(row, case.low).tolist() for row in range(len(case.queries))])
        found.append([path.breakpoints(row).tolist() for row in range(len(case.queries))])
    assert found[:2] == found[2:]
