"""Claim 16, the head: the norm's signal survives when the projection head no longer stretches."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import stats

from radii.claims import text
from radii.claims.glosses import gloss_task, sides, spelled
from radii.claims.material import copies
from radii.claims.outcome import NotRun, Progress, Statement, Tested, at_least, over_seeds, reported
from radii.claims.vectors import embedded
from radii.claims.vocabularies import among
from radii.data import demo
from radii.data.embeddings import Embeddings, Floats
from radii.data.model import PACKAGED
from radii.data.qrels import Qrels, read_qrels
from radii.data.synsets import read_synsets
from radii.data.vectors import load
from radii.data.wordnet import wordnet_file
from radii.evidence.holdout import Protocol, held_out
from radii.probing.huggingface import load_text_encoder
from radii.ranking.path import exponent_path

TITLE = "The norm's signal is no artefact of the projection head's scale"
ON = "projection heads trained here: on all-MiniLM-L6-v2, and in two small encoders"
METHOD = (
    "Four kinds of encoder with a linear head, trained here by two-sided InfoNCE on WordNet nouns and their "
    "definitions, three seeds each: a 384 × 384 head on frozen all-MiniLM-L6-v2, plain and behind a trained "
    "LayerNorm (AdamW, η = 0.001, λ = 0.1, τ = 0.05, batch 256), and the two small encoders with a head of "
    "claim `text`. Then the head's matrix is replaced by the orthogonal factor of its polar decomposition, "
    "which turns and no longer stretches, for queries and documents alike. Before and after: nDCG@10, the "
    "held-out gain of the norm's exponent, and whether the two norms rank the documents alike. Retrieval is "
    "by nouns of their definitions, none of them trained on (MiniLM), and by class names of the definitions "
    "of related classes, as in the bundled demo (small encoders)."
)
_ETA, _LAM, _TAU, _BATCH = 1e-3, 0.1, 0.05, 256
_SURVIVES = 0.5  # Spearman's ρ above which the order of the norms counts as kept
Matrix = npt.NDArray[np.floating[Any]]


@dataclass(frozen=True, eq=False)
class Headed:
    """An encoder and its task up to the head: z = h W.

    Attributes
    ----------
    docs, queries : (n, width) arrays
        What the head receives.
    head : (width, dim) array
    doc_ids, query_ids : list of str
    qrels : dict
    exclude_self : bool
    """

    docs: Matrix
    queries: Matrix
    head: Matrix
    doc_ids: list[str]
    query_ids: list[str]
    qrels: Qrels
    exclude_self: bool


@dataclass(frozen=True)
class Signal:
    """What the norm does behind one head: nDCG@10 of cosine, γ, its held-out gain, and the norms (n,)."""

    cosine: float
    gamma: float
    gain: float
    norms: Floats


def run(full: bool, progress: Progress | None = None, *, model: str = PACKAGED) -> Tested:
    """Embed WordNet's texts, train and compare; a quarter of an hour on a core when full.

    `model` is an encoder to put heads on, or the folder of a CLIP text model: then its own head is looked at.
    """
    kinds = {"CLIP text": lambda seed: clip_text(model)} if is_clip(model) else _kinds(full, model)
    seeds = range(1 if len(kinds) == 1 or not full else 3)
    protocol = Protocol() if full else Protocol(repeats=2, resamples=99)
    statements: list[Statement] = []
    table: list[dict[str, Any]] = []
    done = 0
    for kind, make in kinds.items():
        before, after = [], []
        for seed in seeds:
            made = make(seed)
            before.append(signal(made, made.head, protocol))
            after.append(signal(made, polar(made.head), protocol))
            done += 1
            if progress is not None:
                progress(done, len(kinds) * len(seeds))
        alike = [
            float(stats.spearmanr(a.norms, b.norms).statistic) for a, b in zip(before, after, strict=True)
        ]
        title = f"{kind}: Spearman(norm, norm behind the orthogonal factor)"
        statements.append(at_least(title, float(np.mean(alike)), _SURVIVES, **over_seeds(alike)))
        for name, found in (("norm exponent", before), ("norm exponent, orthogonal factor", after)):
            gains = [one.gain for one in found]
            statements.append(reported(f"{kind}: gain of {name}", float(np.mean(gains)), **over_seeds(gains)))
        table.append(_row(kind, before, after))
    return Tested(
        seeds=len(seeds),
        statements=statements,
        table=table,
        notes=[
            "Means over seeds. Heads of a pretrained model's size and objective, but trained for minutes on "
            "WordNet: they say what can happen, not what happened to CLIP.",
            "Behind an orthogonal 384 × 384 matrix the norm is that of what the head receives. A square head "
            "hides nothing of the layer below it; it only stretches it.",
        ],
        data=copies(wordnet_file()),
        not_run=[
            NotRun(
                what="the head of CLIP's text tower",
                why="no weights, and its vectors alone do not hold them",
                command="radii claims run head --full --model CLIP_FOLDER",
            )
        ]
        if model == PACKAGED
        else [],
    )


def polar(head: Matrix) -> Matrix:
    """Orthogonal factor of the polar decomposition, A Bᵀ of W = A S Bᵀ: the nearest matrix that only turns.

    >>> polar(np.array([[0.0, 2.0], [-3.0, 0.0]]))
    array([[ 0.,  1.],
           [-1.,  0.]])
    """
    left, _, right = np.linalg.svd(head, full_matrices=False)
    turned: Matrix = left @ right + 0.0
    return turned


def signal(made: Headed, head: Matrix, protocol: Protocol) -> Signal:
    """Retrieve behind a head, along γ."""
    docs = Embeddings(made.doc_ids, made.docs @ head, "documents")
    queries = Embeddings(made.query_ids, made.queries @ head, "queries")
    steps = exponent_path(docs, queries, exclude_self=made.exclude_self).metric("nDCG@10", made.qrels)
    found = held_out(steps.curves, -1.0, 1.0, 0, protocol)
    return Signal(steps.at(0.0), found.gamma, found.estimate.mean, docs.norms)


def is_clip(model: str) -> bool:
    """Whether a folder holds a CLIP model as transformers saves it."""
    config = Path(model, "config.json")
    return config.is_file() and '"model_type": "clip' in config.read_text("utf-8")


def clip_text(model: str) -> Headed:
    """The bundled demo's task by a CLIP text model with its own head: class names, prompted "a NAME"."""
    import torch

    adapter = load_text_encoder(model, "projected")
    names = list(load(demo.paths().vectors).ids)
    head, received = adapter.module.text_projection, []
    hook = head.register_forward_hook(lambda module, given, made: received.append(given[0]))
    adapter.module.eval()
    with torch.inference_mode():
        for start in range(0, len(names), _BATCH):
            prompts = [f"a {spelled(name)}" for name in names[start : start + _BATCH]]
            adapter.embed(adapter.collate(prompts))
    hook.remove()
    below = torch.cat(received).cpu().numpy()
    matrix = head.weight.detach().cpu().numpy().T
    return Headed(below, below, matrix, names, names, read_qrels(demo.paths().qrels), exclude_self=True)


def _kinds(full: bool, model: str) -> dict[str, Callable[[int], Headed]]:
    frozen = _frozen(full, model)
    small = text.glossary(None if full else 120)
    steps = 3000 if full else 60
    return {
        "MiniLM and head": lambda seed: frozen(False, seed),
        "MiniLM, LayerNorm and head": lambda seed: frozen(True, seed),
        "small, head": lambda seed: _small(small, "head", seed, steps),
        "small, LayerNorm and head": lambda seed: _small(small, "LayerNorm and head", seed, steps),
    }


def _frozen(full: bool, model: str) -> Callable[[bool, int], Headed]:
    """Trains a head on a frozen encoder, by whether it has a LayerNorm and by seed."""
    sizes = (6000, 1500, 6000) if full else (150, 60, 150)
    glosses = gloss_task(read_synsets(), *sizes)
    docs, queries = (embedded(some, model) for some in (glosses.task.docs, glosses.task.queries))
    anchors, positives = (embedded(some, model).vectors for some in sides(glosses.pairs))

    def make(scaled: bool, seed: int) -> Headed:
        below, head = train_head(anchors, positives, scaled, seed, 1500 if full else 30)
        return Headed(
            below(docs.vectors),
            below(queries.vectors),
            head,
            list(docs.ids),
            list(queries.ids),
            glosses.task.qrels,
            exclude_self=False,
        )

    return make


def train_head(
    anchors: Matrix, positives: Matrix, scaled: bool, seed: int, steps: int
) -> tuple[Callable[[Matrix], Matrix], Matrix]:
    """(what comes before the head, the head (width, width)) after training on pairs of rows.

    Before the head is nothing, or a LayerNorm with a trained gain and bias where `scaled`.
    """
    import torch

    width = anchors.shape[1]
    torch_seed = torch.Generator().manual_seed(seed)
    head = (torch.randn(width, width, generator=torch_seed) * width**-0.5).requires_grad_()
    gain, bias = torch.ones(width, requires_grad=scaled), torch.zeros(width, requires_grad=scaled)

    def below(h: Any) -> Any:
        return torch.nn.functional.layer_norm(h, (width,), gain, bias) if scaled else h

    optimiser = torch.optim.AdamW([head, gain, bias] if scaled else [head], lr=_ETA, weight_decay=_LAM)
    rng = np.random.default_rng([seed, 11])
    for rows in _batches(rng, len(anchors), steps):
        a, b = (
            torch.nn.functional.normalize(below(torch.from_numpy(side[rows])) @ head)
            for side in (anchors, positives)
        )
        logits, target = a @ b.T / _TAU, torch.arange(len(rows))
        loss = torch.nn.functional.cross_entropy(logits, target)
        loss = loss + torch.nn.functional.cross_entropy(logits.T, target)
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()

    def apply(h: Matrix) -> Matrix:
        with torch.no_grad():
            return np.asarray(below(torch.from_numpy(h)))

    return apply, np.asarray(head.detach())


def _batches(rng: np.random.Generator, n: int, steps: int) -> Iterator[npt.NDArray[np.int64]]:
    for _ in range(steps):
        yield rng.choice(n, min(_BATCH, n), replace=False)


def _small(known: text.Glossary, encoder: str, seed: int, steps: int) -> Headed:
    """A small encoder of claim `text`: class names ask for the definitions of related classes."""
    import torch

    trained = text.train(known, encoder, seed, steps)
    docs, queries = (
        np.asarray(text.below_head(trained.layers, trained.scaled, torch.tensor(side, dtype=torch.float32)))
        for side in (known.glosses, known.names)
    )
    qrels = among(read_qrels(demo.paths().qrels), known.ids, known.ids)
    head = np.asarray(trained.layers[-1])
    return Headed(docs, queries, head, known.ids, known.ids, qrels, exclude_self=True)


def _row(kind: str, before: list[Signal], after: list[Signal]) -> dict[str, Any]:
    def mean(found: list[Signal], key: str) -> float:
        return float(np.mean([getattr(one, key) for one in found]))

    row: dict[str, Any] = {"encoder": kind}
    for name, found in (("", before), (", orthogonal", after)):
        row |= {
            f"cosine{name}": round(mean(found, "cosine"), 4),
            f"chosen γ{name}": round(mean(found, "gamma"), 3),
            f"gain{name}": round(mean(found, "gain"), 4),
            f"sd of log norm{name}": float(f"{np.mean([np.log(one.norms).std() for one in found]):.3g}"),
        }
    return row
