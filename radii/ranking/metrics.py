"""What each ranking metric is, as a function of the ranks of the relevant documents.

Names, parameters and values are those of ir_measures (https://ir-measur.es), which is the reference in
the tests. A grade below `rel` (1 by default), negative grades included, is not relevant. Relevant
documents that are not retrieved, or are missing from the corpus, count in every denominator.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import ir_measures
import numpy as np

from radii.data.embeddings import Floats
from radii.errors import InputError
from radii.ranking.score import Ints

Gains = Literal["linear", "exponential"]

_ALIASES = {"hit": "Success", "hits": "Success", "hitrate": "Success", "precision": "P", "recall": "R"}
_ALIASES |= {"ndcg": "nDCG", "mrr": "RR", "rr": "RR", "map": "AP", "ap": "AP", "success": "Success"}
_KINDS = ("nDCG", "R", "RR", "AP", "P", "Success")


@dataclass(frozen=True)
class Metric:
    """One metric with its cutoff.

    ======= ===================================================================================
    nDCG@k  Σ_j gain_j / log2(1 + rank_j) over rank_j ≤ k, divided by its largest possible value;
            gain = grade (`linear`), or 2^grade − 1 (`exponential`)
    R@k     relevant documents with rank ≤ k, divided by all relevant
    P@k     relevant documents with rank ≤ k, divided by k
    RR@k    1 / rank of the first relevant document, 0 if that rank > k
    AP@k    Σ_j [rank_j ≤ k] (relevant at or above rank_j) / rank_j, divided by all relevant
    Success@k  1 if a relevant document has rank ≤ k, else 0
    ======= ===================================================================================
    """

    kind: str
    k: int
    rel: int = 1
    gains: Gains = "linear"

    @classmethod
    def parse(cls, name: str | Metric) -> Metric:
        """The metric of a name such as `nDCG@10`, `MRR@10`, `recall@100`, `AP(rel=2)@10`, `hit@1`.

        Exponential gains are `nDCG(dcg='exp-log2')@10`, as ir_measures writes them.

        Raises
        ------
        InputError
            When the name is unknown, or has no cutoff.

        >>> str(Metric.parse("mrr@10"))
        'RR@10'
        """
        if isinstance(name, Metric):
            return name
        fix = "use nDCG, R (recall), P, RR (MRR), AP (MAP) or Success (hit) with a cutoff, as in nDCG@10"
        head = name.split("@")[0].split("(")[0]
        try:
            measure = ir_measures.parse_measure(_ALIASES.get(head.lower(), head) + name[len(head) :])
        except (NameError, ValueError, SyntaxError) as error:
            raise InputError(f"unknown metric {name!r}", cause=str(error), fix=fix) from None
        given = dict(measure.params)
        k, rel, dcg = given.pop("cutoff", None), given.pop("rel", 1), given.pop("dcg", "log2")
        if measure.NAME not in _KINDS or given or dcg not in ("log2", "exp-log2"):
            raise InputError(f"metric {name!r} is not one that radii can follow along γ", fix=fix)
        if k is None or k < 1:
            raise InputError(f"metric {name!r} has no cutoff", fix=fix)
        return cls(measure.NAME, int(k), int(rel), "exponential" if dcg == "exp-log2" else "linear")

    def __str__(self) -> str:
        inside = [f"rel={self.rel}"] if self.rel != 1 else []
        inside += ["dcg='exp-log2'"] if self.gains == "exponential" else []
        return f"{self.kind}({', '.join(inside)})@{self.k}" if inside else f"{self.kind}@{self.k}"

    def judgement(self, grades: Mapping[str, int]) -> Judgement | None:
        """The relevant documents of one query; None when it has none."""
        threshold = 1 if self.kind == "nDCG" else self.rel
        relevant = {name: int(grade) for name, grade in grades.items() if grade >= threshold}
        if not relevant:
            return None
        return Judgement(self, list(relevant), np.array(list(relevant.values()), dtype=np.float64))

    @property
    def additive(self) -> bool:
        """Whether the value is a sum over the relevant documents, each by its own rank."""
        return self.kind in ("nDCG", "R", "P")

    def discount(self, ranks: Ints) -> Floats:
        """What a rank is worth: 1 / log2(1 + rank) for nDCG, else 1; nothing beyond k."""
        full = 1.0 / np.log2(1.0 + ranks) if self.kind == "nDCG" else np.ones(ranks.shape)
        return np.where(ranks <= self.k, full, 0.0)


class Judgement:
    """One query's relevant documents, ready to turn their ranks into the metric.

    Attributes
    ----------
    ids : list of str
        The relevant documents.
    worth : (n_relevant,) float64
        What each adds per unit of discount, where the metric is a sum: a gain divided by its denominator.
    """

    def __init__(self, metric: Metric, ids: list[str], grades: Floats) -> None:
        self.metric, self.ids = metric, ids
        total = len(ids)
        if metric.kind == "nDCG":
            gain = grades if metric.gains == "linear" else 2.0**grades - 1.0
            best = np.sort(gain)[::-1][: metric.k]
            self.worth: Floats = gain / (best @ metric.discount(np.arange(1, len(best) + 1)))
        else:
            self.worth = np.full(total, 1.0 / (metric.k if metric.kind == "P" else total))

    def value(self, ranks: Ints, worth: Floats) -> Floats:
        """The metric at each state of the ranks.

        Parameters
        ----------
        ranks : (n_relevant_seen, n_states) int
            1 = best; any number above k means not retrieved. Documents left out are not retrieved.
        worth : (n_relevant_seen,) float64
            Of these documents.

        Returns
        -------
        (n_states,) float64
        """
        metric, total = self.metric, len(self.ids)
        if metric.additive:
            return np.asarray(worth @ metric.discount(ranks))
        places = np.sort(ranks, axis=0)
        seen = places <= metric.k
        if metric.kind == "AP":
            upto = np.arange(1, len(places) + 1)[:, None]
            return np.asarray(np.where(seen, upto / places, 0.0).sum(axis=0) / total)
        first = np.where(seen[0], 1.0 / places[0] if metric.kind == "RR" else 1.0, 0.0)
        return np.asarray(first)
