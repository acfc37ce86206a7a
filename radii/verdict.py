"""The rules that turn evidence into one answer. Nothing is measured here."""

from __future__ import annotations

from radii.attribution import Attribution
from radii.evidence.arms import Contender
from radii.findings import CATALOGUE
from radii.ranking.path import MetricPath
from radii.result import Label, Recommendation, Verdict
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
    norms: NormSummary,
    main: Contender | None,
    known: Attribution | None,
    steps: MetricPath,
    needed: int,
    effect: float,
) -> Verdict:
    """The label, from the held-out evidence.

    - `no-signal`: the norms are constant up to rounding.
    - `discount`, `amplify`: at least 25 judged queries, the held-out gain's interval lies above 0 with a
      permutation p below its level, and so does what the norm adds to the best of everything else.
    - `proxy`: the norm gains, but adds nothing to the arm that gains most.
    - `unverified`: fewer than 25 judged queries, or no such gain and fewer queries than it takes to see
      one of `effect`.
    - `keep-cosine`: everything else.

    Parameters
    ----------
    norms : NormSummary
    main : Contender or None
        The norm's exponent; None when there are too few queries to fold.
    known : Attribution or None
    steps : MetricPath
    needed : int
        Judged queries it takes to see a gain of `effect`.
    effect : float
    """
    if norms.constant:
        return _no_signal(norms)
    n, metric = len(steps.ids), steps.metric
    gained = main is not None and main.estimate.above_zero and main.parameter != 0.0
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
        text = f"Rank by cosine. On held-out queries an exponent of the norm changes {metric} by {said}."
        return Verdict(label="keep-cosine", gamma=0.0, gain=gain, gain_ci=interval, summary=text)
    verb = "Discounting" if main.parameter < 0 else "Favouring"
    text = (
        f"{verb} long vectors helps: γ = {main.parameter:+.2f} takes {metric} from {steps.at(0.0):.3f} to "
        f"{steps.at(main.parameter):.3f}. On held-out queries the gain is {said}."
    )
    beyond = None if known is None else known.beyond
    proxy = None
    label: Label = "discount" if main.parameter < 0 else "amplify"
    if known is not None and known.proxy is not None and beyond is not None:
        left = f"On top of {known.proxy.name} the norm adds {beyond.estimate:+.3f}"
        if beyond.estimate.above_zero and known.proxy.estimate.mean <= 0:
            text += " Nothing else that was tried gains."
        elif beyond.estimate.above_zero:
            text += f" {left}: some of the gain is its own."
        else:
            label, proxy = "proxy", known.proxy.explains
            text += f" But it is a gain of {proxy}. {left}."
    return Verdict(
        label=label,
        gamma=main.parameter,
        gain=gain,
        gain_ci=interval,
        proxy=proxy,
        beyond=None if beyond is None else beyond.estimate.mean,
        beyond_ci=None if beyond is None else (beyond.estimate.low, beyond.estimate.high),
        summary=text,
    )


def recommend(verdict: Verdict, known: Attribution | None) -> Recommendation:
    """The best of all arms, if choosing it gains on held-out queries; else cosine."""
    gain = None if known is None else known.honest.mean
    interval = None if known is None else (known.honest.low, known.honest.high)
    decided = verdict.label not in ("no-signal", "unverified")
    if known is None or not decided or not known.honest.above_zero:
        return Recommendation(
            method="cosine",
            parameters={},
            gain=gain,
            gain_ci=interval,
            servable=True,
            summary="Rank by cosine: nothing else is known to gain.",
        )
    best = known.best
    parameters = dict(best.parameters)
    shown = "".join(f", {name} {value:+.2f}" for name, value in parameters.items())
    return Recommendation(
        method=best.name,
        parameters=parameters,
        gain=gain,
        gain_ci=interval,
        servable=best.servable,
        summary=f"{best.name}{shown}: {known.honest:+.3f} over cosine, held out. "
        "Servable from one vector and one inner product.",
    )
