"""Probe an encoder of your own: does its norm follow heat, or only text length? Needs radii[models]."""

from __future__ import annotations

import json

import torch

import radii
from radii.data import demo
from radii.probing.adapters import Adapter

torch.manual_seed(0)
lines = [json.loads(line) for line in demo.paths().texts.read_text().splitlines()]
pairs = [tuple(line["text"].split(": ", 1)) for line in lines]  # (class name, its definition)
words = {word: n for n, word in enumerate(sorted({w for pair in pairs for t in pair for w in t.split()}))}


class Bag(torch.nn.Module):
    """The mean of word vectors, through a projection head without a bias."""

    def __init__(self) -> None:
        super().__init__()
        self.table, self.head = torch.nn.EmbeddingBag(len(words), 32), torch.nn.Linear(32, 16, bias=False)

    def forward(self, batch: tuple[torch.Tensor, torch.Tensor]) -> torch.Tensor:
        """(n_texts, 16), not normalised."""
        return self.head(self.table(*batch))


def collate(texts: list[str]) -> tuple[torch.Tensor, torch.Tensor]:
    """Word numbers of all texts in a row, and where each text begins."""
    rows = [[words[word] for word in text.split()] for text in texts]
    starts = torch.tensor([0, *map(len, rows[:-1])]).cumsum(0)
    return torch.tensor([n for row in rows for n in row]), starts


def lengths(texts: list[str]) -> list[float]:
    """Words of each text."""
    return [float(len(text.split())) for text in texts]


model = Bag()
adapter = Adapter("bag of words", model, collate, model, head=("head.weight",), lengths=lengths)
found = radii.probe(adapter, pairs, [definition for _, definition in pairs[::10]], batches=16)
print(found.report.regime.label, "-", found.report.regime.meaning)
print(f"norm with text length: ρ {found.report.norm_with['length'].plain.estimate:+.2f}")
