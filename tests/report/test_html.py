"""The page as text: everything is there, everything from users is escaped, and nothing is fetched."""

from __future__ import annotations

import json
import re
import sys
from functools import cache
from html.parser import HTMLParser

import numpy as np
import pytest

import radii
from radii.data.embeddings import Embeddings
from radii.data.texts import Texts
from radii.errors import MissingExtraError
from radii.report import html, story
from radii.result import Report
from tests.planted import FAST, long_distractors, random_corpus, unit, unrelated_norms

pytest.importorskip("vl_convert")
pytest.importorskip("jinja2")
altair = pytest.importorskip("altair")

HOSTILE = [
    "<script>window.hacked = 1</script>",
    "</script><img src=x onerror='window.hacked = 2'>",
    "\"quotes\" and 'quotes' & &amp; {{ 7 * 7 }} {% raw %}",
    "\u202eright to left \u0627\u0644\u0639\u0631\u0628\u064a\u0629",
    "long" * 400,
    "emoji 👩‍🚀🧪 and \x1b[31mcontrol\x00",
    "javascript:alert(1) ${1} `tick`",
    "<!-- <style>*{display:none}</style>",
]


class Page(HTMLParser):
    """Tags with their attributes, and the text outside scripts and styles."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.words, self.stack = [], [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag in ("script", "style"):
            self.stack.append(tag)

    def handle_endtag(self, tag):
        if self.stack and self.stack[-1] == tag:
            self.stack.pop()

    def handle_data(self, data):
        if not self.stack:
            self.words.append(data)

    @property
    def text(self):
        return " ".join(" ".join(self.words).split())


def hostile_report() -> Report:
    """Ids and texts that would like to be markup."""
    docs, queries, qrels = long_distractors(40)
    names = {old: f"{HOSTILE[row % len(HOSTILE)]} {row}" for row, old in enumerate(docs.ids)}
    asked = {old: f"{HOSTILE[-1 - row % len(HOSTILE)]} q{row}" for row, old in enumerate(queries.ids)}
    return radii.audit(
        Embeddings([names[old] for old in docs.ids], docs.vectors, "<b>docs</b>.npy"),
        Embeddings([asked[old] for old in queries.ids], queries.vectors, "<i>queries</i>"),
        {asked[q]: {names[d]: g for d, g in judged.items()} for q, judged in qrels.items()},
        texts=Texts(list(names.values()), [HOSTILE[row % len(HOSTILE)] for row in range(len(docs))]),
        query_texts=Texts(list(asked.values()), [HOSTILE[row % len(HOSTILE)] for row in range(len(queries))]),
        signals={HOSTILE[0]: np.arange(80.0), HOSTILE[3]: np.arange(80.0) % 7},
        metric="RR@10",
        protocol=FAST,
    )


RECIPES = {"an <engine>": [("run & see", "echo '<b>' \"$HOME\"")], "other": [("x", "y")]}
CASES = {
    "discount": lambda: radii.audit(*long_distractors(), metric="RR@10", protocol=FAST),
    "keep-cosine": lambda: radii.audit(*unrelated_norms(), metric="RR@10", min_effect=0.2, protocol=FAST),
    "unverified": lambda: radii.audit(*unrelated_norms(), protocol=FAST),
    "few": lambda: radii.audit(*long_distractors(3), protocol=FAST),
    "no judgements": lambda: radii.audit(*long_distractors(3)[:2]),
    "no-signal": lambda: radii.audit(unit(random_corpus()[0]), *random_corpus()[1:], protocol=FAST),
    "one document": lambda: radii.audit([[1.0, 2.0]], [[1.0, 1.0]], {"0": {"0": 1}}),
    "hostile": hostile_report,
}


@cache
def case(name: str) -> Report:
    """A report of CASES, made once."""
    return CASES[name]()


@pytest.fixture(scope="module", params=CASES)
def report(request):
    return case(request.param)


def specs(text):
    found = re.search(r'<script type="application/json" id="specs">(.*?)</script>', text, re.S)
    return json.loads(found[1])


def test_every_kind_of_report_becomes_a_page_that_tells_its_story(report):
    text = html.report_html(report, RECIPES)
    page = Page(text)
    told = page.text.replace("\u00a0", " ")
    for sentence in (story.headline(report), story.advice(report)):
        assert story.minus(story.one_line(sentence)).replace("\u00a0", " ") in told
    for found in report.findings:
        assert found.code in told
        if found.remedy:
            assert found.remedy in told
    for document in [*report.norms.longest, *report.norms.shortest]:
        assert story.one_line(document.id, 120) in told
    assert "an <engine>" in told
    assert "nan" not in re.sub(r"<script>.*?</script>", "", text, flags=re.S).lower().split()
    ids = [attrs["id"] for _, attrs in page.tags if "id" in attrs]
    assert len(ids) == len(set(ids))
    links = {attrs["href"][1:] for tag, attrs in page.tags if tag == "a"}
    assert links <= set(ids)


def test_the_page_is_small_and_fetches_nothing(report):
    text = html.report_html(report, RECIPES)
    assert len(text.encode()) < 3_000_000
    for tag, attrs in Page(text).tags:
        assert tag not in ("iframe", "object", "embed", "img", "base", "form")
        if tag == "link":
            assert attrs["href"] == "data:,"
        if tag == "a":
            assert attrs["href"].startswith("#")
        assert "src" not in attrs
        assert not [name for name in attrs if name.startswith("on")]
    assert "default-src 'none'" in text
    style = re.search(r"<style>(.*?)</style>", text, re.S)[1]
    assert "url(" not in style
    assert "@import" not in style


def test_figures_have_words_and_are_valid_vega_lite(report):
    text = html.report_html(report)
    page, drawn = Page(text), specs(text)
    places = [attrs["data-spec"] for _, attrs in page.tags if "data-spec" in attrs]
    assert sorted(places) == sorted(drawn)
    for spec in drawn.values():
        altair.Chart.from_dict(spec, validate=True)
        assert len(spec["description"]) > 30
    figures = [attrs for tag, attrs in page.tags if tag == "figure"]
    ids = {attrs["id"] for _, attrs in page.tags if "id" in attrs}
    assert len(figures) == len(drawn)
    for attrs in figures:
        assert {attrs["aria-labelledby"], attrs["aria-describedby"]} <= ids


def test_hostile_text_is_text():
    text = html.report_html(case("hostile"), RECIPES)
    page = Page(text)
    assert [tag for tag, _ in page.tags].count("script") == 5
    assert [tag for tag, _ in page.tags].count("style") == 1
    told = page.text.replace("\u00a0", " ")
    for words in HOSTILE:
        assert story.minus(story.one_line(words, 60)[:-1]).replace("\u00a0", " ") in told
    outside = re.sub(r"<script>.*?</script>", "", text, flags=re.S)
    assert not set("\x00\x1b\u202e") & set(outside)


def test_the_figure_of_the_path_holds_the_reports_numbers():
    report = case("discount")
    spec = specs(html.report_html(report))["path"]
    rows = [layer["data"]["values"] for layer in spec["layer"]]
    band, exact = rows[0], rows[1]
    assert [row["g"] for row in band] == report.path.gammas
    assert [row["g"] for row in exact] == report.path.steps.edges
    assert [row["low"] for row in exact][:-1] == report.path.steps.lowest
    held_out = next(some[0] for some in rows if "gain" in some[0])
    assert held_out["g"] == report.verdict.gamma
    assert held_out["v"] == pytest.approx(report.path.cosine + report.verdict.gain)
    assert held_out["low"] == pytest.approx(report.path.cosine + report.verdict.gain_ci[0])
    assert {row["name"] for some in rows for row in some if "up" in row} == {"cosine", "inner product"}


def test_an_arm_far_off_is_named_at_the_edge_and_does_not_squeeze_the_rest():
    arm = case("discount").arms[0]

    def worth(name, gain):
        return arm.model_copy(update={"name": name, "gain": gain, "gain_ci": (gain - 0.01, gain + 0.01)})

    arms = [worth(f"arm {i}", 0.01 * i) for i in range(4)] + [worth("far", -0.9)]
    report = case("discount").model_copy(update={"arms": arms})
    spec = specs(html.report_html(report))["arms"]
    rows = {row["arm"]: row for layer in spec["layer"] for row in layer["data"]["values"] if "arm" in row}
    assert [name for name, row in rows.items() if row["off"]] == ["far"]
    assert rows["far"]["label"] == "◀ −0.900"
    low, high = spec["layer"][2]["encoding"]["x"]["scale"]["domain"]
    assert -0.1 < low < -0.01
    assert 0.04 < high < 0.1
    # Where all are alike, nothing is left outside.
    report = report.model_copy(update={"arms": arms[:4]})
    spec = specs(html.report_html(report))["arms"]
    assert not any(row.get("off") for layer in spec["layer"] for row in layer["data"]["values"])


def test_a_report_of_the_first_version_becomes_a_page():
    document = json.loads(case("discount").model_dump_json())
    del document["sample"], document["changes"], document["norms"]["histogram"], document["path"]["steps"]
    for name in ("most", "never"):
        document["hubness"].pop(name)
    page = Page(html.report_html(Report.model_validate(document)))
    assert "Hubs and antihubs" in page.text
    assert [attrs["data-spec"] for _, attrs in page.tags if "data-spec" in attrs] == ["arms"]


def test_a_missing_extra_is_named(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "jinja2", None)
    with pytest.raises(MissingExtraError, match=r"jinja2 is not installed.*radii\[report\]"):
        html.write_html(case("no judgements"), tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_two_pages_of_one_report_are_equal():
    report = case("discount")
    assert html.report_html(report, RECIPES) == html.report_html(report, RECIPES)
