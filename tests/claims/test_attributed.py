import numpy as np
import pytest

from radii.attribution import proxies
from radii.claims.attributed import Row, explained
from radii.synthetic import plant
from tests.planted import FAST


def row(truth, seed=0):
    found = plant(truth, seed)
    signals = proxies(found.docs, None, found.signals)
    return Row("planted", found.docs, found.queries, found.qrels, signals, exclude_self=False, files=())


def statements(truth):
    found, line = explained(row(truth), FAST)
    return {s.name.removeprefix("planted: "): s for s in found}, line


def test_an_exponent_of_its_own_outlives_every_explanation():
    found, line = statements("exponent")
    assert found["gain of norm exponent"].low > 0
    for name in ("hub suppression", "mean direction", "centrality", "length"):
        assert found[f"norm beyond {name}"].status == "holds"
        assert "/" in line[name]
    assert "rarity" not in line, "there are no texts"


def test_a_norm_that_stands_for_length_is_left_with_little_beside_length():
    found, _ = statements("length")
    assert found["gain of norm exponent"].low > 0
    assert found["gain of length"].value > found["gain of norm exponent"].value
    assert found["norm beyond length"].status == "fails"
    assert found["norm beyond centrality"].status == "holds"


def test_without_a_gain_there_is_nothing_to_explain():
    found, _ = statements("no signal")
    assert found["gain of norm exponent"].low <= 0
    assert {s.status for s in found.values()} == {"reported"}


def test_specificity_of_a_class_is_its_place_in_wordnet(shared_data):
    from radii.claims.attributed import rows
    from radii.data.wordnet import wordnet_file

    if not wordnet_file().is_file():
        pytest.skip("no WordNet: apt-get install wordnet-base")
    classes = rows(full=False, model="none")[1]()
    at = classes.docs.rows
    signals = classes.signals
    assert signals["depth"][at["puppy"]] > signals["depth"][at["dog"]]
    assert signals["hyponyms"][at["dog"]] > signals["hyponyms"][at["puppy"]]
    assert signals["length"][at["dog"]] == 1 + len("dog")
    assert signals["hyponyms"][at["stop_sign"]] == np.median(signals["hyponyms"])
