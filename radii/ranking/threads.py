"""Threads of our own, with BLAS kept to one in each of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache
from threading import Lock
from typing import Any

from threadpoolctl import ThreadpoolController

from radii.data.processors import available_threads as available_threads
from radii.data.processors import cuts as cuts

_BLAS = Lock()  # the number of BLAS threads belongs to the whole process

Run = Callable[[Callable[[Any], Any], Iterable[Any]], list[Any]]


@contextmanager
def threads(count: int) -> Iterator[Run]:
    """A `map` that runs a job on threads of our own, while BLAS uses one thread in each of them.

    Two pools that wait for each other would spin on the same processors.
    """
    with _BLAS, _libraries().limit(limits=1, user_api="blas"), ThreadPoolExecutor(count) as pool:
        yield lambda job, over: list(pool.map(job, over))


@cache
def _libraries() -> ThreadpoolController:
    """Those that are loaded, looked for once: C calls back for each, and there Ctrl-C would be lost.

    numpy's is among them, and no other multiplies on our threads.
    """
    return ThreadpoolController()
