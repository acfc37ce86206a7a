"""Claim 12: the norm goes with heat, in every model that can be probed here."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from radii.claims import uncertainty
from radii.claims.imaging import TAU, Encoder, Objective, as_tensor, augment, train
from radii.claims.material import beyond, copies, defined
from radii.claims.onnx_text import graph_file, mean_norms
from radii.claims.outcome import NotRun, Progress, Statement, Tested, reported
from radii.data.embeddings import Floats
from radii.data.images import Pictures
from radii.data.model import PACKAGED, packaged_folder
from radii.data.tokenizer import read_tokenizer
from radii.data.wordnet import read_nouns, wordnet_file
from radii.dynamics.config import Setting, setting
from radii.dynamics.training import Batch
from radii.dynamics.world import Pairs
from radii.probing.adapters import Adapter, Tensor, require_torch
from radii.probing.huggingface import load_text_encoder
from radii.probing.objectives import objective
from radii.probing.report import Probe
from radii.probing.run import probe
from radii.probing.surrogate import Pair
from radii.signals.relations import partial_spearman, spearman_matrix

TITLE = "Heat against norm across models: hotter inputs have longer vectors"
ON = "all-MiniLM-L6-v2 with three poolings, image encoders, controlled runs of a table and a network"
METHOD = (
    "Virtual gradient probes (radii.probe): minibatches of InfoNCE each take one step of SGD, the inputs are "
    "embedded again and the parameters put back. Texts: WordNet lemma/gloss pairs, probed at other glosses. "
    "Images: the networks of `uncertainty` trained by SGD, pairs of their own half (of a class, or two "
    "views), probed at images of the other half; on the head's vectors, and on the backbone's with the loss "
    "put there. Table and network: radii's controlled runs by SGD, ambiguity spread from 0 to 0.6, probed on "
    "pairs of the same world. Spearman's ρ of the norm with raw heat tr Cov(Δz)/η², scale-normalised heat "
    "R² times that, and angular heat tr Cov(Δẑ)/η²; for texts also with tokens held fixed. The factor alone: "
    "raw heats dealt out to other inputs, times R². Targets: raw heat above 0 (tokens held fixed), "
    "scale-normalised heat above what the factor makes. Intervals are bootstraps over inputs."
)
POOLINGS = ("mean", "cls", "last")


@dataclass(frozen=True)
class _Size:
    text: tuple[int, int, int]  # inputs, minibatches, pairs in each
    image: tuple[int, int, int]
    images: int
    plans: dict[Objective, Any]
    table: dict[str, Any]
    mlp: dict[str, Any]
    minibatches: int  # of the table and the network
    exponent: int  # minibatches repeated with the head scaled


_WORLD = {"ambiguity": (0.0, 0.6), "tau": 0.1, "initial_norm": 1.0, "steps": 32}
FAST = _Size(
    (12, 4, 4),
    (40, 8, 16),
    400,
    {"supervised": uncertainty.FAST.plans["supervised"][0]},
    {"n_items": 60, "dim": 8, "batch": 16, "eta": 0.1, "lam": 0.02, "burn_in": 1500},
    {"n_items": 60, "dim": 8, "batch": 16, "eta": 0.05, "lam": 0.02, "burn_in": 500},
    256,
    0,
)
FULL = _Size(
    (256, 16, 32),
    (256, 48, 64),
    10_000,
    {name: plan for name, (plan, _) in uncertainty.FULL.plans.items()},
    {"n_items": 400, "dim": 16, "batch": 64, "eta": 0.1, "lam": 0.02, "burn_in": 6000},
    {"n_items": 400, "dim": 16, "batch": 64, "eta": 0.05, "lam": 0.02, "burn_in": 12000},
    256,
    1,
)


@dataclass(frozen=True)
class Case:
    """One model to probe: its adapter, the surrogate's pairs, the inputs, τ, and how many minibatches."""

    name: str
    adapter: Adapter
    pairs: Sequence[Pair]
    inputs: Sequence[Any]
    tau: float
    minibatches: int
    batch: int


def run(full: bool, progress: Progress | None = None) -> Tested:
    """Probe every model; about ten minutes of one core when full. InputError without data or WordNet."""
    size = FULL if full else FAST
    total = len(POOLINGS) + 2 * len(size.plans) + 2
    statements: list[Statement] = []
    table: list[dict[str, Any]] = []
    norms: dict[str, Floats] = {}
    for case in _cases(size):
        goal = objective("infonce", tau=case.tau)
        found = probe(
            case.adapter,
            case.pairs,
            case.inputs,
            objective=goal,
            batches=case.minibatches,
            batch_size=case.batch,
            exponent_batches=size.exponent,
        )
        statements += said(case.name, found)
        table.append(_row(case.name, found))
        norms[case.name] = found.columns["norm"]
        if progress is not None:
            progress(len(table), total)
    glosses = _texts(size)[1]
    statements += _by_graph(glosses, norms[_text_name("mean")])
    return Tested(
        seeds=1,
        statements=statements,
        table=table,
        notes=[
            "The minibatches are of a surrogate, not of the training that made the text model.",
            "Where heat alone sets the norm, R⁴ ∝ S, so that angular heat is about S/R⁴: the same for all "
            "inputs. A ρ near 0 with it is what the theory expects of a run in equilibrium, and no evidence "
            "against heat. It was set no target.",
            "Images by class: others of the class in a minibatch count as negatives of the surrogate; in "
            "training they were positives.",
            "One seed: intervals are over inputs, not over trained networks.",
            "p: the measured power of Δz ∝ R^(−p); the theory's equation has p = 1.",
            "paraphrase-MiniLM-L3-v2 comes as a graph without gradients: norms only.",
        ],
        data=copies(*uncertainty.image_files(), wordnet_file(), graph_file()),
        not_run=_NOT_RUN,
    )


_NOT_RUN = [
    NotRun(
        what="heat of paraphrase-MiniLM-L3-v2",
        why="an ONNX graph has no gradients, and its weights in torch cannot be had offline",
        command="radii probe --model paraphrase-MiniLM-L3-v2-FOLDER --pairs pairs.tsv --inputs texts.tsv",
    ),
    NotRun(
        what="CLIP text tower",
        why="no weights can be had offline",
        command="radii probe --model CLIP-FOLDER --encoder clip-text --pairs pairs.tsv --inputs texts.tsv",
    ),
    NotRun(
        what="CLIP image tower",
        why="no weights can be had offline",
        command="radii probe --model CLIP-FOLDER --encoder clip-image --pairs pairs.tsv --inputs images.txt",
    ),
    NotRun(
        what="decoder embedders (last-token pooling)",
        why="no weights can be had offline, and 7 billion parameters do not fit",
        command="radii probe --model FOLDER --encoder last --pairs pairs.tsv --inputs texts.tsv",
    ),
]


def said(name: str, found: Probe) -> list[Statement]:
    """Statements of one probe: each heat plain and with tokens held fixed, and what the factor R² makes."""
    report, over = found.report, f"{len(found.ids)} inputs"
    factor = report.by_radius
    statements = []
    for key, heat in (("raw", "raw heat"), ("scaled", "scale-normalised heat"), ("angular", "angular heat")):
        each = report.norm_with[key]
        versions = {f"{name}: Spearman(norm, {heat})": each.plain}
        if each.length_fixed is not None:
            versions[f"{name}: Spearman(norm, {heat} | tokens)"] = each.length_fixed
        for title, correlation in versions.items():
            value, low, high = defined(title, correlation)
            last = title == list(versions)[-1]
            if key == "raw" and last:
                statements.append(beyond(title, value, low, high, "above", over))
            elif key == "scaled" and correlation is each.plain:
                limit = round(factor.high, 3)
                statements.append(beyond(title, value, low, high, "above", over, limit))
            else:
                statements.append(reported(title, value, low=low, high=high, over=over))
    title = f"{name}: the same from the factor R² alone"
    statements.append(reported(title, factor.mean, low=factor.low, high=factor.high, over="199 permutations"))
    return statements


def _row(name: str, found: Probe) -> dict[str, Any]:
    report = found.report
    row: dict[str, Any] = {"model": name, "inputs": len(found.ids)}
    for key in ("raw", "scaled", "angular"):
        each = report.norm_with[key]
        row[key] = _rounded(each.plain.estimate)
        fixed = each.length_fixed
        row[f"{key}, tokens fixed"] = None if fixed is None else _rounded(fixed.estimate)
    row["factor alone"] = _rounded(report.by_radius.mean)
    row["tokens"] = _rounded(report.norm_with["length"].plain.estimate) if "length" in found.columns else None
    row["p"] = _rounded(report.power.value)
    row["reliability"] = _rounded(report.reliability["raw"].whole)
    row["regime"] = report.regime.label
    return row


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 3)


# Models --------------------------------------------------------------------------------------------------


def _cases(size: _Size) -> Iterator[Case]:
    pairs, glosses = _texts(size)
    for pooling in POOLINGS:
        adapter = load_text_encoder(packaged_folder(), pooling)
        yield Case(_text_name(pooling), adapter, pairs, glosses, 0.05, *size.text[1:])
    pictures = uncertainty.read_pictures(*uncertainty.image_files()[:2])
    for kind in size.plans:
        yield from _images(size, pictures, kind)
    for name, values in (("table", size.table), ("mlp", size.mlp)):
        yield controlled(setting({**_WORLD, "encoder": name, **values}), size.minibatches)


def _text_name(pooling: str) -> str:
    return f"MiniLM-L6, {pooling} pooling"


def _texts(size: _Size) -> tuple[list[Pair], list[str]]:
    """Lemma/gloss pairs, and glosses that are in none of them, drawn by a seed."""
    inputs, minibatches, batch = size.text
    nouns = read_nouns()
    drawn = np.random.default_rng([0, 12]).permutation(len(nouns))[: minibatches * batch + inputs]
    texts = [nouns[row] for row in drawn]
    return list(texts[inputs:]), [gloss for _, gloss in texts[:inputs]]


def _images(size: _Size, pictures: Pictures, kind: Objective) -> Iterator[Case]:
    seen, unseen = uncertainty.split(pictures.labels, size.images)
    pixels, labels = pictures.pixels[seen], pictures.labels[seen]
    encoder: Encoder = train(pixels, labels, kind, "sgd", size.plans[kind], seed=0)
    n, minibatches, batch = size.image
    pairs = of_a_class(pixels, labels) if kind == "supervised" else two_views(pixels)
    rows = np.random.default_rng([0, 13]).choice(unseen, n, replace=False)
    inputs = list(pictures.pixels[rows])
    places: tuple[Literal["head", "features"], ...] = ("head", "features")
    for place in places:
        name = f"image encoder, {kind}, {'head' if place == 'head' else 'backbone'}"
        yield Case(name, encoder.adapter(place, name), pairs, inputs, TAU, minibatches, batch)


def of_a_class(pixels: Any, labels: Any, seed: int = 0) -> list[Pair]:
    """Each image with another of its class, drawn by a seed."""
    rng = np.random.default_rng([seed, 14])
    other = np.arange(len(labels))
    for label in np.unique(labels):
        rows = rng.permutation(np.flatnonzero(labels == label))
        other[rows] = np.roll(rows, 1)
    return [(pixels[row], pixels[other[row]]) for row in range(len(labels))]


def two_views(pixels: Any, seed: int = 0) -> list[Pair]:
    """Two random views of each image, as images."""
    draws = require_torch().Generator().manual_seed(seed)
    first, second = (
        (augment(as_tensor(pixels), draws) * 255).round().byte().permute(0, 2, 3, 1).numpy() for _ in range(2)
    )
    return list(zip(first, second, strict=True))


def controlled(one: Setting, minibatches: int) -> Case:
    """Train a run to its end; its items are the inputs, new pairs of its world the surrogate's."""
    torch = require_torch()
    batch = Batch([one])
    while not batch.finished:
        batch.advance(1000)
    module = torch.nn.ParameterList([p.detach().clone() for p in batch.encoder.params])

    def collate(items: Sequence[int]) -> Tensor:
        return torch.tensor(list(items))

    def embed(items: Tensor) -> Tensor:
        return batch.encoder.embed(list(module))[0][items]

    stream = Pairs(batch.worlds[0], one.model_copy(update={"seed": one.seed + 1000}))
    anchors, positives = (side.ravel().tolist() for side in stream.draw(minibatches))
    name = "free table" if one.encoder == "table" else "two-layer network"
    head = {"table": ("0",), "mlp": ("3",)}[one.encoder]
    adapter = Adapter(name, module, collate, embed, head=head)
    pairs = list(zip(anchors, positives, strict=True))
    return Case(name, adapter, pairs, range(one.n_items), one.tau, minibatches, one.batch)


def _by_graph(glosses: list[str], by_torch: Floats) -> list[Statement]:
    """Norms of paraphrase-MiniLM-L3-v2: against tokens, and against those of the larger model."""
    norms = mean_norms(glosses)
    tokenize = read_tokenizer(PACKAGED)
    tokens = np.array([len(tokenize(gloss)) for gloss in glosses], dtype=np.float64)
    plain = spearman_matrix({"norm": norms, "tokens": tokens, "larger": by_torch}, 0)
    fixed = partial_spearman(norms, by_torch, [tokens], 0)
    over, statements = f"{len(glosses)} inputs", []
    for what, relation in {
        "Spearman(norm, tokens)": plain["norm", "tokens"],
        "Spearman(norm, norm of MiniLM-L6, mean pooling)": plain["norm", "larger"],
        "Spearman(norm, norm of MiniLM-L6, mean pooling | tokens)": fixed,
    }.items():
        title = f"MiniLM-L3, mean pooling: {what}"
        value, low, high = defined(title, relation)
        statements.append(reported(title, value, low=low, high=high, over=over))
    return statements
