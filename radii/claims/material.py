"""What claims about real data share: where it lies, which copy it is, and how a direction is judged."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from typing import Literal

from radii.claims.outcome import Statement, Status
from radii.data.files import readable
from radii.errors import InputError, NumericalError
from radii.result import Correlation
from radii.signals.relations import Relation

Side = Literal["above", "below"]

# Beside a checkout of the repository, as the tests look for it.
_BESIDE = Path(__file__).parents[3] / "shared" / "data"


def shared(*parts: str) -> Path:
    """A file or folder of the collections, which are not part of radii.

    They lie in the folder that the environment variable RADII_DATA names, or in shared/data beside the
    repository. Raises InputError where it is not there.
    """
    path = Path(os.environ.get("RADII_DATA") or _BESIDE).joinpath(*parts)
    if not path.exists():
        raise InputError(
            "no such data",
            where=path,
            cause="the collections are not part of radii",
            fix="set RADII_DATA to the folder that holds them",
        )
    return path


def copies(*paths: Path) -> dict[str, str]:
    """File name → the first twelve digits of its SHA-256."""
    return {path.name: hashlib.sha256(readable(path).read_bytes()).hexdigest()[:12] for path in paths}


def beyond(
    name: str,
    value: float,
    low: float,
    high: float,
    side: Side,
    over: str,
    limit: float = 0.0,
) -> Statement:
    """A statement that holds when its whole interval lies on one side of `limit`."""
    status: Status = "holds" if (low > limit if side == "above" else high < limit) else "fails"
    return Statement(
        name=name,
        value=value,
        low=low,
        high=high,
        over=over,
        target=f"interval {side} {limit:g}",
        status=status,
    )


def defined(name: str, relation: Relation | Correlation) -> tuple[float, float, float]:
    """(estimate, low, high) of a correlation; NumericalError where it is undefined."""
    value, low, high = relation.estimate, relation.low, relation.high
    if value is None or low is None or high is None:
        raise NumericalError(f"{name} is undefined: a constant signal, or one that the others determine")
    return value, low, high
