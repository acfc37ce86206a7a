"""Redis: a FLAT index with IP, whose distance is 1 − ⟨q, d⟩, or FT.AGGREGATE with APPLY over stored numbers.

Documented at https://redis.io/docs/latest/develop/ai/search-and-query/vectors/ and
https://redis.io/docs/latest/develop/ai/search-and-query/advanced-concepts/aggregations/. Older servers read
a * b ^ c as (a * b) ^ c (RediSearch, src/aggregate/expr/parser.y), so every power stands in brackets. Vectors
travel as the bytes of their little-endian floats.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from radii.deploy.manifest import Manifest
from radii.deploy.recipes.base import (
    DIRECTION,
    ID,
    INDEX,
    PENALTY,
    ROW,
    SERVED,
    VECTOR,
    Body,
    Recipe,
    Request,
    Terms,
    candidates,
    check,
)

_DOCS = "https://redis.io/docs/latest/develop/ai/search-and-query"
_KEY, _AWAY, _SCORE = "doc:", "away", "score"


def vectors(manifest: Manifest, k: int = 10) -> Recipe:
    """FT.SEARCH of the k with the smallest 1 − ⟨q, d⟩; FLAT looks at every document."""
    check(manifest, k, "redis", "ip")
    search = ["FT.SEARCH", INDEX, f"*=>[KNN {k} @{VECTOR} $q AS {_AWAY}]", "RETURN", 1, _AWAY]
    search += ["SORTBY", _AWAY, "ASC", "DIALECT", 2, "LIMIT", 0, k, "PARAMS", 2, "q", SERVED]
    return Recipe(
        "redis",
        "ip",
        "IP ranks raw inner products and FLAT looks at every document",
        f"{_DOCS}/vectors/",
        Request("command", _create(manifest.served_dim, "IP", ())),
        Request("command", search),
        (VECTOR,),
        _document,
        "redis-cli --pipe < FILE",
        _protocol,
    )


def formula(manifest: Manifest, k: int = 10) -> Recipe:
    """FT.AGGREGATE: the nearest directions, ranked again by an APPLY."""
    name = "redis-formula"
    check(manifest, k, name, "ip")
    terms, looked = Terms.of(manifest, name), candidates(k)
    power = f"@{terms.factor}" if terms.gamma is None else f"(@{terms.factor} ^ ({terms.gamma!r}))"
    score = f"((1 - @{_AWAY}) * {power})" + (f" - @{PENALTY}" if terms.penalty else "")
    loaded = ["@__key", *(f"@{number}" for number in terms.numbers)]
    search = ["FT.AGGREGATE", INDEX, f"*=>[KNN {looked} @{VECTOR} $q AS {_AWAY}]"]
    search += ["LOAD", str(len(loaded)), *loaded, "DIALECT", "2", "APPLY", score, "AS", _SCORE]
    search += ["SORTBY", "2", f"@{_SCORE}", "DESC", "MAX", str(k), "LIMIT", "0", str(k)]
    search += ["PARAMS", "2", "q", DIRECTION]
    return Recipe(
        name,
        "ip",
        f"the {looked} nearest directions are ranked again; what is not among them is missed",
        f"{_DOCS}/advanced-concepts/aggregations/",
        Request("command", _create(manifest.dim, "COSINE", terms.numbers)),
        Request("command", search),
        (VECTOR, *terms.numbers),
        _document,
        "redis-cli --pipe < FILE",
        _protocol,
    )


def packed(vector: list[float]) -> bytes:
    """A vector as Redis keeps it: float32, little-endian."""
    return np.asarray(vector, dtype="<f4").tobytes()


def _create(dim: int, metric: str, numbers: tuple[str, ...]) -> list[Any]:
    words: list[Any] = ["FT.CREATE", INDEX, "ON", "HASH", "PREFIX", 1, _KEY, "SCHEMA"]
    words += [VECTOR, "VECTOR", "FLAT", 6, "TYPE", "FLOAT32", "DIM", dim, "DISTANCE_METRIC", metric]
    for number in numbers:
        words += [number, "NUMERIC"]
    return words


def _document(told: Body) -> list[Any]:
    """One HSET; the document's id is the key after `doc:`."""
    words: list[Any] = ["HSET", _KEY + told[ID], VECTOR, packed(told[VECTOR])]
    for name, value in told.items():
        if name not in (ROW, ID, VECTOR):
            words += [name, repr(value)]
    return words


def _protocol(words: list[Any]) -> bytes:
    """A command as a client would send it: counted words, each with its length in bytes."""
    parts = [word if isinstance(word, bytes) else str(word).encode() for word in words]
    return b"*%d\r\n" % len(parts) + b"".join(b"$%d\r\n%b\r\n" % (len(part), part) for part in parts)
