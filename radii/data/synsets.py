"""WordNet's nouns: senses, hypernyms, definitions, and how general a synset is."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from radii.data.files import StrPath, at_line, numbered_lines
from radii.data.wordnet import wordnet_file
from radii.errors import InputError


@dataclass(frozen=True, eq=False)
class Nouns:
    """Noun synsets, each named by its offset in data.noun.

    Attributes
    ----------
    senses : dict
        Lemma in lower case, words joined by `_` → offsets, the most frequent sense first.
    parents : dict
        Offset → offsets of its hypernyms and instance hypernyms.
    lemmas : dict
        Offset → its words as written, the first one being its name.
    definitions : dict
        Offset → gloss without its examples.
    """

    senses: dict[str, list[str]]
    parents: dict[str, set[str]]
    lemmas: dict[str, list[str]]
    definitions: dict[str, str]

    def find(self, synset: str) -> str | None:
        """Offset of `lemma.n.sense`, such as `dog.n.01`; None when there is no such lemma or sense."""
        lemma, _, rest = synset.lower().rpartition(".n.")
        offsets = self.senses.get(lemma, [])
        known = rest.isdecimal() and 1 <= int(rest) <= len(offsets)
        return offsets[int(rest) - 1] if known else None

    def ancestors(self, offset: str, steps: int) -> set[str]:
        """Every synset that is one to `steps` hypernym steps above."""
        found: set[str] = set()
        level = {offset}
        for _ in range(steps):
            level = set().union(*(self.parents[o] for o in level))
            found |= level
        return found

    def hyponyms(self, offset: str) -> int:
        """How many synsets lie below, by however many steps, instances included."""
        found: set[str] = set()
        waiting = [offset]
        while waiting:
            below = self._children.get(waiting.pop(), ())
            waiting += [o for o in below if o not in found]
            found.update(below)
        return len(found)

    @cached_property
    def depth(self) -> dict[str, int]:
        """Offset → hypernym steps to a synset without hypernyms, by the shortest way."""
        found = {offset: 0 for offset, above in self.parents.items() if not above}
        waiting = deque(found)
        while waiting:
            offset = waiting.popleft()
            for below in self._children.get(offset, ()):
                if below not in found:
                    found[below] = found[offset] + 1
                    waiting.append(below)
        return found

    @cached_property
    def _children(self) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        for offset, above in self.parents.items():
            for parent in above:
                found.setdefault(parent, []).append(offset)
        return found


def read_synsets(folder: StrPath | None = None) -> Nouns:
    """Read index.noun and data.noun of WordNet 3.x, from where `wordnet_file` lies unless told otherwise.

    Formats: wndb(5WN); WordNet: doi:10.1145/219717.219748.

    Raises
    ------
    InputError
        With file and line: what is no entry of the format. With the file: one that is missing or empty.
    """
    root = wordnet_file().parent if folder is None else Path(folder)
    senses: dict[str, list[str]] = {}
    for where, line in _entries(root / "index.noun"):
        # lemma pos synset_cnt p_cnt [symbol...] sense_cnt tagsense_cnt offset...
        fields = line.split()
        try:
            senses[fields[0]] = fields[-int(fields[2]) :]
        except (ValueError, IndexError) as error:
            raise _no_entry(line, where) from error
    nouns = Nouns(senses, {}, {}, {})
    for where, line in _entries(root / "data.noun"):
        # offset lex_file type w_cnt(hex) [word lex_id]... p_cnt [symbol offset pos source/target]... | gloss
        head, bar, gloss = line.partition(" | ")
        fields = head.split()
        try:
            first = 4 + 2 * int(fields[3], 16)
            end = first + 1 + 4 * int(fields[first])
            if end > len(fields):
                raise IndexError(end)
            pointers = [fields[i : i + 4] for i in range(first + 1, end, 4)]
            above = {target for symbol, target, *_ in pointers if symbol in ("@", "@i")}
        except (ValueError, IndexError) as error:
            raise _no_entry(line, where) from error
        if not bar:
            raise _no_entry(line, where)
        nouns.parents[fields[0]] = above
        nouns.lemmas[fields[0]] = fields[4:first:2]
        nouns.definitions[fields[0]] = gloss.rstrip().split('; "', maxsplit=1)[0]
    return nouns


def _entries(path: Path) -> Iterator[tuple[str, str]]:
    """(place, line) of every entry: the licence at the top is indented."""
    empty = True
    for number, line in numbered_lines(path):
        if not line.startswith("  "):
            empty = False
            yield at_line(path, number), line
    if empty:
        raise InputError("no entries", where=path, cause="a failed copy", fix="install wordnet-base")


def _no_entry(line: str, where: str) -> InputError:
    return InputError(
        f"{line[:40]!r} is no entry of WordNet's database",
        where=where,
        cause="another file or version",
        fix="give the folder of WordNet 3.x that holds index.noun and data.noun",
    )
