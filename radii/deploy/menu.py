"""What a report can offer for every engine before anything is exported: commands, and requests."""

from __future__ import annotations

import shlex

import radii
from radii.deploy.engines import ENGINES
from radii.deploy.forms import Form
from radii.deploy.manifest import Manifest
from radii.deploy.recipes import RECIPES, Request, form_of, recipe, shown
from radii.deploy.recipes.base import check_formula
from radii.errors import InputError
from radii.evidence.field import HUB, LOCAL, SOFTMAX
from radii.evidence.rivals import PROJECTIONS
from radii.result import Report

_PENALISED = (HUB, SOFTMAX, LOCAL, "CSLS")


def menu(report: Report, file: str, *, k: int = 10) -> dict[str, list[tuple[str, str]]]:
    """Engine → what to copy, as (what it is for, text); `file` is where report.json lies.

    For engines that radii fills, commands; for servers, the requests of their recipes. A server that cannot
    serve the recommendation is left out.
    """
    found = {}
    for name, one in ENGINES.items():
        found[name] = [
            ("Install", f"pip install 'radii[{one.extra}]'"),
            ("Write the vectors", _export(file, name)),
            (
                "Ask, from Python",
                "from radii.deploy.manifest import read_manifest\n"
                'queries = read_manifest("served/export").queries(queries)\n'
                + one.snippet.format(location="served/engine"),
            ),
            ("Check it", "radii verify served/engine --against served/export"),
        ]
    for name in RECIPES:
        try:
            made = recipe(name, preview(report, form_of(name)), k)
            check_formula(report.recommendation.method, report.recommendation.method in PROJECTIONS, name)
        except InputError:
            continue
        found[f"{name} (server)"] = [
            ("Write the vectors", _export(file, name)),
            (f"Create: {made.why}", _text(made.create)),
            ("Write the documents", f"radii recipe served/export --to {name} --documents documents"),
            ("Load them", made.load),
            ("Ask", _text(made.search)),
        ]
    return found


def preview(report: Report, form: Form) -> Manifest:
    """The manifest that an export of the recommendation would have, as far as a report knows it."""
    chosen, data, norms = report.recommendation, report.data, report.norms
    gamma = chosen.parameters.get("gamma", 0.0)
    by_norm = chosen.method in ("norm exponent", "discount only", "amplify only", "inner product")
    penalised = chosen.method in _PENALISED
    return Manifest(
        method=chosen.method,
        parameters=chosen.parameters,
        form=form,
        dim=data.dim,
        served_dim=data.dim + penalised + (form == "unit"),
        dtype="float32",
        n_docs=data.n_docs,
        source=data.docs,
        largest=max(norms.largest**gamma, norms.smallest**gamma) if by_norm else 1.0,
        penalised=penalised,
        centre=[0.0] * data.dim if chosen.method in PROJECTIONS else None,
        directions=[],
        checksum="",
        transform="",
        radii_version=radii.__version__,
    )


def _export(file: str, engine: str) -> str:
    words = "radii", "export", shlex.quote(file), "DOCS", "--queries", "QUERIES", "--to", engine
    return " ".join((*words, "--out", "served"))


def _text(request: Request) -> str:
    return f"{request.to}\n{shown(request)}"
