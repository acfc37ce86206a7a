"""OpenSearch: `knn_vector` with space `innerproduct`, or a Painless script on directions with stored numbers.

Documented at https://docs.opensearch.org/latest/mappings/supported-field-types/knn-spaces/ (a product s is
shown as s + 1, below 0 as 1/(1 − s); `cosinesimil` drops lengths and refuses zero vectors) and
https://docs.opensearch.org/latest/vector-search/vector-search-techniques/painless-functions/
(`cosineSimilarity` of a parameter and `doc['field']`).
"""

from __future__ import annotations

from radii.deploy.manifest import Manifest
from radii.deploy.recipes.base import GRAPH, INDEX, SERVED, VECTOR, Recipe, Request, Terms, check
from radii.deploy.recipes.elasticsearch import LOAD, document, scripted

_DOCS = "https://docs.opensearch.org/latest"
_DIMS, _MOST = 16_000, 10_000


def vectors(manifest: Manifest, k: int = 10) -> Recipe:
    """`knn_vector`, method hnsw of engine faiss, space `innerproduct`."""
    check(manifest, k, "opensearch", *GRAPH, dims=_DIMS, most=_MOST)
    method = {"name": "hnsw", "engine": "faiss", "space_type": "innerproduct"}
    field = {"type": "knn_vector", "dimension": manifest.served_dim, "method": method}
    return Recipe(
        "opensearch",
        manifest.form,
        "innerproduct ranks vectors of any length; cosinesimil would drop their lengths",
        f"{_DOCS}/mappings/supported-field-types/knn-spaces/",
        Request(
            f"PUT /{INDEX}",
            {"settings": {"index": {"knn": True}}, "mappings": {"properties": {VECTOR: field}}},
        ),
        Request(
            f"POST /{INDEX}/_search",
            {"size": k, "_source": False, "query": {"knn": {VECTOR: {"vector": SERVED, "k": k}}}},
        ),
        (VECTOR,),
        document,
        LOAD,
    )


def formula(manifest: Manifest, k: int = 10) -> Recipe:
    """`script_score` with the k-NN extensions of Painless, every document of the index."""
    name = "opensearch-formula"
    check(manifest, k, name, "ip", dims=_DIMS, most=_MOST)
    field = {"type": "knn_vector", "dimension": manifest.dim}
    where = f"{_DOCS}/vector-search/vector-search-techniques/painless-functions/"
    return scripted(name, Terms.of(manifest, name), field, f"doc['{VECTOR}']", where, k)
