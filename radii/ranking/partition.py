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
from functools import partial

import numpy as np

from radii.data.embeddings import Embeddings, Floats
from radii.ranking.candidates import Candidates, reachable, search_all
from radii.ranking.exhaustive import beyond_positives
from radii.ranking.family import Affine, Family, Group, distinct
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
    """What is asked of every part, whoever asks: as in `find_candidates`."""

    k: int
    gamma_range: tuple[float, float]
    search: Search


def find_in_parts(
    docs: Embeddings,
    groups: Sequence[Group],
    k: int,
    gamma_range: tuple[float, float],
    search: Search,
    progress: Callable[[int, int], None] | None = None,
) -> list[list[Candidates]]:
    """`find_together`, part by part: on this machine, or group by group on a cluster."""
    shards, asked = cuts(len(docs), search.shard), Asked(k, gamma_range, search)
    if search.backend == "ray":
        from radii.ranking.ray_cluster import find_on_cluster

        found = []
        for place, group in enumerate(groups):
            told = None if progress is None else partial(_share, progress, place, len(groups))
            found.append(find_on_cluster(docs, group, asked, shards, told))
    else:
        found = _here(docs, groups, asked, shards, progress)
    return [[part.candidates for part in parts] for parts in found]


def _share(progress: Callable[[int, int], None], place: int, places: int, done: int, total: int) -> None:
    """What one group has done, as a share of what all have to do."""
    progress(place * total + done, places * total)


def _here(
    docs: Embeddings,
    groups: Sequence[Group],
    asked: Asked,
    shards: Sequence[slice],
    progress: Callable[[int, int], None] | None,
) -> list[list[Part]]:
    from radii.ranking.kept import Folder

    folders = [Folder.of(docs, group, asked) for group in groups]
    waiting: list[list[list[Part]]] = [[] for _ in groups]
    for rows in shards:
        own = restricted_together(groups, rows)
        found = [folder.read(rows) if folder is not None else None for folder in folders]
        missing = [place for place, kept in enumerate(found) if kept is None]
        if missing:
            told = None if progress is None else _shifted(progress, rows.start, len(docs))
            made = find_part(window(docs, rows), [own[place] for place in missing], asked, told)
            for place, some in zip(missing, made, strict=True):
                found[place], folder = some, folders[place]
                if folder is not None:
                    folder.write(rows, some)
        for place, kept in enumerate(found):
            waiting[place].append(placed(kept or [], own[place].families, rows.start))
            if len(waiting[place]) == TOGETHER:
                waiting[place] = [merge(waiting[place], asked)]
        if progress is not None:
            progress(rows.stop, len(docs))
    return [parts[0] if len(parts) == 1 else merge(parts, asked) for parts in waiting]


def find_part(
    docs: Embeddings,
    groups: Sequence[Group],
    asked: Asked,
    progress: Callable[[int, int], None] | None = None,
) -> list[list[Candidates]]:
    """Candidates of one part under each family of each group, whose rows are those of the part."""
    docs.unchanged()
    search = replace(asked.search, work=None)
    return search_all(docs, groups, asked.k, asked.gamma_range, search, progress)


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
    return _cut(family, lambda column: column[rows])


def _cut(family: Family, of: Callable[[Floats], Floats]) -> Family:
    """The family of some documents; `of` takes them from a column."""
    base, affine = family.base, family.affine
    if affine is not None:
        affine = Affine(affine.left, of(affine.right), of(affine.scale))
    return Family(of(family.slope), family.additive, None if base is None else of(base), affine)


def restricted_together(groups: Sequence[Group], rows: slice) -> list[Group]:
    """The groups of these documents alone. What they share, families and columns, they go on sharing."""
    columns: dict[int, Floats] = {}

    def once(column: Floats) -> Floats:
        return columns.setdefault(id(column), column[rows])

    known = {id(family): _cut(family, once) for family in distinct(groups)}
    return [
        Group(group.queries, [known[id(family)] for family in group.families], within(group.excluded, rows))
        for group in groups
    ]


def within(excluded: Ints, rows: slice) -> Ints:
    """What queries must not retrieve, as a row of this part, or −1."""
    inside = (excluded >= rows.start) & (excluded < rows.stop)
    return np.where(inside, excluded - rows.start, -1)


def _shifted(progress: Callable[[int, int], None], first: int, total: int) -> Callable[[int, int], None]:
    return lambda done, _: progress(first + done, total)
