"""Build the bundled demo: CLIP text vectors of the LVIS classes, judged by WordNet.

    python scripts/build_demo.py [--detic FOLDER] [--wordnet FOLDER] [--out FOLDER]

Each LVIS class is a query against the others. Relevant (grade 1) is a class whose synset

- is an ancestor or a descendant within two hypernym steps, or
- is a sibling: shares a direct hypernym.

Instance hypernyms count like hypernyms. All three relations hold both ways, so the judgements are symmetric.
A class whose synset is not in WordNet 3.0 stays a document and gets no judgement; the script prints it.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from radii.data.synsets import Nouns, read_synsets
from radii.data.wordnet import FOLDER

HERE = Path(__file__).resolve().parent
NOTICE_HEAD = HERE / "demo_notice.txt"
HYPERNYM_STEPS = 2


class LvisClass(NamedTuple):
    """One class of LVIS v1: `synset` is lemma.pos.sense, as in `aerosol.n.02`."""

    name: str
    synset: str


def read_classes(path: Path) -> list[LvisClass]:
    """Classes in the order of their LVIS id, which is the order of Detic's rows."""
    rows = sorted(json.loads(path.read_text(encoding="utf-8")), key=lambda row: row["id"])
    return [LvisClass(row["name"], row["synset"]) for row in rows]


def judge(classes: Sequence[LvisClass], wordnet: Nouns) -> tuple[list[tuple[int, int]], list[LvisClass]]:
    """Relevant (query row, document row) pairs in row order, and the classes WordNet does not have."""
    offsets = [wordnet.find(c.synset) for c in classes]
    above = [wordnet.ancestors(o, HYPERNYM_STEPS) if o else set() for o in offsets]
    parents = [wordnet.parents[o] if o else set() for o in offsets]

    def relevant(q: int, d: int) -> bool:
        # A missing synset has no parents and is in no set of ancestors: neither side can be true.
        return offsets[d] in above[q] or offsets[q] in above[d] or not parents[q].isdisjoint(parents[d])

    rows = range(len(classes))
    pairs = [(q, d) for q in rows for d in rows if q != d and relevant(q, d)]
    return pairs, [c for c, offset in zip(classes, offsets, strict=True) if offset is None]


def build(detic: Path, wordnet_folder: Path, out: Path) -> str:
    """Write the five files of the demo into `out`; returns what to tell the user."""
    vectors, classes = detic / "lvis_v1_clip_a+cname.npy", read_classes(detic / "lvis_v1_train_cat_info.json")
    names = [c.name for c in classes]
    shape = np.load(vectors, mmap_mode="r").shape
    if len(set(names)) != len(names) or shape[0] != len(names):
        sys.exit(f"{len(names)} class names, {len(set(names))} different, for vectors of shape {shape}")
    wordnet = read_synsets(wordnet_folder)
    pairs, missing = judge(classes, wordnet)

    out.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(vectors, out / "lvis_clip_text.npy")
    _write(out / "lvis_clip_text.ids.txt", names)
    _write(out / "lvis.jsonl", [_corpus_line(c, wordnet) for c in classes])
    judgements = [f"{names[q]}\t{names[d]}\t1" for q, d in pairs]
    _write(out / "lvis.qrels.tsv", ["query-id\tcorpus-id\tscore", *judgements])
    _write(
        out / "NOTICE",
        [NOTICE_HEAD.read_text(encoding="utf-8").rstrip(), "", _head(wordnet_folder / "data.noun")],
    )

    lost = "".join(f"\n  no synset {c.synset} in WordNet: {c.name} gets no judgements" for c in missing)
    queries = len({q for q, _ in pairs})
    counts = f"{len(names)} classes, {queries} judged queries, {len(pairs)} judgements"
    size = sum(file.stat().st_size for file in out.iterdir() if file.suffix not in (".py", ".pyc"))
    return f"{out}: {counts}, {size:,} bytes{lost}"


def _corpus_line(lvis: LvisClass, wordnet: Nouns) -> str:
    name, offset = lvis.name.replace("_", " "), wordnet.find(lvis.synset)
    text = name if offset is None else f"{name}: {wordnet.definitions[offset]}"
    return json.dumps({"_id": lvis.name, "text": text}, ensure_ascii=False)


def _head(path: Path) -> str:
    """Licence at the top of a WordNet file, without its line numbers."""
    lines = []
    with open(path, encoding="utf-8") as file:
        for line in file:
            if not line.startswith("  "):
                break
            lines.append(line.strip().partition(" ")[2].strip())
    return "\n".join(lines)


def _write(path: Path, lines: Iterable[str]) -> None:
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8", newline="\n")


def main() -> None:
    """Parse the command line, build, print."""
    repo = HERE.parent
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--detic", type=Path, default=repo.parent / "shared/data/detic_clip_text")
    parser.add_argument("--wordnet", type=Path, default=Path(FOLDER))
    parser.add_argument("--out", type=Path, default=repo / "radii/data/demo")
    given = parser.parse_args()
    print(build(given.detic, given.wordnet, given.out))


if __name__ == "__main__":
    main()
