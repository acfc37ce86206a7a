"""Where vectors stand in an engine: ENGINE:PLACE?OPTION=VALUE, or a folder that `radii export` filled.

    faiss:FILE  hnswlib:FILE  usearch:FILE                     ids from ids.txt beside it, or its keys
    lancedb:FOLDER  sqlite-vec:FILE                            ?table=  &vector=  &id=
    chroma:FOLDER                                              ?collection=
    milvus:FILE  milvus:http://HOST:PORT                       ?collection=  &vector=  &id=
    qdrant:FOLDER  qdrant:http://HOST:PORT                     ?collection=  &vector=  &id= (of the payload)
    qdrant-edge:FOLDER                                         ?vector=  &id= (of the payload)
    postgresql://USER@HOST/DATABASE                            ?table=  &vector=  &id=

An option may be left out where there is only one thing that it could name.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

from radii.errors import InputError

OPTIONS: dict[str, tuple[str, ...]] = {
    "faiss": (),
    "hnswlib": (),
    "usearch": (),
    "lancedb": ("table", "vector", "id"),
    "sqlite-vec": ("table", "vector", "id"),
    "chroma": ("collection",),
    "milvus": ("collection", "vector", "id"),
    "qdrant": ("collection", "vector", "id"),
    "qdrant-edge": ("vector", "id"),
    "postgresql": ("table", "vector", "id"),
}
_WRITTEN = "radii"
_FORM = re.compile(rf"({'|'.join(sorted(OPTIONS, key=len, reverse=True))}|postgres):(.+)", re.DOTALL)


@dataclass(frozen=True)
class Address:
    """An engine, a place of its kind, and what to read there.

    Attributes
    ----------
    engine : as in `OPTIONS`, or 'radii' for a folder that `radii export` filled
    place : a path, or a URL as the engine's client takes it
    options : of `OPTIONS`
    """

    engine: str
    place: str
    options: Mapping[str, str]

    def __str__(self) -> str:
        """As it was given, without a password."""
        place = self.place
        if "://" in place:
            parts = urlsplit(place)
            if parts.password:
                host = parts.netloc.rpartition("@")[2]
                place = urlunsplit(parts._replace(netloc=f"{parts.username}:***@{host}"))
        tail = urlencode(self.options)
        head = place if self.engine in ("postgresql", _WRITTEN) else f"{self.engine}:{place}"
        return head + (("&" if "?" in head else "?") + tail if tail else "")

    @property
    def written(self) -> bool:
        """Whether it is a folder that `radii export` filled."""
        return self.engine == _WRITTEN


def is_address(text: str) -> bool:
    """Whether a text names a place in an engine, and not a file of vectors.

    >>> is_address("qdrant:http://localhost:6333?collection=docs"), is_address("docs.npy")
    (True, False)
    """
    return _FORM.fullmatch(text) is not None or (Path(text) / "engine.json").is_file()


def parse_address(text: str) -> Address:
    """The address in a text; InputError on one that is none, and on options that its engine does not have.

    >>> str(parse_address("postgresql://me:secret@host/db?sslmode=require&table=docs"))
    'postgresql://me:***@host/db?sslmode=require&table=docs'
    """
    if (Path(text) / "engine.json").is_file():
        return Address(_WRITTEN, text, {})
    form = _FORM.fullmatch(text)
    if form is None:
        raise InputError(
            "not the address of an engine", where=text, fix=f"begin with one of {', '.join(OPTIONS)}, and ':'"
        )
    engine, place = form.groups()
    if engine in ("postgres", "postgresql"):
        engine, place = "postgresql", text
    head, _, query = place.partition("?")
    given = parse_qsl(query, keep_blank_values=True)
    options = {name: value for name, value in given if name in OPTIONS[engine]}
    others = [(name, value) for name, value in given if name not in OPTIONS[engine]]
    if others and engine != "postgresql":
        known = ", ".join(OPTIONS[engine]) or "none"
        raise InputError(f"no option {others[0][0]!r}", where=text, fix=f"{engine} knows: {known}")
    return Address(engine, head + (f"?{urlencode(others)}" if others else ""), options)
