"""Parts of the documents on a Ray cluster: tasks read their own rows, a tree of tasks merges what they find.

Documents that lie in a file are never sent: a task gets the path and its rows, so the file has to be at that
path on every node. Rows of arrays in memory go through the object store. What stays on this machine: ids,
norms and the numbers of every family (8 bytes per document each), and the merged candidates.

A task whose worker dies is tried again, up to `RETRIES` times; tasks only read, so the result is the same.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from importlib.metadata import version
from typing import Any

import numpy as np

from radii.data.embeddings import Embeddings, Floats, Vectors
from radii.data.files import StrPath
from radii.data.rows import row_norms
from radii.errors import InputError, MissingExtraError, RadiiError
from radii.ranking.candidates import Candidates
from radii.ranking.family import Family, Group
from radii.ranking.kept import Folder
from radii.ranking.partition import TOGETHER, Asked, Part, find_part, merge, placed, restricted, within
from radii.ranking.score import Ints
from radii.ranking.search import Sizes
from radii.ranking.threads import cuts

RETRIES = 4


@dataclass(frozen=True)
class Stored:
    """Rows of a file of plain numbers, row after row, as the driver saw it."""

    path: str
    offset: int
    dtype: np.dtype[Any]
    shape: tuple[int, int]
    seen: tuple[int, int]

    def opened(self) -> Vectors:
        """Mapped on the machine that asks; InputError where the file is not there or is another."""
        if _seen(self.path) != self.seen:
            raise InputError(
                "not the file that the driver of the cluster sees",
                where=self.path,
                cause="a node without this file, or a copy of another date",
                fix="put it on storage that all nodes share, or copy it with its date (rsync -t, cp -p)",
            )
        return np.memmap(self.path, self.dtype, "r", self.offset, self.shape)


def find_on_cluster(
    docs: Embeddings,
    group: Group,
    asked: Asked,
    shards: Sequence[slice],
    progress: Callable[[int, int], None] | None = None,
) -> list[Part]:
    """Candidates of the whole corpus under each family of a group; see `find_candidates`.

    Raises
    ------
    MissingExtraError
        Without ray.
    InputError
        A file that another node does not see as this one does, another version of radii there, or a part
        whose workers died more than `RETRIES` times.
    """
    ray = connected()
    folder = Folder.of(docs, group, asked)
    queries, shared = ray.put(_plain(group.queries)), ray.put(_of_a_task(asked))
    find = ray.remote(num_returns=2, max_retries=RETRIES)(find_rows)
    join = ray.remote(max_retries=RETRIES)(join_parts)
    tree: list[list[Any]] = [[]]

    def start(rows: slice) -> Any:
        own = [restricted(family, rows) for family in group.families]
        kept = folder.read(rows) if folder is not None else None
        if kept is None:
            where, norms = source_of(ray, docs, rows), docs.norms[rows]
            outside = within(group.excluded, rows)
            told, found = find.remote(
                version("radii"), where, norms, rows.start, queries, own, outside, shared
            )
        else:
            told, found = None, ray.put(placed(kept, own, rows.start))
        _hang(tree, found, lambda some: join.remote(shared, *some))
        return None if told is None else (told, found)

    def finished(rows: slice, found: Any) -> None:
        if folder is not None:
            local = [_unplaced(part.candidates, rows.start) for part in ray.get(found)]
            folder.write(rows, local)

    with plainly_told():
        flow(ray, start, finished, shards, progress)
        last = [found for level in tree for found in level]
        while len(last) > 1:
            last = [join.remote(shared, *last[some]) for some in cuts(len(last), TOGETHER)]
        parts: list[Part] = ray.get(last[0])
    return parts


def read_norms(docs: Embeddings, shard: int) -> Floats:
    """‖d‖ of every row, each part read by a task: (n_docs,) float64, not yet looked at. Raises as above."""
    ray = connected()
    norms = np.empty(len(docs))
    measure = ray.remote(max_retries=RETRIES)(norms_of_rows)

    def start(rows: slice) -> Any:
        found = measure.remote(version("radii"), source_of(ray, docs, rows))
        return found, found

    def finished(rows: slice, found: Any) -> None:
        norms[rows] = ray.get(found)

    with plainly_told():
        flow(ray, start, finished, cuts(len(docs), shard), None)
    docs.unchanged()
    return norms


def connected() -> Any:
    """The module ray, connected: as it is already, to the cluster of RAY_ADDRESS, or to one started here."""
    try:
        import ray
    except ImportError:
        raise MissingExtraError("ray", "ray") from None
    if not ray.is_initialized():
        address = os.environ.get("RAY_ADDRESS")
        quiet = {"log_to_driver": False, "logging_level": "ERROR"}
        if address:
            ray.init(address, **quiet)
        else:
            ray.init("local", include_dashboard=False, **quiet)
    return ray


# Tasks -----------------------------------------------------------------------------------------------------


def find_rows(
    driver: str,
    where: Stored | Vectors,
    norms: Floats,
    first: int,
    queries: Embeddings,
    families: Sequence[Family],
    excluded: Ints,
    asked: Asked,
) -> tuple[int, list[Part]]:
    """How many candidates the rows that begin at `first` have, and which."""
    same_version(driver)
    docs = rows_of(where, norms, first)
    [some] = find_part(docs, [Group(queries, families, excluded.copy())], asked)
    found = placed(some, families, first)
    return sum(len(part.candidates.rows) for part in found), found


def join_parts(asked: Asked, *parts: list[Part]) -> list[Part]:
    """Parts as one."""
    return merge(parts, asked)


def norms_of_rows(driver: str, where: Stored | Vectors) -> Floats:
    """Norms of some rows."""
    same_version(driver)
    return row_norms(where.opened() if isinstance(where, Stored) else where)


def rows_of(where: Stored | Vectors, norms: Floats, first: int) -> Embeddings:
    """What `source_of` names, with the norms that are known; they begin at row `first` of the corpus."""
    docs = object.__new__(Embeddings)
    vectors = where.opened() if isinstance(where, Stored) else where
    own = {"ids": range(first, first + len(norms)), "vectors": vectors, "norms": norms.copy()}
    docs.__dict__.update(own, source="a part", stamp=None)
    return docs


def same_version(driver: str) -> None:
    """InputError where the driver runs another version of radii."""
    if version("radii") != driver:
        raise InputError(
            f"radii {version('radii')} on a node, {driver} on the driver",
            where="the cluster",
            cause="an environment that was not updated",
            fix="install the same version on every node",
        )


# What the driver does --------------------------------------------------------------------------------------


def flow(
    ray: Any,
    start: Callable[[slice], Any],
    finished: Callable[[slice, Any], None],
    shards: Sequence[slice],
    progress: Callable[[int, int], None] | None,
) -> None:
    """Start a task per part, never many more than the cluster has processors, and see each one end."""
    limit = 2 * max(1, int(ray.cluster_resources().get("CPU", 1)))
    running: dict[Any, tuple[slice, Any]] = {}
    done, total = 0, shards[-1].stop

    def one() -> int:
        [told], _ = ray.wait(list(running), num_returns=1)
        rows, found = running.pop(told)
        ray.get(told)  # its error, if it has one
        finished(rows, found)
        return int(rows.stop - rows.start)

    for rows in shards:
        begun = start(rows)
        if begun is None:
            done += rows.stop - rows.start
        else:
            running[begun[0]] = rows, begun[1]
        while len(running) >= limit:
            done += one()
        if progress is not None:
            progress(done, total)
    while running:
        done += one()
        if progress is not None:
            progress(done, total)


def _hang(tree: list[list[Any]], found: Any, join: Callable[[list[Any]], Any]) -> None:
    """Put a part at the tree's lowest level; whenever a level is full, its merger goes one level up."""
    for level in range(len(tree) + 1):
        if level == len(tree):
            tree.append([])
        tree[level].append(found)
        if len(tree[level]) < TOGETHER:
            return
        found, tree[level] = join(tree[level]), []


def _plain(queries: Embeddings) -> Embeddings:
    """As plain arrays, which travel."""
    plain = Embeddings(queries.ids, np.array(queries.vectors), queries.source)
    plain.__dict__["norms"] = queries.norms
    return plain


def _of_a_task(asked: Asked) -> Asked:
    """With one thread per task: a cluster counts tasks, not threads."""
    sizes = replace(asked.search.sizes or Sizes(), threads=1)
    return replace(asked, search=replace(asked.search, backend="numba", sizes=sizes, work=None))


def source_of(ray: Any, docs: Embeddings, rows: slice) -> Any:
    """The rows of a part: where they lie in their file, or themselves, in the object store."""
    some = docs.vectors[rows]
    if docs.stamp is not None and isinstance(some, np.memmap) and some.flags.c_contiguous:
        root: Any = some
        while isinstance(root.base, np.memmap):
            root = root.base
        docs.unchanged()
        path = os.path.abspath(root.filename)
        ahead = some.__array_interface__["data"][0] - root.__array_interface__["data"][0]
        return Stored(path, root.offset + ahead, some.dtype, (len(some), docs.dim), _seen(path))
    return ray.put(np.array(some))


def _seen(path: StrPath) -> tuple[int, int]:
    """Bytes and date of a file, which copies share; zeros where there is none."""
    try:
        now = os.stat(path)
    except OSError:
        return 0, 0
    return now.st_size, int(now.st_mtime)


def _unplaced(found: Candidates, first: int) -> Candidates:
    return replace(found, rows=found.rows - first)


@contextmanager
def plainly_told() -> Iterator[None]:
    """Turn what a task raised into the error itself."""
    from ray.exceptions import OutOfMemoryError, RayTaskError, WorkerCrashedError

    try:
        yield
    except RayTaskError as error:
        if isinstance(error.cause, RadiiError):
            raise error.cause from None
        raise
    except (OutOfMemoryError, WorkerCrashedError) as error:
        raise InputError(
            f"a part failed {RETRIES + 1} times: its worker died",
            where="the cluster",
            cause="a part that needs more memory than a worker has",
            fix="smaller parts (--shard-rows), or nodes with more memory",
        ) from error
