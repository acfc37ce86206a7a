"""How candidates are searched for: by what, and cut into which pieces. No result depends on it."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Literal, get_args

import numpy as np

from radii.data.embeddings import Embeddings, Floats
from radii.errors import InputError, MissingExtraError

Backend = Literal["auto", "numba", "torch", "ray"]
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
    backend : 'auto', 'numba', 'torch' or 'ray'
        What multiplies and prunes. torch does on CUDA, else on MPS, else on CPU tensors; ray deals parts of
        the documents to a cluster.
    sizes : Sizes, optional
        Stream with these. By default small problems skip streaming, and its compilation.
    work : Path, optional
        Folder that keeps the candidates of every finished part of the documents, so that an interrupted run
        goes on from there.
    shard : int
        Rows of a part, where there are parts: with `work`, and on a cluster.

    Raises
    ------
    InputError
        On another backend, or parts without rows.
    MissingExtraError
        On torch, where it is not installed.
    """

    backend: str = "auto"
    sizes: Sizes | None = None
    work: Path | None = None
    shard: int = 1 << 20

    def __post_init__(self) -> None:
        if self.backend not in BACKENDS:
            raise InputError(
                f"backend {self.backend!r}", cause="a typing error", fix=f"one of {', '.join(BACKENDS)}"
            )
        if self.backend == "torch" and find_spec("torch") is None:
            raise MissingExtraError("torch", "torch")
        if self.shard < 1:
            raise InputError(f"parts of {self.shard} rows", cause="a typing error", fix="1 or more")

    @property
    def parted(self) -> bool:
        """Whether documents are searched part by part."""
        return self.work is not None or self.backend == "ray"

    def measure(self, docs: Embeddings) -> None:
        """On a cluster: have the norms of `docs` read there, part by part. Raises as `docs.norms` does."""
        if self.backend == "ray" and "norms" not in docs.__dict__:
            from radii.ranking.ray_cluster import read_norms

            docs.__dict__["norms"] = docs.usable(read_norms(docs, self.shard))
