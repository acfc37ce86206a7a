"""The bundled demo: CLIP text vectors of the 1,203 LVIS classes, each class a query against the others.

Vectors are as the text encoder gave them, not normalised. Relevant to a class is another whose WordNet synset
is an ancestor or descendant within two hypernym steps or shares a direct hypernym. Sources and licences:
NOTICE in this folder; built by scripts/build_demo.py.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import resources
from pathlib import Path

from radii.data.files import StrPath, atomic_write
from radii.data.vectors import ids_path


@dataclass(frozen=True)
class DemoPaths:
    """Where the files of the demo are.

    Attributes
    ----------
    vectors : Path
        `.npy`, (n_docs, dim) = (1203, 512) float16; ids in `.ids.txt` beside it. Documents and queries alike:
        a query must not be given itself as an answer.
    texts : Path
        BEIR `.jsonl`: `_id` is the class name, `text` the name and WordNet's definition.
    qrels : Path
        BEIR `.tsv`, symmetric, grade 1; 972 classes have at least one relevant other.
    """

    vectors: Path
    texts: Path
    qrels: Path


def copy_vectors(folder: StrPath) -> Path:
    """`folder`/lvis.npy, a copy of the vectors with its ids beside it, for commands to name.

    Raises InputError where it cannot be written.
    """
    source, target = paths().vectors, Path(folder) / "lvis.npy"
    for there, here in ((source, target), (ids_path(source), ids_path(target))):
        with atomic_write(here) as file:
            file.write(there.read_bytes())
    return target


def paths() -> DemoPaths:
    """Paths of the demo's files inside the installed package.

    >>> paths().vectors.name
    'lvis_clip_text.npy'
    """
    folder = Path(str(resources.files(__name__)))
    return DemoPaths(folder / "lvis_clip_text.npy", folder / "lvis.jsonl", folder / "lvis.qrels.tsv")
