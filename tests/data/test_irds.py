import sys
from collections import namedtuple
from types import SimpleNamespace

import pytest

from radii.data.irds import load_ir_dataset
from radii.errors import MissingExtraError


def test_a_dataset_of_the_registry_is_read(tmp_path):
    """The real package, with a dataset of our own: nothing is downloaded."""
    ir_datasets = pytest.importorskip("ir_datasets")
    from ir_datasets.formats import TrecQrels, TsvDocs, TsvQueries

    def local(name, text):
        path = tmp_path / name
        path.write_text(text)
        return _Local(path)

    docs = TsvDocs(local("docs.tsv", "d1\tnear\nd2\tfar\n"))
    queries = TsvQueries(local("queries.tsv", "q1\thub?\nq2\tunjudged\n"), lang="en")
    qrels = TrecQrels(local("qrels", "q1 0 d2 2\n"), {2: "yes"})
    ir_datasets.registry.register("radii-tiny", ir_datasets.Dataset(docs, queries, qrels))
    found = load_ir_dataset("radii-tiny")
    assert found.docs.by_id == {"d1": "near", "d2": "far"}
    assert found.queries.by_id == {"q1": "hub?"}
    assert found.qrels == {"q1": {"d2": 2}}


class _Local:
    """What ir_datasets reads from, on this disk."""

    def __init__(self, path):
        self._path = path

    def path(self, force=True):
        return str(self._path)

    def stream(self):
        return open(self._path, "rb")


@pytest.fixture
def registry(monkeypatch):
    """A stand-in for ir_datasets, which looks ids up in a dict."""
    datasets = {}
    monkeypatch.setitem(sys.modules, "ir_datasets", SimpleNamespace(load=datasets.__getitem__))
    return datasets


def test_unknown_ids_are_refused(registry, refused):
    refused(lambda: load_ir_dataset("beir/wisdom"), "beir/wisdom", "no such id")


@pytest.mark.parametrize("missing", ["docs", "queries", "qrels"])
def test_a_dataset_that_lacks_a_part_is_refused(registry, refused, missing):
    has = {f"has_{part}": lambda part=part: part != missing for part in ("docs", "queries", "qrels")}
    registry["tiny"] = SimpleNamespace(**has)
    refused(lambda: load_ir_dataset("tiny"), "tiny", f"no {missing}")


def test_ids_become_strings_and_grades_whole(registry):
    text = namedtuple("text", "doc_id query_id default_text")
    judgement = namedtuple("judgement", "query_id doc_id relevance")
    registry["tiny"] = SimpleNamespace(
        **{f"has_{part}": lambda: True for part in ("docs", "queries", "qrels")},
        docs_iter=lambda: iter([text(7, None, lambda: "near")]),
        queries_iter=lambda: iter([text(None, 1, lambda: "hub?")]),
        qrels_iter=lambda: iter([judgement(1, 7, 3)]),
    )
    found = load_ir_dataset("tiny")
    assert (found.docs.by_id, found.queries.by_id, found.qrels) == (
        {"7": "near"},
        {"1": "hub?"},
        {"1": {"7": 3}},
    )


def test_without_the_package_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "ir_datasets", None)
    with pytest.raises(MissingExtraError, match=r"radii\[collections\]"):
        load_ir_dataset("beir/scifact/test")
