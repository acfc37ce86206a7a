"""Export against a plain copy of the matrix, file to file; and what it holds in memory.

    python benchmarks/export.py [documents] [dims]

The plain copy reads the memory-mapped file block by block and writes the blocks to another file, no more.
Both leave their pages to the system: neither waits for the disk. An export also writes ids, what undoes it,
and a manifest. 'from the file' includes the pass over the file that finds the norms, which has to end before
an exponent of them can begin.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from claims import Claim, judge, side_by_side

from radii.data.embeddings import Embeddings
from radii.deploy.correction import Correction
from radii.deploy.export import export

SIZES = [int(word) for word in sys.argv[1:] if word.isdigit()]
N, DIM = [*SIZES, *(100_000, 384)[len(SIZES) :]]
TURNS = 15


def copy(source: Path, target: Path) -> None:
    """Block by block, in blocks of a megabyte as an export reads and writes."""
    matrix = np.load(source, mmap_mode="r")
    with open(target, "wb") as file:
        for at in range(0, len(matrix), step := max(1, (1 << 18) // DIM)):
            file.write(np.ascontiguousarray(matrix[at : at + step]).data)


def write(path: Path, n: int) -> None:
    rng = np.random.default_rng(0)
    out = np.lib.format.open_memmap(path, mode="w+", dtype=np.float32, shape=(n, DIM))
    for at in range(0, n, 10_000):
        out[at : at + 10_000] = rng.standard_normal((min(10_000, n - at), DIM), dtype=np.float32)
    out.flush()


def counted(job: Callable[[], object], spent: list[float]) -> Callable[[], None]:
    """The job; notes the processor time that all its threads took."""

    def call() -> None:
        began = time.process_time()
        job()
        spent.append(time.process_time() - began)

    return call


def change(docs: Embeddings) -> Correction:
    return Correction("norm exponent", {"gamma": -0.3}, docs.norms**-0.3)


def memory(path: str, out: str) -> None:
    """Child process: peak anonymous memory of an export above its start, in MB."""
    peak, done = [0.0], threading.Event()

    def anonymous() -> float:
        with open("/proc/self/status") as status:
            return next(int(line.split()[1]) / 1024 for line in status if line.startswith("RssAnon"))

    def watch() -> None:
        while not done.wait(0.002):
            peak[0] = max(peak[0], anonymous())

    docs = Embeddings.of(np.load(path, mmap_mode="r"), "docs")
    export(docs.part(np.arange(10)), change(docs.part(np.arange(10))), out)
    made = change(docs)
    before = anonymous()
    threading.Thread(target=watch, daemon=True).start()
    export(docs, made, out)
    done.set()
    print(peak[0] - before)


def child(path: Path, out: Path) -> float:
    command = [sys.executable, __file__, "--memory", str(path), str(out)]
    return float(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        at = Path(folder)
        write(at / "docs.npy", N)
        docs = Embeddings.of(np.load(at / "docs.npy", mmap_mode="r"), "docs")
        known = change(docs)

        def from_the_file() -> None:
            docs.__dict__.pop("norms")
            export(docs, change(docs), at / "out")

        jobs = {
            "copy": lambda: copy(at / "docs.npy", at / "copy.bin"),
            "single": lambda: export(docs, known, at / "out"),
            "unit": lambda: export(docs, known, at / "out", form="unit"),
            "half": lambda: export(docs, known, at / "out", dtype="float16"),
            "whole": from_the_file,
        }
        for job in jobs.values():  # compiles
            job()
        taken: dict[str, list[float]] = {name: [] for name in jobs}
        best = side_by_side(TURNS, **{name: counted(job, taken[name]) for name, job in jobs.items()})
        print(f"{N:,} × {DIM}: " + ", ".join(f"{job} {1e3 * spent:.0f} ms" for job, spent in best.items()))
        small = child(at / "docs.npy", at / "out")
        write(at / "large.npy", 4 * N)
        large = child(at / "large.npy", at / "out")
    print(
        "processor time, medians: "
        + ", ".join(f"{job} {1e3 * np.median(t):.0f} ms" for job, t in taken.items())
    )
    speed = {job: best["copy"] / spent for job, spent in best.items()}
    print(f"an export of {N:,} documents holds {small:.0f} MB, one of {4 * N:,} {large:.0f} MB")
    per = 1e6 * (large - small) / (3 * N)
    judge(
        [
            Claim("export: speed / plain copy, norms known", speed["single"], 0.7, 0.7, True),
            Claim("export: speed / plain copy, norms known, unit form", speed["unit"], 0.5, 0.7, True),
            Claim(
                "export: speed / plain copy, norms known, to half precision", speed["half"], 0.7, 0.7, True
            ),
            Claim("export: speed / plain copy, from the file", speed["whole"], 0.5, 0.7, True),
            Claim("export: bytes held per further document", per, 100, 100),
        ]
    )


if __name__ == "__main__":
    memory(*sys.argv[2:]) if sys.argv[1:2] == ["--memory"] else main()
