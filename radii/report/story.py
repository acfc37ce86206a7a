"""The report in sentences: what every rendering says first, in the same words."""

from __future__ import annotations

import re
import unicodedata

from radii.result import Arm, Finding, Report

_DIRECTIONS = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
_HYPHENS = re.compile(r"(?<![\w.-])-(?=\d)")
STANDING = (
    "One model, one corpus, these queries: another corpus can give another sign.",
    "Gains are differences to cosine in one metric.",
    "A relevant document that nobody judged counts as a miss.",
)


def headline(report: Report) -> str:
    """The verdict in one sentence, with its number and interval."""
    verdict, data, metric = report.verdict, report.data, report.how.metric
    measured = worth(report, verdict.gain, verdict.gain_ci)
    if verdict.label == "no-signal":
        return (
            f"No signal: all norms are {report.norms.mean:.4g} up to rounding, so every exponent is cosine."
        )
    if verdict.label == "unverified":
        if data.n_judged == 0:
            return f"Unverified: norms vary, and no judgements say whether that helps; {_wanted(report)}."
        so_far = "" if measured is None else f", although an exponent changes {metric} by {measured} so far"
        return f"Unverified: {data.n_judged:,} judged queries cannot decide{so_far}; {_wanted(report)}."
    changes = f"changes {metric} by {measured} on {data.n_judged:,} held-out queries"
    if verdict.label == "keep-cosine":
        return f"Keep cosine: an exponent of the norm {changes}."
    if verdict.label == "proxy":
        return f"Proxy: γ = {verdict.gamma:+.2f} {changes}, but that is a gain of {verdict.proxy}."
    side = "Discount" if verdict.gamma < 0 else "Favour"
    return f"{side} long vectors: γ = {verdict.gamma:+.2f} {changes}."


def _wanted(report: Report) -> str:
    needed = report.verdict.needed_queries
    return "keep cosine" if needed is None else f"it takes about {needed:,}, until then keep cosine"


def advice(report: Report) -> str:
    """The recommendation in one sentence, with its number and interval."""
    chosen, metric = report.recommendation, report.how.metric
    measured = worth(report, chosen.gain, chosen.gain_ci)
    if chosen.method == "cosine":
        if measured is None or report.verdict.label in ("unverified", "no-signal"):
            return "Rank by cosine."
        return f"Rank by cosine: choosing the best of all that was tried changes {metric} by {measured}."
    told = parameters(chosen.parameters)
    served = "one vector and one inner product serve it" if chosen.servable else "no single vector serves it"
    return (
        f"Rank by {chosen.method}{f' ({told})' if told else ''}: {measured} over cosine, held out; {served}."
    )


def worth(report: Report, gain: float | None, interval: tuple[float, float] | None) -> str | None:
    """`+0.020 (95 % +0.011 … +0.029)`; None where it was not measured."""
    if gain is None or interval is None:
        return None
    return f"{signed(gain)} ({report.how.level * 100:g} % {signed(interval[0])} … {signed(interval[1])})"


def signed(value: float, digits: int = 3) -> str:
    """A sign unless it rounds to zero.

    >>> signed(-0.0004), signed(0.02)
    ('0.000', '+0.020')
    """
    text = f"{value:+.{digits}f}"
    return text[1:] if float(text) == 0 else text


def parameters(values: dict[str, float]) -> str:
    """`γ -0.25`, `w +0.50`; further exponents by their names.

    >>> parameters({"gamma": -0.25, "gamma of length": 0.5}), parameters({"weight": 0.49})
    ('γ -0.25, γ of length +0.50', 'w +0.49')
    """
    named = ((name.replace("gamma", "γ").replace("weight", "w"), value) for name, value in values.items())
    return ", ".join(f"{name} {value:+.2f}" for name, value in named)


def minus(text: str) -> str:
    """Numbers with a true minus sign that stay together, for pages.

    >>> minus("-0.020 (-0.03 … 0.01), k-occurrence, 2-3")
    '−0.020 (−0.03 … 0.01), k-occurrence, 2-3'
    """
    return _HYPHENS.sub("−", text).replace(" %", "\u00a0%").replace("γ = ", "γ\u00a0=\u00a0")


def caveats(report: Report) -> list[Finding]:
    """Findings that limit what may be concluded: those that fail, and those that were skipped."""
    return [f for f in report.findings if f.status in ("fails", "skipped")]


def tuned(report: Report) -> Arm | None:
    """The norm's exponent on the whole range, if it was judged."""
    return next((arm for arm in report.arms if arm.name == "norm exponent"), None)


def one_line(text: str, limit: int | None = None) -> str:
    r"""Text for a page: white space collapsed; what is invisible or turns the line around is spelled out.

    >>> one_line("a\n b\x00\u202ec"), one_line("abcdef", limit=4)
    ('a b\\x00\\u202ec', 'abc…')
    """
    text = " ".join(text.split())
    if limit is not None and len(text) > limit:
        text = text[: limit - 1] + "…"
    return "".join(
        c.encode("unicode_escape").decode("ascii")
        if c in _DIRECTIONS or unicodedata.category(c) in ("Cc", "Cs")
        else c
        for c in text
    )
