"""Claim 7: an input's heat is delivered by its training neighbours, through the tangent kernel."""

from __future__ import annotations

from typing import Any

import numpy as np

from radii.claims.outcome import Progress, Tested, at_most, over_seeds, reported
from radii.data.embeddings import Floats
from radii.dynamics.config import Setting, setting
from radii.dynamics.losses import embedding_gradient
from radii.dynamics.training import Batch
from radii.dynamics.transport import Transport, tangent_kernel, transport
from radii.dynamics.world import Pairs

TITLE = "Heat is delivered by neighbours: the tangent kernel rebuilds it"
ON = "a two-layer network on synthetic clusters, SGD"
METHOD = (
    "A two-layer GELU network with a projection head, trained by SGD with InfoNCE. At the trained "
    "parameters, minibatches are drawn, and each makes one virtual step of SGD at the η of training; u "
    "= R Δz/η of every item gives the measured heat. The same minibatches' gradients, sent through the "
    "tangent kernel, give the rebuilt heat, and how much of it each other item delivers. The error of a "
    "seed is that of its median item."
)


def network(full: bool, seed: int) -> Setting:
    """A network small enough for its whole kernel."""
    size: dict[str, Any] = (
        {"n_items": 40, "features": 16, "hidden": 32, "dim": 8} if full else {"n_items": 20, "dim": 4}
    )
    if not full:
        size |= {"features": 8, "hidden": 12}
    length = {"burn_in": 4000, "steps": 32} if full else {"burn_in": 300, "steps": 32}
    world = {"encoder": "mlp", "batch": 16, "tau": 0.2, "eta": 0.02, "lam": 0.02, "ambiguity": 0.2}
    return setting({**world, **size, **length, "precision": "float64", "initial_norm": 1.0, "seed": seed})


def run(full: bool, progress: Progress | None = None) -> Tested:
    """Train, rebuild, compare; about a minute when full."""
    seeds = range(5 if full else 2)
    errors, short, own, cluster, table = [], [], [], [], []
    for seed in seeds:
        one = network(full, seed)
        batch = Batch([one])
        while not batch.finished:
            batch.advance(1000)
        measured, found = compare(batch, 2000 if full else 200, one.eta)
        errors.append(float(np.median(np.abs(found.heat / measured - 1))))
        shorter, _ = compare(batch, 2000 if full else 200, one.eta / 10)
        short.append(float(np.median(np.abs(found.heat / shorter - 1))))
        shares = found.delivered / found.heat[:, None]
        same = (
            np.arange(one.n_items)[:, None] // one.cluster_size == np.arange(one.n_items) // one.cluster_size
        )
        own.append(float(np.diag(shares).mean()))
        cluster.append(float((shares * same).sum(axis=1).mean()))
        if seed == 0:
            table = [_row(found, measured, item, one.cluster_size) for item in range(0, one.n_items, 5)]
        if progress is not None:
            progress(seed + 1, len(seeds))
    return Tested(
        seeds=len(seeds),
        statements=[
            at_most(
                "rebuilt against measured heat, median item",
                float(np.mean(errors)),
                0.02,
                **over_seeds(errors),
            ),
            reported("the same, worst seed", float(np.max(errors))),
            reported("the same, a tenth of the step", float(np.mean(short)), **over_seeds(short)),
            reported("share of heat that an item delivers to itself", float(np.mean(own)), **over_seeds(own)),
            reported(
                "share of heat from the item's own cluster", float(np.mean(cluster)), **over_seeds(cluster)
            ),
        ],
        table=table,
        notes=[
            "The kernel is first order in η: what it misses is curvature, which falls with the step.",
            f"{sum(e > 0.02 for e in errors)} of {len(errors)} seeds are off by more than 2 % at the η of "
            "training.",
            "The table lists, of seed 0, the three items that deliver most heat to every fifth item.",
        ],
    )


def compare(batch: Batch, minibatches: int, eta: float) -> tuple[Floats, Transport]:
    """Heat by virtual steps of size η from where the only run of `batch` stands, and heat by the kernel."""
    import torch

    one, encoder = batch.settings[0], batch.encoder
    start = [p.detach() for p in encoder.params]
    with torch.no_grad():
        vectors = encoder.embed(start)
    norms = torch.linalg.vector_norm(vectors[0], dim=1)
    pairs = Pairs(batch.worlds[0], one.model_copy(update={"seed": one.seed + 1000}))
    drawn = torch.from_numpy(np.concatenate(pairs.draw(minibatches), axis=1))
    tau = torch.full((1, 1, 1), one.tau, dtype=vectors.dtype)
    gradients, moved = [], []
    for rows in drawn:
        pull = embedding_gradient(one.loss, vectors[:, rows], tau, bias=one.bias, margin=one.margin)
        by_vectors = torch.zeros_like(vectors[0]).index_add_(0, rows, pull[0] / norms[rows, None])
        by_params = encoder.gradients(by_vectors[None])
        with torch.no_grad():
            after = encoder.embed([p - eta * g for p, g in zip(start, by_params, strict=True)])
        gradients.append(by_vectors.numpy())
        moved.append(((after - vectors)[0] * norms[:, None] / eta).numpy())
    measured: Floats = np.stack(moved).var(axis=0).sum(axis=1)
    found = transport(tangent_kernel(encoder), np.stack(gradients), norms.numpy())
    return measured, found


def _row(found: Transport, measured: Floats, item: int, size: int) -> dict[str, Any]:
    named = [
        f"{j}{' (self)' if j == item else ' (cluster)' if j // size == item // size else ''} {share:.0%}"
        for j, share in found.top(item, 3)
    ]
    return {
        "item": item,
        "heat": float(f"{measured[item]:.4g}"),
        "rebuilt": float(f"{found.heat[item]:.4g}"),
        "delivered most by": ", ".join(named),
    }
