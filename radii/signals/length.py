"""Length: how many tokens a document's text has."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Mapping, Sequence, Sized

import numpy as np

from radii.data.embeddings import Floats
from radii.errors import InputError

# A word is a run of letters and digits of any script; whatever else is no space stands alone.
_TOKEN = re.compile(r"([^\W_]+)|\S")


def tokens(texts: Sequence[str], tokenize: Callable[[str], Sized] | None = None) -> Floats:
    """Tokens of every text: (n_docs,) float64, whole numbers, 0 for an empty text.

    The number of tokens of d is len(tokenize(d)). Give the tokenizer of the model that made the vectors when
    it is known (`tokenize` of a Hugging Face tokenizer). Without one: words (runs of letters and digits of
    any script, after NFC normalisation) and every other visible character as a token of its own, which is
    how BERT's tokenizer splits before it looks for word pieces. A script written without spaces counts as
    one word a run.

    As a multiplier of a score take 1 + count: it is positive for an empty text too, and its logarithm, the
    slope of the document's line in γ, is log(1 + count).

    Raises
    ------
    InputError
        When a text is not a string, or `tokenize` gives something else than a list of tokens.

    Source: Devlin et al., arXiv:1810.04805, for the split of the fallback.

    >>> tokens(["A hub, twice.", ""])
    array([5., 0.])
    >>> tokens(["A hub, twice."], str.split)
    array([3.])
    """
    split = _fallback if tokenize is None else tokenize
    return np.array([_count(split, text, row) for row, text in enumerate(texts)], dtype=np.float64)


def word_list(text: str) -> list[str]:
    """Words of a text in order, repeated as it repeats them: runs of letters and digits, lower-cased, NFC.

    >>> word_list("Aerosol_can: an AEROSOL can!")
    ['aerosol', 'can', 'an', 'aerosol', 'can']
    """
    return [word for word in _TOKEN.findall(_composed(text.lower())) if word]


def check_text(text: object, row: int) -> None:
    """Refuse what is no string; `row` is its place among the texts, for the message."""
    if not isinstance(text, str):
        raise InputError(
            f"{type(text).__name__} {str(text)[:40]!r} where a text belongs",
            where=f"text {row}",
            cause="a missing text",
            fix="give a string for every document, empty where there is no text",
        )


def _fallback(text: str) -> list[str]:
    return _TOKEN.findall(_composed(text))


def _composed(text: str) -> str:
    return text if text.isascii() else unicodedata.normalize("NFC", text)


def _count(split: Callable[[str], Sized], text: str, row: int) -> int:
    check_text(text, row)
    found = split(text)
    # The length of a string is its characters, that of a tokenizer's mapping its fields: both are wrong.
    if not isinstance(found, Sized) or isinstance(found, str | bytes | Mapping):
        raise InputError(
            f"the tokenizer gave {type(found).__name__} where a list of tokens belongs",
            where=f"text {row}",
            cause="the tokenizer itself was given and not its method",
            fix="give a function from a text to its list of tokens, such as tokenizer.tokenize",
        )
    return len(found)
