import json
from collections import Counter

import pytest

from radii.data.contrasts import read_hypernyms, read_qulac


@pytest.fixture
def file(tmp_path):
    def write(text):
        path = tmp_path / "pairs.txt"
        path.write_text(text)
        return path

    return write


def test_hypernym_pairs_have_the_general_word_second(file):
    rows = "owl-n\tbird-n\tTrue\thyper\nowl-n\tbeak-n\tFalse\tmero\nT-shirt-n\tgarment-n\tTrue\thyper\n"
    found = read_hypernyms(file(rows + "keel-n\tship-n\tTrue\tmero\nbig-j\tbird-n\tFalse\thyper\n"))
    assert (found.general, found.specific) == (["bird", "garment"], ["owl", "T-shirt"])
    assert found.group == ["bird-n", "garment-n"]
    assert len(found) == 2


@pytest.mark.parametrize(
    ("text", "fragments"),
    [
        ("", ["no pairs"]),
        ("owl-n\tbeak-n\tFalse\tmero\n", ["no pairs"]),
        ("owl-n\tbird-n\tTrue\thyper\nowl-n bird-n True hyper\n", ["line 2", "write word-pos"]),
        ("owl\tbird-n\tTrue\thyper\n", ["line 1", "owl"]),
        ("owl-n\tbird-n\tyes\thyper\n", ["line 1", "yes"]),
    ],
)
def test_other_files_of_words_are_refused(file, refused, text, fragments):
    path = file(text)
    refused(lambda: read_hypernyms(path), "pairs.txt", *fragments)


def qulac(**changed):
    table = {
        "topic_facet_id": {"0": "1-1", "1": "1-1", "2": "1-2"},
        "topic_id": dict.fromkeys("012", 1),
        "topic": dict.fromkeys("012", "hubs"),
        "topic_desc": dict.fromkeys("012", "Find hubs."),
        "facet_desc": {"0": 'Find \\"near\\" hubs\\\'.', "1": "the same", "2": "Far ones "},
    }
    return json.dumps({name: column for name, column in (table | changed).items() if column is not None})


def test_each_facet_of_a_topic_is_one_pair(file):
    found = read_qulac(file(qulac()))
    assert found.general == ["hubs", "hubs"]
    assert found.specific == ['Find "near" hubs\'.', "Far ones"]
    assert found.group == ["1", "1"]
    assert read_qulac(file(qulac()), "topic_desc").general == ["Find hubs.", "Find hubs."]


@pytest.mark.parametrize(
    ("text", "fragments"),
    [
        ("{", ["invalid JSON"]),
        ("[]", ["no column 'topic_facet_id'"]),
        (qulac(topic=None), ["no column 'topic'"]),
        (qulac(topic={"0": "hubs"}), ["row '1'"]),
        (qulac(topic_facet_id={}), ["no pairs"]),
    ],
)
def test_other_tables_are_refused(file, refused, text, fragments):
    path = file(text)
    refused(lambda: read_qulac(path), "pairs.txt", *fragments)


def test_qulac_is_whole(shared_data):
    found = read_qulac(shared_data / "qulac" / "qulac.json")
    assert (len(found), len(set(found.group))) == (762, 198)
    assert found.general[0] == "obama family tree"
    assert found.specific[0] == 'Find the TIME magazine photo essay "Barack Obama\'s Family Tree".'
    assert not any("\\" in text for text in found.specific)


@pytest.mark.parametrize(
    ("name", "lines"), [("BLESS", 26554), ("EVALution", 13675), ("LenciBenotto", 5010), ("Weeds", 2928)]
)
def test_hypernym_files_are_whole(shared_data, name, lines):
    kept = Counter()
    for part in ("test", "val"):
        path = shared_data / "unsupervised_hypernymy" / f"{name}.{part}"
        rows = path.read_text().splitlines()
        kept["lines"] += len(rows)
        kept["hyper"] += sum(row.endswith("\tTrue\thyper") for row in rows)
        kept["read"] += len(read_hypernyms(path))
    assert kept["lines"] == lines
    assert kept["read"] == kept["hyper"] > 1000
