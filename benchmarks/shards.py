"""The search part by part against one pass, and the rates of the cost model in docs/howto/scale.md.

    python benchmarks/shards.py [--quick]

200,000 synthetic vectors of 384 dims, 200 queries, k = 10, γ in [−1, 1], one thread: what a task on a cluster
has. With --quick a quarter of the vectors.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from claims import Claim, judge, side_by_side

from radii.data.embeddings import Embeddings
from radii.data.rows import row_norms
from radii.ranking.candidates import find_candidates, search_all
from radii.ranking.family import Family, Group
from radii.ranking.partition import Asked, find_part, merge, placed, restricted, window
from radii.ranking.search import Search, Sizes
from radii.ranking.threads import cuts

N, M, DIM, K, GAMMAS = 50_000 if "--quick" in sys.argv else 200_000, 200, 384, 10, (-1.0, 1.0)
ONE = Sizes(threads=1)
NOTHING = np.full(M, -1)


def corpus(spread: float) -> tuple[Embeddings, Embeddings]:
    rng = np.random.default_rng(0)
    docs = rng.standard_normal((N, DIM), dtype=np.float32) + np.float32(0.3)
    docs *= np.exp(rng.normal(0, spread, size=(N, 1))).astype(np.float32)
    return Embeddings.of(docs), Embeddings.of(rng.standard_normal((M, DIM), dtype=np.float32) + 0.3)


def timed(call: object) -> tuple[float, object]:
    began = time.perf_counter()
    found = call()  # type: ignore[operator]
    return time.perf_counter() - began, found


def rates(spread: float) -> None:
    docs, queries = corpus(spread)
    seconds, _ = timed(lambda: row_norms(docs.vectors))
    print(f"sd of log r {spread}: norms {docs.vectors.nbytes / seconds / 1e9:.1f} GB/s")
    families, asked = [Family.power(docs.norms)], Asked(K, GAMMAS, Search("numba", ONE))
    for shard in (N, N // 4, N // 16):
        parts, spent, kept = [], 0.0, 0
        for rows in cuts(N, shard):
            own = [restricted(families[0], rows)]
            one, group = window(docs, rows), Group(queries, own, NOTHING)
            seconds, [found] = timed(lambda one=one, group=group: find_part(one, [group], asked))
            spent, kept = spent + seconds, kept + len(found[0].rows)
            parts.append(placed(found, own, rows.start))
        merging, merged = timed(lambda parts=parts: merge(parts, asked))
        print(
            f"  parts of {shard:,} rows: {2 * N * M * DIM / spent / 1e9:.0f} GFLOP/s a core,"
            f" {kept / len(parts) / M:.0f} candidates per part and query, {kept / M:.0f} per query in all,"
            f" {len(merged[0].candidates.rows) / M:.0f} after the merge ({merging / kept * 1e6:.2f} µs each)"
        )


def main() -> None:
    docs, queries = corpus(0.3)
    families, asked = [Family.power(docs.norms)], (K, GAMMAS, NOTHING)
    whole = Search("numba", ONE)
    find_part(docs, [Group(queries, families, NOTHING)], Asked(*asked[:2], whole))  # compile
    rates(0.1)
    rates(0.3)
    with TemporaryDirectory() as folder:
        runs = iter(range(1000))

        def kept() -> None:
            work = Path(folder) / str(next(runs))
            find_candidates(docs, queries, families, *asked, Search("numba", ONE, work=work, shard=N // 4))

        def again() -> None:
            find_candidates(
                docs, queries, families, *asked, Search("numba", ONE, work=Path(folder) / "0", shard=N // 4)
            )

        def at_once() -> None:
            search_all(docs, [Group(queries, families, NOTHING)], *asked[:2], whole)

        kept()
        best = side_by_side(3, kept=kept, again=again, at_once=at_once)
    judge(
        [
            Claim(
                "four parts, written to a folder, against one pass", best["kept"] / best["at_once"], 1.5, 1.2
            ),
            Claim(
                "four parts read from a folder, against one pass", best["again"] / best["at_once"], 0.3, 0.1
            ),
        ]
    )


if __name__ == "__main__":
    main()
