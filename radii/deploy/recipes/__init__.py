"""Recipes for engines that are servers, by name: what to create, what to load, what to ask.

>>> sorted(RECIPES)[:3]
['elasticsearch', 'elasticsearch-formula', 'mongodb']
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict

from radii.data.files import StrPath, atomic_write
from radii.deploy.forms import Form
from radii.deploy.manifest import Manifest
from radii.deploy.recipes import elasticsearch, mongodb, opensearch, qdrant, redis, vespa, weaviate
from radii.deploy.recipes.base import DIRECTION, GRAPH, ID, SERVED, Recipe, Request
from radii.errors import InputError, printable_json

__all__ = ["DIRECTION", "RECIPES", "SERVED", "Recipe", "Request", "lines", "recipe"]

RECIPES: dict[str, Callable[[Manifest, int], Recipe]] = {
    "elasticsearch": elasticsearch.vectors,
    "elasticsearch-formula": elasticsearch.formula,
    "opensearch": opensearch.vectors,
    "opensearch-formula": opensearch.formula,
    "vespa": vespa.vectors,
    "vespa-formula": vespa.formula,
    "weaviate": weaviate.vectors,
    "redis": redis.vectors,
    "redis-formula": redis.formula,
    "mongodb": mongodb.vectors,
    "mongodb-formula": mongodb.formula,
    "qdrant-server": qdrant.vectors,
    "qdrant-formula": qdrant.formula,
}
_GRAPHS = ("elasticsearch", "opensearch", "weaviate", "qdrant-server")


def recipe(name: str, manifest: Manifest, k: int = 10) -> Recipe:
    """The recipe of that name for an export.

    Raises InputError on a name that is none, and where the server cannot serve this export: another form, too
    many dimensions, too large a k, or a formula for a method that moves the vectors themselves.
    """
    if name not in RECIPES:
        raise InputError(f"{name!r}", where="recipe", fix=f"take one of {', '.join(sorted(RECIPES))}")
    return RECIPES[name](manifest, k)


def form_of(name: str) -> Form:
    """The form that a recipe is best served with; those of graphs take `ip` as well."""
    return {"mongodb": "unit", **dict.fromkeys(_GRAPHS, GRAPH[0])}.get(name, "ip")


def lines(made: Recipe) -> list[str]:
    """A recipe to read: why, where its syntax is documented, and every request."""
    return [
        f"{made.name}: {made.why}",
        f"syntax {made.source}",
        *(line for request in (made.create, made.search) for line in ("", request.to, shown(request))),
        "",
        f"documents carry {', '.join((ID, *made.fields))}; radii recipe --documents FILE writes them",
        f"load {made.load}",
    ]


def as_json(made: Recipe) -> str:
    """A recipe for a program to read."""
    told = {name: getattr(made, name) for name in ("name", "form", "why", "source", "fields", "load")}
    told |= {name: asdict(getattr(made, name)) for name in ("create", "search")}
    return printable_json(json.dumps(told, indent=2, ensure_ascii=False))


def write_documents(made: Recipe, folder: StrPath, out: StrPath) -> None:
    """Write all documents of an export into one file, whole or not at all."""
    with atomic_write(out) as file:
        for document in made.documents(folder):
            file.write(made.encode(document))


def shown(request: Request) -> str:
    """What is sent, as text: JSON, a file, or a command with its words quoted."""
    if isinstance(request.body, str):
        return request.body.rstrip("\n")
    if isinstance(request.body, list):
        return " ".join(str(word) if str(word).isalnum() else json.dumps(word) for word in request.body)
    return json.dumps(request.body, indent=2)
