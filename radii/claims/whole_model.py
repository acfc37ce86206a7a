"""Claim 11, all of it trained: whether a probe foretells the norms of fine-tuning."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import stats

from radii.claims.outcome import Progress, Tested, over_seeds, reported
from radii.data.embeddings import Floats
from radii.data.model import PACKAGED
from radii.data.wordnet import read_nouns
from radii.dynamics.stationary import stationary_norm
from radii.errors import InputError
from radii.probing.adapters import Adapter, evaluating, require_torch
from radii.probing.monitoring import uniformity
from radii.probing.objectives import infonce
from radii.probing.run import probe
from radii.probing.sentence import load_sentence_transformer
from radii.probing.steps import scaled_step
from radii.probing.surrogate import Inputs

TITLE = "All of a text encoder fine-tuned under weight decay: reached norms against predicted ones"
ON = "all-MiniLM-L6-v2, all parameters, on WordNet lemma/gloss pairs"
METHOD = (
    "Every parameter of all-MiniLM-L6-v2 is trained by SGD on pairs of WordNet lemmas and short glosses "
    "(InfoNCE, τ = 0.05, η = 0.001, without dropout), with decoupled decay of all of them. Norms are those "
    "of glosses that are in no pair. 'Reached' is their mean over the second half of the steps. Three "
    "predictions by the stationary norm equation: from D, S and α of every tenth of those steps; from a "
    "probe of the model as it is at the end; from a probe before training, which is all that a user of "
    "somebody else's model has. Errors are medians over glosses, then means over weight decays."
)
TAU = 0.05
ETA = 0.001
EVERY = 10  # steps from one measurement of D, S and α to the next
_WAYS = ("the same steps", "a probe at the end", "a probe before")
_STILL = 0.02  # change of mean log norm between halves that counts as standing still
_DECAY = 1e-3  # relative size of the virtual decay step: far above the rounding of float32


@dataclass(frozen=True)
class _Size:
    pairs: int
    inputs: int
    batch: int
    seeds: int
    steps: dict[float, int]  # λ → steps
    minibatches: int  # of the probes


FAST = _Size(24, 8, 4, 1, {3.0: 40}, 4)
FULL = _Size(2048, 24, 8, 1, {1.0: 600, 3.0: 300}, 32)


def run(full: bool, progress: Progress | None = None) -> Tested:
    """Train MiniLM once per seed and weight decay; a quarter of an hour on a core when full."""
    size = FULL if full else FAST
    pairs = _pairs(size)
    table: list[dict[str, Any]] = []
    found: dict[str, list[list[float]]] = {}
    for seed in range(size.seeds):
        for lam, steps in size.steps.items():
            row = _train(size, pairs, lam, steps, seed)
            table.append({"λ": lam, "steps": steps, "seed": seed, **_cells(row)})
            for name, value in row.items():
                found.setdefault(name, [[] for _ in range(size.seeds)])[seed].append(value)
            if progress is not None:
                progress(len(table), size.seeds * len(size.steps))
    statements = []
    for name, by_seed in found.items():
        each = [float(np.mean(values)) for values in by_seed]
        statements.append(reported(name, float(np.mean(each)), **over_seeds(each)))
    return Tested(
        seeds=size.seeds,
        statements=statements,
        table=table,
        notes=_notes(float(np.mean(found["change of mean log norm between halves"]))),
    )


def _notes(change: float) -> list[str]:
    notes = [
        "The prediction from the same steps is close to an identity where norms stand still: it balances "
        "what those very steps did. The two probes are predictions.",
        "A decay this strong, on every parameter, is for the experiment: nobody fine-tunes so. At η = 0.01 "
        "and λ = 0.3 every gloss got the same vector.",
        "One seed. Uniformity (arXiv 2005.10242) is 0 where all vectors are one.",
    ]
    if abs(change) > _STILL:
        notes.append("Norms still moved when training stopped: errors are against a moving target.")
    return notes


def _cells(row: dict[str, float]) -> dict[str, Any]:
    plain = ("mean log norm", "sd of log norm", "uniformity at the end")
    cells: dict[str, Any] = {name: float(f"{row[name]:.3g}") for name in plain}
    for way in _WAYS:
        if f"{way}: Spearman" in row:
            cells[way] = f"{row[f'{way}: median relative error']:.0%} off, ρ {row[f'{way}: Spearman']:.2f}"
    return cells


def _pairs(size: _Size) -> list[tuple[str, str]]:
    nouns = read_nouns()
    short = [noun for noun in nouns if len(noun[1].split()) <= 10]  # for the sake of the time it takes
    rows = np.random.default_rng(0).permutation(len(short))[: size.pairs + size.inputs]
    return [short[row] for row in rows]


def _train(
    size: _Size, pairs: Sequence[tuple[str, str]], lam: float, steps: int, seed: int
) -> dict[str, float]:
    torch = require_torch()
    encoder = load_sentence_transformer(PACKAGED, "cpu")
    training, watched = pairs[: size.pairs], [gloss for _, gloss in pairs[size.pairs :]]
    inputs = Inputs(encoder, watched, len(watched))
    parameters = list(encoder.module.parameters())
    optimizer = torch.optim.SGD(parameters, lr=ETA)
    before = _probed(size, encoder, training, watched, lam, seed)
    rng = np.random.default_rng([seed, 0])
    seen: list[Floats] = []  # R, D, S, α of every gloss, at every tenth step of the second half
    with evaluating([encoder]):
        for step in range(steps):
            rows = rng.choice(size.pairs, size.batch, replace=False)
            sides = [encoder.collate([training[row][side] for row in rows]) for side in (0, 1)]
            optimizer.zero_grad()
            anchors, positives = (encoder.embed(side) for side in sides)
            infonce(anchors, positives, TAU).backward()
            watch = 2 * step >= steps and step % EVERY == 0
            start = inputs.vectors() if watch else None
            optimizer.step()
            if start is not None:
                reached = inputs.vectors()
                seen.append(_moments(start, reached, _decayed(parameters, inputs, reached), lam))
            with torch.no_grad():
                for parameter in parameters:
                    parameter.mul_(1 - ETA * lam)
    along = np.stack(seen)  # (measurement, what, gloss)
    norms, drift, second, alpha = along.mean(axis=0)
    own = np.full_like(norms, np.nan)
    damped = (alpha > 0) & (alpha < 1)
    own[damped] = stationary_norm(
        eta=ETA, alpha=alpha[damped], drift=drift[damped], second_moment=second[damped]
    )
    halves = np.log(along[:, 0]).mean(axis=1)
    middle = len(halves) // 2
    found = {
        "mean log norm": float(np.log(norms).mean()),
        "sd of log norm": float(np.log(norms).std()),
        "uniformity at the end": uniformity(_units(inputs.vectors())),
        "change of mean log norm between halves": float(halves[middle:].mean() - halves[:middle].mean()),
    }
    after = _probed(size, encoder, training, watched, lam, seed)
    for name, predicted in zip(_WAYS, (own, after, before), strict=True):
        there = np.isfinite(predicted)
        found[f"{name}: share of glosses that decay shortens"] = float(there.mean())
        if there.sum() >= 3:
            off = np.abs(predicted[there] / norms[there] - 1)
            found[f"{name}: median relative error"] = float(np.median(off))
            found[f"{name}: Spearman"] = float(stats.spearmanr(predicted[there], norms[there]).statistic)
    return found


def _moments(start: Floats, reached: Floats, decay: Floats, lam: float) -> Floats:
    """R, ⟨ẑ, u⟩, ‖u‖² and α of every input, u = R Δz / η: (4, n). `decay` is Δz per unit of ηλ."""
    norms = np.linalg.norm(start, axis=1)
    u = norms[:, None] * (reached - start) / ETA
    units = start / norms[:, None]
    alpha = -ETA * lam * np.einsum("nd,nd->n", units, decay) / norms
    return np.stack([norms, np.einsum("nd,nd->n", units, u), np.einsum("nd,nd->n", u, u), alpha])


def _units(vectors: Floats) -> Floats:
    found: Floats = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    return found


def _decayed(parameters: Sequence[Any], inputs: Inputs, start: Floats) -> Floats:
    """Δz of a step of decay alone, per unit of ηλ: (n, dim)."""
    found: Floats = (scaled_step(parameters, 1 - _DECAY, inputs.vectors) - start) / _DECAY
    return found


def _probed(
    size: _Size,
    encoder: Adapter,
    pairs: Sequence[tuple[str, str]],
    watched: Sequence[str],
    lam: float,
    seed: int,
) -> Floats:
    """The stationary norms that a probe predicts at the training's own rates; NaN where there is none."""
    none: Floats = np.full(len(watched), np.nan)
    try:
        found = probe(
            encoder,
            pairs,
            watched,
            batches=size.minibatches,
            batch_size=size.batch,
            eta=ETA,
            weight_decay=lam,
            seed=seed,
        )
    except InputError:  # every vector is the same: training has collapsed, and the table says so
        return none
    predicted: Floats = found.columns.get("predicted", none)
    return predicted
