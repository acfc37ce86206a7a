"""The search for candidates in PyTorch against numba's, side by side.

    python benchmarks/backends.py

20,000 × 384 documents and 500 queries drawn around a common mean, k = 10, γ in [−1, 1]: one family, and four
over the same products, one thread each: PyTorch's threads wait by spinning, so a second job on the same
processors would decide the ratio. PyTorch runs where radii would have it run, which is printed; without an
accelerator these are CPU tensors, and the ratio only says what the detour costs. Results are compared first.
"""

from __future__ import annotations

from functools import partial

import numpy as np
import torch
from claims import Claim, judge, side_by_side

from radii import Embeddings
from radii.ranking.candidates import find_candidates
from radii.ranking.devices import choose_device
from radii.ranking.family import Family
from radii.ranking.path import ExponentPath
from radii.ranking.search import Search, Sizes

K, GAMMAS = 10, (-1.0, 1.0)


def corpus(n: int = 20_000, m: int = 500, dim: int = 384) -> tuple[Embeddings, Embeddings]:
    """Documents whose lengths spread by 0.3 in the logarithm, and queries."""
    rng = np.random.default_rng(0)
    docs = (rng.normal(size=(n, dim)) + 0.5) * np.exp(rng.normal(0, 0.3, size=(n, 1)))
    queries = rng.normal(size=(m, dim)) + 0.5
    return Embeddings.of(docs.astype(np.float32)), Embeddings.of(queries.astype(np.float32))


def check(docs: Embeddings, queries: Embeddings, family: Family, found: dict) -> None:
    """Tops at the ends and in the middle are the same, to the bit."""
    paths = [ExponentPath(docs, queries, K, GAMMAS, family, one) for one in found.values()]
    for row in range(len(queries)):
        for gamma in (-1.0, 0.0, 1.0):
            first, second = (path.scores(row, gamma).tolist() for path in paths)
            assert first == second


def main() -> None:
    docs, queries = corpus()
    place = choose_device()
    torch.set_num_threads(1)
    print(f"torch {torch.__version__} on {place}", flush=True)
    nobody = np.full(len(queries), -1)
    rng = np.random.default_rng(1)
    families = [
        Family.power(docs.norms),
        Family.power(rng.permutation(docs.norms)),
        Family.power(docs.norms, base=rng.normal(0, 0.1, len(docs))),
        Family.bias(rng.normal(0, 0.05, len(docs))),
    ]
    claims = []
    # The bounds are what CPU tensors keep, pruning included; an accelerator should stay far below.
    for some, bound in ((families[:1], 6.0), (families, 10.0)):

        def search(backend: str, some: list[Family] = some) -> list:
            how = Search(backend, Sizes(threads=1))
            return find_candidates(docs, queries, some, K, GAMMAS, nobody, how)

        jobs = {name: partial(search, name) for name in ("numba", "torch")}
        found = {name: job() for name, job in jobs.items()}  # compiles
        for at, family in enumerate(some):
            check(docs, queries, family, {name: parts[at] for name, parts in found.items()})
        best = side_by_side(7, **jobs)
        print("  seconds: " + ", ".join(f"{job} {seconds:.3f}" for job, seconds in best.items()), flush=True)
        name = f"torch on {place} / numba, 20,000 × 384 × 500, families: {len(some)}"
        claims.append(Claim(name, best["torch"] / best["numba"], bound, bound))
    judge(claims)


if __name__ == "__main__":
    main()
