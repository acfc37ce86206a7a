"""Vectors straight from an engine: from an address to `Embeddings`, by way of a folder that keeps them.

docs = read_address("qdrant:http://localhost:6333?collection=docs").embeddings
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from radii.data.embeddings import Embeddings
from radii.data.files import StrPath
from radii.data.rows import row_norms
from radii.data.vectors import load
from radii.deploy.address import Address, parse_address
from radii.deploy.manifest import read_manifest
from radii.deploy.sources.base import Source
from radii.deploy.sources.cache import VECTORS, gather
from radii.deploy.sources.chroma import ChromaSource
from radii.deploy.sources.faiss import FaissSource
from radii.deploy.sources.hnswlib import HnswlibSource
from radii.deploy.sources.lancedb import LanceSource
from radii.deploy.sources.milvus import MilvusSource
from radii.deploy.sources.norms import note
from radii.deploy.sources.pgvector import PgvectorSource
from radii.deploy.sources.qdrant import QdrantEdgeSource, QdrantSource
from radii.deploy.sources.sqlite_vec import SqliteVecSource
from radii.deploy.sources.usearch import USearchSource

__all__ = ["SOURCES", "Reading", "read_address"]

SOURCES: dict[str, type[Source]] = {
    one.engine: one
    for one in (
        FaissSource,
        HnswlibSource,
        USearchSource,
        LanceSource,
        ChromaSource,
        MilvusSource,
        SqliteVecSource,
        QdrantSource,
        QdrantEdgeSource,
        PgvectorSource,
    )
}


@dataclass(frozen=True, eq=False)
class Reading:
    """What an engine held.

    Attributes
    ----------
    embeddings : Embeddings, memory-mapped from `folder`
    metric : the engine's own, where it has one
    notes : lines for whoever asked: lengths that were lost, a folder that was read from
    folder : where the vectors lie now, as a file like any other
    """

    embeddings: Embeddings
    metric: str | None
    notes: list[str]
    folder: Path


def read_address(
    text: str,
    *,
    ids: StrPath | None = None,
    cache: StrPath = "radii-cache",
    progress: Callable[[int, int], None] | None = None,
) -> Reading:
    """Read every vector of an engine, in batches, into a folder of `cache`.

    Broken off, the same call goes on where it stopped; called again, it takes what lies there, unless the
    engine's count, columns, metric or (where that can be known) contents have changed.

    Parameters
    ----------
    text : str
        See `radii.deploy.address`.
    ids : str or path, optional
        A text file of ids, one per line in the engine's order, in place of the engine's own.
    cache : str or path
        Folder for one folder per address.
    progress : callable, optional
        Gets (vectors read, vectors there are).

    Raises
    ------
    InputError
        On an address that names nothing, several things, or nothing that can be read; and as `load`.
    MissingExtraError
        Without the engine's package.
    """
    address = parse_address(text)
    shown = str(address)
    source = _source(address)
    folder = Path(cache) / f"{source.engine}-{hashlib.sha256(shown.encode()).hexdigest()[:12]}"
    seen: list[int] = []

    def counted(done: int, total: int) -> None:
        seen.append(done)
        if progress is not None:
            progress(done, total)

    with source:
        state = gather(source, shown, folder, counted)
    held = load(folder / VECTORS, ids=ids)
    held = Embeddings(held.ids, held.vectors, shown)
    notes = [] if seen else [f"{shown}: as read on {state.read}; to read it again, delete {folder}"]
    told = _corrected(address.place) if address.written else None
    told = told or note(row_norms(held.vectors), state.metric, source.engine)
    if told is not None:
        notes.append(f"{shown}: {told}")
    return Reading(held, state.metric, notes, folder)


def _corrected(place: StrPath) -> str | None:
    """What to know of a folder that `radii export` filled: it holds other vectors than were audited."""
    manifest = read_manifest(place)
    if manifest.method == "cosine" and manifest.form == "ip":
        return None
    return (
        f"holds vectors changed by {manifest.method}, form {manifest.form}. "
        "Fix: audit the original ones, which radii export --restore gives back."
    )


def _source(address: Address) -> Source:
    if address.written:
        from radii.deploy.engines import engine, engine_at

        return engine(engine_at(address.place)).source(address.place)
    return SOURCES[address.engine](address.place, **address.options)  # type: ignore[call-arg]
