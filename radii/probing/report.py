"""The result of a probe as a data model: what probe.json holds, and the files beside it."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from pydantic import Field, ValidationError

from radii.data.embeddings import Floats
from radii.data.files import StrPath, atomic_write, readable
from radii.data.locks import only_writer
from radii.errors import InputError, printable_json
from radii.result import Correlation, Interval, Part

RegimeLabel = Literal["heat-controlled", "length-controlled", "drift-dominated", "inconclusive"]
CAVEAT = (
    "The minibatches are of a surrogate objective on the pairs given, not of the training that made this "
    "model; dropout and batch statistics were frozen while re-embedding."
)


class Setup(Part):
    """How the probe was made: with this, the model and the data it can be made again."""

    model: str
    objective: str
    optimizer: str
    method: str = Field(description="exact: parameters moved; jvp: forward mode, first order.")
    params: str
    n_parameters: int = Field(description="Numbers that a step moves.")
    eta: float = Field(description="Learning rate of the virtual steps.")
    eta_chosen: bool = Field(description="Chosen so that the median anchor moves by 1 % of its norm.")
    weight_decay: float = Field(description="λ in α = rate of damping · ηλ.")
    decayed: str = Field(description="all, or matrices: biases and norms' weights left undecayed.")
    batches: int = Field(description="Minibatches used.")
    batches_allowed: int
    stopped_early: bool
    until: float | None
    batch_size: int
    n_pairs: int
    n_inputs: int
    dim: int
    groups: int = Field(description="Of the jackknife.")
    seed: int


class ByRadius(Part):
    """The correlation that the factor R² alone produces: raw heats permuted across inputs."""

    mean: float
    low: float
    high: float


class With(Part):
    """Spearman's ρ of the norm with one quantity."""

    plain: Correlation
    length_fixed: Correlation | None = Field(description="Text length partialled out.")
    all_fixed: Correlation | None = Field(description="Length and the signals given partialled out.")


class Reliability(Part):
    """Agreement of two halves of the minibatches."""

    halves: float | None = Field(description="Spearman's ρ across inputs between the halves.")
    whole: float | None = Field(description="Stepped up to all minibatches (Spearman-Brown).")


class Tangency(Part):
    """Whether the loss ignores radii."""

    radial_gradient: float = Field(description="Share of ∂L/∂z along z; 0 when only directions count.")
    token_turn: float | None = Field(
        description="Mean turn of ẑ per relative lengthening of one token state; 0 when none turns it."
    )
    radial_displacement: float = Field(
        description="Share of the squared displacement along z, mean of inputs."
    )


class Power(Part):
    """p of Δz = −η R^(−p) v."""

    value: float | None
    spread: Interval | None = Field(description="5th and 95th percentile over inputs.")
    reason: str


class Predicted(Part):
    """The stationary norm of each input, up to a scale that depends on the training's η and λ."""

    power: float = Field(
        description="p it was computed with: the measured one, kept in [0, 1]; 1 if unknown."
    )
    n: int = Field(description="Inputs with an equilibrium.")
    rank_correlation: float | None = Field(description="Spearman's ρ with the norm.")
    median_ratio: float | None = Field(description="Median of norm over prediction.")


class Regime(Part):
    """What controls the norm in this model, as far as the surrogate can tell."""

    label: RegimeLabel
    meaning: str
    numbers: dict[str, float | None]
    caveat: str = CAVEAT


class ProbeReport(Part):
    """Overall result of `radii.probe`."""

    schema_version: str = "1.0"
    setup: Setup
    regime: Regime
    norm_with: dict[str, With] = Field(
        description="By quantity: length, raw, scaled, angular, matched, drift ..."
    )
    by_radius: ByRadius = Field(description="Stand beside norm_with['scaled'].plain.")
    minibatch_error: dict[str, float | None] = Field(
        description="Standard error over minibatches of the plain correlation with each heat and drift."
    )
    reliability: dict[str, Reliability]
    tangency: Tangency
    power: Power
    damping: Interval | None = Field(description="5th and 95th percentile of α per unit of ηλ.")
    relative_step: float = Field(description="Median of ‖Δz‖ / R over inputs and minibatches (rms).")
    predicted: Predicted
    seconds: float


@dataclass(frozen=True, eq=False)
class Probe:
    """A probe's report and its figures of every input.

    Attributes
    ----------
    report : ProbeReport
    ids : list of str
    columns : dict
        Name → (n_inputs,) float64, all finite: norm, length, drift, second_moment, heat_raw, heat_scaled,
        heat_angular, radial_share, damping, predicted, and `_se` of the estimates.
    """

    report: ProbeReport
    ids: list[str]
    columns: dict[str, Floats]

    def write(self, folder: StrPath) -> Path:
        """Write probe.json and inputs.csv into a folder; the path of the first."""
        target = Path(folder) / "probe.json"
        with only_writer(folder, wait=True):
            with atomic_write(Path(folder) / "inputs.csv", mode="w") as file:
                rows = csv.writer(file, lineterminator="\n")
                rows.writerow(["id", *self.columns])
                for name, *values in zip(self.ids, *self.columns.values(), strict=True):
                    rows.writerow([name, *(repr(float(value)) for value in values)])
            with atomic_write(target, mode="w") as file:
                file.write(printable_json(self.report.model_dump_json(indent=2)) + "\n")
        return target


def read_report(folder: StrPath) -> ProbeReport:
    """Read the probe.json of a folder. Raises InputError where there is none or it is something else."""
    file = readable(Path(folder) / "probe.json")
    try:
        return ProbeReport.model_validate_json(file.read_bytes())
    except ValidationError as error:
        raise InputError(
            f"{error.error_count()} fields that are no probe's, first {error.errors()[0]['loc']}",
            where=file,
            cause="a file of another tool, or of another version of radii",
            fix="run radii probe again",
        ) from error
