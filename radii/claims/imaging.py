"""A small contrastive encoder of 32 × 32 images, trained here: network, views, losses, training."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from radii.data.embeddings import Floats
from radii.probing.adapters import Adapter, Tensor, require_torch
from radii.probing.objectives import infonce

Objective = Literal["supervised", "self-supervised"]
Optimizer = Literal["sgd", "adamw"]
Pixels = npt.NDArray[np.uint8]

DIM = 64  # of the head's output
TAU = 0.1
MOMENTUM = 0.9
# (η, λ): ηλ, with SGD's momentum counted, is 0.001 per step in both.
RATES: dict[str, tuple[float, float]] = {"sgd": (0.05, 0.002), "adamw": (0.002, 0.5)}


@dataclass(frozen=True)
class Plan:
    """How a network is trained: (channels, stride) of its layers, epochs, batch size, bfloat16 or not."""

    layers: tuple[tuple[int, int], ...]
    epochs: int
    batch: int = 256
    half: bool = False


@dataclass(frozen=True, eq=False)
class Encoder:
    """A trained network: `body` gives pooled features, `head` the vectors that the loss reads.

    `change` is the mean log norm of the head's vectors over the last sixth of training less that over the
    sixth before it; 0 when the norms were stationary.
    """

    body: Any
    head: Any
    change: float

    def embed(self, pixels: Pixels, batch: int = 500) -> tuple[Floats, Floats]:
        """Un-normalised features (n, channels) and head vectors (n, DIM) of images, float64."""
        torch = require_torch()
        parts: list[tuple[Any, Any]] = []
        with torch.no_grad():
            for start in range(0, len(pixels), batch):
                features = self.body(centred(as_tensor(pixels[start : start + batch])))
                parts.append((features.double().numpy(), self.head(features).double().numpy()))
        features_, vectors = (np.concatenate(side) for side in zip(*parts, strict=True))
        return features_, vectors

    def adapter(self, place: Literal["features", "head"], name: str) -> Adapter:
        """What a probe needs of the encoder; items are (32, 32, 3) arrays of uint8."""
        torch = require_torch()
        module = torch.nn.ModuleDict({"body": self.body, "head": self.head})

        def collate(items: Sequence[Pixels]) -> Tensor:
            return centred(as_tensor(np.stack(items)))

        def embed(batch: Tensor) -> Tensor:
            features = self.body(batch)
            return features if place == "features" else self.head(features)

        last = f"head.{len(self.head) - 1}.weight"
        return Adapter(name, module, collate, embed, head=(last,) if place == "head" else ())


def train(
    pixels: Pixels,
    labels: npt.NDArray[np.int64],
    objective: Objective,
    optimizer: Optimizer,
    plan: Plan,
    seed: int,
) -> Encoder:
    """Train from scratch on (n, 32, 32, 3) images at a constant rate, after a warm-up.

    Supervised: one random view of each image, those of the same class are positives (`supcon`). The other:
    two views, InfoNCE from each to the other. Every draw comes from `seed`.
    """
    torch = require_torch()
    draws = torch.Generator().manual_seed(seed)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        body, head = _network(plan.layers)
    params = [*body.parameters(), *head.parameters()]
    eta, lam = RATES[optimizer]
    if optimizer == "sgd":
        steps = torch.optim.SGD(params, lr=eta, momentum=MOMENTUM, weight_decay=lam)
    else:
        steps = torch.optim.AdamW(params, lr=eta, weight_decay=lam)
    images, classes = as_tensor(pixels), torch.from_numpy(labels)
    size = min(plan.batch, len(pixels))
    per_epoch = len(pixels) // size
    total, log_norms = plan.epochs * per_epoch, []
    for number in range(total):
        if number % per_epoch == 0:
            order = torch.randperm(len(images), generator=draws)
        rows = order[number % per_epoch * size :][:size]
        for group in steps.param_groups:
            group["lr"] = eta * min(1.0, (number + 1) / (0.05 * total))
        views = 1 if objective == "supervised" else 2
        shown = torch.cat([augment(images[rows], draws) for _ in range(views)])
        with torch.autocast("cpu", torch.bfloat16, enabled=plan.half):
            features = body(centred(shown))
        z = head(features.float())
        if objective == "supervised":
            loss = supcon(z, classes[rows], TAU)
        else:
            one, other = z.chunk(2)
            loss = infonce(one, other, TAU, symmetric=True)
        steps.zero_grad()
        loss.backward()
        steps.step()
        log_norms.append(float(torch.linalg.vector_norm(z.detach(), dim=1).log().mean()))
    body.eval()
    sixth = max(1, total // 6)
    change = float(np.mean(log_norms[-sixth:]) - np.mean(log_norms[-2 * sixth : -sixth]))
    return Encoder(body, head, change)


def _network(layers: Sequence[tuple[int, int]]) -> tuple[Any, Any]:
    nn, parts, before = require_torch().nn, [], 3
    for channels, stride in layers:
        parts += [
            nn.Conv2d(before, channels, 3, stride=stride, padding=1, bias=False),
            nn.BatchNorm2d(channels),
            nn.ReLU(),
        ]
        before = channels
    body = nn.Sequential(*parts, nn.AdaptiveAvgPool2d(1), nn.Flatten())
    head = nn.Sequential(nn.Linear(before, before), nn.ReLU(), nn.Linear(before, DIM, bias=False))
    return body.to(memory_format=require_torch().channels_last), head


def as_tensor(pixels: Pixels) -> Tensor:
    """(n, 32, 32, 3) uint8 → (n, 3, 32, 32) float32 between 0 and 1, channels last in memory."""
    torch = require_torch()
    return torch.from_numpy(np.ascontiguousarray(pixels)).permute(0, 3, 1, 2).float() / 255


def centred(images: Tensor) -> Tensor:
    """Images between 0 and 1 → about zero mean and unit variance."""
    return (images - 0.45) / 0.25


def augment(images: Tensor, draws: Any) -> Tensor:
    """A random view of each (n, 3, side, side) image: crop, flip, brightness, contrast, saturation, grey.

    The crop has 30 to 100 % of the area and 3:4 to 4:3 as its shape, resized bilinearly; factors are 0.6 to
    1.4; one in ten is grey. Values stay between 0 and 1.
    """
    torch = require_torch()
    n = len(images)

    def uniform(low: float, high: float) -> Tensor:
        return low + (high - low) * torch.rand(n, generator=draws)

    area, log_shape = uniform(0.3, 1.0), uniform(-0.2877, 0.2877)  # log 4/3
    width, height = ((area * (sign * log_shape).exp()).sqrt().clamp(max=1.0) for sign in (1, -1))
    turn = torch.zeros(n, 2, 3)
    turn[:, 0, 0] = width * torch.where(uniform(0, 1) < 0.5, -1.0, 1.0)
    turn[:, 1, 1] = height
    turn[:, 0, 2], turn[:, 1, 2] = uniform(-1, 1) * (1 - width), uniform(-1, 1) * (1 - height)
    at = torch.nn.functional.affine_grid(turn, list(images.shape), align_corners=False)
    view = torch.nn.functional.grid_sample(images, at, padding_mode="reflection", align_corners=False)
    bright, contrast, colour = (uniform(0.6, 1.4)[:, None, None, None] for _ in range(3))
    colour = torch.where(uniform(0, 1)[:, None, None, None] < 0.1, 0.0, colour)
    view = view * bright
    middle = view.mean(dim=(1, 2, 3), keepdim=True)
    view = middle + (view - middle) * contrast
    grey = view.mean(dim=1, keepdim=True)
    found = (grey + (view - grey) * colour).clamp(0.0, 1.0)
    return found.contiguous(memory_format=torch.channels_last)


def supcon(vectors: Tensor, labels: Tensor, tau: float) -> Tensor:
    """Supervised contrastive loss: every other image of one's class is a positive.

    L = −mean_i mean_{p ∈ P(i)} log [ exp(cos(i, p)/τ) / Σ_{j ≠ i} exp(cos(i, j)/τ) ], P(i) the others of i's
    class; anchors without one are left out. (B, dim) and (B,) tensors in, a scalar out.

    Source: L_out of Khosla et al., arXiv:2004.11362.
    """
    torch = require_torch()
    unit = torch.nn.functional.normalize(vectors, dim=1)
    own = torch.eye(len(unit), dtype=torch.bool)
    logits = (unit @ unit.T / tau).masked_fill(own, -torch.inf)
    log_shares = torch.log_softmax(logits, dim=1).masked_fill(own, 0.0)
    positive = (labels[:, None] == labels[None, :]) & ~own
    count = positive.sum(dim=1)
    each = (log_shares * positive).sum(dim=1)[count > 0] / count[count > 0]
    return -each.mean()


def linear_probe(
    features: Floats, labels: npt.NDArray[np.int64], others: Floats, penalty: float = 1e-3
) -> Floats:
    """Logits (m, n_classes) of other features by multinomial regression on (n, dim) features with labels.

    min_W mean_i −log softmax(W x_i + b)[y_i] + penalty/2 · ‖W‖²; features are standardised first, by the mean
    and standard deviation of those with labels, and constant ones are left out.
    """
    torch = require_torch()
    spread = features.std(axis=0)
    kept = spread > 1e-9 * max(float(spread.max()), 1e-300)
    seen, unseen = (
        torch.from_numpy((x[:, kept] - features[:, kept].mean(axis=0)) / spread[kept])
        for x in (features, others)
    )
    weight = torch.zeros(seen.shape[1], int(labels.max()) + 1, dtype=torch.float64, requires_grad=True)
    bias = torch.zeros(weight.shape[1], dtype=torch.float64, requires_grad=True)
    steps = torch.optim.LBFGS([weight, bias], max_iter=100, line_search_fn="strong_wolfe")

    def closure() -> Tensor:
        steps.zero_grad()
        loss = torch.nn.functional.cross_entropy(seen @ weight + bias, torch.from_numpy(labels))
        loss = loss + penalty / 2 * (weight**2).sum()
        loss.backward()
        return loss

    steps.step(closure)
    with torch.no_grad():
        found: Floats = (unseen @ weight + bias).numpy()
    return found
