"""Export against a plain copy of the matrix, file to file: at least 70 % of its speed.

python benchmarks/export.py [documents] [dims]
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from radii.data.embeddings import Embeddings
from radii.deploy.correction import Correction
from radii.deploy.export import export

N = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
DIM = int(sys.argv[2]) if len(sys.argv) > 2 else 384
WANTED = 0.7


def copy(source: Path, target: Path) -> None:
    """Block by block, as an export reads and writes."""
    matrix = np.load(source, mmap_mode="r")
    with open(target, "wb") as file:
        for at in range(0, len(matrix), 8192):
            file.write(np.ascontiguousarray(matrix[at : at + 8192]).data)


def fastest(call, repeats: int = 3) -> float:
    times = []
    for _ in range(repeats):
        began = time.perf_counter()
        call()
        times.append(time.perf_counter() - began)
    return min(times)


def main() -> int:
    with tempfile.TemporaryDirectory() as folder:
        at = Path(folder)
        np.save(at / "docs.npy", np.random.default_rng(0).normal(size=(N, DIM)).astype(np.float32))
        docs = Embeddings.of(np.load(at / "docs.npy", mmap_mode="r"), "docs")
        change = Correction("norm exponent", {"gamma": -0.3}, docs.norms**-0.3)
        plain = fastest(lambda: copy(at / "docs.npy", at / "copy.bin"))
        ours = fastest(lambda: export(docs, change, at / "out"))
    ratio = plain / ours
    word = "holds" if ratio >= WANTED else "does not hold"
    print(
        f"{N:,} × {DIM}: copy {plain:.2f} s, export {ours:.2f} s, speed ratio {ratio:.2f} ≥ {WANTED} {word}"
    )
    return int(ratio < WANTED)


if __name__ == "__main__":
    sys.exit(main())
