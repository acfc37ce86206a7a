"""Vespa: a schema with `distance-metric: dotproduct`, or a rank profile over directions and stored numbers.

Documented at https://docs.vespa.ai/en/querying/nearest-neighbor-search.html and
https://docs.vespa.ai/en/reference/schemas/schemas.html#distance-metric (`dotproduct` adds the dimension of
the unit form by itself; `prenormalized-angular` on vectors of other lengths shows closeness 1 for all).
`targetHits` is per content node; a query profile allows 400 hits unless it says otherwise.
"""

from __future__ import annotations

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

_DOCS = "https://docs.vespa.ai/en/querying/nearest-neighbor-search.html"
_MOST = 400
_FILE = f"schemas/{INDEX}.sd"


def vectors(manifest: Manifest, k: int = 10) -> Recipe:
    """`dotproduct`: true maximum inner product search."""
    check(manifest, k, "vespa", "ip", most=_MOST)
    schema = _schema(manifest.served_dim, "dotproduct", (), f"sum(query(q) * attribute({VECTOR}))", None)
    return Recipe(
        "vespa",
        "ip",
        "dotproduct is true maximum inner product search; prenormalized-angular is silently wrong here",
        _DOCS,
        Request(_FILE, schema),
        Request("POST /search/", _ask(SERVED, k, k)),
        (VECTOR,),
        _document,
        "vespa feed FILE",
    )


def formula(manifest: Manifest, k: int = 10) -> Recipe:
    """`pow` of a stored norm in the first phase, over the nearest directions; γ comes with the query."""
    name = "vespa-formula"
    check(manifest, k, name, "ip", most=_MOST)
    terms = Terms.of(manifest, name)
    score = f"sum(query(q) * attribute({VECTOR}))"
    if terms.gamma is None:
        score += f" * attribute({terms.factor})"
    else:
        score += f" * pow(attribute({terms.factor}), query(gamma))"
    if terms.penalty:
        score += f" - attribute({PENALTY})"
    looked = candidates(k)
    gamma = {} if terms.gamma is None else {"input.query(gamma)": terms.gamma}
    return Recipe(
        name,
        "ip",
        f"the {looked} nearest directions of every node are ranked again; what is not among them is missed",
        _DOCS,
        Request(_FILE, _schema(manifest.dim, "angular", terms.numbers, score, terms.gamma)),
        Request("POST /search/", _ask(DIRECTION, k, looked) | gamma),
        (VECTOR, *terms.numbers),
        _document,
        "vespa feed FILE",
    )


def _schema(dim: int, metric: str, numbers: tuple[str, ...], score: str, gamma: float | None) -> str:
    kind = f"tensor<float>(x[{dim}])"
    fields = "".join(
        f"    field {number} type double {{ indexing: summary | attribute }}\n" for number in numbers
    )
    weight = "" if gamma is None else f"      query(gamma) double: {gamma!r}\n"
    return f"""schema {INDEX} {{
  document {INDEX} {{
    field {ID} type string {{ indexing: summary | attribute }}
    field {VECTOR} type {kind} {{
      indexing: attribute | index
      attribute {{ distance-metric: {metric} }}
    }}
{fields}  }}
  rank-profile radii {{
    inputs {{
      query(q) {kind}
{weight}    }}
    first-phase {{ expression: {score} }}
  }}
}}
"""


def _ask(query: str, k: int, looked: int) -> Body:
    return {
        "yql": f"select {ID} from {INDEX} where {{targetHits:{looked}}}nearestNeighbor({VECTOR}, q)",
        "ranking.profile": "radii",
        "input.query(q)": query,
        "hits": k,
    }


def _document(told: Body) -> Body:
    """One operation of a JSON feed."""
    return {"put": f"id:{INDEX}:{INDEX}::{told[ID]}", "fields": without(told, ROW)}
