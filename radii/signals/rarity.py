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
    words: list[int] = []
    counts = np.zeros(len(texts), dtype=np.int64)
    for row, text in enumerate(texts):
        check_text(text, row)
        found = word_list(text)
        words += [numbers.setdefault(word, len(numbers)) for word in found]
        counts[row] = len(found)
    if not words:
        raise InputError(
            f"no words in {len(texts)} texts",
            where="texts",
            cause="empty texts, or texts of signs only",
            fix="give the texts of the documents, or leave rarity out",
        )
    word, owner = np.array(words), np.repeat(np.arange(len(texts)), counts)
    held = np.unique(owner * len(numbers) + word) % len(numbers)  # each word of each text once
    idf = np.log((1 + len(texts)) / (1 + np.bincount(held, minlength=len(numbers)))) + 1
    filled = counts > 0
    rarity = np.bincount(owner, weights=idf[word], minlength=len(texts)) / np.maximum(counts, 1)
    rarity[~filled] = rarity[filled].mean()
    return rarity
