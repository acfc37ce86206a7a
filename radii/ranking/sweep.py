"""How ranks move along γ, and with them a metric: every crossing of a relevant document's line, at once.

A metric changes only where a relevant document passes another. So the lines of the relevant documents are met
with all lines of their query, and nothing else is ever sorted.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from radii.data.embeddings import Floats
from radii.ranking.candidates import Candidates
from radii.ranking.metrics import Judgement
from radii.ranking.score import Ints, Lines, above, crossings
from radii.ranking.steps import Curves

_PAIRS = 4_000_000  # lines met at a time: bounds the memory


@dataclass(frozen=True, eq=False)
class RankChanges:
    """Ranks of some documents along γ; 1 is best.

    Attributes
    ----------
    start : (n_documents,) int64
        Rank at the low end of the range.
    document : (n_changes,) int64
        Which of them changes, ascending; its changes in the order of γ.
    gamma : (n_changes,) float64
        Strictly inside the range.
    before, after : (n_changes,) int64
        Its rank on either side, as if changes at one γ came one after the other.
    """

    start: Ints
    document: Ints
    gamma: Floats
    before: Ints
    after: Ints


def rank_changes(lines: Lines, entries: Ints, bounds: Ints, gamma_range: tuple[float, float]) -> RankChanges:
    """How some documents move among the documents of their own query.

    Parameters
    ----------
    lines : Lines
        Of all candidates, query by query.
    entries : (n,) int64
        Positions of the documents in `lines`.
    bounds : (n + 1,) int64, or (2, n) int64
        Where the candidates of each one's query begin and end in `lines`.
    gamma_range : (low, high)
    """
    low, high = gamma_range
    first, last = bounds if bounds.ndim == 2 else (bounds[:-1], bounds[1:])
    starts, documents, gammas, changes = [], [], [], []
    for some in _chunks(last - first):
        size = (last - first)[some]
        document = np.repeat(np.arange(some.start, some.stop), size)
        ends = np.cumsum(size)
        other = np.arange(ends[-1]) - np.repeat(ends - size, size) + first[document]
        own = entries[document]
        mine, theirs = lines[own], lines[other]
        meet = crossings(theirs, mine)
        is_above = above(theirs, mine, other < own, meet, low) & (other != own)
        starts.append(1 + np.add.reduceat(is_above.astype(np.int64), ends - size))
        passing = np.flatnonzero((meet > low) & (meet < high))
        documents.append(document[passing])
        gammas.append(meet[passing])
        changes.append(np.where(is_above[passing], -1, 1))
    start, document, gamma, change = map(np.concatenate, (starts, documents, gammas, changes))
    order = np.argsort(gamma)
    order = order[np.argsort(document[order], kind="stable")]
    document, gamma, change = document[order], gamma[order], change[order]
    # Running sums within each document: the sum over all, less what came before its first change.
    total = np.cumsum(change)
    opening = np.searchsorted(document, np.arange(len(start)))
    carried = np.concatenate(([0], total))[opening]
    after = start[document] + total - carried[document]
    return RankChanges(start, document, gamma, after - change, after)


def _chunks(sizes: Ints) -> Iterator[slice]:
    """Consecutive documents with few enough lines to meet at a time, at least one."""
    ends = np.cumsum(sizes)
    at = 0
    while at < len(sizes):
        done = ends[at - 1] if at else 0
        stop = max(at + 1, int(np.searchsorted(ends, done + _PAIRS, side="right")))
        yield slice(at, stop)
        at = stop


def metric_curves(
    candidates: Candidates,
    lines: Lines,
    doc_rows: Mapping[str, int],
    judged: Mapping[int, Judgement],
    gamma_range: tuple[float, float],
) -> Curves:
    """The metric of every judged query as a step function of γ.

    Parameters
    ----------
    candidates, lines
        Of all queries.
    doc_rows : {document id: row}
    judged : {query row: Judgement}
        At least one; all of one metric.
    gamma_range : (low, high)
    """
    rows = np.array(list(judged))
    judgements = list(judged.values())
    query = np.repeat(np.arange(len(rows)), [len(j.ids) for j in judgements])
    wanted = np.array([doc_rows.get(name, -1) for j in judgements for name in j.ids], dtype=np.int64)
    worth = np.concatenate([j.worth for j in judgements])
    entry, seen = _find(candidates, rows[query], wanted)
    query, entry, worth = query[seen], entry[seen], worth[seen]
    if not len(entry):
        none = np.empty(0)
        return Curves(*gamma_range, np.zeros(len(rows)), none, none.astype(np.int64), none, none)
    bounds = np.stack((candidates.offsets[rows[query]], candidates.offsets[rows[query] + 1]))
    changes = rank_changes(lines, entry, bounds, gamma_range)
    if judgements[0].metric.additive:
        return _sums(judgements, changes, query, worth, gamma_range)
    return _joint(judgements, changes, query, worth, gamma_range)


def _find(candidates: Candidates, queries: Ints, documents: Ints) -> tuple[Ints, Ints]:
    """Positions of (query row, document row) pairs among the candidates, and which of them are there."""
    owner = np.repeat(np.arange(len(candidates.offsets) - 1), np.diff(candidates.offsets))
    width = max(candidates.rows.max(initial=0), documents.max(initial=0)) + 2  # one more for the unknown, −1
    keys, asked = owner * width + candidates.rows + 1, queries * width + documents + 1
    place = np.searchsorted(keys, asked)
    place[place == len(keys)] = 0
    return place, (keys[place] == asked) if len(keys) else np.zeros(len(asked), dtype=bool)


def _sums(
    judgements: list[Judgement], changes: RankChanges, query: Ints, worth: Floats, ends: tuple[float, float]
) -> Curves:
    """Curves of a metric that is a sum: each change of a rank adds its own difference."""
    discount = judgements[0].metric.discount
    start = np.bincount(query, worth * discount(changes.start), minlength=len(judgements)).astype(np.float64)
    # What happens to one document at one γ is one change: the ranks between are of no ranking, and depend on
    # which documents that never reach the first k are among the candidates.
    first = np.append(True, (np.diff(changes.document) != 0) | (np.diff(changes.gamma) != 0))
    first = np.flatnonzero(first[: len(changes.gamma)])
    last = np.append(first[1:], len(changes.gamma)) - 1 if len(first) else first
    gain = worth[changes.document[first]] * (discount(changes.after[last]) - discount(changes.before[first]))
    real = np.flatnonzero(gain)
    owner, gamma, gain = query[changes.document[first[real]]], changes.gamma[first[real]], gain[real]
    order = np.lexsort((gamma, owner))
    owner, gamma, gain = owner[order], gamma[order], gain[order]
    if len(owner):  # what happens to one query at one γ is one change
        first = np.flatnonzero(np.append(True, (np.diff(owner) != 0) | (np.diff(gamma) != 0)))
        owner, gamma, gain = owner[first], gamma[first], np.add.reduceat(gain, first)
    total = np.cumsum(gain)
    carried = np.concatenate(([0.0], total))[np.searchsorted(owner, np.arange(len(judgements)))]
    after = np.asarray(start[owner] + total - carried[owner])
    return _by_gamma(ends, start, gamma, owner, after - gain, after)


def _joint(
    judgements: list[Judgement], changes: RankChanges, query: Ints, worth: Floats, ends: tuple[float, float]
) -> Curves:
    """Curves of a metric that depends on all ranks of a query together."""
    k = judgements[0].metric.k
    visible = np.flatnonzero((changes.before <= k) | (changes.after <= k))
    first = np.searchsorted(query, np.arange(len(judgements) + 1))
    opening = np.searchsorted(query[changes.document[visible]], np.arange(len(judgements) + 1))
    start = np.zeros(len(judgements))
    parts: list[tuple[Floats, Ints, Floats, Floats]] = []
    for q, judgement in enumerate(judgements):
        documents = slice(first[q], first[q + 1])
        if documents.start == documents.stop:
            continue
        own = visible[opening[q] : opening[q + 1]]
        own = own[np.argsort(changes.gamma[own], kind="stable")]
        gamma = changes.gamma[own]
        moves = np.zeros((documents.stop - documents.start, len(own) + 1), dtype=np.int64)
        moves[:, 0] = np.minimum(changes.start[documents], k + 1)
        clipped = np.minimum(changes.after[own], k + 1) - np.minimum(changes.before[own], k + 1)
        moves[changes.document[own] - documents.start, np.arange(1, len(own) + 1)] = clipped
        # Of several changes at one γ only the state after the last is real.
        last = np.append(np.diff(gamma) != 0, True) if len(own) else np.empty(0, dtype=bool)
        ranks = np.cumsum(moves, axis=1)[:, np.append(True, last)]
        # Documents that never reach the first k would change no value, but the order of a sum.
        reaching = (ranks <= k).any(axis=1)
        if not reaching.any():
            continue
        values = judgement.value(ranks[reaching], worth[documents][reaching])
        start[q] = values[0]
        gamma, after = gamma[last], values[1:]
        before = np.concatenate((values[:1], after[:-1]))
        real = after != before
        parts.append((gamma[real], np.full(real.sum(), q), before[real], after[real]))
    if not parts:
        none = np.empty(0)
        return Curves(*ends, start, none, none.astype(np.int64), none, none)
    gamma, owner, before, after = (np.concatenate(column) for column in zip(*parts, strict=True))
    return _by_gamma(ends, start, gamma, owner, before, after)


def _by_gamma(
    ends: tuple[float, float], start: Floats, gamma: Floats, query: Ints, before: Floats, after: Floats
) -> Curves:
    order = np.argsort(gamma, kind="stable")
    return Curves(*ends, start, gamma[order], query[order], before[order], after[order])
