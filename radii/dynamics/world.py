"""The world of a controlled run: items with a set ambiguity and frequency, and the training pairs of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from radii.data.embeddings import Floats
from radii.dynamics.config import Setting


@dataclass(frozen=True, eq=False)
class World:
    """What is true of the items, whatever is trained on them.

    Attributes
    ----------
    cluster : (n_items,) int64
        Consecutive items form a cluster.
    ambiguity : (n_items,) float64
        Probability that the positive of an item comes from another cluster.
    weight : (n_items,) float64
        Probability of being the anchor of a pair; sums to 1.
    """

    cluster: npt.NDArray[np.int64]
    ambiguity: Floats
    weight: Floats

    @classmethod
    def of(cls, setting: Setting) -> World:
        """World of a setting: what is spread over items is dealt to them in an order drawn from its seed."""
        n = setting.n_items
        rng = np.random.default_rng([setting.seed, 0])
        ambiguity = _spread(setting.ambiguity, n, np.linspace, rng)
        weight = _spread(setting.frequency, n, np.geomspace, rng)
        return cls(np.arange(n) // setting.cluster_size, ambiguity, weight / weight.sum())


def _spread(values: float | tuple[float, ...], n: int, space: Any, rng: np.random.Generator) -> Floats:
    each = (values,) if isinstance(values, float) else values
    if len(each) == 2 < n:
        return rng.permutation(space(*each, n))
    return np.broadcast_to(np.array(each, dtype=np.float64), (n,)).copy()


class Pairs:
    """A stream of training pairs, the same for one seed whatever other runs draw.

    >>> from radii.dynamics.config import Setting
    >>> some = Setting(n_items=10, ambiguity=0.0)
    >>> anchors, positives = Pairs(World.of(some), some).draw(7)
    >>> anchors.shape, bool((anchors // 5 == positives // 5).all()), bool((anchors == positives).any())
    ((7, 32), True, False)
    """

    def __init__(self, world: World, setting: Setting) -> None:
        self._world, self._size, self._batch = world, setting.cluster_size, setting.batch
        self._edges = np.cumsum(world.weight)
        self.rng = np.random.default_rng([setting.seed, 1])

    def draw(self, steps: int) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """Anchors and positives of the next steps, each (steps, batch)."""
        n, size = len(self._edges), self._size
        uniform = self.rng.random((steps, 3, self._batch)).transpose(1, 0, 2)
        anchors = np.minimum(np.searchsorted(self._edges, uniform[0], side="right"), n - 1)
        first = anchors // size * size
        # Another member: skip from the anchor, around its cluster. Another cluster: skip over its own.
        inside = first + (anchors - first + 1 + (uniform[1] * (size - 1)).astype(np.int64)) % size
        outside = (first + size + (uniform[1] * (n - size)).astype(np.int64)) % n
        strays = uniform[2] < self._world.ambiguity[anchors]
        return anchors, np.where(strays, outside, inside)
