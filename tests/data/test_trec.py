import pytest

from radii.data.trec import read_trec_documents, read_trec_topics

DOCUMENTS = """<DOC>
<DOCNO> A-1 </DOCNO>
<TITLE>On hubs</TITLE>
  Near &amp; far:
<b>R&D</b> x < y
</DOC>
<doc><docno>2</docno><title></title>one line</doc><doc>
<docno>3</docno>
</doc>
"""
TOPICS = """<?xml version="1.0"?><xml>
<top>
<num> Number: 301
<title> Hub
 organs
<desc> Description:
What are hubs?
</top>
<top><num> 7</num> <title>closed</title><desc>fields</desc></top></xml>
"""


@pytest.fixture
def file(tmp_path):
    def write(text):
        path = tmp_path / "a.trec"
        path.write_text(text)
        return path

    return write


def test_documents_without_fields_are_all_their_text(file):
    found = read_trec_documents(file(DOCUMENTS))
    assert found.by_id == {"A-1": "On hubs Near & far: R&D x < y", "2": "one line", "3": ""}


def test_fields_are_joined_in_the_order_asked_for(file):
    found = read_trec_documents(
        file("<doc><docno>1</docno><a>x</a><b>y\n z</b></doc>"), fields=("b", "a", "c")
    )
    assert found.by_id == {"1": "y z x"}


def test_topics_may_close_their_fields_or_not(file):
    path = file(TOPICS)
    assert read_trec_topics(path).by_id == {"301": "Hub organs", "7": "closed"}
    assert read_trec_topics(path, ("title", "desc")).by_id["301"] == "Hub organs What are hubs?"


@pytest.mark.parametrize(
    ("text", "fragments"),
    [
        ("", ["no <DOC>"]),
        ("plain text", ["no <DOC>"]),
        ("\n<DOC><DOCNO>1</DOCNO> cut", ["line 2", "never closed"]),
        ("<DOC><DOCNO>1</DOCNO>\n<DOC>", ["line 2", "<DOC> inside that of line 1"]),
        ("</DOC>", ["line 1", "</DOC> without an open record"]),
        ("<DOC>text</DOC>", ["line 1", "without <DOCNO>"]),
        ("<DOC><DOCNO> </DOCNO></DOC>", ["line 1", "without <DOCNO>"]),
        ("<DOC><DOCNO>1</DOCNO></DOC>\n" * 2, ["line 2", "duplicate number '1', first on line 1"]),
    ],
)
def test_bad_documents_are_refused(file, refused, text, fragments):
    path = file(text)
    refused(lambda: read_trec_documents(path), "a.trec", *fragments)


def test_a_field_that_no_record_has_is_refused(file, refused):
    path = file("<doc><docno>1</docno><body>x</body></doc>")
    refused(lambda: read_trec_documents(path, ("title", "text")), "no <title> or <text>")
