"""Weaviate: distance `dot`, which is −⟨q, d⟩. It has no formula over stored numbers.

Documented at https://docs.weaviate.io/weaviate/config-refs/distances (`cosine` normalises to length 1) and
https://docs.weaviate.io/weaviate/config-refs/indexing/vector-index (index type `hfresh` lacks `dot`). A
server may quantise every new collection (DEFAULT_QUANTIZATION), so this one says that it does not want that.
"""

from __future__ import annotations

from radii.deploy.manifest import Manifest
from radii.deploy.recipes.base import GRAPH, ID, SERVED, VECTOR, Body, Recipe, Request, check

_CLASS, _ID = "Docs", "docId"
_MOST = 10_000


def vectors(manifest: Manifest, k: int = 10) -> Recipe:
    """A collection of own vectors, HNSW with `dot`."""
    check(manifest, k, "weaviate", *GRAPH, most=_MOST)
    index = {
        "vectorizer": {"none": {}},
        "vectorIndexType": "hnsw",
        "vectorIndexConfig": {"distance": "dot", "skipDefaultQuantization": True},
    }
    create = {
        "class": _CLASS,
        "vectorConfig": {"default": index},
        "properties": [{"name": _ID, "dataType": ["text"]}],
    }
    near = f"nearVector: {{vector: {SERVED}}}, limit: {k}"
    return Recipe(
        "weaviate",
        manifest.form,
        "dot ranks raw inner products; its index is a graph, so take the documents' mean out",
        "https://docs.weaviate.io/weaviate/config-refs/distances",
        Request("POST /v1/schema", create),
        Request(
            "POST /v1/graphql",
            {"query": f"{{Get {{{_CLASS}({near}) {{{_ID} _additional {{distance}}}}}}}}"},
        ),
        (VECTOR,),
        _document,
        'POST /v1/batch/objects, a few hundred lines at a time as {"objects": [...]}',
    )


def _document(told: Body) -> Body:
    """One object of `POST /v1/batch/objects`; Weaviate's own ids are UUIDs, so ours is a property."""
    return {"class": _CLASS, "properties": {_ID: told[ID]}, "vectors": {"default": told[VECTOR]}}
