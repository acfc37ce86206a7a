"""Which form an engine is given: measured on a sample of the very documents, in the very engine."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import numpy.typing as npt

from radii.data.embeddings import Embeddings
from radii.deploy.correction import Correction
from radii.deploy.engines import Engine
from radii.deploy.export import export, exported
from radii.deploy.forms import Form
from radii.deploy.verify import compare
from radii.findings import finding
from radii.result import Finding, Status

K, ALLOWED = 10, 0.01
_SAMPLE, _QUERIES, _FEWEST, _LEAD = 2000, 200, 500, 0.002
_COSINE = "cosine"


@dataclass(frozen=True)
class Choice:
    """A form, and what speaks for it.

    Attributes
    ----------
    form : Form
    recall : {form or 'cosine': recall@10}; empty where nothing had to be measured
    finding : Finding
        R601.
    """

    form: Form
    recall: Mapping[str, float]
    finding: Finding

    @property
    def line(self) -> str:
        """The finding in one line."""
        found = self.finding
        return f"[{found.code}] {found.meaning}" + (f". {found.remedy}" if found.remedy else "")


def choose(
    engine: Engine,
    docs: Embeddings,
    change: Correction,
    *,
    queries: Embeddings | None = None,
    form: Form | None = None,
    seed: int = 0,
) -> Choice:
    """The form of the engine's in which its index finds most; `form`, where it is given.

    An engine that looks at every document takes its first form. Any other is filled with up to 2,000 of the
    documents, once in every form and once with all lengths 1 (plain cosine), and asked for the first ten of
    up to 200 `queries` (directions of documents, where there are none). Within 0.002 the engine's own order
    of forms decides. Raises InputError as `Engine.write`; MissingExtraError without the engine's package.
    """
    few = len(docs) < _FEWEST
    if engine.exact or few:
        told = (
            f"under {_FEWEST} documents, an index looks at nearly all"
            if few
            else "every document is looked at"
        )
        return Choice(form or engine.forms[0], {}, finding("R601", "not applicable", told))
    rng = np.random.default_rng(seed)
    rows = np.sort(rng.permutation(len(docs))[:_SAMPLE])
    part, own = docs.part(rows), _part(change, rows)
    asked = docs.part(np.sort(rng.permutation(len(docs))[:_QUERIES])) if queries is None else queries
    asked = asked.part(np.sort(rng.permutation(len(asked))[:_QUERIES]))
    plain = Correction(_COSINE, {}, np.ones(len(part)), projection=own.projection)
    tried = engine.forms if form is None else (form,)
    recall = {_COSINE: _recall(engine, part, plain, "ip", asked)}
    recall |= {one: _recall(engine, part, own, one, asked) for one in tried}
    best = max(recall[one] for one in tried)
    taken = next(one for one in tried if recall[one] >= best - _LEAD)
    shown = ", ".join(f"{name} {share:.3f}" for name, share in recall.items())
    where = f"{engine.name}, {len(asked)} queries on {len(part):,} of {len(docs):,} documents"
    told = f"recall@{K} in {where}: {shown}"
    status: Status = "holds" if recall[taken] >= recall[_COSINE] - ALLOWED else "fails"
    return Choice(taken, recall, finding("R601", status, told, value=recall[taken] - recall[_COSINE]))


def _part(change: Correction, rows: npt.NDArray[np.int64]) -> Correction:
    penalty = None if change.penalty is None else change.penalty[rows]
    return replace(change, multiplier=change.multiplier[rows], penalty=penalty)


def _recall(engine: Engine, docs: Embeddings, change: Correction, form: Form, queries: Embeddings) -> float:
    """Mean share of the exact first ten that the engine finds."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        at = Path(folder)
        manifest = export(docs, change, at / "export", form=form)
        engine.write(at / "export", at / "engine")
        asked = manifest.queries(queries)
        share, _ = compare(engine.search(at / "engine", asked, K), asked, exported(at / "export")[0], K)
        return share
