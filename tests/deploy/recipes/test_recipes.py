"""Every recipe ranks as the correction is defined, in requests that the servers' own clients know."""

from __future__ import annotations

import inspect
import json
import typing

import numpy as np
import pytest

from radii.data.embeddings import Embeddings
from radii.deploy.correction import Correction
from radii.deploy.export import export
from radii.deploy.recipes import DIRECTION, RECIPES, SERVED, form_of, lines, recipe
from radii.deploy.recipes.base import _filled
from radii.evidence.rivals import PROJECTIONS
from tests.deploy.recipes import servers

RNG = np.random.default_rng(1)
N, DIM, K = 90, 6, 7
# Norms over two orders of magnitude; rows 0 and 1 are duplicates; ids are not plain words.
VECTORS = (RNG.normal(size=(N, DIM)) * np.exp(1.2 * RNG.normal(size=(N, 1)))).astype(np.float32)
VECTORS[1] = VECTORS[0]
DOCS = Embeddings([f"文書 {row} ü" for row in range(N - 1)] + [str(-(2**63))], VECTORS, "docs")
QUERIES = np.concatenate([RNG.normal(size=(11, DIM)), -VECTORS.sum(axis=0, keepdims=True)])
LENGTH = RNG.integers(1, 40, size=N).astype(float)
PENALTY = RNG.uniform(-0.2, 0.6, size=N)

CORRECTIONS = {
    "cosine": Correction("cosine", {}, np.ones(N)),
    "discount": Correction("norm exponent", {"gamma": -0.4}, DOCS.norms**-0.4),
    "inner product": Correction("inner product", {"gamma": 1.0}, DOCS.norms),
    "norm and length": Correction(
        "norm and length", {"gamma": -0.3, "gamma of length": 0.5}, DOCS.norms**-0.3 * LENGTH**0.5
    ),
    "hub penalty": Correction("hub penalty", {"weight": 0.6}, np.ones(N), penalty=PENALTY),
    "both": Correction("local scaling", {}, LENGTH**0.5, penalty=PENALTY),
    "norm and bias": Correction("norm exponent", {"gamma": 0.5}, DOCS.norms**0.5, penalty=PENALTY),
}
CENTRED = Correction("mean-centring", {}, np.ones(N), projection=PROJECTIONS["mean-centring"](DOCS))
FORMULAS = [name for name in RECIPES if name.endswith("-formula")]
SERVERS = {
    "elasticsearch": lambda *args: servers.lucene(*args, opensearch=False),
    "opensearch": lambda *args: servers.lucene(*args, opensearch=True),
    "vespa": servers.vespa,
    "weaviate": servers.weaviate,
    "redis": servers.redis,
    "mongodb": servers.mongodb,
}
CHANGES = CORRECTIONS | {"centred": CENTRED}
# Formulas refuse to move vectors; see below.
CASES = [
    (name, change)
    for name in RECIPES
    for change in CHANGES
    if (name, change) not in {(formula, "centred") for formula in FORMULAS}
]


def unit(x):
    return x / np.linalg.norm(x, axis=1, keepdims=True)


def scores(change):
    """By the definition in radii.deploy.correction: (n_queries, n_docs)."""
    penalty = 0.0 if change.penalty is None else change.penalty
    docs, queries = unit(DOCS.vectors.astype(float)), unit(QUERIES)
    if change.projection is not None:
        docs, queries = unit(change.projection.moved(docs)), change.projection.moved(queries)
    return queries @ docs.T * change.multiplier - penalty


@pytest.fixture
def made(tmp_path):
    """Export a correction and make a recipe for it: (recipe, manifest, folder)."""

    def make(name, change, k=K):
        manifest = export(DOCS, change, tmp_path / "export", form=form_of(name))
        return recipe(name, manifest, k), manifest, tmp_path / "export"

    return make


def asked(one, manifest):
    """What is put into the search: changed queries, or directions where a formula scores."""
    return unit(QUERIES) if one.by_formula else manifest.queries(QUERIES)


def in_exact_order(found, exact, k):
    ids, shown = zip(*found, strict=True)
    assert len(set(ids)) == len(ids) == k
    own = exact[[DOCS.rows[name] for name in ids]]
    np.testing.assert_allclose(own, np.sort(exact)[::-1][:k], atol=2e-5)
    assert list(shown) == sorted(shown, reverse=True)


@pytest.mark.parametrize(("name", "change"), [case for case in CASES if "qdrant" not in case[0]])
def test_the_request_ranks_as_the_correction_is_defined(name, change, made):
    one, manifest, folder = made(name, CHANGES[change])
    documents = list(one.documents(folder))
    exact = scores(CHANGES[change])
    assert exact.min() < 0 < exact.max()
    for query, row in zip(asked(one, manifest), exact, strict=True):
        in_exact_order(SERVERS[name.split("-")[0]](one, documents, query), row, K)


# Qdrant, for real ---------------------------------------------------------------------------------------


def expression(edge, node):
    """A formula of the REST interface as the embedded engine takes it."""
    kinds = edge.Expression
    if isinstance(node, str):
        return kinds.Variable(node)
    if isinstance(node, int | float):
        return kinds.Constant(float(node))
    [(operator, operands)] = node.items()
    if operator == "pow":
        return kinds.Pow(expression(edge, operands["base"]), expression(edge, operands["exponent"]))
    if operator == "neg":
        return kinds.Neg(expression(edge, operands))
    return {"mult": kinds.Mult, "sum": kinds.Sum}[operator]([expression(edge, one) for one in operands])


def in_the_embedded_engine(one, documents, queries, folder):
    """Qdrant's own code, in this process."""
    edge = pytest.importorskip("qdrant_edge")
    vectors = one.create.body["vectors"]
    config = edge.EdgeVectorParams(vectors["size"], getattr(edge.Distance, vectors["distance"]))
    shard = edge.EdgeShard.create(str(folder), edge.EdgeConfig(vectors=config))
    try:
        points = [edge.Point(**d) for d in documents]
        shard.update(edge.UpdateOperation.upsert_points(points))
        for query in queries:
            body = one.asked(query).body
            if one.by_formula:
                ahead = body["prefetch"]
                nearest = edge.Query.Nearest(ahead["query"])
                request = edge.QueryRequest(
                    body["limit"],
                    prefetches=[edge.Prefetch(ahead["limit"], query=nearest)],
                    query=edge.Formula(expression(edge, body["query"]["formula"])),
                    with_payload=True,
                )
            else:
                request = edge.QueryRequest(
                    body["limit"], query=edge.Query.Nearest(body["query"]), with_payload=True
                )
            yield [(point.payload["id"], point.score) for point in shard.query(request)]
    finally:
        shard.close()


def in_local_mode(one, documents, queries, _):
    """The client's Python port of the server."""
    client_of = pytest.importorskip("qdrant_client")
    models = client_of.models
    client = client_of.QdrantClient(location=":memory:")
    try:
        create = models.CreateCollection.model_validate(one.create.body)
        client.create_collection("docs", vectors_config=create.vectors)
        client.upsert("docs", [models.PointStruct(**d) for d in documents])
        for query in queries:
            body = models.QueryRequest.model_validate(one.asked(query).body)  # refuses unknown keys
            found = client.query_points(
                "docs",
                query=body.query,
                prefetch=body.prefetch,
                limit=body.limit,
                with_payload=body.with_payload,
            )
            yield [(point.payload["id"], point.score) for point in found.points]
    finally:
        client.close()


@pytest.mark.parametrize("run", [in_the_embedded_engine, in_local_mode])
@pytest.mark.parametrize(("name", "change"), [case for case in CASES if "qdrant" in case[0]])
def test_qdrant_ranks_by_the_request(name, change, run, made, tmp_path):
    one, manifest, folder = made(name, CHANGES[change])
    documents = list(one.documents(folder))
    found = run(one, documents, asked(one, manifest), tmp_path / "engine")
    for hits, row in zip(found, scores(CHANGES[change]), strict=True):
        in_exact_order(hits, row, K)


# The clients' own schemas -------------------------------------------------------------------------------


def known(body, signature, **instead):
    """Every key of a body is a parameter that a client's class names; literal choices are among its own."""
    parameters = inspect.signature(signature).parameters
    for key, value in body.items():
        assert key in parameters, f"{key} of {signature.__qualname__}"
        assert parameters[key].kind is not inspect.Parameter.VAR_KEYWORD
        choices = [
            word
            for part in typing.get_args(parameters[key].annotation)
            if typing.get_origin(part) is typing.Literal
            for word in typing.get_args(part)
        ]
        if choices and isinstance(value, str):
            assert value in choices


@pytest.mark.parametrize("change", ["discount", "both"])
def test_elasticsearch_knows_every_key(change, made):
    dsl = pytest.importorskip("elasticsearch.dsl")
    from elasticsearch import Elasticsearch
    from elasticsearch.dsl import query, types

    with pytest.raises(AssertionError):
        known({"similarity": "inner_product"}, dsl.DenseVector.__init__)
    with pytest.raises(AssertionError):
        known({"dimension": 3}, dsl.DenseVector.__init__)
    for name in ("elasticsearch", "elasticsearch-formula"):
        one, _, _ = made(name, CORRECTIONS[change])
        fields = one.create.body["mappings"]["properties"]
        vector = dict(fields.pop("vector"))
        assert vector.pop("type") == dsl.DenseVector.name
        known(vector, dsl.DenseVector.__init__)
        known(vector.get("index_options", {}), types.DenseVectorIndexOptions.__init__)
        assert all(field == {"type": dsl.Double.name} for field in fields.values())
        body = {key.lstrip("_"): value for key, value in one.search.body.items()}
        body["source"] = body.pop("source")
        known(body, Elasticsearch.search)
        if "knn" in body:
            known(body["knn"], query.Knn.__init__)
        else:
            [(kind, asked)] = body["query"].items()
            assert kind == query.ScriptScore.name
            known(asked, query.ScriptScore.__init__)
            known(asked["script"], types.Script.__init__)


@pytest.mark.parametrize("change", ["discount", "both", "hub penalty"])
def test_redis_is_sent_what_its_client_would_send(change, made):
    pytest.importorskip("redis")
    from redis.commands.search.aggregation import AggregateRequest, Desc
    from redis.commands.search.field import NumericField, VectorField
    from redis.commands.search.query import Query

    def words(*parts):
        return [str(part) for part in parts]

    one, manifest, _ = made("redis", CORRECTIONS[change])
    attributes = {"TYPE": "FLOAT32", "DIM": manifest.served_dim, "DISTANCE_METRIC": "IP"}
    assert words(*one.create.body[8:]) == words(*VectorField("vector", "FLAT", attributes).redis_args())
    asked = Query(f"*=>[KNN {K} @vector $q AS away]").sort_by("away").return_fields("away")
    asked = asked.paging(0, K).dialect(2).get_args()
    assert words(*one.search.body[2:-4]) == words(*asked)

    one, manifest, _ = made("redis-formula", CORRECTIONS[change])
    attributes = {"TYPE": "FLOAT32", "DIM": DIM, "DISTANCE_METRIC": "COSINE"}
    fields = [VectorField("vector", "FLAT", attributes), *(NumericField(n) for n in one.fields[1:])]
    expected = [word for field in fields for word in words(*field.redis_args())]
    assert words(*one.create.body[8:]) == expected
    expression = one.search.body[one.search.body.index("APPLY") + 1]
    asked = AggregateRequest("*=>[KNN 100 @vector $q AS away]")
    asked = asked.load("@__key", *(f"@{n}" for n in one.fields[1:])).apply(score=expression)
    asked = asked.sort_by(Desc("@score"), max=K).limit(0, K).dialect(2).build_args()
    if "SCORER" in asked:  # the client names the default scorer; a vector query has none
        at = asked.index("SCORER")
        del asked[at : at + 2]
    assert words(*one.search.body[2:-4]) == words(*asked)


@pytest.mark.parametrize("name", ["mongodb", "mongodb-formula"])
def test_mongodb_is_sent_what_its_client_would_send(name, made):
    operations = pytest.importorskip("pymongo.operations")
    bson = pytest.importorskip("bson")
    one, _, folder = made(name, CORRECTIONS["discount"])
    [index] = one.create.body["indexes"]
    assert operations.SearchIndexModel(**index).document == index
    assert next(iter(one.create.body)) == "createSearchIndexes"
    assert next(iter(one.search.body)) == "aggregate"
    for what in (one.create.body, one.search.body, next(one.documents(folder))):
        assert bson.decode(bson.encode(what)) == what


# What is refused, and what is shown ---------------------------------------------------------------------


@pytest.mark.parametrize("name", ["elasticsearch", "opensearch", "weaviate"])
def test_graphs_take_documents_with_their_mean_left_in(name, tmp_path):
    change = CORRECTIONS["both"]
    assert form_of(name) == "centred"
    manifest = export(DOCS, change, tmp_path, form="ip")
    one = recipe(name, manifest, K)
    documents = list(one.documents(tmp_path))
    for query, row in zip(manifest.queries(QUERIES), scores(change), strict=True):
        in_exact_order(SERVERS[name](one, documents, query), row, K)


@pytest.mark.parametrize("name", FORMULAS)
def test_no_formula_moves_vectors(name, made, refused):
    refused(lambda: made(name, CENTRED), "mean-centring", "-formula")


def test_what_a_server_does_not_take_is_refused(tmp_path, made, refused):
    manifest = export(DOCS, CORRECTIONS["discount"], tmp_path / "unit", form="unit")
    refused(lambda: recipe("elasticsearch", manifest), "unit form")
    refused(lambda: recipe("elastic", manifest), "elasticsearch-formula")
    refused(lambda: made("vespa", CORRECTIONS["cosine"], k=401), "k = 401", "400")
    refused(lambda: made("redis", CORRECTIONS["cosine"], k=0), "k = 0")
    wide = Embeddings.of(np.eye(3, 4097), "wide")
    manifest = export(wide, Correction("cosine", {}, np.ones(3)), tmp_path / "wide")
    refused(lambda: recipe("elasticsearch", manifest), "4,097", "4,096")
    recipe("opensearch", manifest)


def test_documents_of_another_form_are_refused(made, tmp_path, refused):
    one, _, _ = made("elasticsearch", CORRECTIONS["discount"])
    export(DOCS, CORRECTIONS["discount"], tmp_path / "unit", form="unit")
    refused(lambda: next(one.documents(tmp_path / "unit")), "unit form")


@pytest.mark.parametrize("name", RECIPES)
def test_a_recipe_reads_as_text(name, made):
    one, _, _ = made(name, CORRECTIONS["both"])
    text = "\n".join(lines(one))
    assert (DIRECTION if one.by_formula else SERVED) in text
    assert one.source.startswith("https://")
    assert one.source in text
    if isinstance(one.search.body, dict):
        assert json.loads(json.dumps(one.search.body)) == one.search.body
        assert SERVED not in json.dumps(one.asked(np.zeros(2)).body)


def test_a_query_is_put_where_it_belongs():
    body = {"a": [SERVED, 1], "b": f"{{vector: {SERVED}}}", "c": {"d": DIRECTION}}
    assert _filled(body, [1.0, 2.0]) == {
        "a": [[1.0, 2.0], 1],
        "b": "{vector: [1.0, 2.0]}",
        "c": {"d": [1.0, 2.0]},
    }


def test_scores_near_zero_keep_their_order_in_single_precision(made):
    """Elasticsearch scores are float32: the curve is steepest where products are small."""
    near = np.array([-1e-6, 0.0, 1e-6])
    assert (np.diff([np.float32(servers.shown(s)) for s in near]) > 0).all()
