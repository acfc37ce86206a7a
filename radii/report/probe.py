"""A probe's report as lines for a terminal."""

from __future__ import annotations

import textwrap

from radii.probing.report import ProbeReport
from radii.result import Correlation

_NAMES = {
    "length": "text length",
    "raw": "heat, raw",
    "scaled": "heat × R²",
    "angular": "heat, angular",
    "matched": "heat × R^2p",
    "drift": "drift",
    "second": "second moment",
    "damping": "damping",
    "predicted": "predicted norm",
}


def probe_lines(report: ProbeReport) -> list[str]:
    """Regime, correlations of the norm, and the checks, for a reader who knows the words."""
    how = report.setup
    narrow = " (stopped early: the interval is narrow enough)" if how.stopped_early else ""
    lines = [
        f"radii probe · {how.model}   {how.n_inputs:,} inputs · {how.dim} dims · "
        f"{how.batches} of {how.batches_allowed} minibatches{narrow}",
        "",
        *_wrapped("Regime  ", f"{report.regime.label}: {report.regime.meaning}"),
        *_wrapped("Caveat  ", report.regime.caveat),
        "",
        f"{'norm with':<15} {'ρ':<24} {'length held fixed':<24} reliability",
    ]
    for name, label in _NAMES.items():
        if name not in report.norm_with:
            continue
        found = report.norm_with[name]
        trust = report.reliability[name].whole if name in report.reliability else None
        shown = "" if trust is None else f"{trust:.2f}"
        fixed = "" if name == "length" else _shown(found.length_fixed)
        lines.append(f"{label:<15} {_shown(found.plain):<24} {fixed:<24} {shown}".rstrip())
    alone, tangency = report.by_radius, report.tangency
    power, turn = report.power, tangency.token_turn
    p = "not measured" if power.value is None else f"{power.value:.2f}"
    lines += [
        "",
        f"Factor  R² alone makes ρ {alone.mean:+.2f} ({alone.low:+.2f} … {alone.high:+.2f}) "
        "of norm with heat × R²",
        f"Power   p = {p} in Δz ∝ R^(−p): {power.reason}",
        f"Radius  {tangency.radial_gradient:.1e} of the gradient and "
        f"{tangency.radial_displacement:.1%} of displacement are along it"
        + ("" if turn is None else f"; a token 1 % longer turns ẑ by {turn / 100:.1e}"),
        f"How     {how.objective}, {how.optimizer}, {how.method}, {how.params} parameters "
        f"({how.n_parameters:,}), η {how.eta:.3g}, seed {how.seed}, {report.seconds:.0f} s",
    ]
    return lines


def _wrapped(label: str, text: str) -> list[str]:
    return textwrap.wrap(text, 100, initial_indent=label, subsequent_indent=" " * len(label))


def _shown(found: Correlation | None) -> str:
    if found is None or found.estimate is None:
        return "undefined"
    return f"{found.estimate:+.2f} ({found.low:+.2f} … {found.high:+.2f})"
