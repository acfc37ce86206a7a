"""What each server is documented to do with a recipe, in a few lines: (id, score) pairs, best first.

An interpreter reads the request as it would be sent, and nothing but the documents and the mapping.
"""

from __future__ import annotations

import json
import math
import re
from types import SimpleNamespace

import numpy as np


def best(scored, k):
    return sorted(scored, key=lambda pair: -pair[1])[:k]


def shown(score):
    """Elasticsearch and OpenSearch of a product: never negative, and growing with it."""
    return score + 1.0 if score >= 0 else 1.0 / (1.0 - score)


def cosine(a, b):
    return float(np.dot(a, b) / (np.linalg.norm(a) * np.linalg.norm(b)))


# Lucene's two -------------------------------------------------------------------------------------------


def painless(source, params, document, by_name):
    """`double s = EXPRESSION; return s < 0 ? A : B;` in one document's context."""
    expression, test, below, above = re.fullmatch(
        r"double s = (.+); return (.+) \? (.+) : (.+);", source
    ).groups()
    names = {
        "params": SimpleNamespace(**params),
        "doc": {name: SimpleNamespace(value=value) for name, value in document.items()},
        "Math": SimpleNamespace(pow=math.pow),
        "cosineSimilarity": lambda query, field: cosine(query, document[field] if by_name else field.value),
    }
    s = eval(expression, {"__builtins__": {}}, names)
    return eval(below if eval(test, {"s": s}) else above, {"s": s})


def lucene(recipe, documents, query, *, opensearch):
    fields = recipe.create.body["mappings"]["properties"]
    vector = fields["vector"]
    dims = vector["dimension" if opensearch else "dims"]
    body = recipe.asked(query).body
    loaded = []
    for action, fields_of in documents:
        assert set(fields_of) == set(fields)
        assert len(fields_of["vector"]) == dims
        loaded.append((action["index"]["_id"], fields_of))
    if "script_score" in body.get("query", {}):
        script = body["query"]["script_score"]["script"]
        scores = [
            (name, painless(script["source"], script["params"], held, by_name=not opensearch))
            for name, held in loaded
        ]
        assert min(score for _, score in scores) >= 0  # Lucene refuses negative scores
        return best(scores, body["size"])
    if opensearch:
        assert vector["method"]["space_type"] == "innerproduct"
        ask, k = body["query"]["knn"]["vector"]["vector"], body["query"]["knn"]["vector"]["k"]
    else:
        assert vector["similarity"] == "max_inner_product"
        ask, k = body["knn"]["query_vector"], body["knn"]["k"]
    return best([(name, shown(np.dot(ask, held["vector"]))) for name, held in loaded], min(k, body["size"]))


# Vespa --------------------------------------------------------------------------------------------------


def vespa(recipe, documents, query):
    schema, body = recipe.create.body, recipe.asked(query).body
    [dim] = {int(n) for n in re.findall(r"tensor<float>\(x\[(\d+)\]\)", schema)}
    [metric] = re.findall(r"distance-metric: (\w+)", schema)
    [expression] = re.findall(r"first-phase \{ expression: (.+) \}\n", schema)
    [looked] = map(int, re.findall(r"\{targetHits:(\d+)\}nearestNeighbor\(vector, q\)", body["yql"]))
    declared = set(re.findall(r"query\((\w+)\) (?:tensor|double)", schema))
    fields = set(re.findall(r"field (\w+) type", schema))
    asked = {name[len("input.query(") : -1]: value for name, value in body.items() if "input" in name}
    assert set(asked) == declared
    assert schema.count("{") == schema.count("}")
    nearness = cosine if metric == "angular" else np.dot
    found = []
    for put in documents:
        held = put["fields"]
        assert set(held) == fields
        assert len(held["vector"]) == dim == len(asked["q"])
        names = {
            "query": lambda name: np.asarray(asked[name]),
            "attribute": lambda name, held=held: np.asarray(held[name]),
            "sum": np.sum,
            "pow": np.power,
            **{name: name for name in (*declared, *fields)},
        }
        score = float(eval(expression, {"__builtins__": {}}, names))
        found.append((held["id"], score, nearness(asked["q"], held["vector"])))
    found.sort(key=lambda one: -one[2])
    return best([one[:2] for one in found[:looked]], body["hits"])


# Weaviate -----------------------------------------------------------------------------------------------


def weaviate(recipe, documents, query):
    [index] = recipe.create.body["vectorConfig"].values()
    assert index["vectorIndexConfig"]["distance"] == "dot"
    text = recipe.asked(query).body["query"]
    assert text.count("{") == text.count("}")
    ask, k = re.search(r"nearVector: \{vector: (\[.+?\])\}, limit: (\d+)", text).groups()
    ask = json.loads(ask)
    # The distance is −⟨q, d⟩, the smallest first.
    return best(
        [(one["properties"]["docId"], np.dot(ask, one["vectors"]["default"])) for one in documents], int(k)
    )


# Redis --------------------------------------------------------------------------------------------------


def apply(text, names):
    """An APPLY expression as the older grammar has it: * / ^ bind alike, from the left."""
    words = re.findall(r"@\w+|\d+\.?\d*(?:[eE][+-]?\d+)?|[-+*/^()]", text)
    assert "".join(words) == text.replace(" ", "")

    def atom():
        word = words.pop(0)
        if word == "(":
            value = level(0)
            assert words.pop(0) == ")"
            return value
        if word == "-":
            return -atom()
        return names[word[1:]] if word[0] == "@" else float(word)

    def level(depth):
        value = atom() if depth == 1 else level(1)
        while words and words[0] in ("+-", "*/^")[depth]:
            word = words.pop(0)
            right = atom() if depth == 1 else level(1)
            value = {
                "+": lambda a, b: a + b,
                "-": lambda a, b: a - b,
                "*": lambda a, b: a * b,
                "/": lambda a, b: a / b,
                "^": lambda a, b: a**b,
            }[word](value, right)
        return value

    value = level(0)
    assert not words
    return value


def redis(recipe, documents, query):
    create, search = recipe.create.body, recipe.asked(query).body
    dim, metric = create[create.index("DIM") + 1], create[create.index("DISTANCE_METRIC") + 1]
    numeric = {create[at - 1] for at, word in enumerate(create) if word == "NUMERIC"}
    [looked] = map(int, re.findall(r"^\*=>\[KNN (\d+) @vector \$q AS away\]$", search[2]))
    ask = search[search.index("q") + 1]
    loaded = []
    for command, key, *pairs in documents:
        assert command == "HSET"
        held = dict(zip(pairs[::2], pairs[1::2], strict=True))
        vector = np.frombuffer(held.pop("vector"), dtype="<f4").astype(float)
        assert len(vector) == dim
        assert set(held) == numeric
        near = np.dot(ask, vector) if metric == "IP" else cosine(ask, vector)
        loaded.append((key.removeprefix("doc:"), 1.0 - near, {name: float(v) for name, v in held.items()}))
    loaded.sort(key=lambda one: one[1])
    if search[0] == "FT.SEARCH":
        at = search.index("SORTBY")
        assert search[at + 1 : at + 3] == ["away", "ASC"]
        return [(name, -away) for name, away, _ in loaded[:looked]]
    at = search.index("LOAD")
    held = {word[1:] for word in search[at + 2 : at + 2 + int(search[at + 1])]} - {"__key"}
    expression = search[search.index("APPLY") + 1]
    scored = [
        (name, apply(expression, {"away": away, **{number: numbers[number] for number in held}}))
        for name, away, numbers in loaded[:looked]
    ]
    return best(scored, int(search[search.index("MAX") + 1]))


# MongoDB ------------------------------------------------------------------------------------------------


def value_of(expression, held):
    """An aggregation expression on one document."""
    if isinstance(expression, str):
        return held[expression.removeprefix("$")]
    if isinstance(expression, int | float):
        return expression
    [(operator, operands)] = expression.items()
    if operator == "$meta":
        return held[operands]
    a, b = (value_of(one, held) for one in operands)
    return {"$subtract": a - b, "$multiply": a * b, "$pow": a**b if operator == "$pow" else None}[operator]


def mongodb(recipe, documents, query):
    [index] = recipe.create.body["indexes"]
    [field] = index["definition"]["fields"]
    held = [dict(one) for one in documents]
    for stage in recipe.asked(query).body["pipeline"]:
        [(operator, what)] = stage.items()
        if operator == "$vectorSearch":
            assert (what["index"], what["path"]) == (index["name"], field["path"])
            assert what["limit"] <= what["numCandidates"] <= 10_000
            for one in held:
                assert len(one["vector"]) == field["numDimensions"] == len(what["queryVector"])
                one["vectorSearchScore"] = (1.0 + cosine(what["queryVector"], one["vector"])) / 2.0
            held = sorted(held, key=lambda one: -one["vectorSearchScore"])[: what["limit"]]
        elif operator == "$project":
            held = [
                {name: one[name] if told == 1 else value_of(told, one) for name, told in what.items()}
                for one in held
            ]
        elif operator == "$sort":
            assert what == {"score": -1}
            held = sorted(held, key=lambda one: -one["score"])
        elif operator == "$limit":
            held = held[:what]
    return [(one["_id"], one["score"]) for one in held]
