"""Pairs that belong together: what a contrastive objective is made of."""

from __future__ import annotations

import json
from pathlib import Path

from radii.data.files import StrPath, at_line, numbered_lines
from radii.errors import InputError


def read_pairs(path: StrPath) -> list[tuple[str, str]]:
    r"""Read (anchor, positive) pairs from a `.tsv` or `.jsonl` file, plain or with `.gz` at the end.

    A line of `.tsv` is anchor, tab, positive, without a header; a line of `.jsonl` is an object with
    `anchor` and `positive`. Blank lines are skipped; the order is that of the file.

    Raises
    ------
    InputError
        With file and line: not UTF-8, another number of tabs than one, invalid JSON, a missing key, an empty
        side. With the file: unknown suffix, no pair at all.
    """
    name = Path(path).name.lower().removesuffix(".gz")
    if not name.endswith((".tsv", ".jsonl")):
        raise InputError(
            f"unknown suffix {Path(path).suffix!r}",
            where=path,
            cause="pairs saved in another format",
            fix="save them as .tsv or .jsonl, with or without .gz",
        )
    pairs = []
    for number, line in numbered_lines(path):
        if line.strip():
            pair = _tabbed(line) if name.endswith(".tsv") else _object(line)
            if pair is None or not all(side.strip() for side in pair):
                raise InputError(
                    f"{line[:40]!r} is no pair of texts",
                    where=at_line(path, number),
                    cause="another layout, or an empty side",
                    fix="write anchor, one tab, positive"
                    if name.endswith(".tsv")
                    else 'write {"anchor": ..., "positive": ...}, one per line',
                )
            pairs.append(pair)
    if not pairs:
        raise InputError("an empty file", where=path, cause="a failed export", fix="export the pairs again")
    return pairs


def _tabbed(line: str) -> tuple[str, str] | None:
    parts = line.split("\t")
    return (parts[0], parts[1]) if len(parts) == 2 else None


def _object(line: str) -> tuple[str, str] | None:
    try:
        row = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if not isinstance(row, dict):
        return None
    anchor, positive = row.get("anchor"), row.get("positive")
    return (anchor, positive) if isinstance(anchor, str) and isinstance(positive, str) else None
