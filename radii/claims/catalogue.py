"""Every claim by its id, and the recorded result of its full setting."""

from __future__ import annotations

import contextlib
import inspect
import os
import platform
import shlex
import time
from importlib import import_module, metadata, resources

from radii.claims.outcome import Made, Outcome, Progress, Tested
from radii.claims.vectors import CACHE
from radii.errors import InputError

_OWN_MODEL = "all-MiniLM-L6-v2"  # how ON and METHOD of a claim name the packaged model

# id → module of this room, in the order of the theory.
CLAIMS = {
    "equation": "radii.claims.equation",
    "laws": "radii.claims.laws",
    "heat": "radii.claims.heat",
    "frequency": "radii.claims.frequency",
    "optimisers": "radii.claims.optimisers",
    "architecture": "radii.claims.architecture",
    "text": "radii.claims.text",
    "transport": "radii.claims.transport",
    "finetuning": "radii.claims.finetuning",
    "whole-model": "radii.claims.whole_model",
    "generality": "radii.claims.generality",
    "hypernyms": "radii.claims.hypernyms",
    "facets": "radii.claims.facets",
    "uncertainty": "radii.claims.uncertainty",
    "across": "radii.claims.across",
    "retrieval": "radii.claims.retrieval",
    "specificity": "radii.claims.specificity",
    "transfer": "radii.claims.transfer",
    "head": "radii.claims.head",
    "attributed": "radii.claims.attributed",
    "signs": "radii.claims.signs",
}


def run_claim(
    claim: str,
    *,
    full: bool = False,
    progress: Progress | None = None,
    model: str | None = None,
    dataset: str | None = None,
) -> Outcome:
    """Test a claim now, in its fast or its full setting.

    Parameters
    ----------
    claim : str
        One of CLAIMS.
    full : bool
    progress : callable, optional
        Called with (steps done, steps in all).
    model : str, optional
        An encoder in place of the claim's own, as `radii.data.encode.encode` takes it.
    dataset : str, optional
        A collection in place of the claim's own: a BEIR folder or zip file, or an `ir_datasets` id.

    Raises InputError on an unknown id and on a claim that takes no model or no data set, MissingExtraError
    where it needs an extra that is not installed.
    """
    module, began = import_module(CLAIMS[_known(claim)]), time.monotonic()
    given = _taken(claim, {"model": model, "dataset": dataset})
    tested: Tested = module.run(full, progress, **given)
    name = given.get("model", _OWN_MODEL)
    on = f"{name} on {given['dataset']}" if "dataset" in given else module.ON.replace(_OWN_MODEL, name)
    return Outcome(
        claim=claim,
        title=module.TITLE,
        setting="full" if full else "fast",
        on=on,
        method=module.METHOD.replace(_OWN_MODEL, name),
        made=Made(
            command=_kept_vectors()
            + f"radii claims run {claim}"
            + " --full" * full
            + "".join(f" --{name} {shlex.quote(value)}" for name, value in given.items()),
            seconds=round(time.monotonic() - began, 1),
            versions=_versions(),
        ),
        **dict(tested),
    )


def takes(claim: str, option: str) -> bool:
    """Whether a claim can be run with another `model` or `dataset`."""
    return option in inspect.signature(import_module(CLAIMS[_known(claim)]).run).parameters


def _taken(claim: str, options: dict[str, str | None]) -> dict[str, str]:
    """The options that were given; refused where the claim takes none of that name."""
    given = {name: value for name, value in options.items() if value is not None}
    for name, value in given.items():
        if not takes(claim, name):
            others = ", ".join(other for other in CLAIMS if takes(other, name))
            raise InputError(
                f"takes no --{name}, got {value!r}", where=claim, fix=f"leave it out; it is for {others}"
            )
    return given


def _kept_vectors() -> str:
    """Said of a run that may have read vectors in place of making them: its seconds are then few."""
    return f"{CACHE}=FOLDER " if os.environ.get(CACHE) else ""


def _versions() -> dict[str, str]:
    found = {"python": platform.python_version()}
    for name in ("radii", "numpy", "scipy", "torch"):
        with contextlib.suppress(metadata.PackageNotFoundError):
            found[name] = metadata.version(name)
    return found


def title(claim: str) -> str:
    """What the claim says, in one line."""
    text: str = import_module(CLAIMS[_known(claim)]).TITLE
    return text


def recorded(claim: str) -> Outcome | None:
    """The outcome of the full setting that this version of radii ships with, if there is one."""
    file = resources.files("radii.claims") / "results" / f"{_known(claim)}.json"
    return Outcome.model_validate_json(file.read_text("utf-8")) if file.is_file() else None


def _known(claim: str) -> str:
    if claim not in CLAIMS:
        raise InputError(f"{claim!r}", where="claim", fix=f"give one of {', '.join(CLAIMS)}")
    return claim
