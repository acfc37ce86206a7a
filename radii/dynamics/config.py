"""What a controlled training run is: a setting, and grids of settings read from TOML."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from itertools import product
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from radii.data.files import StrPath, open_text
from radii.errors import InputError, shown

Loss = Literal["infonce", "infonce-two-sided", "siglip", "triplet"]
OptimiserName = Literal["sgd", "momentum", "sgdw", "adam", "adamw", "lion"]

# What may differ between runs that advance together as one array.
_PER_RUN = ("eta", "lam", "tau", "beta", "ambiguity", "frequency", "outward", "seed", "initial_norm")


class Setting(BaseModel):
    """One controlled training run. Everything that is random in it comes from `seed`.

    Items lie in clusters of `cluster_size`. A training pair is an item, drawn by `frequency`, and its
    positive: with probability `ambiguity` an item of another cluster, else another member of its own.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    n_items: int = Field(default=100, ge=4)
    cluster_size: int = Field(default=5, ge=2)
    ambiguity: float | tuple[float, ...] = Field(
        default=0.1,
        description="One number, two to spread evenly over items in random order, or one per item.",
    )
    frequency: float | tuple[float, ...] = Field(
        default=1.0, description="Relative weight of an item as an anchor; two numbers spread it by ratio."
    )
    encoder: Literal["table", "mlp"] = "table"
    dim: int = Field(default=16, ge=2)
    features: int = Field(default=32, ge=1, description="Inputs of the mlp.")
    text_length: tuple[int, int] | None = Field(
        default=None,
        description="Inputs of the mlp are texts: the mean of one-hot words, so many of them. None: vectors.",
    )
    hidden: int = Field(default=64, ge=2)
    layer_norm: bool = Field(default=False, description="LayerNorm before the projection head.")
    head: bool = Field(
        default=True, description="A linear projection head; without it z is the hidden layer."
    )
    activation: Literal["gelu", "none"] = "gelu"
    loss: Loss = "infonce"
    margin: float = Field(default=0.2, description="Of the triplet loss.")
    bias: float = Field(default=-4.0, description="Of the SigLIP loss.")
    tau: float = Field(default=0.1, gt=0)
    batch: int = Field(default=32, ge=2)
    optimiser: OptimiserName = "sgd"
    eta: float = Field(default=0.05, gt=0)
    lam: float = Field(default=0.01, ge=0)
    beta: float = Field(
        default=0.9, ge=0, lt=1, description="Momentum, or the first coefficient of Adam, Lion."
    )
    beta2: float = Field(default=0.999, ge=0, lt=1)
    epsilon: float = Field(default=1e-12, gt=0, description="Of Adam; tiny, or it breaks scale invariance.")
    outward: float = Field(default=0.0, description="A radial push added to u: makes drift to order.")
    initial_norm: float = Field(default=0.1, gt=0)
    burn_in: int = Field(default=2000, ge=0)
    steps: int = Field(default=2000, ge=32, description="After burn-in; these are measured.")
    lags: int = Field(default=0, ge=0, description="Autocovariances of the gradient, up to this lag.")
    samples: int = Field(default=0, ge=0, description="Steps whose (d, s) are kept for the radial chain.")
    precision: Literal["float32", "float64"] = "float32"
    seed: int = Field(default=0, ge=0)

    @model_validator(mode="after")
    def _coherent(self) -> Setting:
        if self.n_items % self.cluster_size or self.n_items == self.cluster_size:
            raise ValueError(f"{self.n_items} items do not make two or more clusters of {self.cluster_size}")
        for name in ("ambiguity", "frequency"):
            values = getattr(self, name)
            each = (values,) if isinstance(values, float) else values
            if len(each) not in (1, 2, self.n_items):
                raise ValueError(f"{name}: {len(each)} numbers; give 1, 2 or {self.n_items}")
            low, high = (0.0, 1.0) if name == "ambiguity" else (1e-12, float("inf"))
            if not all(low <= value <= high for value in each):
                raise ValueError(f"{name}: {values} is not {'in [0, 1]' if low == 0 else 'above 0'}")
        if self.optimiser != "adam" and self.eta * self.lam >= 1:
            raise ValueError(
                f"ηλ = {self.eta * self.lam:g} is 1 or more: one step of decay would turn z around"
            )
        if self.encoder == "mlp" and self.layer_norm and not self.head:
            raise ValueError("layer_norm without head: every norm would be the same")
        if self.encoder == "mlp" and self.outward:
            raise ValueError("outward is for the table: what it pushes in a network is not its item alone")
        if self.text_length is not None and not 1 <= self.text_length[0] <= self.text_length[1]:
            raise ValueError(f"text_length: {self.text_length} is not a range of counts")
        if self.samples > self.steps:
            raise ValueError(f"samples: {self.samples} of {self.steps} steps")
        return self

    @property
    def power(self) -> int:
        """p of Δz ∝ R^(−p): 0 where the optimiser normalises the gradient, else 1."""
        return 0 if self.optimiser in ("adam", "adamw", "lion") else 1

    @property
    def structure(self) -> tuple[tuple[str, Any], ...]:
        """What two runs must share to advance together as one array."""
        return tuple((k, v) for k, v in self.model_dump().items() if k not in _PER_RUN)


def setting(values: Mapping[str, Any], where: str = "setting") -> Setting:
    """A Setting from names and values; InputError names the first field that is wrong."""
    try:
        return Setting(**values)
    except ValidationError as error:
        first = error.errors()[0]
        name = ".".join(map(str, first["loc"][:1]))
        message = first["msg"].removeprefix("Value error, ")
        found = f"{name} = {first['input']!r}: {message}" if name else message
        fix = (
            f"give fields of {', '.join(Setting.model_fields)}"
            if "Extra" in message
            else "correct the setting"
        )
        raise InputError(found, where=where, fix=fix) from error


def grid(base: Mapping[str, Any], over: Mapping[str, list[Any]], where: str = "grid") -> list[Setting]:
    """Every combination of the values in `over`, the last name fastest, on top of `base`.

    >>> [s.lam for s in grid({"eta": 0.1}, {"lam": [0.1, 0.2]})]
    [0.1, 0.2]
    """
    for name, values in over.items():
        if not isinstance(values, list) or not values:
            raise InputError(f"{name} = {values!r}", where=where, fix="give a list of values to run through")
    return [
        setting({**base, **dict(zip(over, values, strict=True))}, where) for values in product(*over.values())
    ]


def read_settings(path: StrPath, overrides: Mapping[str, Any] | None = None) -> list[Setting]:
    """Settings of a TOML file with a table `[setting]` of values and a table `[grid]` of lists.

    `overrides` replace values of `[setting]`, and take their names out of `[grid]`. Raises InputError with
    the file on anything that is not TOML, another table, or a value that a Setting refuses.
    """
    with open_text(path) as file:
        text = file.read()
    try:
        tables = tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise InputError(f"not TOML ({error})", where=path, fix="correct the file") from error
    unknown = [name for name in tables if name not in ("setting", "grid")]
    if unknown or not all(isinstance(table, dict) for table in tables.values()):
        raise InputError(
            f"{shown(unknown or list(tables))} at the top",
            where=path,
            fix="write tables [setting] and [grid]",
        )
    given = dict(overrides or {})
    over = {name: values for name, values in tables.get("grid", {}).items() if name not in given}
    return grid({**tables.get("setting", {}), **given}, over, str(path))


def parse_values(words: list[str]) -> dict[str, Any]:
    """Settings from words NAME=VALUE, the value as in TOML or else a plain word.

    >>> parse_values(["lam=0.1", "optimiser=lion", "ambiguity=[0.0, 0.5]"])
    {'lam': 0.1, 'optimiser': 'lion', 'ambiguity': [0.0, 0.5]}
    """
    found: dict[str, Any] = {}
    for word in words:
        name, equals, text = word.partition("=")
        if not equals or not name:
            raise InputError(f"{word!r}", where="--set", fix="write NAME=VALUE, as in --set lam=0.1")
        try:
            found[name] = tomllib.loads(f"value = {text}")["value"]
        except (ValueError, RecursionError):
            found[name] = text
    return found
