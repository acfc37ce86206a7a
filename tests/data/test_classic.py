import io
import tarfile

import pytest

from radii.data.classic import load_cacm, load_cranfield, load_vaswani


def known(found):
    return {d for grades in found.qrels.values() for d in grades} <= set(found.docs.ids)


# Small pieces -----------------------------------------------------------------------------------------------


def cacm(folder, pages):
    with tarfile.open(folder / "cacm.tar.gz", "w:gz") as archive:
        for name, text in pages.items():
            info = tarfile.TarInfo(name)
            info.size = len(text.encode())
            archive.addfile(info, io.BytesIO(text.encode()))
    topics = "<DOC>\n<DOCNO> 1 </DOCNO>\n\n What on hubs?\n</DOC>\n<DOC><DOCNO> 2 </DOCNO> More </DOC>\n"
    (folder / "topics.cacm.txt").write_text(topics)
    (folder / "qrels.cacm.txt").write_text("1 Q0 CACM-7 1\n1 Q0 CACM-1234 1\n")
    return folder


def test_cacm_records_end_at_their_key_and_ids_are_padded(tmp_path):
    page = "<html>\n<pre>\n\nOn Hubs\n\nCACM May, 1960\n\nCA600501 JB\n\n7\t5\t7\n</pre></html>"
    found = load_cacm(cacm(tmp_path, {"CACM-0007.html": page, "x/CACM-1234.html": "<pre>Two</pre>"}))
    assert found.docs.by_id == {"CACM-0007": "On Hubs CACM May, 1960", "CACM-1234": "Two"}
    assert found.queries.by_id == {"1": "What on hubs?"}
    assert found.qrels == {"1": {"CACM-0007": 1, "CACM-1234": 1}}


def test_a_broken_archive_is_refused(tmp_path, refused):
    cacm(tmp_path, {}).joinpath("cacm.tar.gz").write_bytes(b"no archive")
    refused(lambda: load_cacm(tmp_path), "cacm.tar.gz", "gzip")


def cranfield(folder, qrels):
    docs = "<doc><docno>{}</docno><title>t</title><author>a</author><text>body\n{}</text></doc>"
    (folder / "cran.all.1400.xml").write_text("\n".join(docs.format(n, n) for n in (1, 2, 3, 4, 5)))
    topics = "<top><num> 1</num><title>first</title></top>\n<top><num> 365</num><title>last</title></top>"
    (folder / "cran.qry.xml").write_text(topics)
    (folder / "cranqrel").write_text(qrels)
    return folder


def test_cranfield_codes_become_grades_and_queries_positions(tmp_path):
    folder = cranfield(tmp_path, "1 1 1\n1 2 2 \n2 3 3\n2 4 4\n2 5 -1\n")
    found = load_cranfield(folder)
    assert found.docs.by_id["3"] == "body 3"
    assert found.queries.by_id == {"1": "first", "2": "last"}
    assert found.qrels == {"1": {"1": 4, "2": 3}, "2": {"3": 2, "4": 1}}
    assert load_cranfield(folder, unclear=4).qrels["2"] == {"3": 2, "4": 1, "5": 4}


@pytest.mark.parametrize("line", ["1 2", "1 2 5", "1 0 2 1"])
def test_other_cranfield_codes_are_refused(tmp_path, refused, line):
    refused(lambda: load_cranfield(cranfield(tmp_path, f"1 1 1\n{line}\n")), "cranqrel, line 2", line)


# Whole collections ------------------------------------------------------------------------------------------


def test_vaswani_is_whole(shared_data):
    found = load_vaswani(shared_data / "vaswani")
    assert (len(found.docs), len(found.queries), sum(map(len, found.qrels.values()))) == (11429, 93, 2083)
    assert known(found)
    assert found.docs.texts[0].startswith("compact memories have flexible capacities a digital data storage")
    assert found.queries.by_id["1"].startswith("MEASUREMENT OF DIELECTRIC CONSTANT OF LIQUIDS")


def test_cacm_is_whole(shared_data):
    found = load_cacm(shared_data / "cacm")
    assert (len(found.docs), len(found.queries), sum(map(len, found.qrels.values()))) == (3204, 52, 796)
    assert known(found)
    assert found.docs.by_id["CACM-0005"] == "Two Square-Root Approximations CACM November, 1958 Wadey, W. G."
    assert all(found.docs.texts)


def test_cranfield_is_whole(shared_data):
    found = load_cranfield(shared_data / "cranfield")
    assert (len(found.docs), len(found.queries)) == (1400, 225)
    assert [name for name, text in found.docs.by_id.items() if not text] == ["471", "995"]
    assert known(found)
    assert sum(map(len, found.qrels.values())) == 1837 - 225
    unclear = load_cranfield(shared_data / "cranfield", unclear=0).qrels
    assert sum(map(len, unclear.values())) == 1837
    # One a query, and none that another line of the query judges.
    assert all(sum(grade == 0 for grade in grades.values()) == 1 for grades in unclear.values())
