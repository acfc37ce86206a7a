"""A test collection: documents, queries, and which documents answer which query."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from radii.data.qrels import Qrels
from radii.data.texts import Texts


@dataclass(frozen=True)
class Collection:
    """Documents, the judged queries, and the judgements.

    Attributes
    ----------
    docs : Texts
        Every document; an empty one is kept, with an empty text.
    queries : Texts
        The queries that have a judgement, in the order of their file.
    qrels : dict
        Query id → document id → grade. Ids that the texts lack are kept: `radii audit` refuses them unless
        told to count them as missed.
    depth : mapping
        Query id → depth of its heading, 0 for a page; empty where queries are no headings.
    """

    docs: Texts
    queries: Texts
    qrels: Qrels
    depth: Mapping[str, int] = field(default_factory=dict)


def judged(queries: Texts, qrels: Qrels) -> Texts:
    """The queries that have a judgement, in their order.

    >>> judged(Texts(["q1", "q2"], ["a hub", "a norm"]), {"q2": {"d1": 1}}).ids
    ['q2']
    """
    kept = [name for name in queries.ids if name in qrels]
    return Texts(kept, [queries.by_id[name] for name in kept], queries.source)
