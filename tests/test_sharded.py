"""The same rows in one file and in three: reports and paths are equal, to the bit."""

from __future__ import annotations

import json

import numpy as np
import pytest

import radii
from radii.data.vectors import load
from radii.deploy.correction import correction
from radii.deploy.export import export
from radii.ranking.search import Search, Sizes
from tests.planted import FAST, random_corpus

DOCS, QUERIES, QRELS = random_corpus(n_docs=90, n_queries=24, dim=5)


@pytest.fixture(params=["f2", "f4", "f8"])
def both(request, tmp_path):
    """(docs, queries) of one file each, and of three."""
    found = []
    for name, rows in (("docs", DOCS), ("queries", QUERIES)):
        rows = rows.astype(request.param)
        np.save(tmp_path / f"{name}.npy", rows)
        (tmp_path / name).mkdir()
        for number, piece in enumerate(np.split(rows, [7, 20])):
            np.save(tmp_path / name / f"part-{number + 9}.npy", piece)
        found.append((load(tmp_path / f"{name}.npy"), load(tmp_path / name)))
    return zip(*found, strict=True)


def told(report):
    """A report as JSON, without what names the files and the run."""
    found = json.loads(report.model_dump_json())
    del found["provenance"]
    for name in ("docs", "queries"):
        del found["data"][name]
    return found


SEARCHES = [Search(), Search(sizes=Sizes(block=16, queries=8, first=20, segments=4, threads=2))]


@pytest.mark.parametrize("search", SEARCHES, ids=["exhaustive", "streamed"])
def test_an_audit_does_not_see_the_cuts(both, search):
    one, many = (
        told(radii.audit(docs, queries, QRELS, protocol=FAST, search=search)) for docs, queries in both
    )
    assert one == many


@pytest.mark.parametrize("search", SEARCHES, ids=["exhaustive", "streamed"])
@pytest.mark.parametrize("bytes_of_a_block", [None, 1])
def test_a_path_does_not_see_the_cuts(both, search, bytes_of_a_block, monkeypatch):
    if bytes_of_a_block is not None:  # documents that are not widened as a whole
        monkeypatch.setattr("radii.ranking.exhaustive._BLOCK_BYTES", 90 * 8)
    one, many = (radii.exponent_path(docs, queries, k=5, search=search) for docs, queries in both)
    mine, theirs = (path.metric("nDCG@5", QRELS) for path in (one, many))
    assert np.array_equal(mine.edges, theirs.edges)
    assert np.array_equal(mine.values, theirs.values)
    for row in range(len(QUERIES)):
        assert np.array_equal(one.breakpoints(row), many.breakpoints(row))
        for gamma in (-1.0, -0.3, 0.0, 0.7):
            assert one.top(row, gamma).tolist() == many.top(row, gamma).tolist()


@pytest.mark.parametrize("form", ["ip", "centred", "unit"])
@pytest.mark.parametrize("name", ["norm exponent", "hub penalty", "all-but-the-top"])
def test_an_export_does_not_see_the_cuts(both, form, name, tmp_path):
    parameters = {"norm exponent": {"gamma": -0.4}, "hub penalty": {"weight": 0.6}, "all-but-the-top": {}}
    for place, (docs, queries) in zip(("one", "many"), both, strict=True):
        change = correction(name, parameters[name], docs, queries=queries)
        export(docs, change, tmp_path / place, form=form)
    files = [path.name for path in sorted((tmp_path / "one").iterdir())]
    assert "vectors.npy" in files
    for file in files:
        one, many = ((tmp_path / place / file).read_bytes() for place in ("one", "many"))
        if file == "manifest.json":  # names its source
            one, many = ({**json.loads(text), "source": None} for text in (one, many))
        assert one == many, file
