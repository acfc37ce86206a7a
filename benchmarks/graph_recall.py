"""Recall@10 of graph indexes, raw inner product against the unit form, over the sd of log norm.

    python benchmarks/graph_recall.py [documents] [dims] [ef]

Scores are ⟨q, d⟩ with norms drawn log-normal, independent of direction; 'cosine' is the same graph on the
same directions with all norms 1: the level that the better form has to reach to within 0.01.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import numpy as np

from radii.data.embeddings import Embeddings
from radii.deploy.correction import Correction
from radii.deploy.engines import engine, faiss, hnswlib, usearch
from radii.deploy.export import export

N = int(sys.argv[1]) if len(sys.argv) > 1 else 5000
DIM = int(sys.argv[2]) if len(sys.argv) > 2 else 64
EF = int(sys.argv[3]) if len(sys.argv) > 3 else 128
QUERIES, K, SEED = 200, 10, 0


def clustered(rng: np.random.Generator, n: int, centres: np.ndarray) -> np.ndarray:
    """Directions as embeddings have them: around centres."""
    return centres[rng.integers(len(centres), size=n)] + rng.normal(size=(n, DIM))


def recall(name: str, docs: Embeddings, multiplier: np.ndarray, form: str, queries: np.ndarray) -> float:
    """Mean share of the exact first ten that a graph finds."""
    with tempfile.TemporaryDirectory() as folder:
        at = Path(folder)
        manifest = export(docs, Correction("inner product", {"gamma": 1.0}, multiplier), at / "x", form=form)
        one = engine(name)
        one.write(at / "x", at / "e")
        hits = one.search(at / "e", manifest.queries(queries), K)
    unit = docs.vectors / np.linalg.norm(docs.vectors, axis=1, keepdims=True)
    best = np.argsort(-(queries @ unit.T) * multiplier, axis=1)[:, :K]
    return float(
        np.mean([len({docs.ids[r] for r in own} & set(f)) / K for own, f in zip(best, hits.ids, strict=True)])
    )


def main() -> None:
    for module in (faiss, hnswlib, usearch):
        module._EF = EF  # of building and of searching
    rng = np.random.default_rng(SEED)
    centres = rng.normal(size=(50, DIM))
    docs = Embeddings.of(clustered(rng, N, centres).astype(np.float32), "clustered")
    queries = clustered(rng, QUERIES, centres)
    print(f"{N:,} documents, {DIM} dims, {QUERIES} queries, recall@{K}, 32 links, ef {EF}, seed {SEED}")
    print(f"{'sd log norm':>11}  {'engine':<11} {'ip':>6} {'unit':>6} {'cosine':>6}  better − cosine")
    draws = rng.normal(size=N)
    flat = {name: recall(name, docs, np.ones(N), "ip", queries) for name in NAMES}
    for spread in (0.05, 0.1, 0.2, 0.5, 1.0):
        multiplier = np.exp(spread * draws)
        for name in NAMES:
            raw, unit = (recall(name, docs, multiplier, form, queries) for form in ("ip", "unit"))
            gap = max(raw, unit) - flat[name]
            print(f"{spread:>11.2f}  {name:<11} {raw:>6.3f} {unit:>6.3f} {flat[name]:>6.3f}  {gap:+.3f}")


NAMES = ("hnswlib", "faiss-hnsw", "usearch")

if __name__ == "__main__":
    main()
