"""How candidates are searched for: by what, and cut into which pieces. No result depends on it."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.util import find_spec
from typing import Literal, get_args

import numpy as np

from radii.data.embeddings import Floats
from radii.errors import InputError, MissingExtraError

Backend = Literal["auto", "numba", "torch"]
BACKENDS: tuple[str, ...] = get_args(Backend)


@dataclass(frozen=True)
class Sizes:
    """How the search for candidates is cut. No result depends on it.

    Attributes
    ----------
    block, queries : int
        Documents and queries per matrix product.
    first : int
        Documents in the first block; at least twice k are taken.
    segments : int
        Groups of documents with similar log r, each with its own threshold.
    nodes : int
        Exponents at which bounds are taken: more prune harder and cost more.
    threads : int
        0 for all processors that this process may use.
    """

    block: int = 8192
    queries: int = 1024
    first: int = 256
    segments: int = 32
    nodes: int = 9
    threads: int = 0

    def between(self, low: float, high: float) -> Floats:
        """The nodes of a γ range: its two ends at least, or its one point."""
        return np.linspace(low, high, max(2, self.nodes)) if low < high else np.array([low])


@dataclass(frozen=True)
class Search:
    """What a caller may choose of the search for candidates; see `find_candidates`.

    Attributes
    ----------
    backend : 'auto', 'numba' or 'torch'
        What multiplies and prunes. torch does on CUDA, else on MPS, else on CPU tensors.
    sizes : Sizes, optional
        Stream with these. By default small problems skip streaming, and its compilation.

    Raises
    ------
    InputError
        On another backend.
    MissingExtraError
        On torch, where it is not installed.
    """

    backend: str = "auto"
    sizes: Sizes | None = None

    def __post_init__(self) -> None:
        if self.backend not in BACKENDS:
            raise InputError(
                f"backend {self.backend!r}", cause="a typing error", fix=f"one of {', '.join(BACKENDS)}"
            )
        if self.backend == "torch" and find_spec("torch") is None:
            raise MissingExtraError("torch", "torch")
