import gzip
from collections import Counter

import pytest

from radii.data.car import load_car, read_outlines, read_paragraphs

cbor2 = pytest.importorskip("cbor2")

PARAGRAPHS = [
    [0, b"p1", [[0, "A hub is "], [1, [0, "Near", [], b"Near", "close"]], [0, " to all."]]],
    [0, b"p2", []],
]
OUTLINES = [
    [
        0,
        "Yin  yang",
        b"Yin%20yang",
        [[0, "In/out", b"In/out", [[0, "Deep", b"Deep", []]]], [0, "Use", b"Use", []]],
    ],
    [
        0,
        "Alone",
        b"Alone",
        [[1, [0, b"p1", []]], [0, "", b"", []], [0, "Use", b"Use", []], [0, "Use", b"Use", []]],
    ],
]


def write(path, items):
    path.write_bytes(b"".join(map(cbor2.dumps, items)))
    return path


def test_paragraphs_have_links_as_text(tmp_path):
    found = read_paragraphs(write(tmp_path / "a.cbor", PARAGRAPHS))
    assert (found.ids, found.texts) == (["p1", "p2"], ["A hub is close to all.", ""])


def test_paragraphs_may_be_gzipped(tmp_path):
    path = tmp_path / "a.cbor.gz"
    path.write_bytes(gzip.compress(write(tmp_path / "a.cbor", PARAGRAPHS).read_bytes()))
    assert read_paragraphs(path).ids == ["p1", "p2"]


def test_heading_paths_are_queries_with_their_depth(tmp_path):
    found = read_outlines(write(tmp_path / "a.cbor", OUTLINES))
    assert found.queries.by_id == {
        "Yin%20yang": "Yin yang",
        "Yin%20yang/In/out": "Yin yang In/out",
        "Yin%20yang/In/out/Deep": "Yin yang In/out Deep",
        "Yin%20yang/Use": "Yin yang Use",
        "Alone": "Alone",
        "Alone/": "Alone",
        "Alone/Use": "Alone Use",
    }
    # Not the number of slashes, of which the heading "In/out" has one of its own.
    assert list(found.depth.values()) == [0, 1, 2, 1, 0, 1, 1]
    assert list(found.depth) == found.queries.ids


def test_a_collection_keeps_the_judged_paths(tmp_path):
    qrels = tmp_path / "a.qrels"
    qrels.write_text("Alone/Use 0 p1 1\nYin%20yang 0 p2 1\n")
    paths = write(tmp_path / "a.cbor", PARAGRAPHS), write(tmp_path / "b.cbor", OUTLINES)
    found = load_car(*paths, qrels)
    assert found.queries.ids == ["Yin%20yang", "Alone/Use"]
    assert found.depth == {"Yin%20yang": 0, "Alone/Use": 1}
    assert found.qrels == {"Alone/Use": {"p1": 1}, "Yin%20yang": {"p2": 1}}
    assert len(found.docs) == 2


@pytest.mark.parametrize(
    ("read", "items", "fragments"),
    [
        (read_paragraphs, [], ["an empty file"]),
        (read_paragraphs, OUTLINES, ["item 1", "is no paragraph"]),
        (read_paragraphs, [*PARAGRAPHS, {"CAR": 2}], ["item 3", "is no paragraph"]),
        (read_paragraphs, [*PARAGRAPHS, PARAGRAPHS[0]], ["item 3", "duplicate id 'p1'"]),
        (read_paragraphs, [[0, b"p1", [[0, 7]]]], ["item 1", "is no paragraph"]),
        (read_paragraphs, [[5, b"p1", []]], ["item 1", "kind 5"]),
        (read_outlines, PARAGRAPHS, ["item 1", "is no page outline"]),
        (read_outlines, [OUTLINES[0], "x"], ["item 2", "is no page outline"]),
    ],
)
def test_other_items_are_refused(tmp_path, refused, read, items, fragments):
    path = write(tmp_path / "a.cbor", items)
    refused(lambda: read(path), "a.cbor", *fragments)


@pytest.mark.parametrize("cut", [1, 5])
def test_a_cut_file_is_refused(tmp_path, refused, cut):
    path = write(tmp_path / "a.cbor", PARAGRAPHS)
    path.write_bytes(path.read_bytes() + cbor2.dumps(PARAGRAPHS[0])[:-cut])
    refused(lambda: read_paragraphs(path), "item 3", "no CBOR item", "interrupted copy")


@pytest.fixture(scope="module")
def test200(shared_data):
    names = ("paragraphs", "outlines", "hierarchical.qrels")
    return load_car(*(shared_data / "trec_car_test200" / f"all.test200.cbor.{name}" for name in names))


def test_test200_is_whole(test200):
    assert (len(test200.docs), len(test200.queries)) == (5332, 2270)
    assert sum(map(len, test200.qrels.values())) == 5357
    assert {d for grades in test200.qrels.values() for d in grades} <= set(test200.docs.ids)
    assert test200.queries.texts[0] == "Hog-dog rodeo"


def test_depths_of_test200(test200):
    by_slashes = Counter(name.count("/") for name in test200.queries.ids)
    assert by_slashes == {0: 198, 1: 1216, 2: 713, 3: 135, 4: 8}  # as SOURCE.txt counts
    # Some headings have a slash of their own, so by the outline they are less deep.
    assert all(depth <= name.count("/") for name, depth in test200.depth.items())
    assert test200.depth["Zang-fu/Yin/yang%20and%20the%20Five%20Elements"] == 1
    assert test200.depth["Anesthesia%20awareness/Risk%20factors/causes/Light%20anesthesia"] == 2
    assert Counter(test200.depth.values())[0] == 198


def test_spritzer_is_whole(shared_data):
    root = shared_data / "trec_car_spritzer"
    names = ("paragraphs", "outlines", "hierarchical.qrels")
    found = load_car(*(root / f"spritzer.cbor.{name}" for name in names))
    assert (len(found.docs), len(found.queries)) == (174, 70)
    assert sum(depth == 0 for depth in read_outlines(root / "spritzer.cbor.outlines").depth.values()) == 4
    links = [
        text for text in found.docs.texts if text.startswith("Cayman Turtle Farm located in Grand Cayman")
    ]
    assert len(links) == 1
