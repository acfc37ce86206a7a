"""A recommendation as numbers: what every document's vector is to be changed by.

    score(q, d) = ⟨z_q, z_d / ‖z_d‖⟩ · m_d − b_d        z = P(x̂ − c), or x̂ where nothing is projected

Every arm of an audit that is servable is of this form: a multiplier m, a penalty b, a projection.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from radii.data.embeddings import Embeddings, Floats
from radii.errors import InputError
from radii.evidence.arms import multiplier
from radii.evidence.field import DENSITY, HUB, LOCAL, OCCURRENCE, SOFTMAX
from radii.evidence.rivals import PROJECTIONS, Projection, local_scaling
from radii.ranking.bank import Bank, ask_all

_BANKED = (HUB, SOFTMAX, DENSITY, OCCURRENCE, LOCAL, "CSLS")


@dataclass(frozen=True, eq=False)
class Correction:
    """What changes the documents, and so their ranking.

    Attributes
    ----------
    method : str
        Name of the arm.
    parameters : {name: value}
    multiplier : (n_docs,) float64, positive
    penalty : (n_docs,) float64, optional
    projection : Projection, optional
    """

    method: str
    parameters: Mapping[str, float]
    multiplier: Floats
    penalty: Floats | None = None
    projection: Projection | None = None


def correction(
    method: str,
    parameters: Mapping[str, float],
    docs: Embeddings,
    *,
    queries: Embeddings | None = None,
    signals: Mapping[str, Floats] | None = None,
    exclude_self: bool = False,
) -> Correction:
    """The numbers behind an arm, for all documents.

    Parameters
    ----------
    method, parameters
        As in the report's `recommendation`, or of one of its arms.
    docs : Embeddings
    queries : Embeddings, optional
        The bank: all of them. Methods that ask a bank need it.
    signals : {name: (n_docs,) float64}, optional
        Of `radii.attribution.proxies`; methods that use one need it.
    exclude_self : bool
        A query does not speak of the document that bears its id.

    Raises
    ------
    InputError
        On an unknown method, one that no single vector per document serves, and missing queries or signals.
    """
    signals, ones = signals or {}, np.ones(len(docs))
    gamma = float(parameters.get("gamma", 0.0))
    if method == "cosine":
        return Correction(method, parameters, ones)
    if method in ("norm exponent", "discount only", "amplify only", "inner product"):
        return Correction(method, parameters, docs.norms**gamma)
    if method in PROJECTIONS:
        return Correction(method, parameters, ones, projection=PROJECTIONS[method](docs))
    if method.startswith("norm and "):
        other = method.removeprefix("norm and ")
        exponent = float(parameters.get(f"gamma of {other}", 0.0))
        return Correction(method, parameters, docs.norms**gamma * _signal(other, signals) ** exponent)
    if method in _BANKED:
        return _banked(method, parameters, _ask(method, docs, queries, exclude_self))
    if method in signals:
        return Correction(method, parameters, _signal(method, signals) ** gamma)
    raise InputError(
        f"{method!r}",
        where="method",
        cause="an arm that no single vector per document serves, or a signal that was not given",
        fix="take the recommendation, or give the texts and signals that the audit was given",
    )


def _banked(method: str, parameters: Mapping[str, float], bank: Bank) -> Correction:
    gamma, weight = (float(parameters.get(name, 0.0)) for name in ("gamma", "weight"))
    near, ones = bank.near[0], np.ones(bank.near.shape[1])
    if method == DENSITY:
        told = multiplier(near)
        return Correction(method, parameters, ones if told is None else told**gamma)
    if method == OCCURRENCE:
        return Correction(method, parameters, (1.0 + bank.occurrence[0]) ** gamma)
    if method == LOCAL:
        scale = local_scaling(bank.last[0], 1).scale
        return Correction(method, parameters, scale, penalty=scale)
    return Correction(
        method, parameters, ones, penalty=weight * (bank.mass[0] if method == SOFTMAX else near)
    )


def _ask(method: str, docs: Embeddings, queries: Embeddings | None, exclude_self: bool) -> Bank:
    if queries is None:
        raise InputError(
            "no queries",
            where=method,
            cause="this method asks a bank of queries about every document",
            fix="give the queries of the audit (--queries), or others like those to come",
        )
    rows = docs.rows if exclude_self else {}
    return ask_all(docs, queries, np.array([rows.get(name, -1) for name in queries.ids], dtype=np.int64))


def _signal(name: str, signals: Mapping[str, Floats]) -> Floats:
    found = multiplier(signals[name]) if name in signals else None
    if found is None:
        raise InputError(
            f"no values of {name!r}",
            where="signals",
            cause="the audit was given texts or columns that are not here",
            fix="give them again (--texts, --signals)",
        )
    return found
