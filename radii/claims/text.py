"""Claim 6, on real text: norm against length and generality of WordNet definitions, by architecture."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import stats

from radii.claims.outcome import Progress, Tested, over_seeds, reported
from radii.data import demo
from radii.data.embeddings import Floats
from radii.data.qrels import read_qrels
from radii.data.texts import read_texts
from radii.dynamics.losses import embedding_gradient
from radii.signals.length import word_list

TITLE = "WordNet definitions: what the norm goes with, by architecture"
ON = "three small encoders trained on WordNet glosses of LVIS classes"
METHOD = (
    "The 1,202 classes of the bundled demo that have a definition: each name and its WordNet definition "
    "are a training pair, encoded by the same network from scratch: the mean of word vectors; the same, "
    "a GELU layer and a projection head; the same with LayerNorm before the head. Two-sided InfoNCE, τ "
    "= 0.1, batch 64, AdamW (η = 0.002, λ = 0.5). Norms of the definitions, averaged over the last "
    "third of training, against their number of words, and against generality: how many other classes "
    "WordNet relates to the class."
)
ENCODERS = ("mean pooling", "head", "LayerNorm and head")
_DIM, _ETA, _LAM, _TAU, _BATCH = 32, 0.002, 0.5, 0.1, 64


@dataclass(frozen=True, eq=False)
class Glossary:
    """Names and definitions as rows of word shares, (n, n_words) each; length and relations of the latter."""

    ids: list[str]
    names: Floats
    glosses: Floats
    length: Floats
    related: Floats


def glossary(n: int | None = None) -> Glossary:
    """The first n (or all) classes of the bundled demo that have a definition."""
    files = demo.paths()
    texts, qrels = read_texts(files.texts), read_qrels(files.qrels)
    each = [[word_list(part) for part in text.partition(": ")[::2]] for text in texts.texts]
    kept = [row for row, pair in enumerate(each) if all(pair)][:n]
    words = [each[row] for row in kept]
    places = {
        word: at for at, word in enumerate(sorted({w for pair in words for part in pair for w in part}))
    }
    counts = np.zeros((2, len(kept), len(places)))
    for row, pair in enumerate(words):
        for side, part in enumerate(pair):
            np.add.at(counts[side, row], [places[w] for w in part], 1)
    length = counts[1].sum(axis=1)
    shares = counts / counts.sum(axis=2, keepdims=True)
    related = np.array([len(qrels.get(texts.ids[row], {})) for row in kept], dtype=np.float64)
    return Glossary([texts.ids[row] for row in kept], shares[0], shares[1], length, related)


@dataclass(frozen=True, eq=False)
class Trained:
    """A trained encoder of word shares.

    Attributes
    ----------
    norms : (n,) array
        Of every definition, averaged over the last third of training.
    change : float
        How log R² still changed over that third.
    layers : list of torch.Tensor
        Word vectors; with a head also the (hidden, hidden) layer and the (hidden, dim) matrix of the head.
    scaled : bool
        Whether a LayerNorm stands before the head.
    """

    norms: Floats
    change: float
    layers: list[Any]
    scaled: bool


def run(full: bool, progress: Progress | None = None) -> Tested:
    """Train every encoder on every seed; about five minutes when full."""
    known = glossary(None if full else 120)
    seeds, steps = range(3 if full else 2), 3000 if full else 60
    statements, table = [], []
    for number, encoder in enumerate(ENCODERS):
        found = []
        for seed in seeds:
            found.append(train(known, encoder, seed, steps))
            if progress is not None:
                progress(number * len(seeds) + seed + 1, len(ENCODERS) * len(seeds))
        row: dict[str, Any] = {"encoder": encoder}
        for name, column in (("length", known.length), ("relations", known.related)):
            each = [float(stats.spearmanr(one.norms, column).statistic) for one in found]
            title = f"{encoder}: Spearman(norm, {name})"
            statements.append(reported(title, float(np.mean(each)), **over_seeds(each)))
            row[name] = float(f"{np.mean(each):.3g}")
        row["sd of log norm"] = float(f"{np.mean([np.log(one.norms).std() for one in found]):.3g}")
        row["change of log R² at the end"] = float(f"{np.mean([one.change for one in found]):.2g}")
        table.append(row)
    return Tested(
        seeds=len(seeds),
        statements=statements,
        table=table,
        notes=[
            "A network from scratch on 1,202 pairs, not a pretrained encoder. Length and relations are "
            "correlated in WordNet itself: "
            f"Spearman {stats.spearmanr(known.length, known.related).statistic:+.2f}.",
            "'Change of log R² at the end': second half of the last third minus the first half of it.",
        ],
    )


def below_head(layers: Sequence[Any], scaled: bool, shares: Any) -> Any:
    """What the head receives of (n, n_words) word shares, (n, hidden); see `Trained`."""
    import torch

    z = torch.nn.functional.gelu(shares @ layers[0] @ layers[1])
    return torch.nn.functional.layer_norm(z, z.shape[-1:]) if scaled else z


def embed(layers: Sequence[Any], scaled: bool, shares: Any) -> Any:
    """(n, dim) vectors of (n, n_words) word shares; see `Trained`."""
    return shares @ layers[0] if len(layers) == 1 else below_head(layers, scaled, shares) @ layers[2]


def train(known: Glossary, encoder: str, seed: int, steps: int) -> Trained:
    """Train an encoder of ENCODERS on names and definitions."""
    import torch

    torch_seed = torch.Generator().manual_seed(seed)
    words, hidden = known.names.shape[1], 2 * _DIM

    def normal(*shape: int, scale: float) -> Any:
        return (torch.randn(*shape, generator=torch_seed) * scale).requires_grad_()

    layers = [normal(words, _DIM if encoder == "mean pooling" else hidden, scale=0.5)]
    if encoder != "mean pooling":
        layers += [normal(hidden, width, scale=hidden**-0.5) for width in (hidden, _DIM)]
    scaled = encoder == "LayerNorm and head"
    optimiser = torch.optim.AdamW(layers, lr=_ETA, weight_decay=_LAM)
    names, glosses = (torch.tensor(side, dtype=torch.float32) for side in (known.names, known.glosses))
    rng = np.random.default_rng([seed, 4])
    halves: list[list[Floats]] = [[], []]
    tau, start = torch.full((1, 1, 1), _TAU), steps - steps // 3
    for step in range(steps):
        rows = torch.from_numpy(rng.choice(len(names), min(_BATCH, len(names)), replace=False))
        z = embed(layers, scaled, torch.cat([names[rows], glosses[rows]]))
        with torch.no_grad():
            pull = embedding_gradient("infonce-two-sided", z[None], tau, bias=0.0, margin=0.0)[0]
            pull = pull / torch.linalg.vector_norm(z, dim=1, keepdim=True)
        optimiser.zero_grad()
        z.backward(pull)
        optimiser.step()
        if step >= start and step % 10 == 0:
            with torch.no_grad():
                norms = torch.linalg.vector_norm(embed(layers, scaled, glosses), dim=1).double().numpy()
            halves[int(step >= start + steps // 6)].append(norms)
    early, late = (np.mean(np.stack(half), axis=0) for half in halves)
    kept = [layer.detach() for layer in layers]
    return Trained((early + late) / 2, float(2 * np.mean(np.log(late / early))), kept, scaled)
