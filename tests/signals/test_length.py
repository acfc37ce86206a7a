"""Length: counts by hand, the fallback's split, a given tokenizer, refusals."""

import unicodedata

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from radii.signals.length import tokens, word_list

TEXTS = st.lists(st.text(max_size=40), max_size=8)


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("", 0),
        (" \t\n\u2003", 0),
        ("hub", 1),
        ("a hub, twice.", 5),
        ("don't", 3),  # don ' t
        ("aerosol_can", 3),
        ("3.14", 3),
        ("…!?", 3),
        ("ταξίδι στη θάλασσα", 3),
        ("cafe\u0301", 1),  # one letter, written as two characters
        ("東京タワー", 1),  # no spaces: one run
    ],
)
def test_fallback_counts_words_and_marks(text, count):
    assert tokens([text]).tolist() == [count]


def test_words_are_lower_cased_in_order_and_repeated():
    assert word_list("The CAFE\u0301, the café!") == ["the", "café", "the", "café"]
    assert word_list("?!") == []


@given(TEXTS)
def test_one_whole_number_per_text_in_order(texts):
    counts = tokens(texts)
    assert counts.shape == (len(texts),)
    assert counts.dtype == np.float64
    assert (counts >= 0).all()
    assert tokens(texts[::-1]).tolist() == counts.tolist()[::-1]
    assert np.isfinite(np.log1p(counts)).all()


@given(st.text(max_size=40), st.text(max_size=40))
def test_a_space_between_texts_adds_their_counts(left, right):
    # Without one, the first character of the right could combine with the last of the left.
    assert tokens([f"{left} . {right}"])[0] == tokens([left])[0] + 1 + tokens([right])[0]


@given(st.text(max_size=40))
def test_composed_and_decomposed_text_count_the_same(text):
    decomposed = unicodedata.normalize("NFD", text)
    assert tokens([text]).tolist() == tokens([decomposed]).tolist()


def test_a_tokenizer_replaces_the_fallback():
    assert tokens(["a-b c", ""], str.split).tolist() == [2, 0]


@pytest.mark.parametrize("wrong", [lambda t: {"input_ids": [1, 2]}, lambda t: t, lambda t: 3])
def test_what_is_no_list_of_tokens_is_refused(refused, wrong):
    refused(lambda: tokens(["a"], wrong), "text 0", "tokenizer.tokenize")


def test_a_missing_text_is_refused(refused):
    refused(lambda: tokens(["a", None]), "text 1", "NoneType")
