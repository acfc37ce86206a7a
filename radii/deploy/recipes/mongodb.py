"""MongoDB Atlas: `cosine` on the unit form, or an aggregation over directions with stored numbers.

Documented at https://www.mongodb.com/docs/vector-search/query/aggregation-stages/vector-search-stage/ (the
score is (1 + cos) / 2; numCandidates ≤ 10,000) and
https://www.mongodb.com/docs/vector-search/indexes/vector-search-type/ (at most 8192 dimensions; `dotProduct`
is documented for vectors of length 1 only).
"""

from __future__ import annotations

from typing import Any

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
    without,
)

_DOCS = "https://www.mongodb.com/docs/vector-search/query/aggregation-stages/vector-search-stage/"
_DIMS, _MOST, _NAME = 8192, 10_000, "radii"
_SCORE = {"$meta": "vectorSearchScore"}


def vectors(manifest: Manifest, k: int = 10) -> Recipe:
    """`cosine` on the unit form."""
    check(manifest, k, "mongodb", "unit", dims=_DIMS, most=_MOST)
    show = {"$project": {"_id": 1, "score": _SCORE}}
    return Recipe(
        "mongodb",
        "unit",
        "dotProduct is documented for vectors of length 1 only, so lengths become one more dimension",
        _DOCS,
        _create(manifest.served_dim),
        _aggregate([_look(SERVED, k, candidates(k)), show]),
        (VECTOR,),
        _document,
        f"mongoimport --collection {INDEX} FILE",
    )


def formula(manifest: Manifest, k: int = 10) -> Recipe:
    """The nearest directions, scored by $multiply and $pow and sorted again."""
    name = "mongodb-formula"
    check(manifest, k, name, "ip", dims=_DIMS, most=_MOST)
    terms, looked = Terms.of(manifest, name), candidates(k)
    cosine = {"$subtract": [{"$multiply": [2, _SCORE]}, 1]}
    factor: Any = f"${terms.factor}" if terms.gamma is None else {"$pow": [f"${terms.factor}", terms.gamma]}
    score: Any = {"$multiply": [cosine, factor]}
    if terms.penalty:
        score = {"$subtract": [score, f"${PENALTY}"]}
    stages = [
        _look(DIRECTION, looked, looked),
        {"$project": {"_id": 1, "score": score}},
        {"$sort": {"score": -1}},
        {"$limit": k},
    ]
    return Recipe(
        name,
        "ip",
        f"the {looked} nearest directions are ranked again; what is not among them is missed",
        _DOCS,
        _create(manifest.dim),
        _aggregate(stages),
        (VECTOR, *terms.numbers),
        _document,
        f"mongoimport --collection {INDEX} FILE",
    )


def _create(dim: int) -> Request:
    field = {"type": "vector", "path": VECTOR, "numDimensions": dim, "similarity": "cosine"}
    index = {"name": _NAME, "type": "vectorSearch", "definition": {"fields": [field]}}
    return Request("command", {"createSearchIndexes": INDEX, "indexes": [index]})


def _look(query: str, limit: int, looked: int) -> Body:
    stage = {"index": _NAME, "path": VECTOR, "queryVector": query, "numCandidates": looked, "limit": limit}
    return {"$vectorSearch": stage}


def _aggregate(stages: list[Body]) -> Request:
    return Request("command", {"aggregate": INDEX, "pipeline": stages, "cursor": {}})


def _document(told: Body) -> Body:
    """One document of an insert."""
    return {"_id": told[ID], **without(told, ROW, ID)}
