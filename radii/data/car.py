"""TREC Complex Answer Retrieval: paragraphs that answer the headings of Wikipedia pages, in CBOR."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import IO, Any, cast

from radii.data.collection import Collection, judged
from radii.data.files import StrPath, open_bytes
from radii.data.qrels import read_qrels
from radii.data.texts import Texts
from radii.errors import InputError, MissingExtraError


@dataclass(frozen=True)
class Headings:
    """Heading paths as queries.

    Attributes
    ----------
    queries : Texts
        Id of the path as the judgements write it; the text is the page's name and the headings down to
        this one, joined by spaces.
    depth : dict
        Query id → headings above it: 0 for a page, 1 for its sections. Counted in the outline: a heading
        may itself contain the slash that separates headings in an id.
    """

    queries: Texts
    depth: dict[str, int]


def load_car(paragraphs: StrPath, outlines: StrPath, qrels: StrPath) -> Collection:
    """Paragraphs as documents, judged heading paths as queries with their depth.

    Files of the format v1.x (http://trec-car.cs.unh.edu). Raises as `read_paragraphs`, `read_outlines` and
    `read_qrels` do.
    """
    headings, grades = read_outlines(outlines), read_qrels(qrels)
    queries = judged(headings.queries, grades)
    depth = {name: headings.depth[name] for name in queries.ids}
    return Collection(read_paragraphs(paragraphs), queries, grades, depth)


def read_paragraphs(path: StrPath) -> Texts:
    """Read a `.cbor.paragraphs` file: id and text of every paragraph, links as their anchor text.

    Raises
    ------
    InputError
        With the place, counted from 1: an item that is no paragraph, a duplicate id, a cut-off file.
    MissingExtraError
        Without cbor2 (the extra `collections`).
    """
    texts: dict[str, str] = {}
    for number, item in _items(path):
        try:
            kind, key, bodies = item
            name, text = key.decode("ascii"), "".join(_plain(body) for body in bodies)
        except (TypeError, ValueError, AttributeError, LookupError) as error:
            raise _unexpected(path, number, item, "paragraph") from error
        if kind != 0 or not name or name in texts:
            found = f"duplicate id {name!r}" if name in texts else f"id {name!r}, kind {_told(kind)}"
            raise InputError(
                found,
                where=f"{path}, item {number}",
                cause="two files joined, or pages for paragraphs",
                fix="give the paragraphs file of one release",
            )
        texts[name] = text
    return Texts(list(texts), list(texts.values()), str(path))


def read_outlines(path: StrPath) -> Headings:
    """Read a `.cbor.outlines` file: every page and every heading below it as a query.

    Two equal headings at one place share their id and are one query. Raises as `read_paragraphs` does.
    """
    queries: dict[str, str] = {}
    depth: dict[str, int] = {}
    for number, item in _items(path):
        try:
            _, name, key, sections = item
            for query, text, level in _paths(key.decode("utf-8"), name, sections):
                queries.setdefault(query, text)
                depth.setdefault(query, level)
        except (TypeError, ValueError, AttributeError, LookupError, RecursionError) as error:
            raise _unexpected(path, number, item, "page outline") from error
    return Headings(Texts(list(queries), list(queries.values()), str(path)), depth)


def _paths(key: str, text: str, sections: Any, level: int = 0) -> Iterator[tuple[str, str, int]]:
    """(id, text, depth) of a page or section and of all sections below it, in the order of the page."""
    yield key, " ".join(text.split()), level
    for section in sections:
        if section[0] == 0:  # 1 is a paragraph, 2 an image, 3 a list: those have no heading.
            _, heading, name, below = section
            yield from _paths(f"{key}/{name.decode('utf-8')}", f"{text} {heading}", below, level + 1)


def _plain(body: Any) -> str:
    """Text of one piece of a paragraph: [0, text] or [1, [0, page, section, page id, anchor]]."""
    kind, content = body
    text = content if kind == 0 else content[4]
    if not isinstance(text, str):
        raise TypeError(f"a text that is {type(text).__name__}")
    return text


def _items(path: StrPath) -> Iterator[tuple[int, Any]]:
    """(place from 1, item) of a file of CBOR items, one after another."""
    try:
        import cbor2
    except ImportError as error:
        raise MissingExtraError("cbor2", "collections") from error
    number = 0
    with open_bytes(path) as file:
        decoder = cbor2.CBORDecoder(cast(IO[bytes], _Stream(file)))
        while file.peek(1):  # type: ignore[attr-defined]
            number += 1
            try:
                yield number, decoder.decode()
            except (cbor2.CBORDecodeError, RecursionError) as error:
                raise InputError(
                    f"no CBOR item ({error})",
                    where=f"{path}, item {number}",
                    cause="an interrupted copy, or another kind of file",
                    fix="copy it again, unpacked or as .gz",
                ) from error
    if not number:
        raise InputError("an empty file", where=path, cause="a failed copy", fix="copy it again")


class _Stream:
    """A file that is read as far as the decoder has to: one that can seek would be read ahead."""

    def __init__(self, file: IO[bytes]) -> None:
        self.read = file.read

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return False


def _unexpected(path: StrPath, number: int, item: object, wanted: str) -> InputError:
    return InputError(
        f"{_told(item)!r} is no {wanted}",
        where=f"{path}, item {number}",
        cause="another file of the release, or format v2",
        fix=f"give the v1.x file of {wanted}s",
    )


def _told(item: object) -> str:
    """The start of an item; its type alone where it cannot be written out."""
    try:
        return str(item)[:60]
    except (ValueError, RecursionError):  # an integer of thousands of digits, lists a thousand deep
        return type(item).__name__
