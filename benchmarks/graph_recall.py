"""Recall of graph indexes, by the form of the vectors, over the spread of the norms. Real vectors.

    python benchmarks/graph_recall.py GLOSSES [documents] [out]

GLOSSES holds docs.npy and queries.npy: all-MiniLM-L6-v2 on WordNet glosses and lemmas, not normalised (`radii
embed` makes them). A sample of the documents is given new norms, every form of radii.deploy.forms goes into
hnswlib, FAISS HNSW and USearch with 16 links, and what each finds is compared with the exact order. 'cosine'
is the same graph on the same directions at equal ef: the level that the best form has to reach to within
0.01. Writes graph_recall.json; graph_recall_page.py makes the page and the figure of it. Last, the setting of
Milvus issue 51821 (FAISS, lists of 890 among 8,326), and how many documents a search can reach at all.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np

from radii.data.embeddings import Embeddings
from radii.deploy.correction import Correction
from radii.deploy.forms import Form, Served, asked

LINKS, BUILD, SEED, QUERIES = 16, 128, 0, 300
ASKED = ((10, 64), (10, 128), (100, 128))  # k, ef
FORMS: tuple[Form, ...] = ("ip", "centred", "unit")
SPREADS = (0.0, 0.05, 0.1, 0.2, 0.4, 0.8, 1.2)
Search = Callable[[np.ndarray, int, int], np.ndarray]


def hnswlib(vectors: np.ndarray) -> Search:
    import hnswlib

    index = hnswlib.Index("ip", vectors.shape[1])
    index.init_index(len(vectors), M=LINKS, ef_construction=BUILD, random_seed=SEED)
    index.add_items(vectors, num_threads=1)

    def search(queries: np.ndarray, k: int, ef: int) -> np.ndarray:
        index.set_ef(ef)
        found = np.full((len(queries), k), -1)
        for row, query in enumerate(queries):
            for fewer in range(k, 0, -1):  # it refuses to return less than it was asked for
                try:
                    found[row, :fewer] = index.knn_query(query, k=fewer, num_threads=1)[0]
                    break
                except RuntimeError:
                    continue
        return found

    return search


def faiss_index(vectors: np.ndarray, links: int, build: int) -> tuple:
    import faiss

    faiss.omp_set_num_threads(1)
    index = faiss.IndexHNSWFlat(vectors.shape[1], links, faiss.METRIC_INNER_PRODUCT)
    index.hnsw.efConstruction = build
    index.add(vectors)

    def search(queries: np.ndarray, k: int, ef: int) -> np.ndarray:
        index.hnsw.efSearch = ef
        return index.search(queries, k)[1]

    return index, search


def faiss(vectors: np.ndarray) -> Search:
    return faiss_index(vectors, LINKS, BUILD)[1]


def usearch(vectors: np.ndarray) -> Search:
    from usearch.index import Index

    index = Index(ndim=vectors.shape[1], metric="ip", dtype="f32", connectivity=LINKS, expansion_add=BUILD)
    index.add(np.arange(len(vectors), dtype=np.uint64), vectors, threads=1)

    def search(queries: np.ndarray, k: int, ef: int) -> np.ndarray:
        index.expansion_search = ef
        found = index.search(queries, k, threads=1)
        keys = np.asarray(found.keys, dtype=np.int64)
        keys[np.arange(k) >= np.asarray(found.counts)[:, None]] = -1
        return keys

    return search


ENGINES: dict[str, Callable[[np.ndarray], Search]] = {
    "hnswlib": hnswlib,
    "FAISS HNSW": faiss,
    "USearch": usearch,
}


def recalls(
    build: Callable, docs: Embeddings, multiplier: np.ndarray, queries: np.ndarray, form: Form
) -> list[float]:
    """Mean share of the exact first k that a graph finds, for every k and ef asked."""
    served = Served(docs, Correction("planted", {}, multiplier), form)
    search = build(np.concatenate([block for _, block in served.blocks()]))
    turned = asked(queries, form, projection=None, penalised=False)
    scores = -(unit(queries) @ unit(docs.vectors).T * multiplier)
    return [overlap(search(turned, k, ef), scores, k) for k, ef in ASKED]


def overlap(rows: np.ndarray, scores: np.ndarray, k: int) -> float:
    """Mean share of the k smallest `scores` among `rows`."""
    best = np.argpartition(scores, k - 1, axis=1)[:, :k]
    return round(float(np.mean([np.isin(one, own).mean() for one, own in zip(best, rows, strict=True)])), 4)


def unit(rows: np.ndarray) -> np.ndarray:
    wide = np.asarray(rows, dtype=np.float64)
    return wide / np.linalg.norm(wide, axis=1, keepdims=True)


def standard(values: np.ndarray) -> np.ndarray:
    return (values - values.mean()) / values.std()


def beaten(docs: Embeddings, multiplier: np.ndarray) -> float:
    """Share of the documents whose product with another one is larger than with themselves (of 2,000)."""
    served = unit(docs.vectors) * multiplier[:, None]
    return float(np.mean((served[:2000] @ served.T).argmax(axis=1) != np.arange(min(2000, len(served)))))


def cases(docs: Embeddings) -> list[tuple[str, float, Embeddings, np.ndarray]]:
    """(pattern, sd of log norm, directions, norms) of everything that is tried."""
    rng = np.random.default_rng(SEED)
    directions, spread = unit(docs.vectors), np.log(docs.norms).std()
    middle = directions.mean(axis=0)
    own, central = standard(np.log(docs.norms)), standard(directions @ middle)
    patterns = {
        "own norms": [(sd, own) for sd in SPREADS[1:]],
        "own norms, as they are": [(spread, own)],
        "drawn": [(sd, standard(rng.normal(size=len(docs)))) for sd in (0.2, 0.8)],
        "long where central": [(sd, central) for sd in SPREADS[1:]],
        "short where central": [(0.8, -central)],
    }
    found = [
        (name, float(sd), docs, np.exp(sd * shape)) for name, some in patterns.items() for sd, shape in some
    ]
    for amount in (1, 3):
        moved = Embeddings(docs.ids, directions + amount * middle / np.linalg.norm(middle), "shared")
        name = f"a shared direction added, {amount}×"
        found.append((name, float(np.log(moved.norms).std()), moved, moved.norms))
        drawn = moved.norms * np.exp(0.8 * standard(rng.normal(size=len(docs))))
        found.append((f"{name}, norms drawn", float(np.log(drawn).std()), moved, drawn))
    return found


def milvus(folder: Path) -> list[dict]:
    """Reached share, recall@10 and recall@890 in FAISS, raw and with the mean taken out."""
    docs, queries = sample(folder, 8326)
    wanted = {"drawn": 0.8, "long where central": 1.2, "own norms, as they are": None}
    table = []
    for pattern, sd, given, norms in cases(docs):
        if "shared" not in pattern and (pattern not in wanted or wanted[pattern] not in (None, sd)):
            continue
        row: dict = {"pattern": f"{pattern}, sd {sd:.2f}", "beaten": round(beaten(given, norms), 4)}
        for form in ("ip", "centred"):
            served = Served(given, Correction("planted", {}, norms), form)
            index, search = faiss_index(np.concatenate([block for _, block in served.blocks()]), 32, 256)
            turned = asked(queries, form, projection=None, penalised=False)
            scores = -(unit(queries) @ unit(given.vectors).T * norms)
            row[form] = {"reached": round(reached(index), 4)}
            for k in (10, 890):
                row[form][f"recall@{k}"] = overlap(search(turned, k, 890), scores, k)
        table.append(row)
        print(json.dumps(row), flush=True)
    return table


def reached(index) -> float:
    """Share of all documents that links of the lowest layer lead to from where a search starts."""
    import faiss

    graph, offsets = index.hnsw, faiss.vector_to_array(index.hnsw.offsets).astype(np.int64)
    links = faiss.vector_to_array(graph.neighbors)[offsets[:-1, None] + np.arange(graph.nb_neighbors(0))]
    seen = np.zeros(index.ntotal, dtype=bool)
    front = np.array([graph.entry_point])
    while len(front):
        seen[front] = True
        front = np.unique(links[front])
        front = front[front >= 0]
        front = front[~seen[front]]
    return float(seen.mean())


def sample(folder: Path, n: int) -> tuple[Embeddings, np.ndarray]:
    vectors, queries = np.load(folder / "docs.npy", mmap_mode="r"), np.load(folder / "queries.npy")
    rng = np.random.default_rng(SEED)
    rows = np.sort(rng.choice(len(vectors), n, replace=False))
    chosen = queries[np.sort(rng.choice(len(queries), QUERIES, replace=False))]
    return Embeddings.of(np.array(vectors[rows]), "glosses"), chosen.astype(np.float64)


def measure(folder: Path, n: int, out: Path) -> None:
    docs, chosen = sample(folder, n)
    table, flat = [], {}
    for pattern, sd, given, norms in [("cosine", 0.0, docs, np.ones(n)), *cases(docs)]:
        share = beaten(given, norms)
        for name, build in ENGINES.items():
            began = time.perf_counter()
            if (name, id(given)) not in flat:
                flat[name, id(given)] = recalls(build, given, np.ones(n), chosen, "ip")
            level = flat[name, id(given)]
            forms = () if pattern == "cosine" else FORMS
            row = {form: recalls(build, given, norms, chosen, form) for form in forms}
            table.append(
                {"pattern": pattern, "sd": round(sd, 4), "beaten": round(share, 4), "engine": name}
                | {"cosine": level, **row}
            )
            print(json.dumps(table[-1]), f"{time.perf_counter() - began:.0f} s", flush=True)
    setting = {"documents": n, "dims": docs.dim, "queries": QUERIES, "links": LINKS, "build": BUILD}
    body = {"setting": setting | {"seed": SEED}, "asked": ASKED, "rows": table, "reports": milvus(folder)}
    out.mkdir(parents=True, exist_ok=True)
    (out / "graph_recall.json").write_text(json.dumps(body, indent=1) + "\n")


if __name__ == "__main__":
    words = [word for word in sys.argv[1:] if not word.startswith("--")]
    target = Path(words[2]) if len(words) > 2 else Path(__file__).parents[1] / "docs"
    if "--reports" in sys.argv:  # these alone, into a JSON that is there
        made = json.loads((target / "graph_recall.json").read_text())
        made["reports"] = milvus(Path(words[0]))
        (target / "graph_recall.json").write_text(json.dumps(made, indent=1) + "\n")
    else:
        measure(Path(words[0]), int(words[1]) if len(words) > 1 else 5000, target)
