"""The rules that turn a probe's correlations into one label."""

from __future__ import annotations

from collections.abc import Mapping

from radii.probing.report import Regime, Reliability, With
from radii.result import Correlation

RELIABLE = 0.7  # of the whole: below, correlations are attenuated by more than a sixth
MANY = 0.5  # a rank correlation with length from here on is called control


def regime(
    norm_with: Mapping[str, With], reliability: Mapping[str, Reliability], drift_share: float | None
) -> Regime:
    """Name what controls the norm.

    In this order: *inconclusive* where the heat is not reliable (0.7). *heat-controlled* where the norm rises
    with raw heat and with matched heat, that of R^p Δz / η at the measured p, length held fixed, both
    intervals above 0: each alone may be arithmetic, raw heat where Δz ∝ R and R²-fold heat always. Where heat
    alone sets the norm, p = 1 and R⁴ ∝ S, so raw heat S / R² rises with R² while angular heat S / R⁴ is
    level. Without a measured p, all three normalisations have to rise. *length-controlled* where
    |ρ(norm, length)| is at least 0.5 over its whole interval. *drift-dominated* where drift alone gives most
    inputs' equilibrium and the norm rises with drift, length held fixed. Else *inconclusive*. Without lengths
    the plain correlations decide, and length cannot.

    `drift_share` is the share of inputs whose stationary norm is drift's within 5 %.
    """
    deciding = ("raw", "matched") if "matched" in norm_with else ("raw", "scaled", "angular")
    known = ("raw", "scaled", "angular", "matched", "drift")
    held = {name: _best(norm_with[name]) for name in known if name in norm_with}
    length = norm_with["length"].plain if "length" in norm_with else None
    trust = reliability["raw"].whole
    numbers: dict[str, float | None] = {
        f"norm with {name}{'' if length is None else ', length fixed'}": found.estimate
        for name, found in held.items()
    }
    numbers |= {
        "norm with length": None if length is None else length.estimate,
        "reliability of heat": trust,
        "share of inputs held up by drift": drift_share,
    }
    said = ", ".join(f"{name} {_shown(found)}" for name, found in held.items() if name != "drift")
    fixed = "" if length is None else " with text length held fixed"
    heat = f"heat{fixed}: {said}"
    if trust is None or trust < RELIABLE:
        shown = "undefined" if trust is None else f"{trust:.2f}"
        meaning = (
            f"The heat of two halves of the minibatches does not agree (reliability {shown}): take more."
        )
        return Regime(label="inconclusive", meaning=meaning, numbers=numbers)
    if all(_above(held[name]) for name in deciding):
        meaning = f"The norm rises with heat, and with {' and '.join(deciding[1:])} heat too ({heat})."
        return Regime(label="heat-controlled", meaning=meaning, numbers=numbers)
    if length is not None and _far(length):
        meaning = (
            f"The norm goes with text length (ρ {_shown(length)}), and not with heat beyond arithmetic "
            f"({heat}): do not read it as specificity."
        )
        return Regime(label="length-controlled", meaning=meaning, numbers=numbers)
    if drift_share is not None and drift_share > 0.5 and _above(held["drift"]):
        meaning = (
            f"Drift alone gives the equilibrium of {drift_share:.0%} of inputs, and the norm rises with it "
            f"(ρ {_shown(held['drift'])}{fixed})."
        )
        return Regime(label="drift-dominated", meaning=meaning, numbers=numbers)
    meaning = f"Neither heat ({heat}), nor length, nor drift accounts for the norm by these rules."
    return Regime(label="inconclusive", meaning=meaning, numbers=numbers)


def _best(found: With) -> Correlation:
    return found.plain if found.length_fixed is None else found.length_fixed


def _above(found: Correlation) -> bool:
    return found.low is not None and found.low > 0


def _far(found: Correlation) -> bool:
    return found.low is not None and found.high is not None and (found.low >= MANY or found.high <= -MANY)


def _shown(found: Correlation) -> str:
    if found.estimate is None or found.low is None or found.high is None:
        return "undefined"
    return f"{found.estimate:+.2f} ({found.low:+.2f} … {found.high:+.2f})"
