"""WordNet as a retrieval task: a noun asks for its definitions. And pairs of the two to train with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np

from radii.data.collection import Collection
from radii.data.synsets import Nouns
from radii.data.texts import Texts


@dataclass(frozen=True)
class Glosses:
    """A task, and pairs that share neither a noun asked nor a definition with it.

    Attributes
    ----------
    task : Collection
        Documents are definitions by the offset of their synset; a query is a noun, by its lemma, and
        relevant is the definition of each of its senses that is among the documents.
    pairs : list of (str, str)
        A noun and its definition.
    """

    task: Collection
    pairs: list[tuple[str, str]]


def gloss_task(nouns: Nouns, n_docs: int, n_queries: int, n_pairs: int = 0, seed: int = 0) -> Glosses:
    """Draw synsets for the documents, nouns of some of these for the queries, other synsets for the pairs."""
    offsets = np.random.default_rng([seed, 8]).permutation(sorted(nouns.parents)).tolist()
    docs, rest = offsets[:n_docs], offsets[n_docs:]
    there = set(docs)
    lemmas = list(dict.fromkeys(nouns.lemmas[offset][0].lower() for offset in docs))[:n_queries]
    qrels = {
        lemma: {offset: 1 for offset in nouns.senses.get(lemma, []) if offset in there} for lemma in lemmas
    }
    asked = [lemma for lemma in lemmas if qrels[lemma]]
    known = set(asked)
    free = (offset for offset in rest if nouns.lemmas[offset][0].lower() not in known)
    pairs = [(spelled(nouns.lemmas[o][0]), nouns.definitions[o]) for o in islice(free, n_pairs)]
    task = Collection(
        Texts(docs, [nouns.definitions[offset] for offset in docs], "WordNet glosses"),
        Texts(asked, [spelled(lemma) for lemma in asked], "WordNet nouns"),
        {lemma: qrels[lemma] for lemma in asked},
    )
    return Glosses(task, pairs)


def spelled(lemma: str) -> str:
    """A lemma as a text.

    >>> spelled("guinea_pig")
    'guinea pig'
    """
    return lemma.replace("_", " ")


def sides(pairs: Sequence[tuple[str, str]]) -> tuple[Texts, Texts]:
    """Nouns and definitions of the pairs, row by row."""
    ids = [str(row) for row in range(len(pairs))]
    nouns, definitions = zip(*pairs, strict=True)
    return Texts(ids, list(nouns), "nouns"), Texts(ids, list(definitions), "definitions")
