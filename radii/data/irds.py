"""Any collection that `ir_datasets` knows, by its id (https://ir-datasets.com)."""

from __future__ import annotations

from radii.data.collection import Collection, judged
from radii.data.qrels import Qrels
from radii.data.texts import Texts
from radii.errors import InputError, MissingExtraError


def load_ir_dataset(name: str) -> Collection:
    """Documents, judged queries and judgements of an `ir_datasets` id, such as `beir/nfcorpus/test`.

    Texts are what ir_datasets calls the default text of a record. The package downloads what it lacks and
    keeps it in ~/.ir_datasets. (MacAvaney et al., arXiv 2103.02280.)

    Raises
    ------
    InputError
        On an id that ir_datasets does not know, and on one without documents, queries or judgements.
    MissingExtraError
        Without ir_datasets (the extra `collections`).
    """
    try:
        import ir_datasets
    except ImportError as error:
        raise MissingExtraError("ir_datasets", "collections") from error
    try:
        dataset = ir_datasets.load(name)
    except KeyError as error:
        raise InputError(
            "ir_datasets knows no such id", where=name, cause="a typing error", fix="see ir-datasets.com"
        ) from error
    for part in ("docs", "queries", "qrels"):
        if not getattr(dataset, f"has_{part}")():
            raise InputError(
                f"no {part}",
                where=name,
                cause="a corpus without a split",
                fix=f"name a split, as in {name}/test",
            )
    qrels: Qrels = {}
    for row in dataset.qrels_iter():
        qrels.setdefault(str(row.query_id), {})[str(row.doc_id)] = int(row.relevance)
    queries = Texts(*_columns(dataset.queries_iter(), "query_id"), name)
    docs = Texts(*_columns(dataset.docs_iter(), "doc_id"), name)
    return Collection(docs, judged(queries, qrels), qrels)


def _columns(records: object, key: str) -> tuple[list[str], list[str]]:
    ids, texts = [], []
    for record in records:  # type: ignore[attr-defined]
        ids.append(str(getattr(record, key)))
        texts.append(str(record.default_text()))
    return ids, texts
