"""A Qdrant server: a Dot collection of exported vectors, or a formula over directions and their payload.

Documented at https://qdrant.tech/documentation/search/search-relevance/ (formulas since 1.14: `mult`, `pow`,
`neg`, `sum`, `$score` of the prefetch) and https://qdrant.tech/documentation/concepts/collections/. A Cosine
collection normalises on upload, so the norm has to be stored in the payload. The page says both that a number
missing in the payload counts as 0 and that it is an error; the engine (qdrant-edge-py 0.9.0) raises, and no
default is given here.
"""

from __future__ import annotations

from typing import Any

from radii.deploy.manifest import Manifest
from radii.deploy.recipes.base import (
    DIRECTION,
    GRAPH,
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

_DOCS = "https://qdrant.tech/documentation"
_LOAD = f'PUT /collections/{INDEX}/points, a few hundred lines at a time as {{"points": [...]}}'
_QUERY = f"POST /collections/{INDEX}/points/query"


def vectors(manifest: Manifest, k: int = 10) -> Recipe:
    """Distance Dot."""
    check(manifest, k, "qdrant-server", *GRAPH)
    return Recipe(
        "qdrant-server",
        manifest.form,
        "Dot ranks raw inner products; Cosine would normalise on upload and lose the norms (issue 4751)",
        f"{_DOCS}/concepts/collections/",
        _create(manifest.served_dim, "Dot"),
        Request(_QUERY, {"query": SERVED, "limit": k, "with_payload": [ID]}),
        (VECTOR,),
        _document,
        _LOAD,
    )


def formula(manifest: Manifest, k: int = 10) -> Recipe:
    """$score · norm^γ over a prefetch of the nearest directions."""
    name = "qdrant-formula"
    check(manifest, k, name, "ip")
    terms, looked = Terms.of(manifest, name), candidates(k)
    factor: Any = terms.factor
    if terms.gamma is not None:
        factor = {"pow": {"base": terms.factor, "exponent": terms.gamma}}
    score: Any = {"mult": ["$score", factor]}
    if terms.penalty:
        score = {"sum": [score, {"neg": PENALTY}]}
    ask = {
        "prefetch": {"query": DIRECTION, "limit": looked},
        "query": {"formula": score},
        "limit": k,
        "with_payload": [ID],
    }
    return Recipe(
        name,
        "ip",
        f"the {looked} nearest directions are ranked again; what is not among them is missed",
        f"{_DOCS}/search/search-relevance/",
        _create(manifest.dim, "Cosine"),
        Request(_QUERY, ask),
        (VECTOR, *terms.numbers),
        _document,
        _LOAD,
    )


def _create(dim: int, distance: str) -> Request:
    return Request(f"PUT /collections/{INDEX}", {"vectors": {"size": dim, "distance": distance}})


def _document(told: Body) -> Body:
    """A point, numbered by its row: Qdrant knows 64-bit numbers and UUIDs, so our id is in the payload."""
    return {"id": told[ROW], "vector": told[VECTOR], "payload": without(told, ROW, VECTOR)}
