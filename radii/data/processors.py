"""How many processors there are, and work done on others while its results are used in order."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

Item = TypeVar("Item")
Made = TypeVar("Made")

SHARED = 1 << 22  # numbers; work on more than this is worth other threads


def available_threads() -> int:
    """Processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def cuts(n: int, step: int = 1 << 16) -> list[slice]:
    """Slices of `step` rows that cover n of them; the last may be shorter.

    Of what is made for 65,536 rows at a time, nothing is as long as a large corpus.

    >>> cuts(5, 2)
    [slice(0, 2, None), slice(2, 4, None), slice(4, 5, None)]
    """
    return [slice(at, min(at + step, n)) for at in range(0, n, max(1, step))]


def share_out(job: Callable[[Item], Made], over: Iterable[Item], size: int) -> Iterator[Made]:
    """`map(job, over)`, on all processors where it is about more than a few million numbers."""
    if size <= SHARED:
        yield from map(job, over)
        return
    with ThreadPoolExecutor(available_threads()) as pool:
        yield from pool.map(job, over)


def ahead(make: Callable[[Item], Made], over: Iterable[Item], by: int = 2) -> Iterator[Made]:
    """`map(make, over)`, with the next results being made on another thread, `by` at most.

    >>> list(ahead(abs, [-1, 2, -3]))
    [1, 2, 3]
    """
    waiting: deque[Future[Made]] = deque()
    with ThreadPoolExecutor(1) as pool:
        for item in over:
            waiting.append(pool.submit(make, item))
            if len(waiting) > by:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
