"""Generated request bodies: whole, consistent, with the export's numbers. Syntax is not checked."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

from radii.data.embeddings import Embeddings
from radii.deploy.correction import Correction
from radii.deploy.export import export
from radii.deploy.recipes import QUERY, RAW, RECIPES

DOCS = Embeddings.of(np.random.default_rng(1).normal(size=(20, 6)) * 3, "docs")


@pytest.fixture
def manifest(tmp_path):
    def make(form="ip", method="norm exponent", penalty=None):
        change = Correction(method, {"gamma": -0.4}, DOCS.norms**-0.4, penalty=penalty)
        return export(DOCS, change, tmp_path, form=form)

    return make


@pytest.mark.parametrize("name", RECIPES)
def test_bodies_are_json_and_speak_of_the_export(name, manifest):
    one = RECIPES[name](manifest("ip"), 7)
    made = RECIPES[name](manifest(one.form, penalty=None), 7)
    both = json.dumps([made.create, made.search])
    assert any(word in both for word in (QUERY, RAW))
    assert "7" in json.dumps(made.search)


@pytest.mark.parametrize("form", ["ip", "unit"])
def test_dimensions_are_those_served(form, manifest):
    with_bias = manifest(form, penalty=np.full(20, 0.5))
    dim = 6 + 1 + (form == "unit")
    properties = RECIPES["elasticsearch"](with_bias, 10).create["mappings"]["properties"]
    assert properties["vector"] == {
        "type": "dense_vector",
        "dims": dim,
        "index": True,
        "similarity": "max_inner_product",
    }
    vector = RECIPES["opensearch"](with_bias, 10).create["mappings"]["properties"]["vector"]
    assert (vector["type"], vector["dimension"]) == ("knn_vector", dim)
    assert vector["method"] == {"name": "hnsw", "engine": "faiss", "space_type": "innerproduct"}
    [field] = RECIPES["mongodb"](with_bias, 10).create["definition"]["fields"]
    assert (field["numDimensions"], field["similarity"]) == (dim, "cosine")
    assert f"tensor<float>(x[{dim}])" in RECIPES["vespa"](with_bias, 10).create
    assert f"DIM {dim} DISTANCE_METRIC IP" in RECIPES["redis"](with_bias, 10).create


def test_vespa_braces_are_balanced(manifest):
    made = RECIPES["vespa"](manifest(), 10)
    assert made.create.count("{") == made.create.count("}")
    assert "distance-metric: dotproduct" in made.create
    assert made.search["yql"] == "select * from docs where {targetHits:10}nearestNeighbor(vector, q)"


def test_redis_counts_its_attributes(manifest):
    words = RECIPES["redis"](manifest(), 10).create.split()
    at = words.index("FLAT")
    assert int(words[at + 1]) == len(words[at + 2 :])


def test_weaviate_braces_are_balanced(manifest):
    query = RECIPES["weaviate"](manifest("unit"), 5).search["query"]
    assert query.count("{") == query.count("}")
    assert "limit: 5" in query


def test_the_formula_is_the_score(manifest):
    """Evaluated by hand: $score · norm^γ."""
    made = RECIPES["qdrant-formula"](manifest(), 10).search["query"]["formula"]
    score, power = made["mult"]
    assert score == "$score"
    assert power == {"pow": {"base": "norm", "exponent": -0.4}}


def test_the_script_never_scores_below_zero(manifest):
    script = RECIPES["elasticsearch-script"](manifest(), 10).search["query"]["script_score"]["script"]
    params = script["params"]
    worst = min(-math.pow(norm, params["gamma"]) + params["shift"] for norm in DOCS.norms)
    assert worst >= -1e-6
    for name in params:
        assert f"params.{name}" in script["source"]


@pytest.mark.parametrize("name", ["elasticsearch-script", "qdrant-formula"])
def test_a_formula_serves_the_norm_only(name, manifest, refused):
    refused(lambda: RECIPES[name](manifest(method="length"), 10), "'length'")
