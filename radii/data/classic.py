"""Three small classic collections as their folders lie: Vaswani (NPL), CACM, Cranfield."""

from __future__ import annotations

import re
import tarfile
from collections.abc import Iterator
from pathlib import Path

from radii.data.collection import Collection, judged
from radii.data.files import StrPath, at_line, numbered_lines, open_bytes
from radii.data.qrels import Qrels, read_qrels
from radii.data.texts import Texts
from radii.data.trec import plain, read_trec_documents, read_trec_topics
from radii.errors import InputError

# In a CACM record the database key and the citation numbers follow the text.
_CACM_KEY = re.compile(r"^CA\d{6}\b", re.MULTILINE)


def load_vaswani(folder: StrPath) -> Collection:
    """11,429 abstracts and 93 queries: doc-text.trec, query-text.trec, qrels; grades are 1."""
    root = Path(folder)
    qrels = read_qrels(root / "qrels")
    queries = read_trec_topics(root / "query-text.trec")
    return Collection(read_trec_documents(root / "doc-text.trec"), judged(queries, qrels), qrels)


def load_cacm(folder: StrPath) -> Collection:
    """3,204 records and 52 judged queries of 64: cacm.tar.gz, topics.cacm.txt, qrels.cacm.txt; grades are 1.

    Text of a record: title, abstract if any, authors, keywords; what follows from its database key on, the
    citation numbers, is left out. The judgements' CACM-756 is the archive's CACM-0756.
    """
    root = Path(folder)
    texts = dict(_cacm_records(root / "cacm.tar.gz"))
    docs = Texts(list(texts), list(texts.values()), str(root / "cacm.tar.gz"))
    given = read_qrels(root / "qrels.cacm.txt")
    qrels = {q: {_cacm_id(d): grade for d, grade in grades.items()} for q, grades in given.items()}
    queries = read_trec_documents(root / "topics.cacm.txt")
    return Collection(docs, judged(queries, qrels), qrels)


def load_cranfield(folder: StrPath, unclear: int | None = None) -> Collection:
    """1,400 abstracts, two of them empty, and 225 queries: cran.all.1400.xml, cran.qry.xml, cranqrel.

    The text is the abstract, which repeats the title. Queries are named by their position, 1 to 225, as the
    judgements name them (the numbers in cran.qry.xml are others). Codes 1 (a complete answer) to 4 (of
    minimum interest) become grades 4 to 1.

    Parameters
    ----------
    folder : str or path
        Where the three files lie.
    unclear : int, optional
        Grade of the one document per query that is coded -1, of which the collection does not say what it
        means; without it these are left unjudged.
    """
    root = Path(folder)
    docs = read_trec_documents(root / "cran.all.1400.xml", fields=("text",))
    asked = read_trec_topics(root / "cran.qry.xml")
    queries = Texts([str(n + 1) for n in range(len(asked))], asked.texts, asked.source)
    qrels = _cranfield_qrels(root / "cranqrel", unclear)
    return Collection(docs, judged(queries, qrels), qrels)


def _cranfield_qrels(path: Path, unclear: int | None) -> Qrels:
    qrels: Qrels = {}
    for number, line in numbered_lines(path):
        columns = line.split()
        if len(columns) != 3 or columns[2] not in ("-1", "1", "2", "3", "4"):
            raise InputError(
                f"{line[:60]!r}",
                where=at_line(path, number),
                cause="judgements in another format",
                fix="write query, document, code; codes are 1 to 4, or -1",
            )
        grade = unclear if columns[2] == "-1" else 5 - int(columns[2])
        if grade is not None:
            qrels.setdefault(columns[0], {})[columns[1]] = grade
    return qrels


def _cacm_records(path: Path) -> Iterator[tuple[str, str]]:
    with open_bytes(path) as file:
        try:
            with tarfile.open(fileobj=file, mode="r|") as archive:
                for member in archive:
                    content = archive.extractfile(member)
                    if content is not None:
                        text = content.read().decode("utf-8")
                        yield Path(member.name).stem, plain(_CACM_KEY.split(text, maxsplit=1)[0])
        except tarfile.TarError as error:
            raise InputError(
                f"not a tar file ({error})", where=path, cause="an interrupted copy", fix="copy it again"
            ) from error


def _cacm_id(name: str) -> str:
    stem, _, number = name.partition("-")
    return f"{stem}-{number.zfill(4)}"
