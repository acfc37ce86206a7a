"""Pairs: both formats, and every way a line can be wrong."""

import gzip

import pytest

from radii.data.pairs import read_pairs


def test_both_formats_in_order(tmp_path):
    tsv, jsonl = tmp_path / "p.tsv", tmp_path / "p.jsonl"
    tsv.write_text("frog\ta tailless amphibian\n\nγ\tthird letter\n", encoding="utf-8")
    jsonl.write_text(
        '{"anchor": "frog", "positive": "a tailless amphibian"}\n'
        '{"anchor": "γ", "positive": "third letter"}\n',
        encoding="utf-8",
    )
    packed = tmp_path / "p.tsv.gz"
    packed.write_bytes(gzip.compress(tsv.read_bytes()))
    truth = [("frog", "a tailless amphibian"), ("γ", "third letter")]
    assert [read_pairs(path) for path in (tsv, jsonl, packed)] == [truth] * 3


@pytest.mark.parametrize(
    ("name", "text", "found"),
    [
        ("p.tsv", "a\tb\nc\n", "p.tsv, line 2"),
        ("p.tsv", "a\tb\tc\n", "line 1"),
        ("p.tsv", "a\t \n", "line 1"),
        ("p.tsv", "\n", "an empty file"),
        ("p.jsonl", '{"anchor": "a"}\n', "line 1"),
        ("p.jsonl", '{"anchor": "a", "positive": 3}\n', "line 1"),
        ("p.jsonl", '["a", "b"]\n', "line 1"),
        ("p.jsonl", "{\n", "line 1"),
        ("p.csv", "a,b\n", "'.csv'"),
    ],
)
def test_refusals(tmp_path, refused, name, text, found):
    path = tmp_path / name
    path.write_text(text)
    refused(lambda: read_pairs(path), found)
