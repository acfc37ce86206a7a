"""Collections in BEIR's layout: corpus.jsonl, queries.jsonl, qrels/SPLIT.tsv, in a folder or a zip file."""

from __future__ import annotations

import json
from pathlib import Path, PurePosixPath

from radii.data.collection import Collection, judged
from radii.data.files import StrPath, atomic_write, zip_names
from radii.data.qrels import read_qrels
from radii.data.texts import read_texts
from radii.errors import InputError, shown


def load_beir(path: StrPath, split: str = "test") -> Collection:
    """Read one split of a BEIR collection (arXiv 2104.08663) from its folder or its zip file.

    Files may end in `.gz`; in a zip file they may lie in a folder. Queries of other splits are left out.

    Raises
    ------
    InputError
        When there is no corpus, no queries or no such split (the message names the splits there are), and
        as `read_texts` and `read_qrels` do.
    """
    root, names = _layout(Path(path))
    qrels = read_qrels(root / _named(f"qrels/{split}.tsv", names, root))
    queries = read_texts(root / _named("queries.jsonl", names, root))
    docs = read_texts(root / _named("corpus.jsonl", names, root))
    return Collection(docs, judged(queries, qrels), qrels)


def write_beir(collection: Collection, folder: StrPath, split: str = "test") -> None:
    """Write a collection as a BEIR folder, for `radii embed` and other tools; raises as `atomic_write`."""
    root = Path(folder)
    for name, texts in (("corpus.jsonl", collection.docs), ("queries.jsonl", collection.queries)):
        with atomic_write(root / name, mode="w") as file:
            for key, text in zip(texts.ids, texts.texts, strict=True):
                file.write(json.dumps({"_id": key, "text": text}, ensure_ascii=False) + "\n")
    with atomic_write(root / "qrels" / f"{split}.tsv", mode="w") as file:
        file.write("query-id\tcorpus-id\tscore\n")
        for query, grades in collection.qrels.items():
            file.writelines(f"{query}\t{document}\t{grade}\n" for document, grade in grades.items())


def _layout(path: Path) -> tuple[Path, list[str]]:
    """(where corpus.jsonl lies, names of all files relative to there)."""
    if path.is_dir():
        return path, [p.relative_to(path).as_posix() for p in (*path.iterdir(), *path.glob("qrels/*"))]
    names = [PurePosixPath(name) for name in zip_names(path)]
    tops = [name.parent for name in names if name.name in ("corpus.jsonl", "corpus.jsonl.gz")]
    top = min(tops, key=lambda p: len(p.parts), default=PurePosixPath())
    return path / top, [name.relative_to(top).as_posix() for name in names if name.is_relative_to(top)]


def _named(wanted: str, names: list[str], root: Path) -> str:
    for name in (wanted, f"{wanted}.gz"):
        if name in names:
            return name
    if wanted.startswith("qrels/"):
        splits = sorted(Path(name).name.split(".")[0] for name in names if name.startswith("qrels/"))
        raise InputError(
            f"no {wanted} beside {shown(splits)}" if splits else f"no {wanted}",
            where=root,
            cause="another name of the split",
            fix="name a split that is there" if splits else "add the judgements",
        )
    raise InputError(
        f"no {wanted} among {shown(sorted(names))}" if names else "an empty folder",
        where=root,
        cause="not a BEIR collection, or one level above it",
        fix="give the folder or zip file that holds corpus.jsonl, queries.jsonl and qrels/",
    )
