"""Rarity: how unusual the words of a document are in its corpus."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from radii.data.embeddings import Floats
from radii.errors import InputError
from radii.signals.length import check_text, word_list


def mean_idf(texts: Sequence[str]) -> Floats:
    """Mean inverse document frequency of every text's words: (n_docs,) float64, all at least 1.

    rarity(d) = mean over the words w of d, counted as often as they occur, of
    idf(w) = log((1 + n_docs) / (1 + df(w))) + 1, with df(w) the number of texts that hold w. This is the
    smoothed idf of scikit-learn's TfidfTransformer; a word of every text has 1. Words as `word_list` gives
    them. A text without words gets the mean rarity of the texts that have some.

    Raises
    ------
    InputError
        When a text is not a string, or no text has a word.

    Source: Spärck Jones (1972), doi:10.1108/eb026526.

    >>> mean_idf(["a hub", "a a", ""]).round(3).tolist()
    [1.49, 1.288, 1.389]
    """
    numbers: dict[str, int] = {}
    documents = []
    for row, text in enumerate(texts):
        check_text(text, row)
        found = [numbers.setdefault(word, len(numbers)) for word in word_list(text)]
        documents.append(np.array(found, dtype=np.int64))
    filled = np.array([words.size > 0 for words in documents], dtype=bool)
    if not filled.any():
        raise InputError(
            f"no words in {len(texts)} texts",
            where="texts",
            cause="empty texts, or texts of signs only",
            fix="give the texts of the documents, or leave rarity out",
        )
    frequency = np.zeros(len(numbers))
    for words in documents:
        frequency[np.unique(words)] += 1
    idf = np.log((1 + len(documents)) / (1 + frequency)) + 1
    rarity = np.zeros(len(documents))
    rarity[filled] = [idf[words].mean() for words in documents if words.size]
    rarity[~filled] = rarity[filled].mean()
    return rarity
