"""Does an engine return the order that was exported? And if not, why."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from radii.data.embeddings import Embeddings, Floats
from radii.data.files import StrPath
from radii.data.rows import row_norms
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
    overlap, violations = compare(hits, asked, served, k)
    cause = None
    if overlap < 1.0 or violations:
        cosine = compare(hits, asked, served, k, cosine=True)
        lost = chosen.read(location).norms_lost
        cause = _cause(overlap, cosine, lost, chosen.exact, violations)
    return Verification(name, len(asked), k, overlap, violations, cause)


def compare(
    hits: Hits, asked: npt.ArrayLike, served: Embeddings, k: int, *, cosine: bool = False
) -> tuple[float, int]:
    """Overlap of the hits with the exact first k, and how many neighbours among them are in the wrong order.

    The exact order is that of ⟨q, d⟩, or of the cosine, over all served vectors, a few megabytes of which are
    in memory at a time; scores that differ by less than 1e-5 of a query's largest count as equal.
    """
    queries = np.asarray(asked, dtype=np.float64)
    k = min(k, len(served))
    largest, best = np.zeros(len(queries)), np.full((len(queries), k), -np.inf)
    for _, block in served.blocks():
        scores = _scores(queries, block, cosine)
        largest = np.maximum(largest, np.abs(scores).max(axis=1))
        best = np.partition(np.concatenate([best, scores], axis=1), -k, axis=1)[:, -k:]
    margins = _CLOSE * np.maximum(largest, np.finfo(np.float64).tiny)
    kept, violations = [], 0
    for found, query, worst, margin in zip(hits.ids, queries, best.min(axis=1), margins, strict=True):
        rows = [served.rows[name] for name in found]
        [own] = _scores(query[None], np.asarray(served.vectors[rows], dtype=np.float64), cosine)
        kept.append(np.count_nonzero(own >= worst - margin) / k)
        violations += int(np.count_nonzero(np.diff(own) > margin))
    return float(np.mean(kept)), violations


def _scores(queries: Floats, docs: Floats, cosine: bool) -> Floats:
    scores: Floats = queries @ docs.T
    return scores / np.maximum(row_norms(docs), np.finfo(np.float64).tiny) if cosine and len(docs) else scores


def _cause(overlap: float, cosine: tuple[float, int], lost: bool, exact: bool, violations: int) -> str:
    if lost:
        return "the engine normalised the vectors on write: take its inner-product metric, or the unit form"
    if cosine[0] > overlap or cosine[1] < violations:
        return "the metric is cosine (its order fits better): take inner product, or export the unit form"
    if not exact and not violations:
        return "index recall: what is found is in order, but not all is found; raise ef or nprobe"
    return "the engine ranks by something else: another metric, other vectors, or a filter"
