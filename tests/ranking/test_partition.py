"""Parts of the documents against all of them at once: the same path to the bit, however they are cut."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from radii.data.embeddings import Embeddings
from radii.ranking import partition
from radii.ranking.candidates import search_all
from radii.ranking.family import Affine, Family, Group
from radii.ranking.partition import Asked, find_part, merge, placed, restricted, window, within
from radii.ranking.path import ExponentPath
from radii.ranking.search import Search, Sizes
from tests.cases import corpora

SIZES = Sizes(block=7, queries=2, first=2, segments=3)
METRICS = ("nDCG@{}", "AP@{}", "RR@{}", "R@{}")


def families_of(docs, n_queries, seed):
    rng = np.random.default_rng(seed)
    n = len(docs)
    affine = Affine(rng.normal(size=(n_queries, 2)), rng.normal(size=(n, 2)), rng.uniform(0, 2, n).round(1))
    return [
        Family.power(docs.norms),
        Family.power(rng.integers(1, 4, n), base=rng.normal(0, 0.3, n).round(1)),
        Family.bias(rng.normal(size=n).round(1)),
        Family.fixed(affine),
        Family(np.log(docs.norms), affine=affine),
    ]


def said_by(candidates, docs, queries, family, k, gamma_range):
    """All that can be read off a path, to the bit."""
    path = ExponentPath(docs, queries, k, gamma_range, family, candidates)
    rng = np.random.default_rng(0)
    names = docs.ids
    qrels = {q: {names[row]: 1 for row in rng.permutation(len(names))[:12]} for q in queries.ids}
    said = []
    for name in METRICS:
        steps = path.metric(name.format(k), qrels)
        said += [steps.edges.tolist(), steps.values.tolist(), steps.curves.start.tolist()]
    for row in range(min(2, len(queries))):
        breakpoints = path.breakpoints(row)
        said.append(breakpoints.tolist())
        for gamma in (*gamma_range, *breakpoints[:5].tolist(), *rng.uniform(*gamma_range, 3).tolist()):
            said += [path.top(row, gamma).tolist(), path.scores(row, gamma).tolist()]
    return said


def found_in(docs, queries, families, excluded, asked, shards):
    parts = []
    for rows in shards:
        own = [restricted(family, rows) for family in families]
        group = Group(queries, own, within(excluded, rows))
        [found] = find_part(window(docs, rows), [group], asked)
        parts.append(placed(found, own, rows.start))
    return parts


@settings(max_examples=40)
@given(corpora(), st.data())
def test_any_cut_and_any_order_of_merging(case, data):
    """Ties, duplicates, zeros, all-negative queries; parts of one row, queries that are documents."""
    docs, queries = Embeddings.of(case.docs).moderate(), Embeddings.of(case.queries)
    gammas, n = (case.low, case.high), len(docs)
    families = families_of(docs, len(queries), case.seed)
    excluded = np.arange(len(queries)) if data.draw(st.booleans()) else np.full(len(queries), -1)
    excluded[excluded >= n] = -1
    search = Search("numba", SIZES)
    asked = Asked(case.k, gammas, search)
    [whole] = search_all(docs, [Group(queries, families, excluded)], case.k, gammas, search)
    edges = sorted({0, n, *data.draw(st.lists(st.integers(0, n), max_size=6))})
    shards = [slice(a, b) for a, b in pairwise(edges)]
    parts = found_in(docs, queries, families, excluded, asked, shards)
    while len(parts) > 1:  # any tree
        some = [parts.pop(data.draw(st.integers(0, len(parts) - 1))) for _ in range(2)]
        parts.append(merge(some, asked))
    for family, one, part in zip(families, whole, parts[0], strict=True):
        given = docs, queries, family, case.k, gammas
        assert said_by(part.candidates, *given) == said_by(one, *given)


@pytest.mark.parametrize(
    ("dtype", "shift"),
    [("f4", 1.0), ("f2", 0.0), ("f8", -1.0), ("f4", -1.0)],
    ids=["all positive", "half", "few positive", "few positive, narrow"],
)
def test_larger_parts(dtype, shift):
    """Parts that are pruned; and queries that have k positive cosines in the corpus, not in its parts."""
    rng = np.random.default_rng(5)
    n, m, k = 2500, 4, 10
    vectors = (rng.normal(size=(n, 21)) + 1.5) * np.exp(rng.normal(0, 0.3, size=(n, 1)))
    vectors[rng.permutation(n)[:25]] *= -1.0  # for queries of the other sign: 25 positives, few per part
    docs = Embeddings.of(vectors.astype(dtype))
    queries = Embeddings.of((rng.normal(size=(m, 21)) + 1.5 * shift).astype(dtype))
    families, gammas = families_of(docs, m, 1), (-1.0, 1.0)
    excluded, search = np.arange(m), Search("numba", shard=700)
    asked = Asked(k, gammas, search)
    [whole] = search_all(docs, [Group(queries, families, excluded)], k, gammas, search)
    parts = found_in(docs, queries, families, excluded, asked, partition.cuts(n, 700))
    merged = merge([merge(parts[:3], asked), merge(parts[3:], asked)], asked)
    for family, one, part in zip(families, whole, merged, strict=True):
        given = docs, queries, family, k, gammas
        assert said_by(part.candidates, *given) == said_by(one, *given)
        if family.affine is None:  # pruned as hard as the whole
            assert len(part.candidates.rows) <= 1.1 * len(one.rows) + 5 * m
    union = sum(len(part[0].candidates.rows) for part in parts)
    assert union > len(merged[0].candidates.rows)


def test_parts_cover_all_rows():
    assert [(s.start, s.stop) for s in partition.cuts(7, 3)] == [(0, 3), (3, 6), (6, 7)]
    assert partition.cuts(3, 9) == [slice(0, 3)]


def test_a_part_needs_rows():
    with pytest.raises(ValueError, match="parts of 0 rows"):
        Search(shard=0)
