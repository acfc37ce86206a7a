"""Rarity: by hand, against a direct count, invariances, texts without words."""

from math import log

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from radii.signals.length import word_list
from radii.signals.rarity import mean_idf

TEXTS = st.lists(st.lists(st.sampled_from("abcdef"), max_size=6).map(" ".join), min_size=1, max_size=8)


def test_by_hand():
    # Of three texts 'a' is in two and 'hub' in one; the empty one gets the mean of the others.
    a, hub = log(4 / 3) + 1, log(4 / 2) + 1
    expected = [(a + hub) / 2, a, ((a + hub) / 2 + a) / 2]
    np.testing.assert_allclose(mean_idf(["a hub", "a, A", "..."]), expected, rtol=1e-15)


def test_a_word_of_every_text_has_rarity_one():
    assert mean_idf(["same", "same same"]).tolist() == [1.0, 1.0]


def brute_force(texts):
    words = [word_list(text) for text in texts]

    def idf(word):
        return log((1 + len(texts)) / (1 + sum(word in some for some in words))) + 1

    means = [sum(map(idf, some)) / len(some) if some else None for some in words]
    known = [m for m in means if m is not None]
    return [sum(known) / len(known) if m is None else m for m in means]


@given(TEXTS)
def test_agrees_with_a_direct_count(texts):
    assume(any(texts))
    np.testing.assert_allclose(mean_idf(texts), brute_force(texts), rtol=1e-12)


@given(TEXTS, st.randoms())
def test_order_of_texts_does_not_matter(texts, random):
    assume(any(texts))
    order = list(range(len(texts)))
    random.shuffle(order)
    np.testing.assert_allclose(mean_idf([texts[i] for i in order]), mean_idf(texts)[order], rtol=1e-14)


@given(TEXTS)
def test_repeating_a_whole_text_keeps_its_rarity(texts):
    assume(any(texts))
    np.testing.assert_allclose(mean_idf([f"{t} {t}" for t in texts]), mean_idf(texts), rtol=1e-14)


@pytest.mark.parametrize("texts", [[], ["", "?!"]])
def test_no_words_at_all_is_refused(refused, texts):
    refused(lambda: mean_idf(texts), "no words")


def test_a_missing_text_is_refused(refused):
    refused(lambda: mean_idf(["a", 3]), "text 1")
