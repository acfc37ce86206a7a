"""Which streaming search runs: each backend is imported when it is chosen, not before."""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

_WORTH = 500_000_000  # pairs; below this numba takes about as long as importing torch

Stream = Callable[..., list[list[tuple[Any, Any, Any]]]]


def streaming(backend: str, pairs: int) -> Stream:
    """The `stream` of a backend, for that many pairs of a document and a query.

    'auto' is numba, but torch where it is installed, sees a CUDA device, and either is already imported or
    there are 500 million pairs: looking for a device imports torch, which takes seconds.
    """
    if backend == "torch" or (backend == "auto" and _cuda(pairs)):
        from radii.ranking import torch_streaming

        return torch_streaming.stream
    from radii.ranking import streaming  # imports numba

    return streaming.stream


def _cuda(pairs: int) -> bool:
    """Whether torch may be asked for a CUDA device, and has one."""
    if "torch" not in sys.modules and (pairs < _WORTH or find_spec("torch") is None):
        return False
    try:
        import torch
    except ImportError:  # installed, and broken: nobody asked for it
        return False
    return bool(torch.cuda.is_available())
