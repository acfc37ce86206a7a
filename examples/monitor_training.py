"""Watch the norms of an encoder while it trains, and where they are heading. Needs radii[models]."""

from __future__ import annotations

import torch

import radii
from radii.probing.adapters import Adapter
from radii.probing.objectives import infonce

torch.manual_seed(0)
table = torch.nn.Embedding(100, 16)  # the simplest encoder: a vector per item
optimizer = torch.optim.SGD(table.parameters(), lr=0.5, weight_decay=0.02)
adapter = Adapter("table", table, torch.tensor, table)
watch = radii.monitor(adapter, range(64), optimizer=optimizer, every=10, memory=0.95, log="norms.jsonl")

# Items 0 and 1 are a pair, 2 and 3 are, and so on.
for _ in range(600):
    anchors = torch.randperm(100)[:32]
    loss = infonce(table(anchors), table(anchors ^ 1), 0.1)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    record = watch.step()
    if record is not None and record["step"] % 100 == 0:
        print(
            f"step {record['step']:>4}  log norm {record['mean_log_norm']:+.2f}"
            f"  heading to {record['equilibrium']:.2f} × the norm"
        )
watch.close()
