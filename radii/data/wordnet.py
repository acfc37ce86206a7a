"""WordNet's nouns as pairs of a lemma and its gloss, from the database files that Debian ships."""

from __future__ import annotations

import os
from pathlib import Path

from radii.data.files import at_line, numbered_lines
from radii.errors import InputError

FOLDER = "/usr/share/wordnet"


def wordnet_file() -> Path:
    """Where the nouns lie, or should: data.noun in RADII_WORDNET, or else in /usr/share/wordnet."""
    return Path(os.environ.get("RADII_WORDNET", FOLDER)) / "data.noun"


def read_nouns() -> list[tuple[str, str]]:
    """(first lemma, gloss) of every noun synset, in the order of the file: 82,115 in WordNet 3.0.

    Raises InputError where there is no WordNet, or a file that is something else.

    Source: wndb(5WN), the format of the database files.
    """
    file = wordnet_file()
    if not file.is_file():
        raise InputError(
            "no WordNet here",
            where=file,
            fix="apt-get install wordnet-base, or set RADII_WORDNET to its folder",
        )
    found = []
    for number, line in numbered_lines(file):
        if line.startswith("  "):  # the licence
            continue
        head, bar, gloss = line.partition("|")
        fields = head.split()
        if not bar or len(fields) < 5:
            raise InputError(
                f"{line[:40]!r} is no synset",
                where=at_line(file, number),
                cause="another file",
                fix="give WordNet's data.noun",
            )
        found.append((fields[4].replace("_", " "), gloss.strip()))
    return found
