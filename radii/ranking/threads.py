"""Threads of our own, with BLAS kept to one in each of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from threading import Lock
from typing import Any

from threadpoolctl import threadpool_limits

from radii.data.processors import available_threads as available_threads

_BLAS = Lock()  # the number of BLAS threads belongs to the whole process

Run = Callable[[Callable[[Any], object], Iterable[Any]], None]


@contextmanager
def threads(count: int) -> Iterator[Run]:
    """A function that runs jobs on threads of our own, while BLAS uses one thread in each of them.

    Two pools that wait for each other would spin on the same processors.
    """
    with _BLAS, threadpool_limits(1, user_api="blas"), ThreadPoolExecutor(count) as pool:

        def run(job: Callable[[Any], object], over: Iterable[Any]) -> None:
            for _ in pool.map(job, over):
                pass

        yield run


def cuts(n: int, step: int) -> list[slice]:
    """Slices of `step` rows that cover n of them; the last may be shorter.

    >>> cuts(5, 2)
    [slice(0, 2, None), slice(2, 4, None), slice(4, 5, None)]
    """
    return [slice(at, min(at + step, n)) for at in range(0, n, max(1, step))]
