"""Documents that come after an export, changed as its manifest says; queries are `Manifest.queries`.

    d' = ‖d‖^γ z/‖z‖        d'' = (d', √(M² − ‖d'‖²)) / M

with z = P(d/‖d‖ − c), or d where nothing is projected. Only where a document's own vector says all there is
to know: cosine, exponents of the norm, projections.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.typing as npt

from radii.data.embeddings import Embeddings, Floats
from radii.data.files import StrPath
from radii.deploy.correction import Correction
from radii.deploy.forms import Served
from radii.deploy.manifest import Manifest, read_manifest
from radii.errors import InputError
from radii.evidence.rivals import PROJECTIONS

_BY_NORM = ("norm exponent", "discount only", "amplify only", "inner product")
# Lengths this near to 1 are a normalising model's; so is a single one, if it is as near as float32 can tell.
_ROUNDING, _EXACT = 1e-3, 1e-6
# How far past the longest exported document one may be and still count as that one, embedded again.
_AGAIN = 1e-4


def opened(manifest: Manifest | StrPath) -> Manifest:
    """`manifest` itself, or that of an export's or an engine's folder."""
    return manifest if isinstance(manifest, Manifest) else read_manifest(Path(manifest))


def exponent(manifest: Manifest) -> float:
    """γ of the norm; 0 where directions alone count. InputError on methods that need more than a document."""
    if manifest.method in _BY_NORM:
        return float(manifest.parameters["gamma"])
    if manifest.method == "cosine" or manifest.method in PROJECTIONS:
        return 0.0
    raise InputError(
        f"{manifest.method!r} for new documents",
        where="manifest",
        cause="it depends on a bank of queries or on columns, which a document's own vector does not hold",
        fix="make the documents' vectors with radii export; queries can still be changed here",
    )


def documents(vectors: Embeddings | npt.ArrayLike, manifest: Manifest) -> npt.NDArray[np.float32]:
    """(n, dim) un-normalised document vectors in the form of the export: (n, served_dim) float32.

    Raises InputError as `exponent`, on another dimension, zero rows, NaN or infinity, on vectors that were
    normalised although their lengths count, and in the unit form on a document longer than all exported.
    """
    given, gamma = Embeddings.of(vectors, "documents"), exponent(manifest)
    if given.dim != manifest.dim:
        raise InputError(
            f"{given.dim} dimensions, the exported documents had {manifest.dim}",
            where=given.source,
            cause="vectors of another model, or already changed",
            fix="embed with the model of the export, and change once",
        )
    if gamma:
        refuse_normalised(given.norms, given.source)
    own = Correction(manifest.method, manifest.parameters, given.norms**gamma, projection=manifest.projection)
    moved = np.concatenate([block for _, block in Served(given, own, "ip").blocks(np.float64)])
    if manifest.shift is not None:
        moved -= np.array(manifest.shift)
    if manifest.form != "unit":
        return moved.astype(np.float32)
    room = 1.0 - (own.multiplier / manifest.largest) ** 2
    if (room < -_AGAIN).any():
        raise InputError(
            f"document {given.ids[int(room.argmin())]!r} is served at "
            f"{own.multiplier.max() / manifest.largest:.3g} times the largest length of the export",
            where=given.source,
            cause="the unit form has room for the lengths of the exported documents only",
            fix="export again with this document, or take the inner-product form",
        )
    rest = np.sqrt(np.maximum(room, 0.0))
    return np.column_stack([moved / manifest.largest, rest]).astype(np.float32)


def refuse_normalised(norms: Floats, where: str) -> None:
    """InputError where (n,) lengths are all 1, as those of a model that normalises are."""
    if np.abs(norms - 1.0).max() < (_ROUNDING if len(norms) > 1 else _EXACT):
        raise InputError(
            "every document vector has length 1, and the ranking needs their lengths",
            where=where,
            cause="the model ends in a Normalize module, or what wraps it normalises",
            fix="take the un-normalised vectors of the model, as radii embed writes them",
        )
