"""What the width of the stored numbers does to a path, on the bundled demo.

    python benchmarks/widths.py

The demo's vectors, published in half precision, get digits below it, as a model would give them, and are
stored in every width. Everything after reading is done in float64.
"""

from __future__ import annotations

import numpy as np

import radii
from radii.data import demo
from radii.data.qrels import read_qrels

GAMMAS = np.linspace(-1, 1, 201)


def bfloat16(vectors: np.ndarray) -> np.ndarray:
    """Float32 of the nearest bfloat16, as radii reads it from a safetensors file."""
    bits = vectors.astype(np.float32).view(np.uint32)
    return ((bits + 0x8000) & 0xFFFF0000).view(np.float32)


def main() -> None:
    files = demo.paths()
    given, qrels = radii.load(files.vectors), read_qrels(files.qrels)
    whole = np.asarray(given.vectors, dtype=np.float64)
    whole = whole * (1 + np.random.default_rng(0).uniform(-(2.0**-12), 2.0**-12, whole.shape))
    widths = {
        "fp64": whole,
        "fp32": whole.astype(np.float32),
        "fp16": whole.astype(np.float16),
        "bf16": bfloat16(whole),
    }
    first = None
    print(f"{'stored as':<10}{'norms off by':>14}{'nDCG@10 off by':>16}{'at cosine':>11}{'best γ':>9}")
    for name, vectors in widths.items():
        docs = radii.Embeddings(given.ids, vectors, name)
        path = radii.exponent_path(docs, docs, exclude_self=True).metric("nDCG@10", qrels)
        found = docs.norms, np.array([path.at(float(gamma)) for gamma in GAMMAS])
        first = found if first is None else first
        norms, values = np.abs(found[0] / first[0] - 1).max(), np.abs(found[1] - first[1]).max()
        print(f"{name:<10}{norms:>14.1e}{values:>16.1e}{path.at(0.0):>11.4f}{path.best().gamma:>+9.3f}")


if __name__ == "__main__":
    main()
