"""What a probe needs of an encoder, and how parameters are named, moved and put back."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from radii.data.embeddings import Floats
from radii.errors import InputError, MissingExtraError, shown

Tensor = Any  # torch.Tensor; torch is imported when used
Batch = Any  # whatever `collate` makes and `embed` takes


@dataclass(frozen=True)
class Adapter:
    """An encoder as a probe sees it: three functions, and what else is known.

    Attributes
    ----------
    name : str
        For messages and the report.
    module : torch.nn.Module
        Holds the parameters that `embed` uses. Its mode and parameters are as before after a probe.
    collate : callable
        Sequence of items (texts, images) → batch, on the module's device.
    embed : callable
        Batch → (n_items, dim) un-normalised vectors, differentiable in the module's parameters.
    head : tuple of str
        Names of the parameters that z is proportional to when all are scaled together, such as a last
        projection, or a last layer norm's weight and bias. Empty when there are none or nobody knows.
    lengths : callable, optional
        Sequence of items → (n_items,) float64 tokens.
    states : callable, optional
        Batch → (token states (n_items, n_tokens, dim), mask (n_items, n_tokens), pool), with pool(states)
        the vectors of `embed`: for the check whether the length of one token turns the whole.
    """

    name: str
    module: Any
    collate: Callable[[Sequence[Any]], Batch]
    embed: Callable[[Batch], Tensor]
    head: tuple[str, ...] = ()
    lengths: Callable[[Sequence[Any]], Floats] | None = None
    states: Callable[[Batch], tuple[Tensor, Tensor, Callable[[Tensor], Tensor]]] | None = None


def require_torch() -> Any:
    """The torch module; MissingExtraError without it."""
    try:
        import torch
    except ModuleNotFoundError as error:
        raise MissingExtraError("torch", "models") from error
    return torch


def choose_parameters(adapters: Sequence[Adapter], params: str) -> dict[str, Any]:
    """Parameters that a virtual step moves, by name; each once, however many adapters share it.

    `params` is 'all', 'head' (the adapters' own `head`) or a regular expression searched in the names.

    Raises
    ------
    InputError
        When none is chosen, when the expression is broken, or when two distinct parameters share memory.
    """
    found: dict[str, Any] = {}
    for adapter in adapters:
        for name, parameter in adapter.module.named_parameters():
            wanted = params == "all" or (name in adapter.head if params == "head" else _matches(params, name))
            if wanted and parameter.is_floating_point() and not any(parameter is p for p in found.values()):
                found[name if name not in found else f"{adapter.name}:{name}"] = parameter
    if not found:
        names = [name for adapter in adapters for name, _ in adapter.module.named_parameters()]
        raise InputError(
            f"{params!r} names none of the parameters {shown(names)}",
            where="params",
            cause="a typing error, or an adapter without a known head" if names else "a module without any",
            fix="give 'all', 'head', or a regular expression that occurs in the names",
        )
    places = [parameter.data_ptr() for parameter in found.values() if parameter.numel()]
    if len(set(places)) != len(places):
        raise InputError(
            "two parameters share memory",
            where="params",
            cause="weights tied by a view and not by one parameter",
            fix="tie them by assigning the same Parameter, or leave one out",
        )
    return found


def _matches(pattern: str, name: str) -> bool:
    try:
        return re.search(pattern, name) is not None
    except re.error as error:
        raise InputError(
            f"{pattern!r}: {error}", where="params", fix="give 'all', 'head' or a regular expression"
        ) from error


@contextmanager
def moved(parameters: Sequence[Any], values: Sequence[Tensor | None]) -> Iterator[None]:
    """Parameters with other values inside the block, and with their own afterwards, bit for bit.

    The parameters' own memory is never written to: inside the block they point elsewhere. None leaves a
    parameter as it is. An exception or an interrupt inside the block puts them back all the same.
    """
    own = [parameter.data for parameter in parameters]
    try:
        for parameter, value in zip(parameters, values, strict=True):
            if value is not None:
                parameter.data = value
        yield
    finally:
        _put_back(parameters, own)


@contextmanager
def held(adapters: Sequence[Adapter], parameters: Mapping[str, Any]) -> Iterator[None]:
    """Modules in evaluation mode (no dropout, fixed batch statistics) with gradients for `parameters` only.

    Afterwards every mode, gradient flag and parameter is as it was: also a second net under `moved`, should
    an interrupt arrive while that puts back.
    """
    every = [parameter for adapter in adapters for parameter in adapter.module.parameters()]
    flags = [parameter.requires_grad for parameter in every]
    own = [parameter.data for parameter in every]
    chosen = {id(parameter) for parameter in parameters.values()}
    try:
        for parameter in every:
            parameter.requires_grad_(id(parameter) in chosen)
        with evaluating(adapters):
            yield
    finally:
        _put_back(every, own)
        for parameter, flag in zip(every, flags, strict=True):
            parameter.requires_grad_(flag)


@contextmanager
def evaluating(adapters: Sequence[Adapter]) -> Iterator[None]:
    """Every module in evaluation mode inside the block, and in its own mode afterwards."""
    with in_mode([module for adapter in adapters for module in adapter.module.modules()], training=False):
        yield


@contextmanager
def in_mode(modules: Sequence[Any], *, training: bool) -> Iterator[None]:
    """Just these modules, not those below them, in one mode inside the block, in their own afterwards."""
    modes = [module.training for module in modules]
    try:
        for module in modules:
            module.training = training
        yield
    finally:
        for module, mode in zip(modules, modes, strict=True):
            module.training = mode


def _put_back(parameters: Sequence[Any], own: Sequence[Tensor]) -> None:
    try:
        for parameter, value in zip(parameters, own, strict=True):
            parameter.data = value
    except KeyboardInterrupt:  # finish first, then obey
        for parameter, value in zip(parameters, own, strict=True):
            parameter.data = value
        raise
