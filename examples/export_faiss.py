"""Write what an audit recommends into FAISS, and ask FAISS whether it returns the exact order."""

from __future__ import annotations

from pathlib import Path

import numpy as np

import radii
from radii.deploy.command import export_to, restore_to
from radii.deploy.manifest import read_manifest
from radii.deploy.verify import verify
from radii.report.files import write_report
from radii.synthetic import plant

corpus = plant("exponent", seed=0)  # a planted corpus whose best exponent is −0.4
report = radii.audit(corpus.docs, corpus.queries, corpus.qrels, metric="RR@10")
print(report.verdict.label, "→", report.recommendation.method, report.recommendation.parameters)

target = write_report(report, "report")
for line in export_to(target, corpus.docs, "served", "faiss", queries=corpus.queries):
    print(line)

# Queries change as well where the method asks for it; the manifest knows how.
queries = read_manifest("served/export").queries(corpus.queries)
print(f"{len(queries)} queries of {queries.shape[1]} dims")

found = verify("served/engine", "served/export", corpus.queries)
print(f"{found.engine}: overlap@{found.k} {found.overlap:.4f}, {found.violations} order violations")

back = restore_to("served/export", Path("back.npy"))
print("restored to within", f"{np.abs(back.vectors - corpus.docs.vectors).max():.0e}")
