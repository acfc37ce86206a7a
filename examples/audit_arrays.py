"""Audit plain arrays: one verdict for these vectors, these queries and these judgements."""

from __future__ import annotations

import radii
from radii.data import demo
from radii.data.qrels import read_qrels

# Any (n, dim) arrays do, unless something normalised them. These are CLIP's text vectors of class names.
files = demo.paths()
classes, judged = radii.load(files.vectors), read_qrels(files.qrels)
asked = sorted(judged)[::5]
documents = [name for name in classes.ids if name not in set(asked)]
queries = classes.vectors[[classes.rows[name] for name in asked]]
docs = classes.vectors[[classes.rows[name] for name in documents]]

# The ids of a bare array are its row numbers, as strings.
row = {name: str(number) for number, name in enumerate(documents)}
qrels = {
    str(number): {row[d]: grade for d, grade in judged[name].items() if d in row}
    for number, name in enumerate(asked)
}

report = radii.audit(docs, queries, {q: found for q, found in qrels.items() if found}, seed=0)

print(report.verdict.label, "-", report.verdict.summary)
for arm in sorted(report.arms, key=lambda arm: -arm.gain)[:3]:
    print(f"{arm.name}: {arm.gain:+.3f} ({arm.gain_ci[0]:+.3f} … {arm.gain_ci[1]:+.3f}), p = {arm.p:.1g}")
for finding in report.findings:
    if finding.status == "fails":
        print(finding.code, finding.meaning)
