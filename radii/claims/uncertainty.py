"""Claim 4: images that people disagree about have longer vectors, and the norm knows where a probe errs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import softmax

from radii.claims.imaging import Encoder, Objective, Optimizer, Plan, linear_probe, train
from radii.claims.material import Side, beyond, copies, shared
from radii.claims.outcome import NotRun, Progress, Statement, Tested, reported
from radii.claims.selective import aurc, auroc
from radii.data.embeddings import Floats
from radii.data.human import read_cifar10h
from radii.data.images import Pictures, read_cifar10
from radii.data.rows import row_norms
from radii.signals.resampling import Bootstrap, mid_ranks, normalised, rank_covariances

TITLE = "Images that people disagree about have longer vectors, and so do those that a probe gets wrong"
ON = "small convolutional networks trained on CIFAR-10's test images, CIFAR-10H"
METHOD = (
    "CIFAR-10's 10,000 test images in two halves, as many of each class; every network is trained on one "
    "half and scores the other, so that no image is scored by a network that saw it. Four 3 × 3 "
    "convolutions with batch norm, average pooling (the backbone's vector), and a projection head of two "
    "layers (the head's vector, which the loss reads). Supervised contrastive (positives are images of the "
    "class) or self-supervised (positives are two views of the image), τ = 0.1, batch 256; SGD with momentum "
    "(η = 0.05, λ = 0.002) or AdamW (η = 0.002, λ = 0.5), constant rates. Norms against the entropy of "
    "about fifty people's labels (CIFAR-10H): Spearman's ρ within each network, plain and with both ranked "
    "among images of the same class, averaged over networks. As confidence: a linear probe of the backbone, "
    "fitted on the network's own half, errs on the other half; AUROC of these errors and area under "
    "risk against coverage (AURC), by norm, by the probe's margin and by its greatest probability. Intervals "
    "are bootstraps over images. Targets take the theory's side, hot is long, and were fixed before any run."
)
# Both published readings cannot hold: the theory's is long = uncertain, that of arXiv:2502.09252 the reverse.
SIDE: Side = "above"
PLACES = ("backbone", "head")
OPTIMIZERS: tuple[Optimizer, ...] = ("sgd", "adamw")


@dataclass(frozen=True)
class _Size:
    images: int
    plans: dict[Objective, tuple[Plan, int]]  # with the number of seeds
    resamples: int


_LAYERS = ((32, 2), (64, 2), (128, 2), (256, 1))
FAST = _Size(
    400,
    {
        "supervised": (Plan(((8, 2), (16, 2), (32, 2)), 30, 100), 1),
        "self-supervised": (Plan(((8, 2), (16, 2), (32, 2)), 4, 100), 1),
    },
    199,
)
FULL = _Size(
    10_000,
    {
        "supervised": (Plan(_LAYERS, 12, half=True), 2),
        "self-supervised": (Plan(_LAYERS, 10, half=True), 1),
    },
    499,
)


@dataclass(frozen=True, eq=False)
class Scored:
    """What one network says of images that it was not trained on: each (n_images,)."""

    norms: dict[str, Floats]
    by_margin: Floats  # uncertainty: runner-up's logit less the greatest
    by_probability: Floats  # uncertainty: 1 less the greatest probability
    wrong: npt.NDArray[np.bool_]
    change: float  # of the mean log norm at the end of training


def run(full: bool, progress: Progress | None = None) -> Tested:
    """Train every network; about ten minutes of one core when full. InputError without the shared data."""
    size = FULL if full else FAST
    files = image_files()
    pictures = read_pictures(files[0], files[1])
    entropy = read_cifar10h(shared("cifar10h")).entropy()
    halves = split(pictures.labels, size.images)
    total, done = sum(4 * seeds for _, seeds in size.plans.values()), 0
    statements: list[Statement] = []
    table: list[dict[str, Any]] = []
    for objective, optimizer in product(size.plans, OPTIMIZERS):
        plan, seeds = size.plans[objective]
        scored: list[list[Scored]] = [[], []]  # per half, one of each seed
        for seed in range(seeds):
            for half, rows in enumerate(halves):
                seen = halves[1 - half]
                encoder = train(
                    pictures.pixels[seen], pictures.labels[seen], objective, optimizer, plan, seed
                )
                scored[half].append(score(encoder, pictures, seen, rows))
                done += 1
                if progress is not None:
                    progress(done, total)
        name = f"{objective}, {optimizer}"
        truth = [(entropy[rows], pictures.labels[rows]) for rows in halves]
        found = _uncertainty(name, scored, truth, size.resamples)
        sure = _confidence(name, scored, size.resamples)
        statements += found + sure
        table.append({"trained": name} | _row(scored, truth))
    return Tested(
        seeds=max(seeds for _, seeds in size.plans.values()),
        statements=statements,
        table=table,
        notes=[
            "Networks of minutes on 5,000 images: what large encoders do is not tested. Images are JPEG "
            "copies of CIFAR-10's.",
            "arXiv:2502.09252 reports the reverse for self-supervised encoders (small norm, unexpected "
            "image): an interval wholly below the target is evidence for that, not for nothing.",
            "AUROC above 0.5: errors have the longer vectors; below 0.5: the shorter. AURC: lower is better; "
            "'long first' gives up images with long vectors, 'short first' those with short ones.",
            "Within a class, ranks are those of the whole half and are ranked again in each resample.",
            "The table has one number per network. Change of log norm: mean log norm of the head over the "
            "last sixth of training less that over the sixth before it.",
        ],
        data=copies(*files),
        not_run=[
            NotRun(
                what="image tower of a CLIP model",
                why="no weights can be had offline",
                command="radii probe --model CLIP-FOLDER --encoder clip-image --pairs pairs.tsv --inputs "
                "images.txt (the norms in inputs.csv, to be put against entropy)",
            )
        ],
    )


def split(labels: npt.NDArray[np.int64], n: int) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
    """Rows of two halves of n images, drawn by a seed, as many of each class in both."""
    rng, classes = np.random.default_rng([0, 11]), np.unique(labels)
    each = n // (2 * len(classes))
    drawn = [rng.permutation(np.flatnonzero(labels == c))[: 2 * each] for c in classes]
    first, second = (np.sort(np.concatenate([rows[side::2] for rows in drawn])) for side in (0, 1))
    return first, second


def score(encoder: Encoder, pictures: Pictures, seen: Any, unseen: Any) -> Scored:
    """Norms of unseen images, and where a linear probe of those seen errs among them."""
    features, vectors = encoder.embed(pictures.pixels[unseen])
    logits = linear_probe(encoder.embed(pictures.pixels[seen])[0], pictures.labels[seen], features)
    ordered = np.sort(logits, axis=1)
    return Scored(
        norms={"backbone": row_norms(features), "head": row_norms(vectors)},
        by_margin=ordered[:, -2] - ordered[:, -1],
        by_probability=1 - softmax(logits, axis=1).max(axis=1),
        wrong=logits.argmax(axis=1) != pictures.labels[unseen],
        change=encoder.change,
    )


def within(values: Floats, groups: npt.NDArray[np.int64]) -> Floats:
    """Mid-ranks of (n,) values among those of their own group, as shares between 0 and 1.

    >>> within(np.array([5.0, 9.0, 7.0, 8.0]), np.array([0, 0, 1, 1])).tolist()
    [0.25, 0.75, 0.25, 0.75]
    """
    found = np.empty(len(values))
    for group in np.unique(groups):
        here = groups == group
        found[here] = (mid_ranks(values[here]) - 0.5) / here.sum()
    return found


def _uncertainty(
    name: str, scored: list[list[Scored]], truth: Sequence[tuple[Floats, Any]], resamples: int
) -> list[Statement]:
    quantities: dict[str, Callable[[Scored], Floats]] = {
        "backbone norm": lambda s: s.norms["backbone"],
        "head norm": lambda s: s.norms["head"],
        "probe's margin": lambda s: s.by_margin,
    }
    statements, over = [], _over(scored)
    for given in ("", " | class"):
        for quantity, of in quantities.items():
            goals, columns = [], []
            for networks, (entropy, labels) in zip(scored, truth, strict=True):
                groups = labels if given else np.zeros_like(labels)
                goals.append(within(entropy, groups))
                columns.append([within(of(s), groups) for s in networks])
            value, low, high = correlation(goals, columns, resamples)
            title = f"{name}: Spearman({quantity}, entropy{given})"
            if "norm" in quantity:
                statements.append(beyond(title, value, low, high, SIDE, over))
            else:
                statements.append(reported(title, value, low=low, high=high, over=over))
    return statements


def correlation(
    goals: Sequence[Floats], columns: Sequence[Sequence[Floats]], resamples: int
) -> tuple[float, float, float]:
    """Mean of Spearman's ρ between a half's goal and each of its columns, and its bootstrap over images."""
    halves = []
    for half, (goal, each) in enumerate(zip(goals, columns, strict=True)):
        sums = rank_covariances(np.stack([goal, *each]), Bootstrap(half, resamples, 0.95))
        halves.append(np.mean([normalised(sums, 0, 1 + k) for k in range(len(each))], axis=0))
    drawn = np.mean(halves, axis=0)
    low, high = np.quantile(drawn[1:], [0.025, 0.975])
    return float(drawn[0]), float(low), float(high)


def _confidence(name: str, scored: list[list[Scored]], resamples: int) -> list[Statement]:
    scores: dict[str, Callable[[Scored], Floats]] = {
        "backbone norm, long first": lambda s: s.norms["backbone"],
        "head norm, long first": lambda s: s.norms["head"],
        "margin": lambda s: s.by_margin,
        "greatest probability": lambda s: s.by_probability,
    }
    short: dict[str, Callable[[Scored], Floats]] = {
        "backbone norm, short first": lambda s: -s.norms["backbone"],
        "head norm, short first": lambda s: -s.norms["head"],
    }
    over = _over(scored)
    right = np.mean([1 - s.wrong.mean() for networks in scored for s in networks])
    statements = [reported(f"{name}: accuracy of the linear probe", float(right))]
    for title, by in scores.items():
        value, low, high = resampled(auroc, by, scored, resamples)
        line = f"{name}: AUROC of the probe's errors by {title}"
        if "norm" in title:
            statements.append(beyond(line, value, low, high, SIDE, over, 0.5))
        else:
            statements.append(reported(line, value, low=low, high=high, over=over))
    for title, by in (scores | short).items():
        value, low, high = resampled(aurc, by, scored, resamples)
        statements.append(reported(f"{name}: AURC by {title}", value, low=low, high=high, over=over))
    return statements


def _row(scored: list[list[Scored]], truth: Sequence[tuple[Floats, Any]]) -> dict[str, Any]:
    """One number per network: ρ of each norm with entropy, the probe's error rate, and what still changed."""
    each = [(s, entropy) for networks, (entropy, _) in zip(scored, truth, strict=True) for s in networks]
    row: dict[str, Any] = {
        f"ρ({place} norm, entropy)": _listed([correlation([e], [[s.norms[place]]], 1)[0] for s, e in each])
        for place in PLACES
    }
    row["error rate"] = _listed([float(s.wrong.mean()) for s, _ in each])
    row["change of log norm"] = _listed([s.change for s, _ in each])
    return row


def _listed(values: Sequence[float]) -> str:
    return ", ".join(f"{value:.3f}" for value in values)


def resampled(
    measure: Callable[[Floats, Any, Floats], float],
    by: Callable[[Scored], Floats],
    scored: list[list[Scored]],
    resamples: int,
) -> tuple[float, float, float]:
    """Mean of a measure over networks, and its bootstrap over images: those of a half are drawn together."""
    drawn = np.zeros(1 + resamples)
    for half, networks in enumerate(scored):
        for number, weights in enumerate(Bootstrap(half, resamples, 0.95).weights(len(networks[0].wrong))):
            drawn[number] += np.mean([measure(by(s), s.wrong, weights) for s in networks]) / len(scored)
    low, high = np.quantile(drawn[1:], [0.025, 0.975])
    return float(drawn[0]), float(low), float(high)


def _over(scored: list[list[Scored]]) -> str:
    return f"{sum(len(networks[0].wrong) for networks in scored)} images"


@cache
def read_pictures(images: Path, labels: Path) -> Pictures:
    """CIFAR-10's test images, decoded once for all claims: they are 30 MB."""
    return read_cifar10(images, labels)


def image_files() -> list[Path]:
    """Images, their labels, and people's answers: counts and shares."""
    return [
        shared("cifar10_test_images", "cifar10_test_jpg.tar.gz"),
        shared("cifar10_test_labels", "cifar10_test_set_original_labels.npy"),
        shared("cifar10h", "cifar10h-counts.npy"),
        shared("cifar10h", "cifar10h-probs.npy"),
    ]
