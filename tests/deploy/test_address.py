"""Addresses of engines: what is one, what it names, and what is never shown."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from radii.deploy.address import OPTIONS, Address, is_address, parse_address


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("faiss:a/b.index", Address("faiss", "a/b.index", {})),
        ("qdrant:http://h:6333?collection=a%20b", Address("qdrant", "http://h:6333", {"collection": "a b"})),
        ("qdrant-edge:shard?id=name", Address("qdrant-edge", "shard", {"id": "name"})),
        (
            "postgresql://u:p@h/db?sslmode=require&table=t",
            Address("postgresql", "postgresql://u:p@h/db?sslmode=require", {"table": "t"}),
        ),
        ("postgres://h/db", Address("postgresql", "postgres://h/db", {})),
    ],
)
def test_parts(text, expected):
    assert is_address(text)
    assert parse_address(text) == expected


@pytest.mark.parametrize("text", ["docs.npy", "a/faiss:b", "faiss", "qdrant:", "C:\\docs.npy", "pinecone:x"])
def test_files_are_no_addresses(text, refused):
    assert not is_address(text)
    refused(lambda: parse_address(text), "begin with one of")


def test_an_unknown_option_lists_those_there_are(refused):
    refused(lambda: parse_address("chroma:x?table=y"), "'table'", "collection")
    refused(lambda: parse_address("faiss:x?a=1"), "none")


def test_a_folder_that_export_filled_is_one(tmp_path):
    (tmp_path / "engine.json").write_text("{}")
    assert is_address(str(tmp_path))
    assert parse_address(str(tmp_path)).written


@given(st.sampled_from(sorted(OPTIONS)), st.text(st.characters(codec="utf-8"), min_size=1, max_size=20))
def test_what_is_shown_names_the_same_place(engine, value):
    options = {OPTIONS[engine][0]: value} if OPTIONS[engine] else {}
    place = "postgresql://h/db" if engine == "postgresql" else "place"
    address = Address(engine, place, options)
    assert parse_address(str(address)) == address


def test_passwords_are_never_shown():
    for text in ("postgresql://u:hunter2@h/db", "qdrant:https://u:hunter2@h:1?collection=c"):
        shown = str(parse_address(text))
        assert "hunter2" not in shown
        assert "u:***@h" in shown
