import gzip
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from radii.data.texts import Texts, read_texts

UTF8 = st.text(st.characters(codec="utf-8"))
IDS = st.text(st.characters(codec="utf-8", exclude_characters="\n\r\t"), min_size=1).filter(str.strip)


def test_jsonl_joins_title_and_text(tmp_path):
    path = tmp_path / "corpus.jsonl"
    rows = [
        {"_id": "a", "title": "Title", "text": "text"},
        {"_id": "b", "title": "", "text": "only text", "metadata": {}},
        {"_id": "c", "text": "no title"},
        {"_id": "d", "title": None, "text": ""},
        {"_id": 5, "text": "integer id"},
    ]
    path.write_text("\n".join(map(json.dumps, rows)) + "\n\n")
    texts = read_texts(path)
    assert texts.ids == ["a", "b", "c", "d", "5"]
    assert texts.texts == ["Title text", "only text", "no title", "", "integer id"]
    assert texts.by_id["a"] == "Title text"
    assert (len(texts), texts.source) == (5, str(path))


def test_tsv_with_mark_and_crlf(tmp_path):
    path = tmp_path / "queries.tsv"
    path.write_bytes(b"\xef\xbb\xbfq1\tone two\r\nq2\t\r\n")
    assert read_texts(path) == Texts(["q1", "q2"], ["one two", ""], str(path))


@given(rows=st.dictionaries(IDS, UTF8), escaped=st.booleans(), packed=st.booleans())
def test_jsonl_round_trip(tmp_path_factory, rows, escaped, packed):
    rows = rows or {"a": "b"}
    lines = [json.dumps({"_id": key, "text": text}, ensure_ascii=escaped) for key, text in rows.items()]
    content = "\n".join(lines).encode()
    path = tmp_path_factory.mktemp("jsonl") / ("a.jsonl.gz" if packed else "a.jsonl")
    path.write_bytes(gzip.compress(content) if packed else content)
    assert read_texts(path).by_id == rows


@given(
    rows=st.dictionaries(IDS, st.text(st.characters(codec="utf-8", exclude_characters="\n\r\t")), min_size=1)
)
def test_tsv_round_trip(tmp_path_factory, rows):
    path = tmp_path_factory.mktemp("tsv") / "a.tsv.gz"
    path.write_bytes(gzip.compress("\n".join(f"{key}\t{text}" for key, text in rows.items()).encode()))
    assert read_texts(path).by_id == rows


OK = b'{"_id": "a", "text": "t"}\n'
BAD = {
    "invalid JSON": (
        "a.jsonl",
        OK + b'{"_id": ',
        [", line 2", "invalid JSON (Expecting value, column 9)", "one JSON object per line"],
    ),
    "too deep": ("a.jsonl", b"[" * 200_000, [", line 1", "invalid JSON"]),
    "huge number": ("a.jsonl", b'{"_id": ' + b"9" * 5000 + b"}", [", line 1", "invalid JSON"]),
    "no object": ("a.jsonl", OK + b'["b", "t"]\n', [", line 2", "list", "write {"]),
    "no id": (
        "a.jsonl",
        OK + b'{"id": "b", "text": "t"}',
        [", line 2", "no key '_id'", "'id', 'text'", "rename"],
    ),
    "no text": ("a.jsonl", b'{"_id": "b"}', [", line 1", "no key 'text'"]),
    "no keys": ("a.jsonl", b"{}", [", line 1", "no key '_id' among none"]),
    "null text": ("a.jsonl", b'{"_id": "b", "text": null}', ["'text' is NoneType", "as a string"]),
    "nested title": ("a.jsonl", b'{"_id": "b", "title": ["x"], "text": "t"}', ["'title' is list"]),
    "float id": ("a.jsonl", b'{"_id": 1.5, "text": "t"}', ["'_id' is float '1.5'"]),
    "empty id": ("a.jsonl", b'{"_id": "", "text": "t"}', [", line 1", "an empty id"]),
    "duplicate id": ("a.jsonl", OK + b"\n" + OK, [", line 3", "duplicate id 'a', first on line 1", "unique"]),
    "no line": ("a.jsonl", b"", ["an empty file", "export"]),
    "blank lines": ("a.tsv", b"\n\n", ["an empty file"]),
    "no tab": ("a.tsv", b"a\tt\nb t\n", [", line 2", "0 tabs in 'b t'", "id, one tab, text"]),
    "two tabs": ("a.tsv", b"a\tt\tu\n", [", line 1", "2 tabs in 'a\\tt\\tu'"]),
    "tsv duplicate": ("a.tsv", b"a\tt\na\tt\n", [", line 2", "duplicate id 'a', first on line 1"]),
    "not UTF-8": ("a.tsv", b"a\tt\nb\t\xe9\n", [", line 2", "not UTF-8"]),
    "gzip": ("a.jsonl.gz", gzip.compress(OK + b"{"), [", line 2", "invalid JSON"]),
    "suffix": ("a.csv", OK, ["unknown suffix '.csv'", ".jsonl, .tsv"]),
    "missing": ("a.jsonl", None, ["no such file"]),
}


@pytest.mark.parametrize(("name", "content", "fragments"), BAD.values(), ids=BAD)
def test_bad_texts_are_refused(tmp_path, refused, name, content, fragments):
    path = tmp_path / name
    if content is not None:
        path.write_bytes(content)
    refused(lambda: read_texts(path), path, *fragments)


def test_scifact(shared_data):
    corpus = read_texts(shared_data / "scifact_beir" / "corpus.jsonl")
    queries = read_texts(shared_data / "scifact_beir" / "queries.jsonl")
    assert (len(corpus), len(queries)) == (5183, 300)
    assert corpus.by_id["4983"].startswith(
        "Microstructural development of human newborn cerebral white matter"
    )
    assert queries.by_id["1"] == "0-dimensional biomaterials show inductive properties."
