"""Does an engine return the order that was exported? And if not, why."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from radii.data.embeddings import Embeddings, Floats
from radii.data.files import StrPath
from radii.deploy.engines import Hits, engine, engine_at
from radii.deploy.export import exported
from radii.deploy.manifest import FILE, read_manifest
from radii.errors import InputError

_CLOSE = 1e-5


@dataclass(frozen=True)
class Verification:
    """How an engine's answers compare with the exact order.

    Attributes
    ----------
    engine : str
    queries, k : int
    overlap : float
        Mean share of the exact first k that the engine returned; equal scores count as one another.
    violations : int
        Neighbours in a list that stand in the wrong order.
    cause : str, optional
        The likely cause; none where nothing is wrong.
    """

    engine: str
    queries: int
    k: int
    overlap: float
    violations: int
    cause: str | None

    @property
    def exact(self) -> bool:
        """Nothing is wrong."""
        return self.cause is None


def verify(
    location: StrPath,
    against: StrPath,
    queries: Embeddings | None = None,
    *,
    k: int = 10,
    sample: int = 100,
    seed: int = 0,
) -> Verification:
    """Ask the engine that radii wrote at `location`, and compare with the export in the folder `against`.

    Without `queries`, directions drawn from the seed are asked, in the span that documents have.
    Raises InputError when location and export belong to different transforms, and as `exported`.
    """
    served, manifest = exported(against)
    name = engine_at(location)
    if (Path(location) / FILE).exists() and read_manifest(location).checksum != manifest.checksum:
        raise InputError(
            "holds the vectors of another export",
            where=location,
            cause="the engine was not filled again after the last export",
            fix="write the engine again, or give the folder that it was filled from",
        )
    rng = np.random.default_rng(seed)
    if queries is None:
        asked = manifest.queries(rng.normal(size=(sample, manifest.dim)))
    else:
        rows = np.sort(rng.permutation(len(queries))[:sample])
        asked = manifest.queries(queries.part(rows))
    chosen = engine(name)
    hits = chosen.search(location, asked, k)
    vectors = np.asarray(served.vectors, dtype=np.float64)
    scores = asked.astype(np.float64) @ vectors.T
    overlap, violations = _compare(hits, scores, served, k)
    cause = None
    if overlap < 1.0 or violations:
        lengths = np.maximum(np.linalg.norm(vectors, axis=1), np.finfo(np.float64).tiny)
        cosine = _compare(hits, scores / lengths, served, k)
        lost = chosen.read(location).norms_lost
        cause = _cause(overlap, cosine, lost, chosen.exact, violations)
    return Verification(name, len(asked), k, overlap, violations, cause)


def _compare(hits: Hits, scores: Floats, served: Embeddings, k: int) -> tuple[float, int]:
    """Overlap with the exact first k, and neighbours in the wrong order."""
    kept, violations = [], 0
    for found, own in zip(hits.ids, scores, strict=True):
        k = min(k, len(own))
        margin = _CLOSE * max(float(np.abs(own).max()), np.finfo(np.float64).tiny)
        got = own[[served.rows[name] for name in found]]
        kept.append(np.count_nonzero(got >= -np.partition(-own, k - 1)[k - 1] - margin) / k)
        violations += int(np.count_nonzero(np.diff(got) > margin))
    return float(np.mean(kept)), violations


def _cause(overlap: float, cosine: tuple[float, int], lost: bool, exact: bool, violations: int) -> str:
    if lost:
        return "the engine normalised the vectors on write: take its inner-product metric, or the unit form"
    if cosine[0] > overlap or cosine[1] < violations:
        return "the metric is cosine (its order fits better): take inner product, or export the unit form"
    if not exact and not violations:
        return "index recall: what is found is in order, but not all is found; raise ef or nprobe"
    return "the engine ranks by something else: another metric, other vectors, or a filter"
