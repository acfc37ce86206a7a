"""Relevance judgements: query id → document id → grade."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from radii.data.embeddings import Embeddings
from radii.data.files import StrPath, at_line, numbered_lines
from radii.errors import InputError, shown

Qrels = dict[str, dict[str, int]]

# Gains are computed from grades in fixed-size integers; no collection grades beyond this.
_LARGEST_GRADE = 2**31 - 1
_GRADE = re.compile(r"([+-]?[0-9]{1,10})(\.0*)?")
_HEADER = {"score", "grade", "relevance", "rel", "label"}


def as_qrels(qrels: Mapping[Any, Mapping[Any, Any]] | StrPath) -> tuple[Qrels, str]:
    """(judgements, name for messages) of a file or of a mapping `{query id: {document id: grade}}`.

    Raises as `read_qrels` and `check_qrels` do.

    >>> as_qrels({"q1": {"d1": 1}})
    ({'q1': {'d1': 1}}, 'qrels')
    """
    if isinstance(qrels, str | os.PathLike):
        return read_qrels(qrels), os.fspath(qrels)
    return check_qrels(qrels, "qrels"), "qrels"


def read_qrels(path: StrPath) -> Qrels:
    """Read judgements from a TREC or a BEIR file, plain or with `.gz` at the end.

    TREC: four columns, query id, iteration, document id, grade, split at white space. BEIR: three columns,
    query id, document id, grade, split at tabs, with or without a header. The first line tells which.
    Grades stay as stored, negative ones too; 1.0 is read as 1. Blank lines are skipped.

    Raises
    ------
    InputError
        With file and line: another number of columns, a grade that is not an integer, one pair judged
        twice with two grades. With the file: no judgement at all, or a file that cannot be read.
    """
    qrels: Qrels = {}
    lines: dict[tuple[str, str], int] = {}
    for number, query, document, text in _judgements(path):
        where = at_line(path, number)
        grade = _parsed_grade(text)
        if grade is None:
            raise InputError(
                f"grade {text!r} of query {query!r}, document {document!r} is not an integer",
                where=where,
                cause="columns in another order, or scores of a run for judgements",
                fix="write integer grades in the last column",
            )
        known = qrels.setdefault(query, {}).setdefault(document, grade)
        first = lines.setdefault((query, document), number)
        if known != grade:
            raise InputError(
                f"query {query!r}, document {document!r} has grade {grade}, and {known} on line {first}",
                where=where,
                cause="judgements of two assessors in one file",
                fix="keep one grade per query and document",
            )
    if not qrels:
        raise InputError(
            "no judgements", where=path, cause="an empty file or only a header", fix="give the filled file"
        )
    return qrels


def check_qrels(mapping: Mapping[Any, Mapping[Any, Any]], source: str = "qrels") -> Qrels:
    """Judgements of a mapping `{query id: {document id: grade}}` with plain string ids and int grades.

    Integer ids become strings; a grade may be an int, a numpy integer, a bool or an integral float.

    Raises
    ------
    InputError
        On other ids or grades (naming both ids), on an id given as 1 and as "1", on no judgement at all.

    >>> check_qrels({"q1": {7: True, "d2": 0.0}})
    {'q1': {'7': 1, 'd2': 0}}
    """
    qrels: Qrels = {}
    for query, judged in _items(mapping, "qrels", source):
        grades = qrels[_new_id(query, qrels, source)] = {}
        for document, given in _items(judged, f"query {query!r}", source):
            grade = _grade(given)
            if grade is None:
                raise InputError(
                    f"grade {given!r} ({type(given).__name__}) of query {query!r}, document {document!r}",
                    where=source,
                    cause="a score or a missing value for a judgement",
                    fix="give integer grades",
                )
            grades[_new_id(document, grades, source)] = grade
    if not any(qrels.values()):
        raise InputError("no judgements", where=source, cause="an empty mapping", fix="judge some documents")
    return qrels


def usable_qrels(
    docs: Embeddings, queries: Embeddings, qrels: Qrels, source: str, allow_missing: bool, exclude_self: bool
) -> Qrels:
    """Judgements of these queries and documents, without those of a query by itself if it is excluded.

    Raises
    ------
    InputError
        When no query is known; unless `allow_missing`, when any query or document is unknown: every metric
        would come out too low.
    """
    if not any(name in queries.rows for name in qrels):
        raise InputError(
            f"none of the {len(qrels)} judged queries is in {queries.source}: "
            f"{shown(qrels, 2)} against {shown(queries.ids, 2)}",
            where=source,
            cause="ids were lost when the queries were embedded",
            fix="give the queries their ids (a .ids.txt beside the vectors)",
        )
    if exclude_self:
        qrels = {q: {d: g for d, g in grades.items() if d != q} for q, grades in qrels.items()}
    if allow_missing:
        return qrels
    lost = [name for name in qrels if name not in queries.rows]
    if lost:
        raise InputError(
            f"{len(lost)} unknown query ids: {shown(lost)}",
            where=source,
            cause=f"judgements of another split, or queries missing from {queries.source}",
            fix="embed these queries too, or allow missing ids (--allow-missing)",
        )
    lost = list(dict.fromkeys(d for grades in qrels.values() for d in grades if d not in docs.rows))
    if lost:
        raise InputError(
            f"{len(lost)} unknown document ids: {shown(lost)}",
            where=source,
            cause=f"documents missing from {docs.source}, or ids written differently",
            fix="embed these documents too, or allow missing ids (--allow-missing): they count as missed",
        )
    return qrels


def _judgements(path: StrPath) -> Iterator[tuple[int, str, str, str]]:
    """(line, query, document, grade as written) of every filled line."""
    tabbed: bool | None = None
    for number, line in numbered_lines(path):
        if not line.strip():
            continue
        first = tabbed is None
        if tabbed is None:
            tabbed = line.count("\t") == 2
        columns = [c.strip() for c in line.split("\t")] if tabbed else line.split()
        if len(columns) != (3 if tabbed else 4) or not all(columns):
            raise InputError(
                f"{len(columns)} column{'s' if len(columns) > 1 else ''} in {line[:60]!r}",
                where=at_line(path, number),
                cause="a run file, or another separator",
                fix="write TREC (query iteration document grade) or BEIR (query document grade, by tabs)",
            )
        if not (first and tabbed and columns[2].lower() in _HEADER):
            yield number, columns[0], columns[-2], columns[-1]


def _parsed_grade(text: str) -> int | None:
    match = _GRADE.fullmatch(text)
    return _grade(int(match[1])) if match else None


def _grade(value: object) -> int | None:
    """`value` as a grade, or None where it is no integer of a usable size."""
    if isinstance(value, float | np.floating) and float(value).is_integer():
        value = int(value)
    if isinstance(value, int | np.integer | np.bool_) and abs(int(value)) <= _LARGEST_GRADE:
        return int(value)
    return None


def _items(mapping: object, what: str, source: str) -> Iterator[tuple[Any, Any]]:
    if not isinstance(mapping, Mapping):
        raise InputError(
            f"{what} is {type(mapping).__name__}, not a mapping",
            where=source,
            cause="a list of relevant documents, or a data frame",
            fix="give {query id: {document id: grade}}",
        )
    return iter(mapping.items())


def _new_id(given: object, known: Mapping[str, object], source: str) -> str:
    """`given` as a string that is not known yet."""
    if isinstance(given, bool) or not isinstance(given, str | int | np.integer):
        raise InputError(
            f"id {given!r} is {type(given).__name__}",
            where=source,
            cause="a missing id",
            fix="give string ids",
        )
    name = str(given)
    if name in known:
        raise InputError(
            f"id {name!r} is there as a string and as an integer, among {shown(known)}",
            where=source,
            cause="judgements of two sources were merged",
            fix="make all ids strings",
        )
    return name
