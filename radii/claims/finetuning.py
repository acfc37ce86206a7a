"""Claim 8: the probe of a fine-tuned head predicts its norms."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import stats

from radii.claims.outcome import Progress, Tested, over_seeds, reported
from radii.data.embeddings import Floats, Vectors
from radii.data.encode import encode
from radii.data.model import PACKAGED
from radii.data.wordnet import read_nouns
from radii.dynamics.stationary import stationary_norm
from radii.probing.adapters import Adapter, require_torch
from radii.probing.objectives import infonce
from radii.probing.run import probe

TITLE = "A head fine-tuned under weight decay takes the norms that its own displacements predict"
ON = "a head on all-MiniLM-L6-v2, on WordNet lemma/gloss pairs"
METHOD = (
    "all-MiniLM-L6-v2 is frozen; a linear head without bias, the identity at the start, is trained on pairs "
    "of WordNet lemmas and glosses by SGD with weight decay, InfoNCE at τ = 0.05, η = 1, so that α = λ "
    "exactly. Norms are those of glosses that are in no pair. 'Reached' is their mean over the steps after "
    "the burn-in. Three predictions by the stationary norm equation: from D and S of the same steps; from a "
    "probe of the head as it is at the end; from a probe before training, which is all that a user of "
    "somebody else's model has. Errors are medians over glosses, then means over weight decays."
)
TAU = 0.05
ETA = 1.0


@dataclass(frozen=True)
class _Size:
    pairs: int
    inputs: int
    batch: int
    seeds: int
    lams: tuple[float, ...]
    relaxations: int  # burn-in, in units of 1/(4α)
    minibatches: int  # of the probes


FAST = _Size(64, 24, 16, 2, (0.03, 0.1), 8, 12)
FULL = _Size(4096, 256, 64, 3, (0.001, 0.003, 0.01, 0.03), 16, 64)


def run(full: bool, progress: Progress | None = None) -> Tested:
    """Embed once, train every head; about ten minutes when full. InputError without WordNet."""
    size = FULL if full else FAST
    nouns = read_nouns()
    texts = [nouns[row] for row in _rows(size)]
    vectors, _ = encode(PACKAGED, [side for pair in texts for side in pair])
    lemmas, glosses = vectors[::2], vectors[1::2]
    table: list[dict[str, Any]] = []
    found: dict[str, dict[int, list[float]]] = {}
    slopes = []
    for seed in range(size.seeds):
        means = []
        for number, lam in enumerate(size.lams):
            row = _train(size, lemmas, glosses, lam, seed)
            table.append({"lam": lam, "seed": seed} | {k: float(f"{v:.4g}") for k, v in row.items()})
            means.append(row["mean log norm"])
            for name, value in row.items():
                found.setdefault(name, {}).setdefault(seed, []).append(value)
            if progress is not None:
                progress(seed * len(size.lams) + number + 1, size.seeds * len(size.lams))
        slopes.append(float(np.polyfit(np.log(size.lams), means, 1)[0]))
    statements = [reported("slope of log norm against log λ", float(np.mean(slopes)), **over_seeds(slopes))]
    for name, by_seed in found.items():
        if name != "mean log norm":
            each = [float(np.mean(values)) for values in by_seed.values()]
            statements.append(reported(name, float(np.mean(each)), **over_seeds(each)))
    return Tested(
        seeds=size.seeds,
        statements=statements,
        table=table,
        notes=[
            "The body is frozen; the claim `whole-model` trains all of it.",
            "The prediction from the same steps is close to an identity: it balances what those very steps "
            "did. The two probes are predictions.",
            "A probe at the end sees one state; the reached norm is an average over many.",
        ],
    )


def _rows(size: _Size) -> list[int]:
    drawn = np.random.default_rng(0).permutation(82000)[: size.pairs + size.inputs]
    return [int(row) for row in drawn]


def _train(size: _Size, lemmas: Vectors, glosses: Vectors, lam: float, seed: int) -> dict[str, float]:
    torch = require_torch()
    anchors, positives = (torch.from_numpy(side[: size.pairs].copy()) for side in (lemmas, glosses))
    watched = torch.from_numpy(glosses[size.pairs :].copy())
    head = torch.nn.Linear(watched.shape[1], watched.shape[1], bias=False)
    with torch.no_grad():
        head.weight.copy_(torch.eye(watched.shape[1]))
    before = _probed(size, head, anchors, positives, watched, lam, seed)
    optimizer = torch.optim.SGD(head.parameters(), lr=ETA)
    rng = np.random.default_rng([seed, 0])
    burn_in = round(size.relaxations / (4 * lam * ETA))
    sums = np.zeros((2, 3, size.inputs))  # of R, D and S, in either half of the steps that count
    for step in range(2 * burn_in):
        batch = torch.from_numpy(rng.choice(size.pairs, size.batch, replace=False))
        optimizer.zero_grad()
        infonce(head(anchors[batch]), head(positives[batch]), TAU).backward()
        with torch.no_grad():
            if step >= burn_in:
                sums[(step - burn_in) * 2 // burn_in] += _moments(
                    head(watched), -ETA * watched @ head.weight.grad.T
                )
            head.weight.mul_(1 - ETA * lam)  # decoupled, so that α = ηλ
        optimizer.step()
    norms, drift, second = sums.sum(axis=0) / burn_in
    own = stationary_norm(eta=ETA, alpha=ETA * lam, drift=drift, second_moment=second)
    after = _probed(size, head, anchors, positives, watched, lam, seed)
    found = {"mean log norm": float(np.log(norms).mean())}
    found["change of mean log norm between halves"] = float(np.log(sums[1, 0] / sums[0, 0]).mean())
    for name, predicted in (
        ("the same steps", own),
        ("a probe at the end", after),
        ("a probe before", before),
    ):
        found[f"{name}: median relative error"] = float(np.median(np.abs(predicted / norms - 1)))
        found[f"{name}: Spearman"] = float(stats.spearmanr(predicted, norms).statistic)
    return found


def _moments(z: Any, delta: Any) -> Floats:
    """R, ⟨ẑ, u⟩ and ‖u‖² of every input, u = R Δz / η: (3, n)."""
    places, moves = z.double().numpy(), delta.double().numpy()
    norms = np.linalg.norm(places, axis=1)
    along = np.einsum("nd,nd->n", places, moves) / ETA
    return np.stack([norms, along, norms**2 * np.einsum("nd,nd->n", moves, moves) / ETA**2])


def _probed(
    size: _Size, head: Any, anchors: Any, positives: Any, watched: Any, lam: float, seed: int
) -> Floats:
    """The stationary norms that a probe of the head predicts, at the training's own rates."""
    torch = require_torch()
    features = torch.cat([anchors, positives, watched])
    adapter = Adapter("head", head, lambda rows: features[torch.as_tensor(list(rows))], head)
    pairs = [(row, len(anchors) + row) for row in range(len(anchors))]
    inputs = range(len(features) - len(watched), len(features))
    found = probe(
        adapter,
        pairs,
        inputs,
        batches=size.minibatches,
        batch_size=size.batch,
        exponent_batches=0,
        seed=seed,
    )
    columns = found.columns
    predicted: Floats = stationary_norm(
        eta=ETA, alpha=ETA * lam, drift=columns["drift"], second_moment=columns["second_moment"]
    )
    return predicted
