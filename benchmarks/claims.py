"""A performance claim: a ratio measured in one run, the bound we stand behind, and the target it was set."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Claim:
    """`value` is to be at most (or at least) `bound`; `target` is what the issue asked for."""

    name: str
    value: float
    bound: float
    target: float
    at_least: bool = False

    def holds(self, limit: float) -> bool:
        return self.value >= limit if self.at_least else self.value <= limit

    def __str__(self) -> str:
        sign = "≥" if self.at_least else "≤"
        verdict = "holds" if self.holds(self.bound) else "FAILS"
        reached = "" if self.holds(self.target) else f"   (target {sign} {self.target:g} not reached)"
        return f"{self.name:<74} {self.value:8.2f}   {sign} {self.bound:g} {verdict}{reached}"


def judge(claims: Sequence[Claim]) -> None:
    """Print every claim; exit with 1 when one does not hold."""
    for claim in claims:
        print(claim, flush=True)
    sys.exit(not all(claim.holds(claim.bound) for claim in claims))


def side_by_side(repeats: int, **jobs: Callable[[], object]) -> dict[str, float]:
    """Best wall time of each job, in seconds, in turns, so that all meet the same machine."""
    best = dict.fromkeys(jobs, float("inf"))
    for _ in range(repeats):
        for name, job in jobs.items():
            began = time.perf_counter()
            job()
            best[name] = min(best[name], time.perf_counter() - began)
    return best
