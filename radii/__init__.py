"""radii: what the lengths of embedding vectors know, and whether it is safe to rank with them.

>>> import numpy as np, radii
>>> rng = np.random.default_rng(0)
>>> docs, queries = rng.normal(size=(200, 8)), rng.normal(size=(40, 8))
>>> qrels = {str(q): {str(int((docs @ queries[q]).argmax())): 1} for q in range(40)}
>>> report = radii.audit(docs, queries, qrels)
>>> report.verdict.label
'amplify'
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from radii.auditing import audit
    from radii.data.embeddings import Embeddings
    from radii.data.vectors import load
    from radii.dynamics.chain import radial_chain
    from radii.dynamics.stationary import stationary_norm
    from radii.errors import InputError, MissingExtraError, NumericalError, RadiiError
    from radii.probing.monitoring import monitor
    from radii.probing.run import probe
    from radii.ranking.path import ExponentPath, exponent_path
    from radii.result import Report

__version__ = "0.1.0"

# Where each public name lives. Imported on first use, so that `import radii` costs nothing.
_HOMES = {
    "audit": "radii.auditing",
    "load": "radii.data.vectors",
    "probe": "radii.probing.run",
    "monitor": "radii.probing.monitoring",
    "exponent_path": "radii.ranking.path",
    "Embeddings": "radii.data.embeddings",
    "ExponentPath": "radii.ranking.path",
    "Report": "radii.result",
    "radial_chain": "radii.dynamics.chain",
    "stationary_norm": "radii.dynamics.stationary",
    "RadiiError": "radii.errors",
    "InputError": "radii.errors",
    "NumericalError": "radii.errors",
    "MissingExtraError": "radii.errors",
}

__all__ = [
    "Embeddings",
    "ExponentPath",
    "InputError",
    "MissingExtraError",
    "NumericalError",
    "RadiiError",
    "Report",
    "__version__",
    "audit",
    "exponent_path",
    "load",
    "monitor",
    "probe",
    "radial_chain",
    "stationary_norm",
]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        from importlib import import_module

        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'radii' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
