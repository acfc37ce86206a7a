"""General against specific: hypernym pairs of words, and topics against their facets."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Literal

from radii.data.files import StrPath, at_line, numbered_lines, open_text
from radii.errors import InputError


@dataclass(frozen=True)
class Contrasts:
    """Texts in pairs, one the more general.

    Attributes
    ----------
    general, specific : list of str
        The two sides, (n,) each.
    group : list of str
        Contrasts of one group share their general side and are not independent: resample groups.
    source : str
        Where they came from.
    """

    general: list[str]
    specific: list[str]
    group: list[str]
    source: str

    def __len__(self) -> int:
        return len(self.general)


def read_hypernyms(path: StrPath) -> Contrasts:
    """Read the hypernym pairs of a file of labelled word pairs (BLESS, EVALution, Lenci/Benotto, Weeds).

    A line is word, word, True or False, relation, by tabs, each word with its part of speech at the end
    (`owl-n`). Kept are the pairs labelled True whose relation is `hyper`; the first word is the specific one.
    The format is that of Shwartz, Santus, Schlechtweg 2017 (arXiv 1612.04460).

    Raises
    ------
    InputError
        With file and line: another number of columns, a word without part of speech, another label. With
        the file: no such pair.
    """
    general, specific, group = [], [], []
    for number, line in numbered_lines(path):
        columns = line.split("\t")
        words = [column.rpartition("-") for column in columns[:2]]
        if len(columns) != 4 or not all(w and p for w, _, p in words) or columns[2] not in ("True", "False"):
            raise InputError(
                f"{line[:60]!r}",
                where=at_line(path, number),
                cause="another format",
                fix="write word-pos, word-pos, True or False, relation, by tabs",
            )
        if columns[2:] == ["True", "hyper"]:
            specific.append(words[0][0])
            general.append(words[1][0])
            group.append(columns[1])
    return _filled(Contrasts(general, specific, group, str(path)))


def read_qulac(path: StrPath, general: Literal["topic", "topic_desc"] = "topic") -> Contrasts:
    """Read Qulac (arXiv 1907.06554): every topic against the description of each of its facets.

    A topic is its query, a few words, or with `general="topic_desc"` its description, a sentence as facets
    are.
    Backslashes before quotes, which the file has in places, are left out. Groups are topic ids.

    Raises
    ------
    InputError
        When the file is no JSON, lacks a column, or a column lacks a row.
    """
    with open_text(path) as file:
        try:
            table = json.load(file)
        except (ValueError, RecursionError) as error:
            raise InputError(
                f"invalid JSON ({error})", where=path, cause="an interrupted copy", fix="copy it again"
            ) from error
    columns = []
    for name in ("topic_facet_id", "topic_id", general, "facet_desc"):
        column = table.get(name) if isinstance(table, dict) else None
        if not isinstance(column, dict):
            raise InputError(
                f"no column {name!r}",
                where=path,
                cause="another file of Qulac",
                fix="give data/qulac/qulac.json of github.com/aliannejadi/qulac",
            )
        columns.append(column)
    facets: dict[str, tuple[str, str, str]] = {}
    for row, facet in columns[0].items():
        if any(row not in column for column in columns):
            raise InputError(
                f"row {row!r} is not in every column", where=path, cause="a cut file", fix="copy it again"
            )
        topic, query, description = (str(column[row]) for column in columns[1:])
        facets.setdefault(str(facet), (topic, _unescaped(query), _unescaped(description)))
    rows = list(facets.values())
    return _filled(Contrasts([r[1] for r in rows], [r[2] for r in rows], [r[0] for r in rows], str(path)))


def _unescaped(text: str) -> str:
    return text.replace("\\'", "'").replace('\\"', '"').strip()


def _filled(pairs: Contrasts) -> Contrasts:
    if not len(pairs):
        raise InputError(
            "no pairs",
            where=pairs.source,
            cause="an empty file, or none of this relation",
            fix="give another file",
        )
    return pairs
