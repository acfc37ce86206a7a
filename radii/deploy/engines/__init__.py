"""Vector engines, by name. None is imported before it is used.

>>> sorted(ENGINES)[:3]
['chroma', 'faiss', 'faiss-hnsw']
"""

from __future__ import annotations

from radii.deploy.engines.base import Engine, Hits, Stored, engine_at
from radii.deploy.engines.chroma import Chroma
from radii.deploy.engines.faiss import FaissFlat, FaissHNSW, FaissIVF
from radii.deploy.engines.hnswlib import Hnswlib
from radii.deploy.engines.lancedb import LanceDB
from radii.deploy.engines.milvus import Milvus
from radii.deploy.engines.pgvector import Pgvector
from radii.deploy.engines.qdrant import Qdrant
from radii.deploy.engines.qdrant_edge import QdrantEdge
from radii.deploy.engines.sqlite_vec import SqliteVec
from radii.deploy.engines.usearch import USearch
from radii.errors import InputError

__all__ = ["ENGINES", "Engine", "Hits", "Stored", "engine", "engine_at"]

ENGINES: dict[str, Engine] = {
    one.name: one
    for one in (
        FaissFlat(),
        FaissIVF(),
        FaissHNSW(),
        Hnswlib(),
        USearch(),
        LanceDB(),
        Chroma(),
        Qdrant(),
        QdrantEdge(),
        SqliteVec(),
        Pgvector(),
        Milvus(),
    )
}


def engine(name: str) -> Engine:
    """The engine of that name; InputError lists those there are."""
    if name not in ENGINES:
        raise InputError(f"{name!r}", where="engine", fix=f"take one of {', '.join(sorted(ENGINES))}")
    return ENGINES[name]
