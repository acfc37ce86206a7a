"""What a report can offer for every engine before anything is exported: commands, and requests."""

from __future__ import annotations

import shlex
from dataclasses import dataclass

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
FIRST = "qdrant-server"  # a recipe, so nothing to install or start; the one that was run against its server


@dataclass(frozen=True)
class Inputs:
    """What an audit was given, spelled as `radii export` takes it again; placeholders where not known.

    Attributes
    ----------
    docs, queries : str
        Files, folders, patterns, or addresses of engines.
    ids, query_ids : str, optional
        Files of ids.
    texts, tokenizer, signals : str, optional
        What makes the documents' length, rarity, and the user's own columns.
    """

    docs: str = "DOCS"
    queries: str = "QUERIES"
    ids: str | None = None
    query_ids: str | None = None
    texts: str | None = None
    tokenizer: str | None = None
    signals: str | None = None

    def words(self, columns: bool) -> list[str]:
        """Of the command line; what makes signals only with `columns`.

        A URL may carry a password or a token and is not repeated: its placeholder stays.

        >>> Inputs("d.npy", "q.npy", query_ids="q.txt", texts="d.tsv").words(columns=False)
        ['d.npy', '--queries', 'q.npy', '--query-ids', 'q.txt']
        """
        found = [_repeatable(self.docs, "DOCS"), "--queries", _repeatable(self.queries, "QUERIES")]
        files = {"--ids": self.ids, "--query-ids": self.query_ids}
        if columns:
            files |= {"--texts": self.texts, "--tokenizer": self.tokenizer, "--signals": self.signals}
        return found + [word for name, file in files.items() if file is not None for word in (name, file)]


def next_command(report: Report, file: str, given: Inputs, program: str = "radii") -> str | None:
    """The command that exports the recommendation as files; None where there is nothing to export.

    It runs as it stands where `given` has no placeholders and no URLs. `file` is where report.json lies,
    `program` how a shell calls radii.
    """
    chosen = report.recommendation
    if chosen.method == "cosine" or not chosen.servable:
        return None
    columns = chosen.method.removeprefix("norm and ") in {signal.name for signal in report.signals}
    return f"{program} {shlex.join(['export', file, *given.words(columns), '--to', FIRST])}"


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
    words = "radii", "export", file, *Inputs().words(columns=False), "--to", engine, "--out", "served"
    return shlex.join(words)


def _repeatable(place: str, placeholder: str) -> str:
    return placeholder if "://" in place else place


def _text(request: Request) -> str:
    return f"{request.to}\n{shown(request)}"
