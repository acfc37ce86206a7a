"""Controlled training, many runs at once, against the plain loop: one at a time, autograd and torch.optim.

    python benchmarks/simulate.py

Both train the same worlds (free table, InfoNCE, SGD with weight decay) on one thread and both measure: R,
‖u‖² and ⟨ẑ, u⟩ of every item in every step. Item-updates a second are items × runs × steps over wall time.
"""

from __future__ import annotations

import torch
from claims import Claim, judge, side_by_side
from torch.nn import functional

from radii.dynamics.config import Setting
from radii.dynamics.training import simulate
from radii.dynamics.world import Pairs, World

RUNS, PLAIN_RUNS = 32, 2


def settings(batch: int, n: int) -> list[Setting]:
    shape = {"n_items": 100, "dim": 16, "batch": batch, "burn_in": 0, "steps": 1000, "eta": 0.05, "lam": 0.02}
    return [Setting(**shape, seed=seed) for seed in range(n)]


def plain(setting: Setting) -> torch.Tensor:
    """Mean norms of one run, as one would first write it."""
    torch.manual_seed(setting.seed)
    table = torch.nn.Parameter(torch.randn(setting.n_items, setting.dim))
    optimiser = torch.optim.SGD([table], lr=setting.eta, weight_decay=setting.lam)
    anchors, positives = Pairs(World.of(setting), setting).draw(setting.steps)
    labels = torch.arange(setting.batch)
    sums = torch.zeros(3, setting.n_items)
    for a, b in zip(torch.from_numpy(anchors), torch.from_numpy(positives), strict=True):
        cosines = functional.normalize(table[a], dim=1) @ functional.normalize(table[b], dim=1).T
        loss = functional.cross_entropy(cosines / setting.tau, labels)
        optimiser.zero_grad()
        loss.backward()
        before = table.detach().clone()
        optimiser.step()
        with torch.no_grad():
            norms = before.norm(dim=1)
            u = norms[:, None] * (table - (1 - setting.eta * setting.lam) * before) / setting.eta
            sums += torch.stack([norms, (u * u).sum(dim=1), (u * before).sum(dim=1) / norms])
    return sums / setting.steps


def main() -> None:
    torch.set_num_threads(1)
    claims = []
    for batch in (16, 32, 64):
        many, few = settings(batch, RUNS), settings(batch, PLAIN_RUNS)
        updates = many[0].n_items * many[0].steps
        best = side_by_side(3, together=lambda m=many: simulate(m), plain=lambda f=few: [plain(s) for s in f])
        together, alone = updates * RUNS / best["together"], updates * PLAIN_RUNS / best["plain"]
        print(
            f"batch {batch}: {together:,.0f} item-updates a second together, {alone:,.0f} in the plain loop"
        )
        claims.append(
            Claim(f"{RUNS} runs together / plain loop, batch {batch}", together / alone, 10, 10, True)
        )
    judge(claims)


if __name__ == "__main__":
    main()
