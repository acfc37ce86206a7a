"""The one result object: what an audit returns, and what report.json holds.

Every field is documented here and nowhere else; `Report.model_json_schema()` is the schema. Ratios such as
gains are in units of the metric (0 to 1). Field names stay; a change of meaning raises the first number of
`schema_version`, a new field the second. Samples are bounded, so that a report stays small.
"""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

SCHEMA_VERSION = "1.1"  # 1.1: what a figure needs; every new field has a default
TOKENS, WORDS = "tokens", "words and marks"  # what text length is counted in

Status = Literal["holds", "fails", "not applicable", "skipped"]
Label = Literal["keep-cosine", "discount", "amplify", "proxy", "unverified", "no-signal"]
Interval = tuple[float, float]


class Part(BaseModel):
    """Base of all parts: immutable, no unknown fields, no NaN or infinity."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class Finding(Part):
    """One check: a claim, how it came out, what that means, what to do."""

    code: str = Field(description="Stable code, see the catalogue in radii.findings.")
    title: str = Field(description="The claim that was checked.")
    status: Status
    value: float | None = Field(default=None, description="The number behind it.")
    interval: Interval | None = Field(default=None, description="Its interval, at the protocol's level.")
    meaning: str = Field(description="What was found, in words, with its numbers.")
    remedy: str | None = Field(default=None, description="What to do; none when nothing is to be done.")


class Data(Part):
    """What went in."""

    docs: str = Field(description="Where the document vectors came from.")
    queries: str
    qrels: str | None
    n_docs: int
    n_queries: int = Field(description="Queries handed in.")
    n_judged: int = Field(description="Queries with a relevant document: those that count.")
    dim: int
    dtype: str = Field(description="As stored.")
    exclude_self: bool


class Document(Part):
    """A document with its norm, and its text when texts were given."""

    id: str
    norm: float
    text: str | None = Field(default=None, description="Cut after 1,000 characters.")
    occurrence: int | None = Field(
        default=None, description="In how many queries' first ten it is, by cosine; given where hubs are."
    )


class Histogram(Part):
    """Counts of documents between edges; the last bin holds its upper edge."""

    edges: list[float] = Field(description="Evenly spaced, or in equal ratios where norms span a decade.")
    counts: list[int] = Field(description="One fewer than edges.")


class Norms(Part):
    """The document norms."""

    mean: float
    sd: float
    sd_log: float = Field(description="Standard deviation of log norm: how much an exponent can re-rank.")
    smallest: float
    median: float
    largest: float
    constant: bool = Field(description="Constant up to rounding.")
    longest: list[Document]
    shortest: list[Document]
    histogram: Histogram | None = Field(default=None, description="None when all norms are one number.")


class Steps(Part):
    """The exact mean metric at the resolution of a figure: nothing that happens in a piece is left out."""

    edges: list[float] = Field(description="Of the pieces: every step, or a few hundred evenly spaced γ.")
    lowest: list[float] = Field(description="Smallest value in each piece; one fewer than edges.")
    highest: list[float] = Field(description="Largest value in each piece.")


class Path(Part):
    """The metric along γ, on all judged queries. `radii path` writes every step of it."""

    n_intervals: int = Field(description="Intervals on which the mean metric is constant.")
    gammas: list[float] = Field(description="201 exponents across the range.")
    values: list[float] = Field(description="The mean metric there, exact.")
    cosine: float = Field(description="At γ = 0.")
    inner_product: float | None = Field(description="At γ = 1; none when the range leaves it out.")
    best_gamma: float = Field(description="Where the mean is largest on these same queries.")
    best_value: float = Field(description="A maximum over exponents: not what to expect on other queries.")
    steps: Steps | None = Field(default=None, description="The path for a figure.")
    gain_low: list[float] = Field(
        default_factory=list,
        description="At `gammas`, the lower end of the interval of the difference to cosine.",
    )
    gain_high: list[float] = Field(default_factory=list, description="The upper end.")


class Arm(Part):
    """One way to rank, judged on held-out queries against cosine."""

    name: str
    explains: str = Field(description="What a gain of it is a gain of: norm, length, hubness ...")
    tuned: bool = Field(description="Whether its exponent or weight was chosen on training folds.")
    servable: bool = Field(description="Servable from one vector per document and one inner product.")
    parameters: dict[str, float] = Field(
        description="Exponent (gamma) or weight, chosen on all judged queries or fixed; may be empty."
    )
    gain: float = Field(description="Mean held-out gain over cosine.")
    gain_ci: Interval
    p: float = Field(description="Two-sided sign-flip permutation p-value.")
    n: int = Field(description="Judged queries.")
    spread: Interval | None = Field(
        default=None, description="Smallest and largest first parameter over the training folds."
    )


class Correlation(Part):
    """A correlation, or a share of variance, with its interval; all null where it is undefined."""

    estimate: float | None
    low: float | None
    high: float | None


class Signal(Part):
    """A signal of the documents beside the norm."""

    name: str
    with_norm: Correlation = Field(description="Correlation with the norm.")
    partial: Correlation | None = Field(description="The same with all other signals held fixed.")


class Related(Part):
    """How two signals of the documents go together, the norm being one of them."""

    first: str = Field(description="A signal: norm, or the name of another.")
    second: str = Field(description="Another signal.")
    spearman: Correlation = Field(description="Spearman's ρ.")
    kendall: Correlation = Field(description="Kendall's τ_b.")


class Hubness(Part):
    """How unequally documents appear among the first ten of all queries, by cosine."""

    skewness: float = Field(description="Of the k-occurrence; far above 0 means a few hubs.")
    robin_hood: float = Field(description="Share of appearances to move for all to be equal.")
    hubs: int = Field(description="Documents that appear more than twice as often as expected.")
    antihubs: int = Field(description="Documents that never appear.")
    expected: float = Field(description="Mean k-occurrence.")
    largest: float = Field(description="k-occurrence of the largest hub.")
    most: list[Document] = Field(default_factory=list, description="Those that appear most often.")
    never: list[Document] = Field(
        default_factory=list, description="Some that never appear, drawn at random, the longest vector first."
    )


class Sample(Part):
    """Documents for a scatter plot: all of them, or some drawn at random."""

    ids: list[str] = Field(description="Their ids.")
    norm: list[float]
    signals: dict[str, list[float]] = Field(
        description="The signals that go with the norm most closely, rounded to six digits."
    )


class Ranked(Part):
    """A document in a ranking."""

    id: str
    norm: float
    grade: int | None = Field(description="Its judgement; none when nobody judged it.")
    text: str | None = Field(default=None, description="Cut after 160 characters.")


class Change(Part):
    """A query whose ranking an exponent changes."""

    id: str
    text: str | None = Field(default=None, description="Cut after 1,000 characters.")
    at_cosine: float = Field(description="The metric by cosine.")
    at_gamma: float = Field(description="The metric by the exponent.")
    by_cosine: list[Ranked] = Field(description="Its first documents by cosine, best first.")
    by_gamma: list[Ranked] = Field(description="Its first documents by the exponent.")


class Changes(Part):
    """The queries that an exponent helps and hurts most, the most first."""

    gamma: float = Field(description="The norm's tuned exponent; where that is 0, the inner product's.")
    n_gain: int = Field(description="Queries whose metric rises.")
    n_lose: int = Field(description="Queries whose metric falls.")
    gain: list[Change] = Field(description="At most five.")
    lose: list[Change] = Field(description="At most five.")


class Recommendation(Part):
    """How to rank: the best of all arms and rivals, if any gains."""

    method: str = Field(description="Name of an arm, or cosine.")
    parameters: dict[str, float] = Field(description="Exponent (gamma) or weight.")
    gain: float | None = Field(description="Held-out gain of choosing it among all; none when not measured.")
    gain_ci: Interval | None
    servable: bool = Field(description="Servable from one vector per document and one inner product.")
    summary: str


class Verdict(Part):
    """The answer."""

    label: Label
    gamma: float = Field(description="The exponent to rank with; 0 is cosine.")
    gain: float | None = Field(description="Held-out gain of tuning the exponent; none when not measured.")
    gain_ci: Interval | None
    proxy: str | None = Field(default=None, description="What the norm stands for, when it is a proxy.")
    beyond: float | None = Field(
        default=None, description="What the norm adds, held out, to the best of everything else."
    )
    beyond_ci: Interval | None = None
    needed_queries: int | None = Field(
        default=None, description="Judged queries it takes to see `min_effect`; given when unverified."
    )
    summary: str = Field(description="The verdict in plain words.")


class How(Part):
    """How it was measured: with this and the data the report can be made again."""

    metric: str
    gamma_range: Interval
    seed: int
    folds: int
    repeats: int
    resamples: int
    level: float
    min_effect: float = Field(description="The smallest gain worth acting on.")
    length_unit: str | None = Field(
        default=None, description="What text length was counted in: the model's tokens, or words and marks."
    )


class Provenance(Part):
    """Versions and times: the only part that differs between two runs with one seed."""

    radii: str
    python: str
    numpy: str
    seconds: float


class Report(Part):
    """Result of `radii.audit`."""

    schema_version: str = SCHEMA_VERSION
    verdict: Verdict
    recommendation: Recommendation
    findings: list[Finding]
    data: Data
    norms: Norms
    path: Path | None = Field(description="None without judgements.")
    arms: list[Arm]
    signals: list[Signal] = Field(description="How other signals go with the norm.")
    relations: list[Related] = Field(description="Every pair of signals.")
    hubness: Hubness | None = Field(
        description="None without judgements, with fewer than 20 queries, or 20 documents or fewer."
    )
    norm_explained: Correlation | None = Field(
        description="Held-out share of the variance of log norm that the other signals predict."
    )
    sample: Sample | None = Field(default=None, description="None where no signal was compared.")
    changes: Changes | None = Field(default=None, description="None without judgements.")
    how: How
    provenance: Provenance
