"""What `radii export` and `radii verify` do: files in, files and lines out."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sized
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np

from radii.attribution import proxies
from radii.data.embeddings import Embeddings, Floats
from radii.data.files import StrPath, atomic_write
from radii.data.texts import Texts
from radii.data.vectors import ids_path, write_ids
from radii.deploy.choice import choose
from radii.deploy.correction import correction
from radii.deploy.engines import engine
from radii.deploy.export import export, restore
from radii.deploy.forms import Form
from radii.deploy.manifest import read_manifest
from radii.deploy.recipes import RECIPES, as_json, form_of, lines, recipe, write_documents
from radii.deploy.recipes.base import check_formula
from radii.errors import InputError, shown
from radii.report.reading import read_report
from radii.result import TOKENS, WORDS

EXPORT, LOCATION = "export", "engine"


class Advice(NamedTuple):
    """What a report says of one arm, and what it takes to compute it again."""

    method: str
    parameters: dict[str, float]
    exclude_self: bool
    length_unit: str | None


def advice(path: StrPath, arm: str | None = None) -> Advice:
    """A report's recommendation, or one of its arms.

    Raises InputError on a file that is no report, an arm that it lacks or that no single vector serves.
    """
    report = read_report(path)
    given = report.data.exclude_self, report.how.length_unit
    if arm is None:
        return Advice(report.recommendation.method, report.recommendation.parameters, *given)
    arms = {one.name: one for one in report.arms}
    if arm == "cosine":
        return Advice(arm, {}, *given)
    if arm not in arms:
        raise InputError(f"no arm {arm!r}", where=path, fix=f"take one of {shown(arms, 30)}")
    if not arms[arm].servable:
        raise InputError(f"{arm!r}", where=path, cause="no single vector serves it", fix="take another arm")
    return Advice(arm, arms[arm].parameters, *given)


def export_to(
    report: StrPath,
    docs: Embeddings,
    out: StrPath,
    to: str,
    *,
    queries: Embeddings | None = None,
    texts: Texts | None = None,
    signals: Mapping[str, Floats] | None = None,
    tokenize: Callable[[str], Sized] | None = None,
    arm: str | None = None,
    form: Form | None = None,
    dtype: Literal["float32", "float16"] = "float32",
    progress: Callable[[int, int], None] | None = None,
) -> list[str]:
    """Write `out`/export and, filled from it, `out`/engine; lines that say what was done and how to search.

    Raises InputError as `advice`, `correction`, `export` and `Engine.write`; MissingExtraError without the
    engine's package, before anything is written.
    """
    method, parameters, exclude_self, unit = advice(report, arm)
    chosen = None if to in RECIPES else engine(to)
    if chosen is not None:
        chosen.library()
    forms = (form_of(to),) if chosen is None else chosen.forms
    taken = form or forms[0]
    if taken not in forms:
        raise InputError(
            f"the {taken} form",
            where=to,
            cause=None if chosen is None else chosen.why,
            fix=f"leave --form out, or take {forms[0]}",
        )
    if method.split()[-1] == "length" and texts is not None and "length" not in (signals or {}):
        _same_unit(unit, WORDS if tokenize is None else TOKENS, report)
    known = proxies(docs, texts, signals or {}, tokenize)
    change = correction(method, parameters, docs, queries=queries, signals=known, exclude_self=exclude_self)
    check_formula(method, change.projection is not None, to)
    choice = None if chosen is None else choose(chosen, docs, change, queries=queries, form=form)
    taken = taken if choice is None else choice.form
    folder, location = Path(out) / EXPORT, Path(out) / LOCATION
    manifest = export(docs, change, folder, form=taken, dtype=dtype, progress=progress)
    parts = "".join(f", {name} {value:+.4g}" for name, value in manifest.parameters.items())
    said = f"{method}{parts}: {manifest.n_docs:,} docs, {manifest.dim} → {manifest.served_dim} dims, {dtype}"
    if chosen is None or choice is None:
        return [said, f"export {folder}", "", f"radii recipe {folder} --to {to}"]
    chosen.write(folder, location)
    reason = chosen.why if taken == forms[0] else "as asked" if form else "its index finds most in it"
    return [
        said,
        f"form {taken}: {reason}",
        *([choice.line] if choice.recall else []),
        f"export {folder}",
        f"engine {location}",
        "",
        "from radii.deploy.manifest import read_manifest",
        f'queries = read_manifest("{folder}").queries(queries)',
        *chosen.snippet.format(location=location).splitlines(),
        "",
        f"radii verify {location} --against {folder}",
    ]


def _same_unit(audited: str | None, here: str, report: StrPath) -> None:
    if audited is not None and audited != here:
        raise InputError(
            f"lengths in {here}, the audit counted {audited}",
            where=report,
            cause="an exponent of one is not one of the other",
            fix="give the --tokenizer of the audit" if audited == TOKENS else "leave --tokenizer out",
        )


def recipe_of(
    folder: StrPath, to: str, *, k: int = 10, json: bool = False, documents: StrPath | None = None
) -> list[str]:
    """What to send to a server for the export in `folder`; a file named `documents` gets all of them.

    Raises InputError as `read_manifest`, `recipe` and `Recipe.documents`.
    """
    manifest = read_manifest(folder)
    made = recipe(to, manifest, k)
    told = [as_json(made)] if json else lines(made)
    if documents is not None:
        write_documents(made, folder, documents)
        told += [] if json else [f"{manifest.n_docs:,} documents in {documents}"]
    return told


def restore_to(folder: StrPath, out: StrPath) -> Embeddings:
    """Original vectors of an export as `out` (.npy), ids beside it."""
    target = Path(out)
    if target.suffix != ".npy":
        raise InputError(f"output format {target.suffix!r}", where=out, fix="end the name in .npy")
    back = restore(folder)
    with atomic_write(target) as file:
        np.save(file, back.vectors)
    write_ids(ids_path(target), back.ids)
    return back
