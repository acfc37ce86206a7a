"""What goes with exported vectors, so that queries are changed to match and strangers are refused."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal, Self

import numpy as np
import numpy.typing as npt
import xxhash
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

import radii
from radii.data.embeddings import Embeddings
from radii.data.files import StrPath, open_text
from radii.deploy.forms import Form, Served, asked
from radii.errors import InputError
from radii.evidence.rivals import Projection

FILE = "manifest.json"


_ALGORITHMS: dict[str, Callable[[], Any]] = {"xxh3_128": xxhash.xxh3_128, "sha256": hashlib.sha256}


class Checksum:
    """A running checksum, written as `algorithm:digits`; bare digits, as first exports had them, are SHA-256.

    It tells damaged vectors, and those of another export, from the right ones; it is no signature. XXH3 runs
    at the speed of memory, where SHA-256 took as long as all the rest of an export.

    Parameters
    ----------
    like : str
        A checksum to be compared with.

    Raises
    ------
    InputError
        On an algorithm that is not one of these.

    >>> Checksum().digest
    'xxh3_128:99aa06d3014798d86001c324468d497f'
    """

    def __init__(self, like: str = "xxh3_128:") -> None:
        named = like.rpartition(":")[0]
        if (named or "sha256") not in _ALGORITHMS:
            raise InputError(
                f"a checksum of the kind {named!r}",
                where=FILE,
                cause="an export of a newer radii",
                fix="upgrade radii, or export again",
            )
        self._prefix, self._running = f"{named}:" if named else "", _ALGORITHMS[named or "sha256"]()

    def add(self, block: npt.NDArray[np.generic]) -> memoryview:
        """Take a block in; its bytes."""
        data = np.ascontiguousarray(block).view(np.uint8).data
        self._running.update(data)
        return data

    @property
    def digest(self) -> str:
        """Of everything so far."""
        return f"{self._prefix}{self._running.hexdigest()}"


class Manifest(BaseModel):
    """How exported vectors were made. Everything a query service needs is here."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    schema_version: Literal["1.0"] = "1.0"
    method: str = Field(description="Name of the arm.")
    parameters: dict[str, float]
    form: Form = Field(description="`ip`, `centred`: rank by inner product; `unit`: by cosine or L2.")
    dim: int = Field(description="Columns of the original vectors.")
    served_dim: int = Field(description="Columns of the exported ones.")
    dtype: str
    n_docs: int
    source: str = Field(description="Where the original vectors came from.")
    largest: float = Field(description="M of the unit form: the longest vector of the inner-product form.")
    penalised: bool = Field(description="Whether one dimension carries a penalty.")
    centre: list[float] | None = Field(description="Subtracted from unit vectors; none when not projected.")
    directions: list[list[float]] = Field(description="Removed from unit vectors, after the centre.")
    shift: list[float] | None = Field(
        default=None, description="c of the centred form: taken from every document."
    )
    checksum: str = Field(description="Of the exported vectors, row by row as stored: see `Checksum`.")
    transform: str = Field(description="SHA-256 of all that changes a query: equal means interchangeable.")
    radii_version: str

    @classmethod
    def of(cls, served: Served, dtype: npt.DTypeLike, checksum: str) -> Manifest:
        """Of exported vectors."""
        own, projection = served.correction, served.correction.projection
        centre = None if projection is None else projection.centre.tolist()
        directions = [] if projection is None else projection.directions.tolist()
        changes = [served.form, served.docs.dim, own.penalty is not None, centre, directions]
        return cls(
            method=own.method,
            parameters=dict(own.parameters),
            form=served.form,
            dim=served.docs.dim,
            served_dim=served.dim,
            dtype=str(np.dtype(dtype)),
            n_docs=len(served.docs),
            source=served.docs.source,
            largest=served.largest,
            penalised=own.penalty is not None,
            centre=centre,
            directions=directions,
            shift=served.shift.tolist() if served.form == "centred" else None,
            checksum=checksum,
            transform=hashlib.sha256(json.dumps(changes).encode()).hexdigest(),
            radii_version=radii.__version__,
        )

    @model_validator(mode="after")
    def _fits(self) -> Self:
        """Every vector in the file has the columns that the file says."""
        sides = {"centre": (self.centre, self.dim), "shift": (self.shift, self.served_dim)}
        sides |= {f"directions[{row}]": (one, self.dim) for row, one in enumerate(self.directions)}
        for name, (vector, columns) in sides.items():
            if vector is not None and len(vector) != columns:
                raise ValueError(f"{name} has {len(vector)} numbers for {columns} columns")
        return self

    @property
    def projection(self) -> Projection | None:
        """Of both sides, if any."""
        if self.centre is None:
            return None
        return Projection(np.array(self.centre), np.array(self.directions).reshape(-1, self.dim))

    def queries(self, queries: Embeddings | npt.ArrayLike) -> npt.NDArray[np.float32]:
        """(n, dim) queries changed to match: (n, served_dim) float32.

        Raises InputError on another dimension, zero rows, NaN or infinity.
        """
        given = Embeddings.of(queries, "queries")
        if given.dim != self.dim:
            raise InputError(
                f"{given.dim} dimensions, the documents had {self.dim}",
                where=given.source,
                cause="queries of another model, or already changed",
                fix="embed them with the model of the documents, and change them once",
            )
        wide = np.asarray(given.vectors, dtype=np.float64)
        given.norms  # noqa: B018 - refuses what has no direction
        return asked(wide, self.form, projection=self.projection, penalised=self.penalised)

    def offset(self, queries: Embeddings | npt.ArrayLike) -> npt.NDArray[np.float64]:
        """⟨q', c⟩: (n,), what the centred form takes from a query's every score; zeros in other forms."""
        asked = self.queries(queries).astype(np.float64)
        shift = np.zeros(self.served_dim) if self.shift is None else np.array(self.shift)
        offset: npt.NDArray[np.float64] = asked @ shift
        return offset


def read_manifest(folder: StrPath) -> Manifest:
    """Of an export's folder; InputError when it is missing or is not one."""
    path = Path(folder) / FILE
    with open_text(path) as file:
        text = file.read()
    try:
        return Manifest.model_validate_json(text)
    except ValidationError as error:
        first = error.errors()[0]
        raise InputError(
            f"{'.'.join(map(str, first['loc'])) or 'the file'}: {first['msg']}",
            where=path,
            cause="another file, or one made by another version",
            fix="export the vectors again",
        ) from error
