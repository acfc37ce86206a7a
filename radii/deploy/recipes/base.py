"""What a recipe is: the requests that store an export in a server and ask it, and the documents to send.

    vectors   the vectors of the export, as they are                      largest inner product, or cosine
    formula   directions, with numbers beside them     ⟨q̂, d̂⟩ · m_d − b_d, m_d a stored number or ‖d‖^γ

A formula keeps γ out of the stored data, so that it can be changed without loading anything again. It cannot
serve a projection, which moves the vectors themselves.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from radii.data.embeddings import Floats
from radii.data.files import StrPath
from radii.deploy.export import exported, read_undo
from radii.deploy.forms import Form
from radii.deploy.manifest import Manifest
from radii.errors import InputError

SERVED = "<query vector, changed by the manifest>"
DIRECTION = "<query vector, divided by its length>"
INDEX, ROW, ID, VECTOR, NORM, MULTIPLIER, PENALTY = (
    "docs",
    "row",
    "id",
    "vector",
    "norm",
    "multiplier",
    "penalty",
)
Body = dict[str, Any]
FORMULA = "-formula"
# Of a server whose index is a graph of raw products, the better one first (docs/graph-recall.md).
GRAPH: tuple[Form, ...] = ("centred", "ip")
_BY_NORM = ("norm exponent", "discount only", "amplify only", "inner product")
_ROWS = 1024


def as_lines(document: Any) -> bytes:
    """A document, or the several parts of one, as lines of JSON."""
    parts = document if isinstance(document, list) else [document]
    return b"".join(json.dumps(part, ensure_ascii=False).encode() + b"\n" for part in parts)


@dataclass(frozen=True)
class Request:
    """One request: where it goes (an HTTP method and path, a file, a command) and what is sent there."""

    to: str
    body: Body | list[Any] | str


@dataclass(frozen=True)
class Recipe:
    """What to send to a server.

    Attributes
    ----------
    name : as in `--to`
    form : form that the export must have
    why : one sentence on that choice, and what it costs
    source : address of the page that documents the syntax
    create : makes the index
    search : asks for the first k; `asked` puts a query in
    fields : what a document carries: its vector, and the numbers that a formula reads
    document : from a row, an id and `fields` to what the server takes
    load : how the file of all documents is loaded
    encode : a document as it stands in that file
    """

    name: str
    form: Form
    why: str
    source: str
    create: Request
    search: Request
    fields: tuple[str, ...]
    document: Callable[[Body], Any]
    load: str
    encode: Callable[[Any], bytes] = as_lines

    @property
    def by_formula(self) -> bool:
        """Whether the server computes the score from stored numbers."""
        return self.fields != (VECTOR,)

    def asked(self, query: Sequence[float] | Floats) -> Request:
        """The search for one query: changed by the manifest, or its direction where a formula scores."""
        values = [float(value) for value in query]
        return Request(self.search.to, _filled(self.search.body, values))

    def documents(self, folder: StrPath) -> Iterator[Any]:
        """Every document of an export, as the server takes it, read block by block.

        Raises InputError where the export has another form than the recipe, and as `exported`.
        """
        served, manifest = exported(folder)
        if manifest.form != self.form:
            raise InputError(
                f"the {manifest.form} form", where=folder, fix=f"export the {self.form} form for {self.name}"
            )
        factor, norms, _ = read_undo(folder, manifest)
        multipliers = 1.0 / factor
        for at in range(0, len(served), _ROWS):
            block = np.asarray(served.vectors[at : at + _ROWS], dtype=np.float64)
            rows = slice(at, at + len(block))
            numbers = {NORM: norms[rows], MULTIPLIER: multipliers[rows], PENALTY: -block[:, manifest.dim :]}
            vectors = block
            if self.by_formula:
                vectors = block[:, : manifest.dim] / multipliers[rows, None]
            for row, vector in enumerate(vectors):
                told: Body = {ROW: at + row, ID: served.ids[at + row], VECTOR: vector.tolist()}
                told |= {
                    name: float(np.squeeze(numbers[name][row])) for name in self.fields if name != VECTOR
                }
                yield self.document(told)


@dataclass(frozen=True)
class Terms:
    """What a formula reads beside the cosine, for one export.

    Attributes
    ----------
    factor : the stored number that multiplies the cosine: the norm, or the multiplier itself
    gamma : exponent of the norm; none where the multiplier is stored
    penalty : whether a stored penalty is taken off
    """

    factor: Literal["norm", "multiplier"]
    gamma: float | None
    penalty: bool

    @classmethod
    def of(cls, manifest: Manifest, name: str) -> Terms:
        """Of an export; InputError where no number beside a document's vector can serve its method."""
        check_formula(manifest.method, manifest.centre is not None, name)
        if manifest.method in _BY_NORM:
            return cls(NORM, float(manifest.parameters["gamma"]), manifest.penalised)  # type: ignore[arg-type]
        return cls(MULTIPLIER, None, manifest.penalised)  # type: ignore[arg-type]

    @property
    def numbers(self) -> tuple[str, ...]:
        """Names of the stored numbers."""
        return (self.factor, PENALTY) if self.penalty else (self.factor,)


def check_formula(method: str, moves: bool, name: str) -> None:
    """Refuse a formula for a method that moves vectors; InputError names the recipe to take."""
    if moves and name.endswith(FORMULA):
        raise InputError(
            f"{method!r}",
            where=name,
            cause="it moves the vectors themselves, which no formula over stored numbers can",
            fix=f"take a recipe that ranks exported vectors: one whose name does not end in {FORMULA}",
        )


def check(
    manifest: Manifest, k: int, name: str, *forms: Form, dims: int | None = None, most: int | None = None
) -> None:
    """Refuse what the server documents that it does not take.

    Raises InputError on an export of another form, more than `dims` dimensions, and a k outside 1 … `most`.
    """
    if manifest.form not in forms:
        raise InputError(
            f"the {manifest.form} form",
            where=name,
            fix=f"export again with --form {forms[0]}, or --to {name}",
        )
    stored = manifest.dim if name.endswith(FORMULA) else manifest.served_dim
    if dims is not None and stored > dims:
        raise InputError(
            f"{stored:,} dimensions, more than the {dims:,} it takes",
            where=name,
            fix="take another engine, or shorter vectors",
        )
    if k < 1 or (most is not None and k > most):
        raise InputError(f"k = {k}", where=name, fix=f"ask for 1 to {most or 'any number of'} documents")


def candidates(k: int) -> int:
    """How many documents a server looks up by vector before a formula ranks them again."""
    return max(k, min(10_000, max(100, 10 * k)))


def without(told: Body, *names: str) -> Body:
    """All but some of what is known of a document."""
    return {name: value for name, value in told.items() if name not in names}


def _filled(body: Any, query: list[float]) -> Any:
    if isinstance(body, dict):
        return {key: _filled(value, query) for key, value in body.items()}
    if isinstance(body, list):
        return [_filled(value, query) for value in body]
    if body in (SERVED, DIRECTION):
        return query
    if isinstance(body, str):
        for place in (SERVED, DIRECTION):
            body = body.replace(place, str(query))
    return body
