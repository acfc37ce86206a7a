"""The files that the pages' commands run on: the bundled demo, cut into documents and queries.

python -m scripts.collection FOLDER

Every fifth judged class is a query, all other classes are documents. So no query meets its own vector.
"""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np

import radii
from radii.data import demo
from radii.data.qrels import read_qrels


def write_collection(folder: Path, query_name: Callable[[int, str], str] = lambda _, name: name) -> Path:
    """docs.npy, queries.npy (ids beside them), qrels.tsv, corpus.jsonl, and a probe's pairs.tsv, texts.tsv.

    `query_name` makes a query's id out of its number, from 1, and its class.
    """
    files = demo.paths()
    classes, judged = radii.load(files.vectors), read_qrels(files.qrels)
    asked = sorted(judged)[::5]
    queries = {name: query_name(number, name) for number, name in enumerate(asked, start=1)}
    for target, names, ids in (
        ("docs", [name for name in classes.ids if name not in queries], None),
        ("queries", list(queries), list(queries.values())),
    ):
        np.save(folder / f"{target}.npy", classes.vectors[[classes.rows[name] for name in names]])
        (folder / f"{target}.ids.txt").write_text("".join(f"{name}\n" for name in ids or names))
    rows = [
        f"{queries[q]}\t{d}\t{grade}\n"
        for q in queries
        for d, grade in sorted(judged[q].items())
        if d not in queries
    ]
    (folder / "qrels.tsv").write_text("query-id\tcorpus-id\tscore\n" + "".join(rows))
    shutil.copyfile(files.texts, folder / "corpus.jsonl")
    texts = [json.loads(line) for line in files.texts.read_text().splitlines()]
    named = [(t["_id"], t["text"].split(":", 1)[-1].strip()) for t in texts]
    (folder / "pairs.tsv").write_text("".join(f"{name}\t{text}\n" for name, text in named))
    (folder / "texts.tsv").write_text("".join(f"{name}\t{text}\n" for name, text in named[::10]))
    return folder


if __name__ == "__main__":
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    write_collection(folder)
