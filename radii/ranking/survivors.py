"""What a streaming search takes from the stored vectors: unit rows to multiply, exact cosines at the end.

Whatever multiplied and pruned in between, both are computed here, on the CPU: so two searches that keep the
same document know it by the same number, to the bit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from radii.data.embeddings import Embeddings, Floats
from radii.ranking import row_kernels as kernels
from radii.ranking.family import Family, Group
from radii.ranking.score import Ints
from radii.ranking.threads import Run, cuts


def unit_rows(
    run: Run,
    vectors: Embeddings,
    some: slice,
    order: Ints,
    unit: npt.NDArray[np.float32],
    n_threads: int,
) -> None:
    """Fill `unit`, (n, dim) float32, with the unit rows of some vectors in this order."""
    rows, norms = np.asarray(vectors.vectors[some]), vectors.norms[some]
    halves = rows.dtype == np.float16  # which numba has not
    made = kernels.unit_rows_of_halves if halves else kernels.unit_rows
    plain = rows.view(np.uint16) if halves else rows

    def fill(part: slice) -> None:
        made(plain, norms, order[part], unit[part])

    run(fill, cuts(len(order), -(-len(order) // n_threads)))


class Held(Protocol):
    """Some documents that some queries have kept."""

    def survivors(self) -> tuple[Ints, Ints]:
        """Entries of each query, and document rows query by query, ascending within each."""


class Holder(Protocol):
    """Some queries of a group, with what they have kept under each of its families."""

    @property
    def buffers(self) -> Sequence[Held]:
        """One per family."""


def found_by(
    run: Run, docs: Embeddings, groups: Sequence[Group], holders: Sequence[Sequence[Holder]], n_threads: int
) -> list[list[tuple[Ints, Ints, Floats]]]:
    """What all holders of a group have kept under each of its families, with exact cosines."""
    return [
        [
            with_cosines(
                run, [one.buffers[place].survivors() for one in own], family, docs, group.queries, n_threads
            )
            for place, family in enumerate(group.families)
        ]
        for group, own in zip(groups, holders, strict=True)
    ]


def with_cosines(
    run: Run,
    held: Sequence[tuple[Ints, Ints]],
    family: Family,
    docs: Embeddings,
    queries: Embeddings,
    n_threads: int,
) -> tuple[Ints, Ints, Floats]:
    """Survivors with cosines in float64, always summed in one order.

    Parameters
    ----------
    held : sequence of pairs of (n_queries,) and (n_entries,) int64
        How many survivors each of the next queries has; their document rows, query by query.

    Returns
    -------
    offsets (n_queries + 1,) int64, rows, cosines (n_entries,) float64
    """
    count, rows = (np.concatenate(parts) for parts in zip(*held, strict=True))
    owner = np.repeat(np.arange(len(count)), count)
    cosines = pair_cosines(run, docs, queries, rows, owner, n_threads)
    return np.concatenate(([0], np.cumsum(count))), rows, family.similarity(cosines, owner, rows)


def pair_cosines(
    run: Run, docs: Embeddings, queries: Embeddings, rows: Ints, owner: Ints, n_threads: int
) -> Floats:
    """cos(query owner[i], document rows[i]) in float64, always summed in one order."""
    products = np.empty(len(rows))
    wide = np.asarray(queries.vectors, dtype=np.float64)
    # Numba has no half precision, and sums strided rows in another order: widen the rows, a few at a time.
    widen = docs.vectors.dtype.itemsize < 4 or not docs.vectors.flags.c_contiguous

    def dots(part: slice) -> None:
        if widen:
            some = np.asarray(docs.vectors[rows[part]], dtype=np.float64, order="C")
            kernels.pair_dots(some, wide, np.arange(len(some)), owner[part], products[part])
        else:
            kernels.pair_dots(_plain(docs.vectors), wide, rows[part], owner[part], products[part])

    limit = (16 << 20) // (8 * docs.dim) if widen else len(rows)
    run(dots, cuts(len(rows), min(limit, -(-len(rows) // n_threads))))
    products /= docs.norms[rows] * queries.norms[owner]  # as the exhaustive search has it
    return products


def cosines_of(docs: Embeddings, queries: Embeddings) -> Callable[[Ints, int], Floats]:
    """From document rows and a query row to their cosines, to the bit those of a streaming search."""

    def one_by_one(job: Callable[[Any], Any], over: Iterable[Any]) -> list[Any]:
        return [job(item) for item in over]

    def exact(rows: Ints, query: int) -> Floats:
        asked = Embeddings([queries.ids[query]], queries.vectors[query : query + 1], queries.source)
        return pair_cosines(one_by_one, docs, asked, rows, np.zeros(len(rows), dtype=np.int64), 1)

    return exact


def _plain(vectors: Any) -> npt.NDArray[Any]:
    """As a base-class array that numba can read: half precision is widened, a memory map stays mapped."""
    plain = np.asarray(vectors)
    return plain.astype(np.float32) if plain.dtype.itemsize < 4 else plain
