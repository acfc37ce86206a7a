"""Every claim by its id, and the recorded result of its full setting."""

from __future__ import annotations

import contextlib
import platform
import time
from importlib import import_module, metadata, resources

from radii.claims.outcome import Made, Outcome, Progress, Tested
from radii.errors import InputError

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
    "generality": "radii.claims.generality",
    "hypernyms": "radii.claims.hypernyms",
    "facets": "radii.claims.facets",
    "retrieval": "radii.claims.retrieval",
}


def run_claim(claim: str, *, full: bool = False, progress: Progress | None = None) -> Outcome:
    """Test a claim now, in its fast or its full setting.

    Raises InputError on an unknown id, MissingExtraError where it needs an extra that is not installed.
    """
    module, began = import_module(CLAIMS[_known(claim)]), time.monotonic()
    tested: Tested = module.run(full, progress)
    return Outcome(
        claim=claim,
        title=module.TITLE,
        setting="full" if full else "fast",
        on=module.ON,
        method=module.METHOD,
        made=Made(
            command=f"radii claims run {claim}" + " --full" * full,
            seconds=round(time.monotonic() - began, 1),
            versions=_versions(),
        ),
        **dict(tested),
    )


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
