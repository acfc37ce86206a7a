"""What a bank of queries says of every document, part by part on a Ray cluster: see `ray_cluster.py`.

Of a part, its norms and which query each document is go to a task, and what is said comes back: 20 bytes per
document and fold, and of every query the first documents there.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib.metadata import version
from typing import Any

from radii.data.embeddings import Embeddings, Floats, Vectors
from radii.ranking.bank import Said, Single, ask_part, untold
from radii.ranking.ray_cluster import (
    RETRIES,
    Stored,
    connected,
    flow,
    plainly_told,
    rows_of,
    same_version,
    source_of,
)
from radii.ranking.score import Ints


def ask_on_cluster(
    docs: Embeddings,
    unit: Single,
    skip: Ints,
    cuts: Ints,
    k: int,
    shards: Sequence[slice],
    finished: Callable[[slice, Said], None],
) -> None:
    """Have tasks do `ask_part` for all parts; `finished` is told of each one that ends.

    Raises
    ------
    MissingExtraError, InputError
        As `find_on_cluster` does.
    """
    if not shards:
        return
    ray = connected()
    bank = ray.put((unit, cuts, k))
    ask = ray.remote(max_retries=RETRIES)(ask_rows)

    def start(rows: slice) -> Any:
        where, norms = source_of(ray, docs, rows), docs.norms[rows]
        found = ask.remote(version("radii"), where, norms, rows.start, skip[rows], bank)
        return found, found

    with plainly_told():
        flow(ray, start, lambda rows, found: finished(rows, ray.get(found)), shards, None)


def ask_rows(
    driver: str,
    where: Stored | Vectors,
    norms: Floats,
    first: int,
    skip: Ints,
    bank: tuple[Single, Ints, int],
) -> Said:
    """What a bank of queries says of the rows that begin at `first`; on one thread, which changes no bit."""
    same_version(driver)
    unit, cuts, k = bank
    told = untold(len(cuts) - 1, len(norms))
    return ask_part(rows_of(where, norms, first), unit, skip, cuts.copy(), k, told, 1)
