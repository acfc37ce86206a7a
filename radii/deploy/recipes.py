"""Request bodies for engines that are servers: how to store an export, and how to ask.

Generated for an export's manifest. None was run, and none was yet held against the documented syntax.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from radii.deploy.forms import Form
from radii.deploy.manifest import Manifest
from radii.errors import InputError

QUERY = "<query vector, changed by the manifest>"
RAW = "<query vector, as embedded>"
Body = dict[str, Any]


@dataclass(frozen=True)
class Recipe:
    """What to send to a server.

    Attributes
    ----------
    engine : str
    form : form that the export must have
    why : one sentence on that choice
    create : body (or schema text) that makes the index
    search : body (or query text) of a search for the first k
    """

    engine: str
    form: Form
    why: str
    create: Body | str
    search: Body | str


def elasticsearch(manifest: Manifest, k: int = 10) -> Recipe:
    """`dense_vector` with `max_inner_product`; `dot_product` would refuse what is not of length 1."""
    vector = {
        "type": "dense_vector",
        "dims": manifest.served_dim,
        "index": True,
        "similarity": "max_inner_product",
    }
    return Recipe(
        "elasticsearch",
        "ip",
        "max_inner_product takes vectors of any length; its score is 1/(1 − s) below 0 and s + 1 above",
        {"mappings": {"properties": {"vector": vector}}},
        {"knn": {"field": "vector", "query_vector": QUERY, "k": k, "num_candidates": max(100, 10 * k)}},
    )


def elasticsearch_script(manifest: Manifest, k: int = 10) -> Recipe:
    """Stored original vectors and a stored norm: cos · norm^γ by `script_score`, shifted to be positive."""
    gamma = _gamma(manifest, "elasticsearch")
    vector = {"type": "dense_vector", "dims": manifest.dim, "index": True, "similarity": "cosine"}
    source = (
        "cosineSimilarity(params.query, 'vector') * Math.pow(doc['norm'].value, params.gamma) + params.shift"
    )
    script = {"source": source, "params": {"query": RAW, "gamma": gamma, "shift": manifest.largest}}
    return Recipe(
        "elasticsearch",
        "ip",
        "a script scores every document that the query lets through; the shift keeps scores above 0",
        {"mappings": {"properties": {"vector": vector, "norm": {"type": "float"}}}},
        {"size": k, "query": {"script_score": {"query": {"match_all": {}}, "script": script}}},
    )


def opensearch(manifest: Manifest, k: int = 10) -> Recipe:
    """`knn_vector` with the faiss engine and space `innerproduct`."""
    method = {"name": "hnsw", "engine": "faiss", "space_type": "innerproduct"}
    vector = {"type": "knn_vector", "dimension": manifest.served_dim, "method": method}
    return Recipe(
        "opensearch",
        "ip",
        "innerproduct ranks vectors of any length; cosinesimil would drop their lengths",
        {"settings": {"index": {"knn": True}}, "mappings": {"properties": {"vector": vector}}},
        {"size": k, "query": {"knn": {"vector": {"vector": QUERY, "k": k}}}},
    )


def vespa(manifest: Manifest, k: int = 10) -> Recipe:
    """`distance-metric: dotproduct`, which adds the dimension of the unit form by itself."""
    kind = f"tensor<float>(x[{manifest.served_dim}])"
    schema = f"""schema docs {{
  document docs {{
    field id type string {{ indexing: summary | attribute }}
    field vector type {kind} {{
      indexing: attribute | index
      attribute {{ distance-metric: dotproduct }}
    }}
  }}
  rank-profile radii {{
    inputs {{ query(q) {kind} }}
    first-phase {{ expression: sum(query(q) * attribute(vector)) }}
  }}
}}
"""
    ask = {
        "yql": f"select * from docs where {{targetHits:{k}}}nearestNeighbor(vector, q)",
        "ranking": "radii",
        "input.query(q)": QUERY,
        "hits": k,
    }
    why = "dotproduct is true maximum inner product search; prenormalized-angular is silently wrong here"
    return Recipe("vespa", "ip", why, schema, ask)


def weaviate(manifest: Manifest, k: int = 10) -> Recipe:
    """Distance `dot`, which is −⟨q, d⟩, on vectors of the unit form: its index is a graph."""
    create = {
        "class": "Docs",
        "vectorizer": "none",
        "vectorIndexType": "hnsw",
        "vectorIndexConfig": {"distance": "dot"},
        "properties": [{"name": "docId", "dataType": ["text"]}],
    }
    near = f"{{Get {{Docs(nearVector: {{vector: {QUERY}}}, limit: {k}) {{docId _additional {{distance}}}}}}}}"
    return Recipe(
        "weaviate",
        "unit",
        "its index is a graph, which keeps its recall on vectors of one length",
        create,
        {"query": near},
    )


def redis(manifest: Manifest, k: int = 10) -> Recipe:
    """`FT.CREATE` with IP, distance 1 − ⟨q, d⟩; FLAT is exact."""
    create = (
        "FT.CREATE docs ON HASH PREFIX 1 doc: SCHEMA vector VECTOR FLAT 6 "
        f"TYPE FLOAT32 DIM {manifest.served_dim} DISTANCE_METRIC IP"
    )
    search = (
        f'FT.SEARCH docs "*=>[KNN {k} @vector $q AS away]" PARAMS 2 q "{QUERY}" '
        f"SORTBY away RETURN 1 away LIMIT 0 {k} DIALECT 2"
    )
    return Recipe(
        "redis", "ip", "IP ranks raw inner products and FLAT looks at every document", create, search
    )


def mongodb(manifest: Manifest, k: int = 10) -> Recipe:
    """Atlas `vectorSearch` index, `cosine` on the unit form: `dotProduct` wants vectors of length 1."""
    field = {
        "type": "vector",
        "path": "vector",
        "numDimensions": manifest.served_dim,
        "similarity": "cosine",
    }
    stage = {
        "index": "radii",
        "path": "vector",
        "queryVector": QUERY,
        "numCandidates": max(100, 20 * k),
        "limit": k,
    }
    show = {"$project": {"_id": 1, "score": {"$meta": "vectorSearchScore"}}}
    return Recipe(
        "mongodb",
        "unit",
        "dotProduct is documented for vectors of length 1 only, so lengths become one more dimension",
        {"name": "radii", "type": "vectorSearch", "definition": {"fields": [field]}},
        {"pipeline": [{"$vectorSearch": stage}, show]},
    )


def qdrant_formula(manifest: Manifest, k: int = 10) -> Recipe:
    """Original vectors in a Cosine collection, the norm as payload, $score · norm^γ over a prefetch."""
    gamma = _gamma(manifest, "qdrant")
    power = {"pow": {"base": "norm", "exponent": gamma}}
    return Recipe(
        "qdrant",
        "ip",
        "only what the prefetch found is ranked again; store the norm, for Cosine normalises on upload",
        {"vectors": {"size": manifest.dim, "distance": "Cosine"}},
        {
            "prefetch": {"query": RAW, "limit": max(100, 10 * k)},
            "query": {"formula": {"mult": ["$score", power]}, "defaults": {"norm": 1.0}},
            "limit": k,
        },
    )


RECIPES: dict[str, Callable[[Manifest, int], Recipe]] = {
    "elasticsearch": elasticsearch,
    "elasticsearch-script": elasticsearch_script,
    "opensearch": opensearch,
    "vespa": vespa,
    "weaviate": weaviate,
    "redis": redis,
    "mongodb": mongodb,
    "qdrant-formula": qdrant_formula,
}
_BY_NORM = ("norm exponent", "discount only", "amplify only", "inner product")


def _gamma(manifest: Manifest, engine: str) -> float:
    """The exponent of an arm that is the norm alone; InputError on any other."""
    if manifest.method not in _BY_NORM:
        raise InputError(
            f"{manifest.method!r}",
            where=engine,
            cause="a stored norm and a formula serve exponents of the norm only",
            fix="export vectors and take the recipe that ranks by inner product",
        )
    return manifest.parameters["gamma"]
