"""The exact path of a metric over every exponent, and a ranking's correction as plain arrays."""

from __future__ import annotations

import numpy as np

import radii
from radii.data import demo
from radii.data.qrels import read_qrels
from radii.deploy.correction import correction

files = demo.paths()
docs, qrels = radii.load(files.vectors), read_qrels(files.qrels)

# Every ranking that cos · ‖d‖^γ gives for γ in [−1, 1]: no grid, no missed optimum.
path = radii.exponent_path(docs, docs, k=10, exclude_self=True)
for gamma in (-0.25, 0.0, 1.0):
    print(f"γ = {gamma:+.2f}: puffin →", *[docs.ids[row] for row in path.top("puffin", gamma)[:4]])
print(f"puffin's top 10 changes {len(path.breakpoints('puffin'))} times")

steps = path.metric("nDCG@10", qrels)
best = steps.best()
print(f"cosine {steps.at(0.0):.3f}, inner product {steps.at(1.0):.3f}, best {best.value:.3f} (in sample)")

# The same ranking as vectors that any inner-product index serves: d̂ · ‖d‖^γ.
change = correction("norm exponent", {"gamma": -0.25}, docs)
vectors = docs.vectors.astype(np.float64) / docs.norms[:, None] * change.multiplier[:, None]
query = docs.rows["puffin"]
scores = vectors @ docs.vectors[query].astype(np.float64)
scores[query] = -np.inf  # not itself
same = np.array_equal(np.argsort(-scores)[:10], path.top("puffin", -0.25))
print("the corrected vectors rank as the path says:", same)
