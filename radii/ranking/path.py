"""The exact exponent path: every ranking that score_γ gives as γ runs over a range, without a grid."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from radii.data.embeddings import Embeddings, Floats
from radii.errors import InputError, shown
from radii.ranking.candidates import Candidates, find_together
from radii.ranking.family import Family, Group
from radii.ranking.metrics import Metric
from radii.ranking.score import Ints, Lines
from radii.ranking.search import Search
from radii.ranking.steps import Best, Curves, StepFunction, check_inside
from radii.ranking.sweep import metric_curves, rank_changes

Grades = Mapping[str, Mapping[str, int]]


def exponent_path(
    docs: Embeddings | npt.ArrayLike,
    queries: Embeddings | npt.ArrayLike,
    *,
    k: int = 10,
    gamma_range: tuple[float, float] = (-1.0, 1.0),
    exclude_self: bool = False,
    multiplier: npt.ArrayLike | None = None,
    search: Search | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> ExponentPath:
    """The k best documents of every query under cos · r^γ, for every γ of a range at once.

    Parameters
    ----------
    docs : (n_docs, dim) array or Embeddings
        Un-normalised document vectors.
    queries : (n_queries, dim) array or Embeddings
        Only their directions matter.
    k : int
        Depth of the rankings; metrics up to this cutoff can be read off the path.
    gamma_range : (low, high)
    exclude_self : bool
        A query never retrieves the document that bears its own id.
    multiplier : (n_docs,) array, optional
        A positive number per document in place of its norm.
    search : Search, optional
        By what, and how it is cut: no result depends on it.
    progress : callable, optional
        Called with (documents seen, of how many).

    Raises
    ------
    InputError
        Dimensions that differ, bad vectors (see `Embeddings`), k < 1, a range that is empty or not
        finite, a multiplier that is not positive and finite.

    Source: THEORY.md, section 6; the score is that of arXiv 2606.30625.

    >>> path = exponent_path(np.array([[1.0, 0.0], [3.0, 3.0]]), np.array([[2.0, 1.0]]), k=1)
    >>> path.top(0, -1.0), path.top(0, 1.0), path.breakpoints(0).round(3)
    (array([0]), array([1]), array([-0.041]))
    """
    docs, queries = Embeddings.of(docs, "docs"), Embeddings.of(queries, "queries")
    if search is not None:
        search.measure(docs)
    values = docs.norms if multiplier is None else np.asarray(multiplier, dtype=np.float64)
    if values.shape != (len(docs),):
        raise InputError(f"a multiplier of shape {values.shape} for {len(docs)} documents", fix="one each")
    [[path]] = paths_together(
        docs,
        [(queries, [Family.power(values)])],
        k=k,
        gamma_range=gamma_range,
        exclude_self=exclude_self,
        search=search,
        progress=progress,
    )
    return path


def paths_together(
    docs: Embeddings,
    asked: Sequence[tuple[Embeddings, Sequence[Family]]],
    *,
    k: int,
    gamma_range: tuple[float, float],
    exclude_self: bool = False,
    search: Search | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> list[list[ExponentPath]]:
    """One path per family of each group of queries, from one reading of the documents.

    Similarities are computed once for all families of a query. See `exponent_path`.
    """
    for queries, _ in asked:
        check_same_dim(docs, queries)
    if k < 1:
        raise InputError(f"k = {k}", fix="ask for at least one document per query")
    low, high = (float(end) for end in gamma_range)
    if not (np.isfinite([low, high]).all() and low <= high):
        raise InputError(f"gamma range [{low:g}, {high:g}]", fix="give two finite numbers, the lower first")
    groups = []
    for queries, families in asked:
        excluded = np.full(len(queries), -1, dtype=np.int64)
        if exclude_self:
            excluded[:] = [docs.rows.get(name, -1) for name in queries.ids]
        groups.append(Group(queries, families, excluded))
    return [
        [
            ExponentPath(docs, group.queries, k, (low, high), family, candidates)
            for family, candidates in zip(group.families, found, strict=True)
        ]
        for group, found in zip(
            groups, find_together(docs, groups, k, (low, high), search, progress), strict=True
        )
    ]


def check_same_dim(docs: Embeddings, queries: Embeddings) -> None:
    """Documents and queries must come from the same space."""
    if docs.dim != queries.dim:
        raise InputError(
            f"{docs.dim} dimensions against {queries.dim} in {queries.source}",
            where=docs.source,
            cause="documents and queries were embedded by different models",
            fix="embed both with the same model",
        )


@dataclass(frozen=True, eq=False)
class ExponentPath:
    """Candidates of every query, and what can be read off them. Made by `exponent_path`."""

    docs: Embeddings
    queries: Embeddings
    k: int
    gamma_range: tuple[float, float]
    family: Family
    candidates: Candidates

    @cached_property
    def lines(self) -> Lines:
        """The line of every candidate, in the order of `candidates`."""
        return self.family.lines(self.candidates.cosines, self.candidates.rows)

    def top(self, query: int | str, gamma: float) -> Ints:
        """Document rows of the k best at γ, best first; ties as in `radii.ranking.score`.

        Raises InputError on an unknown query or a γ outside the range.
        """
        check_inside(gamma, *self.gamma_range)
        own = self.candidates.of(self._row(query))
        return self.candidates.rows[own][self.lines[own].order(gamma)[: self.k]]

    def scores(self, query: int | str, gamma: float) -> Floats:
        """score_γ of `top(query, gamma)`, in the same order."""
        check_inside(gamma, *self.gamma_range)
        own = self.candidates.of(self._row(query))
        best = self.lines[own].order(gamma)[: self.k]
        rows, cosines = self.candidates.rows[own][best], self.candidates.cosines[own][best]
        moved = self.family.at(gamma)[rows]
        scores: Floats = cosines + moved if self.family.additive else cosines * np.exp(moved)
        return scores

    def breakpoints(self, query: int | str) -> Floats:
        """Every γ strictly inside the range at which the ordered top k changes: ascending float64."""
        own = self.candidates.of(self._row(query))
        lines = self.lines[own]
        found = []
        for j in range(len(lines.group)):
            # When two lines meet, the list changes if the higher of them is in it. Each pair is visited
            # from both sides, so the higher one reports it.
            changes = rank_changes(lines, np.array([j]), np.array([0, len(lines.group)]), self.gamma_range)
            first = np.searchsorted(changes.gamma, changes.gamma, side="left")
            found.append(changes.gamma[changes.before[first] <= self.k])
        return np.unique(np.concatenate(found)) if found else np.empty(0)

    def metric(self, metric: str | Metric, qrels: Grades) -> MetricPath:
        """A metric as an exact step function of γ, for the mean and for every query.

        Parameters
        ----------
        metric : str or Metric
            With a cutoff of at most the path's k; see `Metric.parse`.
        qrels : {query id: {document id: grade}}
            Queries without a relevant document are left out; relevant documents that are missing from
            the corpus count as not retrieved.

        Raises
        ------
        InputError
            A cutoff above k, or no query left.
        """
        metric = Metric.parse(metric)
        if metric.k > self.k:
            raise InputError(
                f"metric {metric} looks deeper than the path, which was computed to k = {self.k}",
                fix=f"exponent_path(..., k={metric.k})",
            )
        judged = {}
        for row, name in enumerate(self.queries.ids):
            judgement = metric.judgement(qrels.get(name, {}))
            if judgement is not None:
                judged[row] = judgement
        if not judged:
            known = [name for name in self.queries.ids if name in qrels]
            differ = f"query ids differ: {shown(self.queries.ids, 2)} here, {shown(qrels, 2)} in the qrels"
            raise InputError(
                f"none of {len(self.queries)} queries has a relevant document",
                where=self.queries.source,
                cause="every grade is 0 or below" if known else differ,
                fix="judge some documents relevant" if known else "use the same ids in both",
            )
        curves = metric_curves(self.candidates, self.lines, self.docs.rows, judged, self.gamma_range)
        return MetricPath(metric, [self.queries.ids[row] for row in judged], curves)

    def _row(self, query: int | str) -> int:
        if isinstance(query, str):
            if query not in self.queries.rows:
                raise InputError(f"unknown query id {query!r}", where=self.queries.source)
            return self.queries.rows[query]
        if not 0 <= query < len(self.queries):
            raise InputError(f"query row {query} of {len(self.queries)}", where=self.queries.source)
        return int(query)


@dataclass(frozen=True, eq=False)
class MetricPath:
    """A metric along γ: the mean over the judged queries, and each of them.

    Attributes
    ----------
    metric : Metric
    ids : list of str
        The judged queries, in the order of the rows of `curves`.
    curves : Curves
    """

    metric: Metric
    ids: list[str]
    curves: Curves

    @cached_property
    def mean(self) -> StepFunction:
        """The mean over the judged queries."""
        return self.curves.mean()

    @property
    def edges(self) -> Floats:
        """(n + 1,) edges of the mean."""
        return self.mean.edges

    @property
    def values(self) -> Floats:
        """(n,) values of the mean between its edges."""
        return self.mean.values

    def at(self, gamma: float) -> float:
        """The mean at γ."""
        return self.mean.at(gamma)

    def best(self) -> Best:
        """The best γ on these very queries: a maximum, not an estimate of what it brings elsewhere."""
        return self.mean.best()

    def query(self, name: str) -> StepFunction:
        """The step function of one query; InputError when it is not judged."""
        if name not in self._rows:
            raise InputError(f"query {name!r} has no relevant document", fix="see `ids` for the judged ones")
        return self.curves.one(self._rows[name])

    @cached_property
    def _rows(self) -> dict[str, int]:
        return {name: row for row, name in enumerate(self.ids)}
