"""Reports and paths as files: JSON and CSV, written whole or not at all."""

from __future__ import annotations

import csv
import io
import json
import os
from pathlib import Path

from radii.data.files import atomic_write
from radii.errors import printable_json
from radii.ranking.path import MetricPath
from radii.result import Report


def write_report(report: Report, folder: str | os.PathLike[str]) -> Path:
    """`folder`/report.json; the folder is made. InputError when it cannot be written."""
    target = Path(folder) / "report.json"
    with atomic_write(target, mode="w") as out:
        out.write(printable_json(report.model_dump_json(indent=2)) + "\n")
    return target


def path_json(steps: MetricPath) -> str:
    """The mean metric as a step function: value i holds on [edge i, edge i + 1)."""
    best = steps.best()
    body = {
        "metric": str(steps.metric),
        "n_queries": len(steps.ids),
        "best": {"gamma": best.gamma, "value": best.value, "low": best.low, "high": best.high},
        "edges": steps.edges.tolist(),
        "values": steps.values.tolist(),
    }
    return json.dumps(body) + "\n"


def path_csv(steps: MetricPath) -> str:
    """One line per interval: from, to, value."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["gamma_from", "gamma_to", str(steps.metric)])
    edges = steps.edges.tolist()
    writer.writerows(zip(edges[:-1], edges[1:], steps.values.tolist(), strict=True))
    return out.getvalue()
