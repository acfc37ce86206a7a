"""How a probe is made: the arguments of `radii.probe`, checked at the door."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from radii.errors import InputError
from radii.probing.moments import GROUPS


@dataclass(frozen=True)
class Protocol:
    """How a probe is made.

    Attributes
    ----------
    optimizer : {'sgd', 'adamw'}
        The latter spends eight more minibatches on its second moment, and holds one more copy of all.
    eta : float or None
        Learning rate; by default such that the median anchor of the first minibatch moves by 1 % of its norm.
    weight_decay : float
        λ of the predicted norm; heat and drift do not depend on it.
    decayed : {'all', 'matrices'}
        Whether weight decay reaches biases and the weights of norms.
    params : str
        'all', 'head', or a regular expression searched in parameter names: what steps move.
    batches, batch_size : int
        Minibatches, at most, and pairs in each.
    until : float or None
        Stop when the 95 % interval over minibatches of Spearman(norm, raw heat) is ± this or less.
    method : {'exact', 'jvp'}
        Move the parameters and re-embed, or forward mode: first order only, at several times the cost.
    exponent_batches : int
        Minibatches repeated with the head scaled, on 32 inputs; 0 leaves the exponent out.
    embed_batch : int
        Inputs embedded at a time.
    groups : int
        Of the jackknife; memory is 16 · groups · n · dim bytes.
    seed : int
        Of every draw.
    """

    optimizer: str = "sgd"
    eta: float | None = None
    weight_decay: float = 0.01
    decayed: str = "all"
    params: str = "all"
    batches: int = 32
    batch_size: int = 32
    until: float | None = None
    method: str = "exact"
    exponent_batches: int = 1
    embed_batch: int = 64
    groups: int = GROUPS
    seed: int = 0

    def __post_init__(self) -> None:
        wrong = [
            (self.batches < 4 or self.groups < 4, "batches ≥ 4 and groups ≥ 4"),
            (not 0 <= self.exponent_batches <= self.batches, "0 ≤ exponent_batches ≤ batches"),
            (self.eta is not None and not self.eta > 0, "eta above 0"),
            (not self.weight_decay >= 0, "weight_decay ≥ 0"),
            (self.until is not None and not self.until > 0, "until above 0"),
            (self.embed_batch < 1, "embed_batch ≥ 1"),
            (self.decayed not in ("all", "matrices"), "decayed 'all' or 'matrices'"),
            (self.method not in ("exact", "jvp"), "method 'exact' or 'jvp'"),
        ]
        broken = [rule for bad, rule in wrong if bad]
        if broken:
            raise InputError(f"{self}", where="probe", fix=", ".join(broken))


def read_protocol(given: Mapping[str, Any]) -> Protocol:
    """Protocol of keyword arguments; InputError on one that it does not have, or of a wrong value."""
    known = set(Protocol.__dataclass_fields__)
    unknown = [name for name in given if name not in known]
    if unknown:
        raise InputError(
            f"no argument {unknown[0]!r}", where="probe", fix=f"give some of {', '.join(sorted(known))}"
        )
    return Protocol(**given)
