"""A figure of controlled runs: trained norms against the equation's, as SVG. Needs the extra `figures`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from radii.data.files import StrPath, atomic_write
from radii.dynamics.result import Run

_MOST_POINTS = 4000


def draw_runs(runs: Sequence[Run], folder: StrPath) -> str:
    """Write `folder`/figure.svg; a line that says where it is, or why there is none.

    One point per item of a stationary run, a seeded sample of them above 4,000.
    """
    settled = [run for run in runs if run.stationarity.reached and run.predictable.all()]
    if not settled:
        return "none: no run reached an equilibrium of the equation"
    try:
        import altair
        import vl_convert
    except ImportError:
        return "none: pip install 'radii[figures]'"
    rows = [
        {"equation": float(p), "trained": float(r), "eta lambda": f"{run.setting.eta * run.setting.lam:.3g}"}
        for run in settled
        for p, r in zip(run.predicted(), run.norm, strict=True)
    ]
    if len(rows) > _MOST_POINTS:
        kept = np.random.default_rng(0).choice(len(rows), _MOST_POINTS, replace=False)
        rows = [rows[i] for i in sorted(kept)]
    norms = np.array([(row["equation"], row["trained"]) for row in rows], dtype=np.float64)
    low, high = float(norms.min()) / 1.05, float(norms.max()) * 1.05
    log = altair.Scale(type="log", domain=[low, high], nice=False)
    points = (
        altair.Chart(altair.Data(values=rows))
        .mark_point(size=12, filled=True, opacity=0.5)
        .encode(
            altair.X("equation:Q", scale=log, title="norm by the stationary norm equation"),
            altair.Y("trained:Q", scale=log, title="trained norm"),
            altair.Color("eta lambda:N", title="ηλ"),
        )
    )
    ends = altair.Data(values=[{"equation": v, "trained": v} for v in (low, high)])
    line = altair.Chart(ends).mark_line(color="grey", strokeDash=[4, 4]).encode(x="equation:Q", y="trained:Q")
    chart = (line + points).properties(width=360, height=360)
    target = Path(folder) / "figure.svg"
    with atomic_write(target, mode="w") as file:
        file.write(vl_convert.vegalite_to_svg(chart.to_json(), allowed_base_urls=[]))
    return str(target)
