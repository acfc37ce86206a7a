"""Memory of a large parquet file: unpacked into the cache against read whole, each in its own process.

python benchmarks/parquet.py
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from claims import Claim, judge

ROWS, DIM, GROUPS = 1_200_000, 128, 4

# Anonymous memory at its highest: the pages of a map, which the system may drop, are not counted.
CODE = """
import threading, time
from pathlib import Path
from radii.data.parquet import read_parquet
peak, stop = 0, False
def watch():
    global peak
    while not stop:
        lines = open("/proc/self/status").read().splitlines()
        peak = max(peak, next(int(line.split()[1]) for line in lines if line.startswith("RssAnon")))
        time.sleep(0.01)
thread = threading.Thread(target=watch); thread.start()
began = time.perf_counter()
vectors, _ = read_parquet(Path({path!r}), False, {limit})
took, stop = time.perf_counter() - began, True
thread.join()
print(peak / 1024, took)
"""


def write(path: Path) -> None:
    rng, writer = np.random.default_rng(0), None
    for _ in range(GROUPS):
        flat = rng.standard_normal(ROWS // GROUPS * DIM, dtype=np.float32)
        table = pa.table({"vector": pa.FixedSizeListArray.from_arrays(flat, DIM)})
        writer = writer or pq.ParquetWriter(path, table.schema, compression="zstd", use_dictionary=False)
        writer.write_table(table, row_group_size=ROWS // GROUPS)
    writer.close()


def measured(path: Path, limit: int, cache: str) -> tuple[float, float]:
    """(MB, seconds) of reading the vectors, with at most `limit` bytes of them in memory."""
    done = subprocess.run(
        [sys.executable, "-c", CODE.format(path=str(path), limit=limit)],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "RADII_CACHE": cache},
    )
    memory, took = map(float, done.stdout.split())
    return memory, took


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "vectors.parquet"
        write(path)
        whole, took_whole = measured(path, 1 << 50, folder)
        unpacked, took_unpacked = measured(path, 0, folder)
        again, took_again = measured(path, 0, folder)
        print(f"{ROWS:,} × {DIM} float32, {path.stat().st_size >> 20} MB of parquet")
        for name, memory, took in (
            ("read whole", whole, took_whole),
            ("unpacked", unpacked, took_unpacked),
            ("again", again, took_again),
        ):
            print(f"{name:<12} {memory:6.0f} MB {took:6.2f} s")
        judge(
            [
                Claim("parquet: memory of unpacking, of memory of reading whole", unpacked / whole, 0.3, 0.3),
                Claim("parquet: time of a second run, of unpacking", took_again / took_unpacked, 0.1, 0.1),
            ]
        )


if __name__ == "__main__":
    main()
