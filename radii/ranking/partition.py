"""The search for candidates part by part: each part of the documents alone, then their union, pruned again.

A document among the first k of the corpus at some γ is among the first k of its part there, where fewer
compete. So the union of what parts keep misses none, however the documents are cut; what it holds beyond
changes no ranking, and is pruned by the same test as ever. Cosines are summed in one order in every part, so
what a path says is the same to the bit.

A query may have fewer than k documents with a positive cosine in a part, and enough of them in the corpus.
The part then keeps zeros and negatives too, as if it were a corpus; whether they are needed is decided when
parts are merged.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from radii.data.embeddings import Embeddings, Floats
from radii.ranking.candidates import Candidates, reachable, search_all
from radii.ranking.exhaustive import beyond_positives
from radii.ranking.family import Affine, Family, Group
from radii.ranking.score import Ints, Lines
from radii.ranking.search import Search, Sizes
from radii.ranking.threads import cuts

TOGETHER = 8  # parts that are merged at once


@dataclass(frozen=True, eq=False)
class Part:
    """What some documents have under one family: candidates by rows of the corpus, and their lines."""

    candidates: Candidates
    lines: Lines


@dataclass(frozen=True, eq=False)
class Asked:
    """What is asked of every part: as in `find_candidates`."""

    queries: Embeddings
    k: int
    gamma_range: tuple[float, float]
    search: Search


def find_in_parts(
    docs: Embeddings,
    queries: Embeddings,
    families: Sequence[Family],
    k: int,
    gamma_range: tuple[float, float],
    excluded: Ints,
    search: Search,
    progress: Callable[[int, int], None] | None = None,
) -> list[Candidates]:
    """`find_candidates`, part by part: on this machine, or on a cluster."""
    shards = cuts(len(docs), search.shard)
    asked = Asked(queries, k, gamma_range, search)
    if search.backend == "ray":
        from radii.ranking.ray_cluster import find_on_cluster

        found = find_on_cluster(docs, families, excluded, asked, shards, progress)
    else:
        found = _here(docs, families, excluded, asked, shards, progress)
    return [part.candidates for part in found]


def _here(
    docs: Embeddings,
    families: Sequence[Family],
    excluded: Ints,
    asked: Asked,
    shards: Sequence[slice],
    progress: Callable[[int, int], None] | None,
) -> list[Part]:
    from radii.ranking.kept import Folder

    folder = Folder.of(docs, families, excluded, asked)
    waiting: list[list[Part]] = []
    for rows in shards:
        own = [restricted(family, rows) for family in families]
        found = folder.read(rows) if folder is not None else None
        if found is None:
            told = None if progress is None else _shifted(progress, rows.start, len(docs))
            found = find_part(window(docs, rows), own, within(excluded, rows), asked, told)
            if folder is not None:
                folder.write(rows, found)
        waiting.append(placed(found, own, rows.start))
        if len(waiting) == TOGETHER:
            waiting = [merge(waiting, asked)]
        if progress is not None:
            progress(rows.stop, len(docs))
    return waiting[0] if len(waiting) == 1 else merge(waiting, asked)


def find_part(
    docs: Embeddings,
    families: Sequence[Family],
    excluded: Ints,
    asked: Asked,
    progress: Callable[[int, int], None] | None = None,
) -> list[Candidates]:
    """Candidates of one part under each family; rows, families and `excluded` are those of the part."""
    docs.unchanged()
    search = replace(asked.search, work=None)
    group = Group(asked.queries, families, excluded)
    [found] = search_all(docs, [group], asked.k, asked.gamma_range, search, progress)
    return found


def placed(found: Sequence[Candidates], families: Sequence[Family], first: int) -> list[Part]:
    """What was found in the part that begins at row `first`, with its rows counted in the corpus."""
    return [
        Part(replace(one, rows=one.rows + first), family.lines(one.cosines, one.rows))
        for one, family in zip(found, families, strict=True)
    ]


def merge(parts: Sequence[Sequence[Part]], asked: Asked) -> list[Part]:
    """The parts as one, family by family. In whatever order and groups: no path tells the difference."""
    return [_merged(of_family, asked.k, asked.gamma_range) for of_family in zip(*parts, strict=True)]


def _merged(parts: Sequence[Part], k: int, gamma_range: tuple[float, float]) -> Part:
    counts = np.stack([np.diff(part.candidates.offsets) for part in parts])
    owner = np.concatenate([np.repeat(np.arange(len(count)), count) for count in counts])
    rows = np.concatenate([part.candidates.rows for part in parts])
    order = np.lexsort((rows, owner))
    cosines = np.concatenate([part.candidates.cosines for part in parts])
    lines = Lines(
        np.concatenate([part.lines.group for part in parts]),
        np.concatenate([part.lines.height for part in parts]),
        np.concatenate([part.lines.slope for part in parts]),
    )
    offsets = np.concatenate(([0], np.cumsum(counts.sum(axis=0))))
    nodes = Sizes().between(*gamma_range)
    kept = [
        order[first:last][_reaching(lines[order[first:last]], k, nodes)]
        for first, last in zip(offsets[:-1].tolist(), offsets[1:].tolist(), strict=True)
    ]
    chosen = np.concatenate(kept)
    offsets = np.concatenate(([0], np.cumsum([len(some) for some in kept]))).astype(np.int64)
    return Part(Candidates(offsets, rows[chosen], cosines[chosen]), lines[chosen])


def _reaching(lines: Lines, k: int, nodes: Floats) -> Ints:
    """Which lines of a query, exact as they are, can be among its k highest at some γ."""
    positive = np.flatnonzero(lines.group == 1)
    if len(positive) < k:
        return beyond_positives(lines, k, nodes)
    height, slope = lines.height[positive], lines.slope[positive]
    some: Ints = positive[reachable(height, height, slope, k, nodes)]
    return some


# Of a part: the same things, seen from there ---------------------------------------------------------------


def window(docs: Embeddings, rows: slice) -> Embeddings:
    """Some rows as they lie, without a copy, with the norms that are known; ids are not asked of a part."""
    part = object.__new__(Embeddings)
    part.__dict__.update(
        ids=range(rows.start, rows.stop),
        vectors=docs.vectors[rows],
        source=docs.source,
        stamp=docs.stamp,
        norms=docs.norms[rows],
    )
    return part


def restricted(family: Family, rows: slice) -> Family:
    """The family of these documents alone."""
    base, affine = family.base, family.affine
    if affine is not None:
        affine = Affine(affine.left, affine.right[rows], affine.scale[rows])
    return Family(family.slope[rows], family.additive, None if base is None else base[rows], affine)


def within(excluded: Ints, rows: slice) -> Ints:
    """What queries must not retrieve, as a row of this part, or −1."""
    inside = (excluded >= rows.start) & (excluded < rows.stop)
    return np.where(inside, excluded - rows.start, -1)


def _shifted(progress: Callable[[int, int], None], first: int, total: int) -> Callable[[int, int], None]:
    return lambda done, _: progress(first + done, total)
