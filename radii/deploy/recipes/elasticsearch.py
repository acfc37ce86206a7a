"""Elasticsearch: `max_inner_product` on exported vectors, or a script on directions with stored numbers.

Documented at https://www.elastic.co/docs/reference/elasticsearch/mapping-reference/dense-vector (at most 4096
dims; `dot_product` refuses what is not of length 1; vectors are quantised unless `index_options` says
otherwise) and .../query-dsl/query-dsl-script-score-query (scores may not be negative). Elasticsearch shows
s + 1 for a product s above 0 and 1/(1 − s) below, which keeps the order; the script does the same.
"""

from __future__ import annotations

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

_DOCS = "https://www.elastic.co/docs/reference"
LOAD = "POST /_bulk, Content-Type application/x-ndjson, in pieces of whole documents below 100 MB"
_DIMS, _MOST = 4096, 10_000


def vectors(manifest: Manifest, k: int = 10) -> Recipe:
    """`dense_vector` with `max_inner_product` and an HNSW index of full floats."""
    check(manifest, k, "elasticsearch", *GRAPH, dims=_DIMS, most=_MOST)
    field = {
        "type": "dense_vector",
        "dims": manifest.served_dim,
        "index": True,
        "similarity": "max_inner_product",
        "index_options": {"type": "hnsw"},
    }
    knn = {"field": VECTOR, "query_vector": SERVED, "k": k, "num_candidates": candidates(k)}
    return Recipe(
        "elasticsearch",
        manifest.form,
        "max_inner_product takes vectors of any length; hnsw, because the default index quantises them",
        f"{_DOCS}/elasticsearch/mapping-reference/dense-vector",
        Request(f"PUT /{INDEX}", {"mappings": {"properties": {VECTOR: field}}}),
        Request(f"POST /{INDEX}/_search", {"size": k, "_source": False, "knn": knn}),
        (VECTOR,),
        document,
        LOAD,
    )


def formula(manifest: Manifest, k: int = 10) -> Recipe:
    """`script_score`, every document of the index."""
    name = "elasticsearch-formula"
    check(manifest, k, name, "ip", dims=_DIMS, most=_MOST)
    field = {"type": "dense_vector", "dims": manifest.dim, "index": False}
    where = f"{_DOCS}/query-languages/query-dsl/query-dsl-script-score-query"
    return scripted(name, Terms.of(manifest, name), field, f"'{VECTOR}'", where, k)


def scripted(name: str, terms: Terms, field: Body, vector: str, where: str, k: int) -> Recipe:
    """A recipe of `script_score`, for Elasticsearch and OpenSearch: `field` is the mapping of the vector."""
    numbers = {number: {"type": "double"} for number in terms.numbers}
    return Recipe(
        name,
        "ip",
        "a script scores every document that the query lets through: exact, and as slow as that is",
        where,
        Request(f"PUT /{INDEX}", {"mappings": {"properties": {VECTOR: field, **numbers}}}),
        Request(
            f"POST /{INDEX}/_search", {"size": k, "_source": False, "query": script_score(terms, vector)}
        ),
        (VECTOR, *terms.numbers),
        document,
        LOAD,
    )


def script_score(terms: Terms, vector: str) -> Body:
    """The query of a formula in Painless, for Elasticsearch and OpenSearch; `vector` as each names a field.

    s < 0 ? 1 / (1 − s) : s + 1 grows with s and is never negative, as Lucene demands.
    """
    score = f"cosineSimilarity(params.query, {vector})"
    params: Body = {"query": DIRECTION}
    if terms.gamma is None:
        score += f" * doc['{terms.factor}'].value"
    else:
        score += f" * Math.pow(doc['{terms.factor}'].value, params.gamma)"
        params["gamma"] = terms.gamma
    if terms.penalty:
        score += f" - doc['{PENALTY}'].value"
    source = f"double s = {score}; return s < 0 ? 1 / (1 - s) : s + 1;"
    return {"script_score": {"query": {"match_all": {}}, "script": {"source": source, "params": params}}}


def document(told: Body) -> list[Body]:
    """Two lines of a `_bulk` request: which document, and what it holds."""
    return [{"index": {"_index": INDEX, "_id": told[ID]}}, without(told, ROW, ID)]
