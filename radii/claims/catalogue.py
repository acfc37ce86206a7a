"""Every claim by its id, and the recorded result of its full setting."""

from __future__ import annotations

from importlib import import_module, resources

from radii.claims.outcome import Outcome, Progress
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
    outcome: Outcome = import_module(CLAIMS[_known(claim)]).run(full, progress)
    return outcome


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
