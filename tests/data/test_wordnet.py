"""WordNet's nouns: lines by hand, and the real file where it is."""

import pytest

from radii.data.wordnet import read_nouns, wordnet_file

LINES = (
    "  1 This software and database is being provided to you\n"
    "00001740 03 n 01 entity 0 003 ~ 00001930 n 0000 | that which is perceived  \n"
    "02329401 05 n 02 aerosol_can 0 rodent 0 001 @ 01886756 n 0000 | a can; sprays | hisses\n"
)


def test_lemma_and_gloss(tmp_path, monkeypatch):
    (tmp_path / "data.noun").write_text(LINES, encoding="utf-8")
    monkeypatch.setenv("RADII_WORDNET", str(tmp_path))
    assert read_nouns() == [("entity", "that which is perceived"), ("aerosol can", "a can; sprays | hisses")]


def test_refusals(tmp_path, monkeypatch, refused):
    monkeypatch.setenv("RADII_WORDNET", str(tmp_path))
    refused(read_nouns, "no WordNet", "wordnet-base")
    (tmp_path / "data.noun").write_text("nothing\n")
    refused(read_nouns, "'nothing'")


def test_the_real_file():
    if not wordnet_file().is_file():
        pytest.skip("no WordNet: apt-get install wordnet-base")
    nouns = read_nouns()
    assert len(nouns) == 82115
    assert nouns[0][0] == "entity"
