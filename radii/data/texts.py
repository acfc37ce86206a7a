"""Documents and queries as text."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from radii.data.files import StrPath, at_line, numbered_lines
from radii.errors import InputError


@dataclass(frozen=True)
class Texts:
    """Texts with their ids, in the order of the file.

    Attributes
    ----------
    ids : list of str
        One id per text, all different.
    texts : list of str
        The texts; one may be empty.
    source : str
        Where they came from, for messages and the report.

    >>> Texts(["d1"], ["a hub"]).by_id["d1"]
    'a hub'
    """

    ids: list[str]
    texts: list[str]
    source: str = "texts"

    def __len__(self) -> int:
        return len(self.ids)

    @cached_property
    def by_id(self) -> dict[str, str]:
        """Text of every id."""
        return dict(zip(self.ids, self.texts, strict=True))


def read_texts(path: StrPath) -> Texts:
    r"""Read documents or queries from a BEIR `.jsonl` or a `.tsv` file, plain or with `.gz` at the end.

    A line of `.jsonl` is an object with `_id`, `text` and perhaps `title`; the text is title + " " + text
    when the title is not empty, else the text. A line of `.tsv` is id, tab, text, without a header. Blank
    lines are skipped.

    Raises
    ------
    InputError
        With file and line: not UTF-8, invalid JSON, a missing key or one of the wrong type, another number
        of tabs than one, an empty or a duplicate id. With the file: unknown suffix, no text at all.
    """
    name = Path(path).name.lower().removesuffix(".gz")
    parse = next((parse for suffix, parse in _PARSERS.items() if name.endswith(suffix)), None)
    if parse is None:
        raise InputError(
            f"unknown suffix {Path(path).suffix!r}",
            where=path,
            cause="texts saved in another format",
            fix=f"save them as one of {', '.join(_PARSERS)}, with or without .gz",
        )
    texts: dict[str, str] = {}
    lines: dict[str, int] = {}
    for number, line in _filled_lines(path):
        where = at_line(path, number)
        key, text = parse(line, where)
        if not key.strip():
            raise InputError("an empty id", where=where, cause="a failed export", fix="give every text an id")
        if key in texts:
            raise InputError(
                f"duplicate id {key!r}, first on line {lines[key]}",
                where=where,
                cause="the same text was exported twice",
                fix="make ids unique",
            )
        texts[key], lines[key] = text, number
    if not texts:
        raise InputError("an empty file", where=path, cause="a failed export", fix="export the texts again")
    return Texts(list(texts), list(texts.values()), str(path))


def _filled_lines(path: StrPath) -> Iterator[tuple[int, str]]:
    return ((number, line) for number, line in numbered_lines(path) if line.strip())


def _json_line(line: str, where: str) -> tuple[str, str]:
    try:
        row = json.loads(line)
    except (ValueError, RecursionError) as error:
        told = f"{error.msg}, column {error.colno}" if isinstance(error, json.JSONDecodeError) else error
        raise InputError(
            f"invalid JSON ({told})",
            where=where,
            cause="an interrupted export, or one object over several lines",
            fix="write one JSON object per line",
        ) from error
    if not isinstance(row, dict):
        raise InputError(
            f"{type(row).__name__} {line[:40]!r} where an object belongs",
            where=where,
            cause="another JSON layout",
            fix='write {"_id": ..., "text": ...}, one per line',
        )
    key = _field(row, "_id", where, allowed=(str, int))
    text = _field(row, "text", where)
    title = _field(row, "title", where) if row.get("title") is not None else ""
    return str(key), f"{title} {text}" if title else str(text)


def _field(row: dict[str, object], key: str, where: str, allowed: tuple[type, ...] = (str,)) -> object:
    if key not in row:
        raise InputError(
            f"no key {key!r} among {', '.join(map(repr, row)) or 'none'}",
            where=where,
            cause="another naming of the keys",
            fix=f"rename the key to {key!r}",
        )
    value = row[key]
    if type(value) not in allowed:
        raise InputError(
            f"{key!r} is {type(value).__name__} {str(value)[:40]!r}",
            where=where,
            cause="a missing value or a nested one",
            fix=f"write {key!r} as a string",
        )
    return value


def _tab_line(line: str, where: str) -> tuple[str, str]:
    tabs = line.count("\t")
    if tabs != 1:
        raise InputError(
            f"{tabs} tabs in {line[:40]!r}",
            where=where,
            cause="spaces for the tab, a further column, or a tab inside the text",
            fix="write id, one tab, text",
        )
    key, text = line.split("\t")
    return key, text


_PARSERS = {".jsonl": _json_line, ".tsv": _tab_line}
