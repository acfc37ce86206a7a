"""The exact exponent path against one flat search, a grid of searches, and the bare product.

    python benchmarks/exponent_path.py [--quick]

Real vectors: 82,115 WordNet glosses × 2,000 lemmas, 384 dims; with 1,000,000 synthetic ones unless --quick.
`path` is candidates and the nDCG@k step function of all queries. FAISS searches an index that is already
built; norms are known to both (reading them takes the time printed). All run on the same threads with the
BLAS kernels that their libraries choose for this processor.
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from pathlib import Path

# Where a machine forces an old BLAS kernel, drop that before numpy starts: FAISS would not heed it.
if any(name in os.environ for name in ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE")):
    clean = {k: v for k, v in os.environ.items() if k not in ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE")}
    os.execve(sys.executable, [sys.executable, *sys.argv], clean)

import faiss
import glosses
import numpy as np
import threadpoolctl
from claims import Claim, judge, side_by_side

from radii import Embeddings
from radii.ranking.candidates import find_candidates
from radii.ranking.family import Family
from radii.ranking.path import exponent_path

QUICK = "--quick" in sys.argv
MILLION = glosses.CACHE / "million.npy"
K = (10, 100)


def unit(vectors: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(vectors / np.linalg.norm(vectors, axis=1, keepdims=True), dtype=np.float32)


def bare_product(docs: np.ndarray, queries: np.ndarray, block: int = 4096) -> None:
    out = np.empty((len(queries), block), dtype=np.float32)
    for start in range(0, len(docs), block):
        part = docs[start : start + block]
        np.matmul(queries, part.T, out=out if len(part) == block else None)


def path(docs: Embeddings, queries: Embeddings, qrels: dict, k: int, reach: float) -> None:
    exponent_path(docs, queries, k=k, gamma_range=(-reach, reach)).metric(f"nDCG@{k}", qrels)


def compare(name: str, vectors: np.ndarray, queries: np.ndarray, qrels: dict, repeats: int) -> list[Claim]:
    docs, asked = Embeddings.of(vectors), Embeddings.of(queries)
    began = time.perf_counter()
    spread = np.log(docs.norms).std()
    print(f"{name}: {vectors.shape}, sd of log r {spread:.2f}, norms in {time.perf_counter() - began:.2f} s")
    directions = unit(queries)
    index = faiss.IndexFlatIP(vectors.shape[1])
    index.add(unit(vectors))
    plain = faiss.rev_swig_ptr(index.get_xb(), vectors.size).reshape(vectors.shape)
    path(docs, asked, qrels, 10, 1.0)  # compiles
    best = side_by_side(
        repeats,
        product=lambda: bare_product(plain, directions),
        faiss10=lambda: index.search(directions, 10),
        path10=lambda: path(docs, asked, qrels, 10, 1.0),
        wide10=lambda: path(docs, asked, qrels, 10, 2.0),
        faiss100=lambda: index.search(directions, 100),
        path100=lambda: path(docs, asked, qrels, 100, 1.0),
        wide100=lambda: path(docs, asked, qrels, 100, 2.0),
    )
    print("  seconds: " + ", ".join(f"{job} {seconds:.2f}" for job, seconds in best.items()), flush=True)
    floor = best["product"]
    print(f"  one FAISS search takes {best['faiss10'] / floor:.2f} times the bare product", flush=True)
    return [
        Claim(f"{name}: path / one FAISS search, k = 10", best["path10"] / best["faiss10"], 1.45, 1.0),
        Claim(f"{name}: path / one FAISS search, k = 100", best["path100"] / best["faiss100"], 1.8, 1.4),
        Claim(
            f"{name}: path on [−2, 2] / one FAISS search, k = 10", best["wide10"] / best["faiss10"], 1.7, 1.3
        ),
        Claim(
            f"{name}: path on [−2, 2] / one FAISS search, k = 100", best["wide100"] / best["faiss100"], 3, 2.2
        ),
        Claim(f"{name}: path / bare product, k = 10", best["path10"] / floor, 1.7, 1.7),
    ]


def against_a_grid(vectors: np.ndarray, queries: np.ndarray, qrels: dict) -> Claim:
    """41 searches, each on vectors rescaled to r^γ: what people do."""
    docs, asked = Embeddings.of(vectors), Embeddings.of(queries)
    norms, directions, flat = docs.norms.astype(np.float32), unit(queries), unit(vectors)

    def grid() -> None:
        for gamma in np.linspace(-1, 1, 41):
            index = faiss.IndexFlatIP(flat.shape[1])
            index.add(flat * (norms**gamma)[:, None])
            index.search(directions, 10)

    best = side_by_side(1, grid=grid) | side_by_side(3, path=lambda: path(docs, asked, qrels, 10, 1.0))
    return Claim("41-point grid of FAISS searches / path, k = 10", best["grid"] / best["path"], 30, 35, True)


def growth(vectors: np.ndarray, queries: np.ndarray, qrels: dict) -> Claim:
    half, whole, asked = Embeddings.of(vectors[::2]), Embeddings.of(vectors), Embeddings.of(queries)
    _ = half.norms, whole.norms
    best = side_by_side(
        3, half=lambda: path(half, asked, qrels, 10, 1.0), whole=lambda: path(whole, asked, qrels, 10, 1.0)
    )
    return Claim("twice the documents / once, k = 10", best["whole"] / best["half"], 2.1, 2.1)


def second_arm(vectors: np.ndarray, queries: np.ndarray) -> Claim:
    """Another multiplier (a shuffled norm: the same spread, other documents) over the same products."""
    docs, asked = Embeddings.of(vectors), Embeddings.of(queries)
    norm = Family.power(docs.norms)
    other = Family.power(np.random.default_rng(0).permutation(docs.norms))
    nobody = np.full(len(queries), -1)

    def arms(*families: Family) -> None:
        find_candidates(docs, asked, families, 10, (-1.0, 1.0), nobody)

    best = side_by_side(5, one=lambda: arms(norm), two=lambda: arms(norm, other))
    return Claim("second arm / first arm, k = 10", best["two"] / best["one"] - 1, 0.25, 0.25)


def memory() -> None:
    """Child process: peak anonymous memory of a path over the mapped million, above its start, in MB."""
    peak, done = [0.0], threading.Event()

    def anonymous() -> float:
        with open("/proc/self/status") as status:
            return next(int(line.split()[1]) / 1024 for line in status if line.startswith("RssAnon"))

    def watch() -> None:
        while not done.wait(0.01):
            peak[0] = max(peak[0], anonymous())

    queries = np.load(glosses.CACHE / "queries.npy")
    exponent_path(np.load(glosses.CACHE / "docs.npy")[:9000], queries, k=10)  # compiles
    docs = np.load(MILLION, mmap_mode="r")
    before = anonymous()
    threading.Thread(target=watch, daemon=True).start()
    exponent_path(Embeddings.of(docs), queries, k=100)
    done.set()
    print(peak[0] - before)


def main() -> None:
    blas = [i for i in threadpoolctl.threadpool_info() if i["user_api"] == "blas"]
    for pool in blas:
        where = Path(pool["filepath"]).parent.name
        print(f"{where}: {pool['internal_api']} {pool['version']}, {pool.get('architecture')} kernels")
    vectors, queries, qrels = glosses.load()
    vectors = np.array(vectors)
    claims = compare("glosses", vectors, queries, qrels, repeats=5)
    claims.append(against_a_grid(vectors, queries, qrels))
    claims.append(growth(vectors, queries, qrels))
    claims.append(second_arm(vectors, queries))
    if not QUICK:
        million = glosses.synthetic(1_000_000, MILLION)
        used = subprocess.run(
            [sys.executable, __file__, "--memory"], capture_output=True, text=True, check=True
        )
        claims.append(Claim("million: MB beyond the mapped file, k = 100", float(used.stdout), 500, 500))
        claims += compare("million", million, queries, qrels, repeats=2)
    judge(claims)


if __name__ == "__main__":
    memory() if "--memory" in sys.argv else main()
