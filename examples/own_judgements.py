"""Judgements of your own: from clicks to qrels, how many it takes, and what holes in them do."""

from __future__ import annotations

from collections import Counter

import radii
from radii.synthetic import plant

# A planted corpus, whose best exponent is −0.4, stands in for your index; the clicks are as a log has them.
corpus = plant("exponent", seed=0)
clicks = [(query, doc) for query, found in corpus.qrels.items() for doc in found for _ in range(3)]
clicks += [(query, "0") for query in list(corpus.qrels)[:20]]  # a document that is clicked whatever was asked

# A grade per (query, document): two clicks or more count, one is noise. Documents that nobody saw have no
# grade and count as not relevant: an audit of clicks favours what the engine showed.
counted = Counter(clicks)
qrels: dict[str, dict[str, int]] = {}
for (query, doc), times in counted.items():
    if times > 1:
        qrels.setdefault(query, {})[doc] = 1

report = radii.audit(corpus.docs, corpus.queries, qrels, metric="RR@10", seed=0)
print(f"{report.data.n_judged} judged queries: {report.verdict.label}")

# With a tenth of them the audit does not guess: it says how many it takes.
few = {query: qrels[query] for query in list(qrels)[:20]}
report = radii.audit(corpus.docs, corpus.queries, few, metric="RR@10", seed=0)
print(f"{report.data.n_judged} judged queries: {report.verdict.label}, needs {report.verdict.needed_queries}")
