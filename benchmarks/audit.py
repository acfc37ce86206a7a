"""The whole audit, all arms and rivals, against the exact exponent path alone.

    python benchmarks/audit.py

82,115 WordNet glosses with their texts × 2,000 lemmas, RR@10. The floor is not one product but three: the
bank has to be asked before its penalties can ride along, and what the norm adds to the best arm starts there.
"""

from __future__ import annotations

import os
import sys

if any(name in os.environ for name in ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE")):
    clean = {k: v for k, v in os.environ.items() if k not in ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE")}
    os.execve(sys.executable, [sys.executable, *sys.argv], clean)

import glosses
from claims import Claim, judge, side_by_side

import radii
from radii.data.texts import Texts


def main() -> None:
    vectors, queries, qrels = glosses.load()
    docs = radii.Embeddings.of(vectors)
    texts = Texts(list(docs.ids), glosses.texts()[1], "glosses")

    def path() -> None:
        radii.exponent_path(docs, queries).metric("RR@10", qrels)

    def audit() -> None:
        radii.audit(docs, queries, qrels, texts=texts, metric="RR@10")

    spent = side_by_side(2, path=path, audit=audit)
    print(f"path {spent['path']:.1f} s, audit {spent['audit']:.1f} s")
    judge([Claim("whole audit / exponent path, 82,115 × 2,000", spent["audit"] / spent["path"], 16, 3)])


if __name__ == "__main__":
    main()
