import numpy as np
import pytest

from radii.claims.generality import lvis
from radii.data.synsets import read_synsets
from radii.data.wordnet import wordnet_file


@pytest.fixture(scope="module")
def classes(shared_data):
    if not wordnet_file().is_file():
        pytest.skip("no WordNet: apt-get install wordnet-base")
    return lvis(read_synsets())


def test_classes_and_their_measures(classes):
    assert len(classes.names) == 1202
    assert "stop_sign" not in classes.names
    at = classes.names.index("airplane")
    found = {key: column[at] for key, column in classes.columns.items()}
    assert (found["images"], found["letters"], found["words"]) == (1911, 8, 1)
    assert found["polysemy"] == 1  # `wn airplane -synsn`: 1 sense
    assert found["hyponyms"] > 20
    bow = classes.columns["words"][classes.names.index("bow_(decorative_ribbons)")]
    assert bow == 3


def test_some_classes_keep_their_columns(classes):
    one = classes.only(classes.columns["words"] == 1)
    assert one.names == [n for n in classes.names if "_" not in n]
    assert len(one.norms) == len(one.names)
    np.testing.assert_array_equal(one.columns["words"], 1)
