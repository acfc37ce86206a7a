import pytest

from radii.data.synsets import read_synsets
from radii.data.wordnet import wordnet_file

INDEX = """  1 licence
animal n 1 1 ~ 1 0 00000002
big_dog n 1 1 @ 1 0 00000005
dog n 2 2 @ ~ 2 1 00000003 00000004
"""
# entity > animal > dog > Big_Dog > Rex, an instance; the other dog, a villain, is an entity and an animal.
DATA = """  1 licence
00000001 03 n 01 entity 0 001 ~ 00000002 n 0000 | what is
00000002 03 n 01 animal 0 002 @ 00000001 n 0000 ~ 00000003 n 0000 | what lives; "an animal"
00000003 03 n 02 dog 0 hound 0 001 @ 00000002 n 0000 | what barks
00000004 03 n 01 dog 0 002 @ 00000001 n 0000 @ 00000002 n 0000 | a villain
00000005 03 n 01 Big_Dog 0 001 @ 00000003 n 0000 | a big one
00000006 03 n 01 Rex 0 001 @i 00000005 n 0000 | a dog
"""


@pytest.fixture
def folder(tmp_path):
    def write(index=INDEX, data=DATA):
        (tmp_path / "index.noun").write_text(index)
        (tmp_path / "data.noun").write_text(data)
        return tmp_path

    return write


def test_synsets_by_hand(folder):
    nouns = read_synsets(folder())
    assert nouns.senses["dog"] == ["00000003", "00000004"]
    assert nouns.parents["00000004"] == {"00000001", "00000002"}
    assert nouns.lemmas["00000003"] == ["dog", "hound"]
    assert nouns.definitions["00000002"] == "what lives"
    assert nouns.ancestors("00000005", 2) == {"00000003", "00000002"}
    found = ["dog.n.01", "dog.n.02", "dog.n.03", "dog.n.00", "Big_Dog.n.1", "cat.n.01", "dog.v.01", "dog"]
    assert [nouns.find(name) for name in found] == ["00000003", "00000004", None, None, "00000005"] + [
        None
    ] * 3


def test_generality_by_hand(folder):
    nouns = read_synsets(folder())
    assert [nouns.hyponyms(f"0000000{n}") for n in range(1, 7)] == [5, 4, 2, 0, 1, 0]
    assert nouns.depth == {
        f"0000000{n}": depth for n, depth in zip(range(1, 7), [0, 1, 2, 1, 3, 4], strict=True)
    }


@pytest.mark.parametrize(
    ("given", "fragments"),
    [
        ({"index": "  1 licence\n"}, ["index.noun", "no entries"]),
        ({"data": ""}, ["data.noun", "no entries"]),
        ({"index": INDEX + "cat n x\n"}, ["index.noun, line 5", "'cat n x'"]),
        ({"data": DATA + "00000007 03 n zz cat 0 000 | purrs\n"}, ["data.noun, line 8"]),
        ({"data": DATA + "00000007 03 n 01 cat 0 999999999999 | purrs\n"}, ["data.noun, line 8"]),
        ({"data": DATA + "00000007 03 n 01 cat 0 000\n"}, ["data.noun, line 8"]),
    ],
)
def test_other_files_are_refused(folder, refused, given, fragments):
    path = folder(**given)
    refused(lambda: read_synsets(path), *fragments)


def test_the_installed_wordnet():
    if not wordnet_file().is_file():
        pytest.skip("no WordNet: apt-get install wordnet-base")
    nouns = read_synsets()
    assert len(nouns.parents) == 82115  # wnstats(7WN)
    entity = nouns.find("entity.n.01")
    assert nouns.depth[entity] == 0
    assert nouns.hyponyms(entity) == 82114  # every noun is an entity
    dog = nouns.find("dog.n.01")
    assert nouns.lemmas[dog] == ["dog", "domestic_dog", "Canis_familiaris"]
