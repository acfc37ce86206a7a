"""Damage files at random and hold every reader to its word: a result, or one line that says what is wrong.

    python benchmarks/fuzz.py [--minutes 10] [--only NAME] [--seed 0] [--keep FOLDER]

Each reader runs in a process of its own, with a limit on address space and on the seconds of a single input,
so that a crash, a hang or a blow-up of memory ends that process alone. What ends it, or raises anything but
InputError, MissingExtraError and NumericalError, is kept with its input and fails the run.
"""

from __future__ import annotations

import argparse
import faulthandler
import json
import os
import random
import resource
import subprocess
import sys
import tempfile
import time
import traceback
import warnings
from pathlib import Path

import fuzz_damage
import fuzz_targets

from radii.errors import InputError, MissingExtraError, NumericalError

SECONDS_PER_INPUT = 10
SPACE = 3 << 30  # of addresses, beyond what the process has when it starts
GROWTH = 256 << 10  # KB of resident memory that one input may cost


def child(name: str, seed: int, seconds: float, folder: Path) -> None:
    """Fuzz one reader until the time is up or a fault is found; the last line printed is JSON."""
    warnings.simplefilter("error")
    target = fuzz_targets.targets(folder)[name]
    place = folder / "in"
    place.mkdir()
    size = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (size + SPACE, size + SPACE))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    rng = random.Random(seed)
    end, counts = time.monotonic() + seconds, {"inputs": 0, "read": 0, "refused": 0}
    slowest, growth = 0.0, 0
    while time.monotonic() < end:
        for other, content in target.beside.items():
            (place / other).write_bytes(content)
        grown = target.grown is not None and rng.random() < 0.3
        content = target.grown(rng) if grown else fuzz_damage.damaged(target.valid, rng)
        (place / target.file).write_bytes(content)
        before, began = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.monotonic()
        faulthandler.dump_traceback_later(SECONDS_PER_INPUT, exit=True)
        counts["inputs"] += 1
        try:
            target.read(place / target.file)
            counts["read"] += 1
        except (InputError, MissingExtraError, NumericalError) as error:
            counts["refused"] += 1
            fault = None if str(error).isprintable() else f"not one line: {error!r}"
        except BaseException:  # noqa: BLE001 - whatever else a reader raises is what is looked for
            fault = traceback.format_exc()
        else:
            fault = None
        faulthandler.cancel_dump_traceback_later()
        slowest = max(slowest, time.monotonic() - began)
        grew = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
        growth = max(growth, grew)
        if fault is None and grew > GROWTH:
            fault = f"{grew >> 10} MB of memory for {len(content)} bytes"
        if fault is not None:
            print(json.dumps({**counts, "slowest": slowest, "growth": growth, "fault": fault}))
            return
    print(json.dumps({**counts, "slowest": slowest, "growth": growth, "fault": None}))


def fuzz(name: str, seed: int, seconds: float, keep: Path) -> dict[str, float]:
    """Fuzz one reader for so many seconds, over a fault and on; the counts, and how many faults."""
    total: dict[str, float] = {"inputs": 0, "read": 0, "refused": 0, "slowest": 0.0, "growth": 0, "faults": 0}
    end = time.monotonic() + seconds
    while (left := end - time.monotonic()) > 0 and total["faults"] < 20:
        with tempfile.TemporaryDirectory() as folder:
            words = [sys.executable, __file__, "--child", name, "--seed", str(seed), "--folder", folder]
            done = subprocess.run([*words, "--seconds", str(left)], capture_output=True, text=True)
            lines = done.stdout.splitlines()
            counts = json.loads(lines[-1]) if done.returncode == 0 and lines else {}
            ended = f"the process ended with {done.returncode}:\n{done.stderr}"
            fault = counts["fault"] if counts else ended
            if fault is not None:
                total["faults"] += 1
                _keep(Path(folder) / "in", keep / f"{name}-{seed}", fault)
            for key in ("inputs", "read", "refused"):
                total[key] += counts.get(key, 0)
            for key in ("slowest", "growth"):
                total[key] = max(total[key], counts.get(key, 0))
        seed += 1
    return total


def _keep(place: Path, kept: Path, fault: str) -> None:
    kept.mkdir(parents=True, exist_ok=True)
    for path in place.iterdir() if place.is_dir() else ():
        (kept / path.name).write_bytes(path.read_bytes())
    (kept / "fault").write_text(fault)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--only")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--keep", type=Path, default=Path("fuzz-faults"))
    parser.add_argument("--child", help=argparse.SUPPRESS)
    parser.add_argument("--seconds", type=float, help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.child is not None:
        child(given.child, given.seed, given.seconds, given.folder)
        return
    some = [given.only] if given.only else list(fuzz_targets.NAMES)
    faults, began = 0, time.monotonic()
    print(f"{'reader':<18}{'inputs':>9}{'read':>9}{'refused':>9}{'slowest':>9}{'memory':>9}{'faults':>8}")
    for name in some:
        found = fuzz(name, given.seed * 1_000_000, given.minutes * 60 / len(some), given.keep)
        faults += int(found["faults"])
        numbers = "".join(f"{found[key]:>9.0f}" for key in ("inputs", "read", "refused"))
        worst = f"{found['slowest']:>7.2f} s{found['growth'] / 1024:>6.0f} MB"
        print(f"{name:<18}{numbers}{worst}{found['faults']:>8.0f}", flush=True)
    print(
        f"{time.monotonic() - began:.0f} s, {faults} faults" + (f", kept in {given.keep}" if faults else "")
    )
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    main()
