"""What an engine is to radii: a place that vectors are written to, ranked in, and read back from.

A location is a folder. Beside the engine's own files it holds the export's manifest and `engine.json`, so
that a query service can refuse vectors of another transform, and `radii verify` knows what it looks at.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt

from radii.data.embeddings import Embeddings
from radii.data.files import StrPath, atomic_write, numbered_lines, open_text
from radii.data.rows import row_norms
from radii.deploy.export import exported
from radii.deploy.forms import Form
from radii.deploy.manifest import FILE, read_manifest
from radii.deploy.sources.base import Source, imported, read_all
from radii.deploy.sources.norms import ROUNDING, all_ones
from radii.errors import InputError

Metric = Literal["ip", "cosine", "l2"]
Array = npt.NDArray[np.float32]
ENGINE, KEYS = "engine.json", "ids.txt"
GRAPH = "what all documents share misleads a graph; taking their mean from each of them changes no order"
_BATCH = 1000


@dataclass(frozen=True, eq=False)
class Hits:
    """What a search found, best first.

    Attributes
    ----------
    ids : one list of document ids per query; shorter than k where the engine found fewer
    scores : one list per query, larger is better: ⟨q, d⟩, or the cosine where the metric is cosine or L2
    """

    ids: list[list[str]]
    scores: list[list[float]]


@dataclass(frozen=True, eq=False)
class Stored:
    """What an engine holds.

    Attributes
    ----------
    embeddings : Embeddings
    norms_lost : bool
        Every vector has length 1 although the manifest does not say that it was written so: whatever their
        lengths were, the engine (or whoever filled it) threw them away.
    """

    embeddings: Embeddings
    norms_lost: bool


class Engine(ABC):
    """One vector engine. A subclass says how to fill it, ask it and read it.

    Attributes
    ----------
    name : as in `--to`
    forms : forms that it ranks correctly, the better one first
    why : one sentence on that choice
    exact : whether a search looks at every document
    package, extra : what is imported, and what installs it
    """

    name: ClassVar[str]
    forms: ClassVar[tuple[Form, ...]]
    why: ClassVar[str]
    exact: ClassVar[bool]
    package: ClassVar[str]
    extra: ClassVar[str]
    snippet: ClassVar[str]

    def library(self, module: str | None = None) -> Any:
        """The engine's package; MissingExtraError names the extra that installs it."""
        return imported(module or self.package, self.extra)

    def write(self, folder: StrPath, location: StrPath, *, metric: Metric = "ip") -> None:
        """Fill the engine at `location` (a new folder) from an export.

        Raises InputError when the export's form is not one that the engine ranks correctly, or the location
        is in use; MissingExtraError without the engine's package.
        """
        served, manifest = exported(folder)
        if manifest.form not in self.forms:
            raise InputError(
                f"the {manifest.form} form",
                where=folder,
                cause=self.why,
                fix=f"export the {self.forms[0]} form for {self.name}",
            )
        target = Path(location)
        if target.exists() and (not target.is_dir() or any(target.iterdir())):
            raise InputError("is not empty", where=target, fix="name a new folder for the engine's files")
        self.library()
        target.mkdir(parents=True, exist_ok=True)
        self.fill(target, served, "l2" if self.forms == ("unit",) and metric == "ip" else metric)
        with atomic_write(target / FILE, mode="w") as file:
            file.write(manifest.model_dump_json(indent=1) + "\n")
        with atomic_write(target / ENGINE, mode="w") as file:
            file.write(json.dumps({"engine": self.name, "metric": metric}) + "\n")

    @abstractmethod
    def fill(self, target: Path, served: Embeddings, metric: Metric) -> None:
        """Write all vectors under `target`."""

    @abstractmethod
    def search(self, location: StrPath, queries: Array, k: int) -> Hits:
        """The first k documents of every query; queries are (n, served dim), changed by the manifest."""

    @abstractmethod
    def source(self, location: StrPath) -> Source:
        """What reads the vectors back, as the engine keeps them."""

    def read(self, location: StrPath) -> Stored:
        """Everything that the engine holds, and whether it threw the norms away."""
        ids, vectors = read_all(self.source(location))
        ones = all_ones(row_norms(vectors))
        wanted = (Path(location) / FILE).exists() and _written_as_unit(location)
        return Stored(Embeddings(ids, vectors, f"{self.name}:{location}"), ones and not wanted)


def _written_as_unit(location: StrPath) -> bool:
    """Unit vectors are what the manifest says was written: form unit, or multipliers that are all 1."""
    manifest = read_manifest(location)
    return manifest.form == "unit" or (manifest.largest < 1.0 + ROUNDING and manifest.method == "cosine")


def batches(served: Embeddings) -> Iterator[tuple[int, Sequence[str], Array]]:
    """(first row, ids, float32 vectors), a thousand at a time."""
    for at in range(0, len(served), _BATCH):
        rows = slice(at, at + _BATCH)
        yield at, served.ids[rows], np.ascontiguousarray(served.vectors[rows], dtype=np.float32)


def write_keys(target: Path, ids: Sequence[str]) -> None:
    """Ids in row order, for engines whose own keys are row numbers."""
    with atomic_write(target / KEYS, mode="w") as file:
        file.writelines(f"{name}\n" for name in ids)


def read_keys(location: StrPath) -> list[str]:
    """The ids that `write_keys` wrote."""
    return [line for _, line in numbered_lines(Path(location) / KEYS)]


def hits_of_rows(ids: Sequence[str], rows: Iterable[Any], scores: Iterable[Any]) -> Hits:
    """Hits from row numbers, -1 meaning that nothing was found."""
    found = [
        [(ids[int(row)], float(score)) for row, score in zip(r, s, strict=True) if int(row) >= 0]
        for r, s in zip(rows, scores, strict=True)
    ]
    return Hits([[name for name, _ in one] for one in found], [[score for _, score in one] for one in found])


def engine_at(location: StrPath) -> str:
    """Name of the engine that radii wrote at `location`; InputError where there is none."""
    with open_text(Path(location) / ENGINE) as file:
        try:
            return str(json.loads(file.read())["engine"])
        except (ValueError, KeyError, TypeError) as error:
            raise InputError(
                "not written by radii",
                where=Path(location) / ENGINE,
                fix="write the engine with radii export",
            ) from error
