"""The rules that turn evidence into one answer. Nothing is measured here."""

from __future__ import annotations

from typing import Literal

from radii.evidence.holdout import HeldOut
from radii.findings import CATALOGUE
from radii.ranking.path import MetricPath
from radii.result import Verdict
from radii.signals.norm import NormSummary

FEWEST_QUERIES = 25  # below this no resampling interval is worth its name


def without_judgements(norms: NormSummary) -> Verdict:
    """`no-signal` when the norms are constant, else `unverified`."""
    if norms.constant:
        return _no_signal(norms)
    text = (
        f"Norms vary (standard deviation of log norm {norms.sd_log:.3g}), but without judgements nobody can "
        f"say whether ranking by them helps. Keep cosine; give qrels for {FEWEST_QUERIES} or more queries."
    )
    return Verdict(
        label="unverified", gamma=0.0, gain=None, gain_ci=None, needed_queries=FEWEST_QUERIES, summary=text
    )


def _no_signal(norms: NormSummary) -> Verdict:
    text = (
        f"All norms are {norms.mean:.4g} up to rounding: the model or the engine normalised these vectors, "
        f"so every exponent ranks like cosine. {CATALOGUE['R101'][1]}"
    )
    return Verdict(label="no-signal", gamma=0.0, gain=None, gain_ci=None, summary=text)


def decide(
    norms: NormSummary, main: HeldOut | None, steps: MetricPath, needed: int, effect: float
) -> Verdict:
    """The label, from the held-out evidence.

    - `no-signal`: the norms are constant up to rounding.
    - `discount`, `amplify`: at least 25 judged queries, and the held-out gain's interval lies above 0
      with a permutation p below its level.
    - `unverified`: fewer than 25 judged queries, or no such gain and fewer queries than it takes to see
      one of `effect`.
    - `keep-cosine`: everything else.

    Parameters
    ----------
    norms : NormSummary
    main : HeldOut or None
        Evidence on the norm's exponent; None when there are too few queries to fold.
    steps : MetricPath
    needed : int
        Judged queries it takes to see a gain of `effect`.
    effect : float
    """
    if norms.constant:
        return _no_signal(norms)
    n, metric = len(steps.ids), steps.metric
    gained = main is not None and main.estimate.above_zero and main.gamma != 0.0
    gain = None if main is None else main.estimate.mean
    interval = None if main is None else (main.estimate.low, main.estimate.high)
    if main is None or n < FEWEST_QUERIES or (not gained and n < needed):
        text = (
            f"{n} judged queries cannot decide: seeing a gain of {effect:g} in {metric} takes about "
            f"{needed}. Until then keep cosine."
        )
        return Verdict(
            label="unverified", gamma=0.0, gain=gain, gain_ci=interval, needed_queries=needed, summary=text
        )
    said = f"{main.estimate:+.3f}, {n} queries"
    if not gained:
        text = (
            f"Rank by cosine. On held-out queries tuning an exponent of the norm changes {metric} by {said}."
        )
        return Verdict(label="keep-cosine", gamma=0.0, gain=gain, gain_ci=interval, summary=text)
    label: Literal["discount", "amplify"] = "discount" if main.gamma < 0 else "amplify"
    verb = "Discounting" if main.gamma < 0 else "Favouring"
    text = (
        f"{verb} long vectors helps: γ = {main.gamma:+.2f} takes {metric} from {steps.at(0.0):.3f} to "
        f"{steps.at(main.gamma):.3f}. On held-out queries the gain is {said}."
    )
    return Verdict(label=label, gamma=main.gamma, gain=gain, gain_ci=interval, summary=text)
