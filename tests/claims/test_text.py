"""The glossary of the claim on real text, against the texts it is made from."""

import numpy as np
import pytest

from radii.claims.text import ENCODERS, glossary, train
from radii.data import demo
from radii.data.qrels import read_qrels
from radii.data.texts import read_texts
from radii.signals.length import word_list


def test_rows_are_the_words_of_names_and_definitions():
    known = glossary()
    files = demo.paths()
    texts, qrels = read_texts(files.texts), read_qrels(files.qrels)
    assert len(known.names) == len(texts.texts) - 1  # stop_sign has no definition
    np.testing.assert_allclose(known.names.sum(axis=1), 1)
    np.testing.assert_allclose(known.glosses.sum(axis=1), 1)
    # Row 1: "air conditioner: a system that keeps air cool and dry".
    assert texts.texts[1].startswith("air conditioner: ")
    assert known.length[1] == len(word_list(texts.texts[1])) - 2 == 8
    assert sorted(known.names[1][known.names[1] > 0]) == [0.5, 0.5]
    assert known.related[1] == len(qrels.get("air_conditioner", {}))
    shared = (known.names[1] > 0) & (known.glosses[1] > 0)
    assert shared.sum() == 1  # air


@pytest.mark.parametrize("encoder", ENCODERS)
def test_training_is_seeded_and_moves_norms(encoder):
    pytest.importorskip("torch")
    known = glossary(40)
    found, again, other = (train(known, encoder, seed, 60) for seed in (0, 0, 1))
    np.testing.assert_array_equal(found.norms, again.norms)
    assert found.norms.shape == (40,)
    assert (found.norms > 0).all()
    assert np.isfinite(found.change)
    assert (found.norms != other.norms).all()
