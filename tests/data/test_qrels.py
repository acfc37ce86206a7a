import gzip
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from radii.data.qrels import as_qrels, check_qrels, read_qrels

COLUMN = st.text(st.characters(codec="utf-8", exclude_categories=("Z", "C")), min_size=1).filter(
    lambda text: len(text.split()) == 1
)
QRELS = st.dictionaries(
    COLUMN,
    st.dictionaries(COLUMN, st.integers(-(2**31) + 1, 2**31 - 1), min_size=1),
    min_size=1,
)


def judgements(qrels):
    return [(query, doc, grade) for query, judged in qrels.items() for doc, grade in judged.items()]


GOOD = {
    "TREC": b"1 0 d1 2\n1 0 d2 -1\n2 Q0 d1 0\n",
    "TREC with tabs": b"1\t0\td1\t2\r\n1\t0\td2\t-1\r\n\r\n2\t0\td1\t0\r\n",
    "TREC with padding": b" 1  0   d1 +2 \n1 0 d2 -1\n2 0 d1 0\n\n",
    "BEIR": b"query-id\tcorpus-id\tscore\n1\td1\t2\n1\td2\t-1\n2\td1\t0\n",
    "BEIR without header": b"1\td1\t2\n1\td2\t-1\n2\td1\t0\n",
    "BEIR, floats": b"\xef\xbb\xbfquery-id\tcorpus-id\tscore\r\n1\td1\t2.0\r\n1\td2\t-1.\r\n2\td1\t0.0\r\n",
    "twice the same": b"1\td1\t2\n1\td2\t-1\n2\td1\t0\n1\td1\t2.0\n",
}


@pytest.mark.parametrize("content", GOOD.values(), ids=GOOD)
@pytest.mark.parametrize("packed", [False, True], ids=["plain", "gzip"])
def test_both_formats_are_told_apart(tmp_path, content, packed):
    path = tmp_path / ("qrels.txt.gz" if packed else "qrels.txt")
    path.write_bytes(gzip.compress(content) if packed else content)
    assert read_qrels(path) == {"1": {"d1": 2, "d2": -1}, "2": {"d1": 0}}


def test_beir_ids_may_hold_spaces(tmp_path):
    path = tmp_path / "test.tsv"
    path.write_bytes(b"query one\tdoc one\t1\nq\td\t1\n")
    assert read_qrels(path) == {"query one": {"doc one": 1}, "q": {"d": 1}}


@given(qrels=QRELS, trec=st.booleans())
def test_round_trip(tmp_path_factory, qrels, trec):
    path = tmp_path_factory.mktemp("qrels") / "qrels"
    between = " Q0 " if trec else "\t"
    after = " " if trec else "\t"
    lines = [f"{query}{between}{doc}{after}{grade}\n" for query, doc, grade in judgements(qrels)]
    path.write_bytes("".join(lines).encode())
    assert read_qrels(path) == qrels


BAD = {
    "five columns": (b"1 0 d1 1\n1 0 d2 1 x\n", [", line 2", "5 columns in '1 0 d2 1 x'", "TREC"]),
    "run file": (b"1 Q0 d1 1 0.5 tag\n", [", line 1", "6 columns", "a run file"]),
    "three by spaces": (b"1 d1 1\n", [", line 1", "3 columns", "by tabs"]),
    "mixed": (b"1\td1\t1\n1 0 d2 1\n", [", line 2", "1 column in"]),
    "empty id": (b"1\td1\t1\n\td2\t1\n", [", line 2", "3 columns in '\\td2\\t1'"]),
    "float grade": (
        b"1 0 d1 1\n1 0 d2 0.5\n",
        [", line 2", "grade '0.5'", "query '1', document 'd2'", "integer"],
    ),
    "word": (b"1 0 d1 yes\n", [", line 1", "grade 'yes'"]),
    "other header": (b"q\td\tworth\n1\td1\t1\n", [", line 1", "grade 'worth'"]),
    "second header": (b"query-id\tcorpus-id\tscore\n" * 2, [", line 2", "grade 'score'"]),
    "TREC header": (b"qid iter docid grade\n1 0 d1 1\n", [", line 1", "grade 'grade'"]),
    "nan": (b"1 0 d1 nan\n", ["grade 'nan'"]),
    "underscore": (b"1 0 d1 1_0\n", ["grade '1_0'"]),
    "other digits": ("1 0 d1 ٣\n".encode(), ["grade '٣'"]),
    "too large": (b"1 0 d1 2147483648\n", ["grade '2147483648'"]),
    "long": (b"1 0 d1 " + b"9" * 5000, ["grade '999"]),
    "two grades": (
        b"1 0 d1 1\n2 0 d1 0\n1 0 d1 0\n",
        [", line 3", "query '1', document 'd1'", "1 on line 1", "one"],
    ),
    "only header": (b"query-id\tcorpus-id\tscore\n", ["no judgements", "only a header"]),
    "empty": (b"", ["no judgements"]),
    "blank": (b"\n \n", ["no judgements"]),
    "not UTF-8": (b"1 0 d1 1\n1 0 \xe9 1\n", [", line 2", "not UTF-8"]),
    "missing": (None, ["no such file"]),
}


@pytest.mark.parametrize(("content", "fragments"), BAD.values(), ids=BAD)
def test_bad_files_are_refused(tmp_path, refused, content, fragments):
    path = tmp_path / "qrels.txt"
    if content is not None:
        path.write_bytes(content)
    refused(lambda: read_qrels(path), path, *fragments)


@pytest.mark.parametrize("one", [1, True, 1.0, np.int8(1), np.uint64(1), np.bool_(True), np.float32(1)])
def test_a_mapping_becomes_plain(one):
    qrels = check_qrels({"q": {"d": one, 7: 0}, np.int64(3): {"d": -1}, "none": {}}, "mine")
    assert qrels == {"q": {"d": 1, "7": 0}, "3": {"d": -1}, "none": {}}
    assert type(qrels["q"]["d"]) is int


BAD_MAPPINGS = {
    "fraction": ({"q": {"d": 0.5}}, ["grade 0.5 (float) of query 'q', document 'd'", "integer grades"]),
    "numpy fraction": ({"q": {"d": np.float32(0.5)}}, ["query 'q', document 'd'"]),
    "nan": ({"q": {"d": float("nan")}}, ["grade nan"]),
    "inf": ({"q": {"d": float("inf")}}, ["grade inf"]),
    "text": ({"q": {"d": "1"}}, ["grade '1' (str)"]),
    "None": ({"q": {"d": None}}, ["grade None"]),
    "huge": ({"q": {"d": 10**30}}, ["grade 1000000000"]),
    "list": ({"q": ["d"]}, ["query 'q' is list", "{query id: {document id: grade}}"]),
    "no mapping": ([("q", "d", 1)], ["qrels is list"]),
    "query id": ({None: {"d": 1}}, ["id None is NoneType", "string ids"]),
    "document id": ({"q": {1.5: 1}}, ["id 1.5 is float"]),
    "bool id": ({True: {"d": 1}}, ["id True is bool"]),
    "id twice": ({"q": {"1": 1, 1: 1}}, ["id '1' is there as a string and as an integer"]),
    "empty": ({}, ["no judgements"]),
    "all empty": ({"q": {}}, ["no judgements"]),
}


@pytest.mark.parametrize(("mapping", "fragments"), BAD_MAPPINGS.values(), ids=BAD_MAPPINGS)
def test_bad_mappings_are_refused(refused, mapping, fragments):
    refused(lambda: check_qrels(mapping, "mine"), "mine: ", *fragments)


def test_as_qrels_takes_both(tmp_path):
    path = tmp_path / "qrels.txt"
    path.write_bytes(b"1 0 d1 1\n")
    assert as_qrels(path) == as_qrels(str(path)) == ({"1": {"d1": 1}}, str(path))
    assert as_qrels({"1": {"d1": 1}}) == ({"1": {"d1": 1}}, "qrels")


def test_as_qrels_refuses_the_rest(refused):
    refused(lambda: as_qrels(None), "qrels is NoneType, not a mapping")


def test_scifact(shared_data):
    qrels = read_qrels(shared_data / "scifact_beir" / "qrels" / "test.tsv")
    assert (len(qrels), len(judgements(qrels))) == (300, 339)
    assert qrels["1"] == {"31715818": 1}


def test_cranfield(shared_data):
    qrels = read_qrels(shared_data / "cranfield" / "cranqrel.trec.txt")
    assert (len(qrels), len(judgements(qrels))) == (225, 1837)
    assert Counter(grade for _, _, grade in judgements(qrels)) == {1: 1611, 0: 225, 3: 1}
