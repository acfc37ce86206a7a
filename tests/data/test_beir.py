import gzip
import zipfile

import pytest

from radii.data.beir import load_beir, write_beir
from radii.data.collection import Collection
from radii.data.texts import Texts

FILES = {
    "corpus.jsonl": '{"_id": "d1", "title": "Hubs", "text": "are near."}\n'
    '{"_id": "d2", "title": "", "text": "x"}\n',
    "queries.jsonl": '{"_id": "q1", "text": "one"}\n{"_id": "q2", "text": "two"}\n'
    '{"_id": "q3", "text": "3"}\n',
    "qrels/test.tsv": "query-id\tcorpus-id\tscore\nq3\td1\t2\nq1\td2\t1\n",
    "qrels/train.tsv": "query-id\tcorpus-id\tscore\nq2\td1\t1\n",
}


def folder(root, files=FILES):
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return root


def gzipped(root):
    for name, text in FILES.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / f"{name}.gz").write_bytes(gzip.compress(text.encode()))
    return root


def zipped(root, top="", files=FILES):
    path = root / "tiny.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in files.items():
            archive.writestr(top + name, text)
    return path


LAYOUTS = {
    "folder": folder,
    "folder of .gz": gzipped,
    "zip": zipped,
    "zip with a folder": lambda root: zipped(root, "tiny/"),
}


@pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS)
def test_a_split_is_read_from_every_layout(tmp_path, layout):
    found = load_beir(layout(tmp_path))
    assert (found.docs.ids, found.docs.texts) == (["d1", "d2"], ["Hubs are near.", "x"])
    assert (found.queries.ids, found.queries.texts) == (["q1", "q3"], ["one", "3"])
    assert found.qrels == {"q3": {"d1": 2}, "q1": {"d2": 1}}
    assert found.depth == {}


def test_another_split_has_other_queries(tmp_path):
    found = load_beir(folder(tmp_path), "train")
    assert (found.queries.ids, found.qrels) == (["q2"], {"q2": {"d1": 1}})


def test_what_is_written_is_read_again(tmp_path):
    made = Collection(Texts(["a", "b"], ["über", ""]), Texts(["q"], ["why?"]), {"q": {"a": 3, "b": 0}})
    write_beir(made, tmp_path / "out")
    found = load_beir(tmp_path / "out")
    assert (found.docs.by_id, found.queries.by_id, found.qrels) == (
        made.docs.by_id,
        made.queries.by_id,
        made.qrels,
    )


def without(name):
    return {key: text for key, text in FILES.items() if key != name}


@pytest.mark.parametrize(
    "build", [folder, lambda root, files: zipped(root, "tiny/", files)], ids=["folder", "zip"]
)
@pytest.mark.parametrize(
    ("missing", "fragments"),
    [
        ("corpus.jsonl", ["no corpus.jsonl"]),
        ("queries.jsonl", ["no queries.jsonl among", "'corpus.jsonl'"]),
        ("qrels/test.tsv", ["no qrels/test.tsv beside 'train'"]),
    ],
)
def test_what_is_missing_is_named(tmp_path, refused, build, missing, fragments):
    path = build(tmp_path, without(missing))
    if missing == "corpus.jsonl" and path.suffix == ".zip":
        fragments = ["no qrels/test.tsv"]  # Without a corpus nothing says which folder of the zip it is.
    refused(lambda: load_beir(path), *fragments)


def test_bad_content_of_a_zip_is_named_by_file_and_line(tmp_path, refused):
    path = zipped(tmp_path, files=FILES | {"queries.jsonl": '{"_id": "q1", "text": "one"}\n{"_id"\n'})
    refused(lambda: load_beir(path), "tiny.zip/queries.jsonl, line 2", "invalid JSON")


def test_broken_zips_are_refused(tmp_path, refused):
    path = tmp_path / "broken.zip"
    path.write_bytes(b"no zip file")
    refused(lambda: load_beir(path), "broken.zip", "not a zip file")
    refused(lambda: load_beir(tmp_path / "absent.zip"), "no such file")
    whole = zipped(tmp_path).read_bytes()
    at = whole.index(b"corpus.jsonl") + len("corpus.jsonl") + 5
    path.write_bytes(whole[:at] + b"\x00\x00\x00" + whole[at + 3 :])
    refused(lambda: load_beir(path), "broken.zip")


def test_scifact_is_whole(shared_data):
    found = load_beir(shared_data / "scifact_beir")
    assert (len(found.docs), len(found.queries), sum(map(len, found.qrels.values()))) == (5183, 300, 339)
    assert {d for grades in found.qrels.values() for d in grades} <= set(found.docs.ids)
