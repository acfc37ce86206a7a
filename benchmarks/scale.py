"""One machine: `radii path` and `radii audit` on up to ten million half-precision vectors in a mapped file.

    python benchmarks/scale.py [--rows 10000000] [--queries 1000] [--folder DIR] [--audit] [--growth]

Writes (n, 384) float16 vectors (7.7 GB at ten million; kept where a folder is given), queries and judgements,
and runs the command line in fresh processes. The floor, measured in the same run on the same two cores, is
what no exact answer can do without: the file read once, widened to float32 and multiplied with all queries.
Peak memory is that of anonymous pages, sampled; mapped pages of the file are not counted: the system takes
them back when it needs them. --growth does all of it on a tenth of the rows too.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from claims import Claim, judge
from threadpoolctl import threadpool_limits

DIM, RANK, RELEVANT = 384, 32, 3
BLOCK = 50_000
CORES = 2
RADII = [sys.executable, "-m", "radii"]


@dataclass(frozen=True)
class Corpus:
    """Files of one corpus."""

    docs: Path
    queries: Path
    qrels: Path

    @classmethod
    def made(cls, folder: Path, rows: int, n_queries: int, seed: int = 0) -> Corpus:
        """Written once: a narrow cone, 32 directions of falling weight, noise, and log-normal norms.

        Every query has three relevant documents of its own latent point, anywhere in the file, a twentieth
        shorter than others: there is something for a discount to find.
        """
        stem = folder / f"{rows}x{n_queries}"
        made = cls(
            *(stem.with_name(f"{stem.name}.{end}") for end in ("docs.npy", "queries.npy", "qrels.tsv"))
        )
        if made.qrels.exists():
            return made
        rng = np.random.default_rng(seed)
        basis = rng.standard_normal((RANK, DIM), dtype=np.float32) * np.linspace(1.5, 0.5, RANK)[:, None]
        basis = (basis / np.sqrt(DIM)).astype(np.float32)
        mean = rng.standard_normal(DIM, dtype=np.float32) * np.float32(2.0 / np.sqrt(DIM))
        points = rng.standard_normal((n_queries, RANK), dtype=np.float32)
        planted = rng.choice(rows, n_queries * RELEVANT, replace=False)
        order = np.argsort(planted)
        out = np.lib.format.open_memmap(made.docs, mode="w+", dtype=np.float16, shape=(rows, DIM))
        for at in range(0, rows, BLOCK):
            size = min(BLOCK, rows - at)
            latent = rng.standard_normal((size, RANK), dtype=np.float32)
            logs = 0.1 * rng.standard_normal(size, dtype=np.float32)
            here = order[slice(*np.searchsorted(planted[order], [at, at + size]))]
            own = planted[here] - at
            share = rng.uniform(0.3, 0.9, size=(len(own), 1)).astype(np.float32)
            latent[own] = share * points[here // RELEVANT] + np.sqrt(1 - share**2) * latent[own]
            logs[own] -= np.float32(0.05)
            vectors = latent @ basis
            vectors += mean
            vectors += rng.standard_normal((size, DIM), dtype=np.float32) * np.float32(3.0 / np.sqrt(DIM))
            vectors *= (np.float32(5.0) * np.exp(logs) / np.linalg.norm(vectors, axis=1))[:, None]
            out[at : at + size] = vectors
        out.flush()
        noise = rng.standard_normal((n_queries, DIM), dtype=np.float32) * np.float32(1.0 / np.sqrt(DIM))
        np.save(made.queries, points @ basis + mean + noise)
        lines = [f"{place // RELEVANT}\t{row}\t1\n" for place, row in enumerate(planted)]
        made.qrels.write_text("".join(lines))
        return made


def floor(docs: Path, queries: Path) -> None:
    """Read the file once, block by block, widen, multiply: two threads, each with blocks of its own."""
    asked = np.load(queries)
    asked /= np.linalg.norm(asked, axis=1, keepdims=True)
    header = np.load(docs, mmap_mode="r")
    n, step = len(header), 8192

    def work(first: int) -> None:
        half = np.empty((step, DIM), dtype=np.float16)
        single = np.empty((step, DIM), dtype=np.float32)
        products = np.empty((len(asked), step), dtype=np.float32)
        spent = np.zeros(3)
        with open(docs, "rb") as file:
            for at in range(first * step, n, CORES * step):
                size = min(step, n - at)
                began = time.perf_counter()
                file.seek(header.offset + at * DIM * 2)
                file.readinto(half[:size])
                read = time.perf_counter()
                single[:size] = half[:size]
                widened = time.perf_counter()
                np.matmul(asked, single[:size].T, out=products[:, :size] if size == step else None)
                spent += read - began, widened - read, time.perf_counter() - widened
        parts.append(spent)

    parts: list[np.ndarray] = []
    began = time.perf_counter()
    with threadpool_limits(1, user_api="blas"), ThreadPoolExecutor(CORES) as pool:
        list(pool.map(work, range(CORES)))
    print(time.perf_counter() - began, *np.mean(parts, axis=0))


@dataclass(frozen=True)
class Spent:
    """What a child process took: wall and processor seconds, peak anonymous memory in MB."""

    seconds: float
    processor: float
    peak: float = 0.0

    def __str__(self) -> str:
        peak = f", peak {self.peak:,.0f} MB" if self.peak else ""
        return f"{self.seconds:.1f} s ({self.processor:.1f} s of processors){peak}"


def of_children() -> float:
    """Processor seconds of all children so far."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def floor_of(corpus: Corpus) -> Spent:
    """The floor in a fresh process."""
    command = [sys.executable, __file__, "--floor", str(corpus.docs), str(corpus.queries)]
    before = of_children()
    told = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    whole, read, widen, product = map(float, told)
    spent = Spent(whole, of_children() - before)
    print(f"  floor {spent}: reading {read:.1f}, widening {widen:.1f}, products {product:.1f}", flush=True)
    return spent


def run(corpus: Corpus, command: str, folder: Path) -> Spent:
    """A command of radii in a fresh process."""
    files = [str(corpus.docs), "--queries", str(corpus.queries), "--qrels", str(corpus.qrels)]
    if command == "path":
        rest = ["--out", str(folder / "path.json")]
    else:
        rest = ["--out", str(folder / "report"), "--no-html", "--quiet"]
    began, before, peak = time.perf_counter(), of_children(), 0.0
    with subprocess.Popen([*RADII, command, *files, *rest]) as child:
        while child.poll() is None:
            peak = max(peak, anonymous(child.pid))
            time.sleep(0.01)
    if child.returncode:
        sys.exit(f"radii {command} ended with {child.returncode}")
    return Spent(time.perf_counter() - began, of_children() - before, peak)


def anonymous(pid: int) -> float:
    """MB of anonymous pages of a process; 0 when it has ended."""
    try:
        with open(f"/proc/{pid}/status") as status:
            return next((int(line.split()[1]) / 1024 for line in status if line.startswith("RssAnon")), 0.0)
    except (FileNotFoundError, ProcessLookupError):
        return 0.0


def measure(folder: Path, rows: int, n_queries: int, command: str, repeats: int) -> tuple[Spent, Spent]:
    """The command and its floor: of some turns the fastest, with the highest peak."""
    corpus = Corpus.made(folder, rows, n_queries)
    runs, floors = [], []
    for _ in range(repeats):
        floors.append(floor_of(corpus))
        runs.append(run(corpus, command, folder))
        print(f"  radii {command} {runs[-1]}", flush=True)
    best, least = (min(some, key=lambda one: one.seconds) for some in (runs, floors))
    busy = min(one.processor for one in runs) / min(one.processor for one in floors)
    print(f"  in processor time, which a busy machine disturbs less: {busy:.2f} times the floor", flush=True)
    return Spent(best.seconds, best.processor, max(one.peak for one in runs)), least


def claims_of(command: str, rows: int, spent: Spent, least: Spent) -> list[Claim]:
    time_bound, memory_bound = (1.3, 1.5) if command == "path" else (9.0, 1.5)
    name = f"radii {command}, {rows:,} rows"
    return [
        Claim(f"{name}: time / floor", spent.seconds / least.seconds, time_bound, 1.3),
        Claim(f"{name}: GB of anonymous memory", spent.peak / 1000, memory_bound, 1.5),
    ]


def main() -> None:
    given = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    given.add_argument("--rows", type=int, default=10_000_000)
    given.add_argument("--queries", type=int, default=1000)
    given.add_argument("--repeats", type=int, default=1)
    given.add_argument("--folder", type=Path, help="keeps the corpora; a temporary folder if not given")
    given.add_argument("--audit", action="store_true", help="measure radii audit as well")
    given.add_argument("--growth", action="store_true", help="compare with a tenth of the rows")
    given.add_argument("--floor", nargs=2, type=Path, metavar=("DOCS", "QUERIES"), help=argparse.SUPPRESS)
    asked = given.parse_args()
    if asked.floor:
        floor(*asked.floor)
        return
    commands = ["path", "audit"] if asked.audit else ["path"]
    with tempfile.TemporaryDirectory() as temporary:
        folder = asked.folder or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        for command in commands:
            run(Corpus.made(folder, 200_000, 100), command, folder)  # compiles what large corpora use
        claims = []
        for command in commands:
            whole = measure(folder, asked.rows, asked.queries, command, asked.repeats)
            claims += claims_of(command, asked.rows, *whole)
            if asked.growth:
                part = measure(folder, asked.rows // 10, asked.queries, command, asked.repeats)
                growth = whole[0].seconds / (10 * part[0].seconds)
                claims.append(
                    Claim(f"radii {command}: ten times the rows / ten times the time", growth, 1.1, 1.1)
                )
        judge(claims)


if __name__ == "__main__":
    main()
