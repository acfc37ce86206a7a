"""What testing a claim gives: statements with a target, tables, and how it was done."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal

import numpy as np
from pydantic import BaseModel, ConfigDict, Field

from radii.data.embeddings import Floats
from radii.errors import InputError

Progress = Callable[[int, int], None]
Status = Literal["holds", "fails", "reported"]


class Statement(BaseModel):
    """One number, its interval, and what it had to reach.

    `reported` is a number without a target: it is what it is.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    value: float
    low: float | None = Field(default=None, description="95 % interval, over what `over` says.")
    high: float | None = None
    over: str | None = Field(default=None, description="What the interval is over: seeds, runs, items.")
    target: str | None = Field(default=None, description="What the value must reach, in words.")
    status: Status


class NotRun(BaseModel):
    """A model or collection that the claim is about and that could not be had: an empty cell of the table."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    what: str
    why: str
    command: str | None = Field(default=None, description="What runs it where it can be had.")


class Tested(BaseModel):
    """What a claim's module gives back: everything that depends on the run."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    seeds: int
    statements: list[Statement]
    table: list[dict[str, Any]] = Field(default_factory=list, description="Rows behind the statements.")
    notes: list[str] = Field(
        default_factory=list, description="What not to conclude, and what was not reached."
    )
    data: dict[str, str] = Field(default_factory=dict, description="Start of the SHA-256 of every file read.")
    not_run: list[NotRun] = Field(default_factory=list)


class Made(BaseModel):
    """How a result came about."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    command: str
    seconds: float
    versions: dict[str, str] = Field(description="Of Python, radii and what it computed with.")


class Outcome(Tested):
    """Result of one claim in one setting."""

    claim: str
    title: str
    setting: Literal["fast", "full"]
    on: str = Field(description="The model and the data, in a few words.")
    method: str = Field(description="How it was tested, in a few sentences.")
    made: Made | None = Field(default=None, description="None in results recorded before radii noted it.")

    def statement(self, name: str) -> Statement:
        """The statement of that name; InputError on none."""
        for statement in self.statements:
            if statement.name == name:
                return statement
        raise InputError(f"no statement {name!r}", where=self.claim, fix="see the names in `statements`")


def at_most(name: str, value: float, limit: float, **more: Any) -> Statement:
    """A statement whose value must not lie above `limit`."""
    status: Status = "holds" if value <= limit else "fails"
    return Statement(name=name, value=value, target=f"≤ {limit:g}", status=status, **more)


def at_least(name: str, value: float, limit: float, **more: Any) -> Statement:
    """A statement whose value must not lie below `limit`."""
    status: Status = "holds" if value >= limit else "fails"
    return Statement(name=name, value=value, target=f"≥ {limit:g}", status=status, **more)


def near(name: str, value: float, target: float, within: float, **more: Any) -> Statement:
    """A statement whose value must lie within `within` of `target`."""
    status: Status = "holds" if abs(value - target) <= within else "fails"
    return Statement(name=name, value=value, target=f"{target:g} ± {within:g}", status=status, **more)


def reported(name: str, value: float, **more: Any) -> Statement:
    """A statement without a target."""
    return Statement(name=name, value=value, status="reported", **more)


def unreached(stationary: Sequence[bool]) -> str:
    """A note of how many runs radii itself would not call stationary, given which are."""
    missing = list(stationary).count(False)
    return f"{missing} of {len(stationary)} runs not stationary by radii's own check (kept in)."


def over_seeds(values: Sequence[float] | Floats) -> dict[str, Any]:
    """95 % t interval of the mean of one value per seed, as fields of a Statement; none from one seed."""
    from scipy import stats

    n = len(values)
    if n < 2:
        return {}
    mean, error = float(np.mean(values)), float(np.std(values, ddof=1)) / n**0.5
    reach = float(stats.t.ppf(0.975, n - 1)) * error
    return {"low": mean - reach, "high": mean + reach, "over": f"{n} seeds"}


def median_over_runs(
    values: Sequence[float] | Floats, seed: int = 0, resamples: int = 2000
) -> dict[str, Any]:
    """95 % percentile-bootstrap interval of the median over runs, as fields of a Statement."""
    each = np.asarray(values, dtype=np.float64)
    rows = np.random.default_rng([seed, 5]).integers(0, len(each), size=(resamples, len(each)))
    low, high = np.quantile(np.median(each[rows], axis=1), [0.025, 0.975])
    return {"low": float(low), "high": float(high), "over": f"{len(each)} runs"}
