"""The page in headless Chromium: no error, no request, figures drawn, search and copy work, text stays text.

Needs Debian's `chromium` (apt-get install chromium) or RADII_CHROMIUM; skipped where there is none.
Screenshots at three widths, light and dark, are left in tests/report/screenshots.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

import radii
from radii.deploy.menu import menu
from radii.report.compare import write_comparison
from radii.report.html import write_html
from radii.report.story import one_line
from tests.planted import FAST, random_corpus
from tests.report.test_html import CASES, HOSTILE, case

sync_api = pytest.importorskip("playwright.sync_api")
pytest.importorskip("vl_convert")
pytest.importorskip("jinja2")

SHOTS = Path(__file__).parent / "screenshots"
WIDTHS = (360, 768, 1280)


@pytest.fixture(scope="module")
def browser():
    """One Chromium for all tests. No sandbox: a container's root may not make one, and the pages are ours."""
    found = os.environ.get("RADII_CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")
    if found is None:
        pytest.skip("no chromium: apt-get install chromium, or set RADII_CHROMIUM")
    with sync_api.sync_playwright() as driver:
        chromium = driver.chromium.launch(executable_path=found, args=["--no-sandbox"])
        yield chromium
        chromium.close()


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    """The bundled demo's report, as a page with every recipe."""
    from radii.data import demo as bundled
    from radii.data.texts import read_texts

    files = bundled.paths()
    vectors = radii.load(files.vectors)
    vectors = radii.Embeddings(vectors.ids, vectors.vectors, "CLIP text vectors of LVIS classes")
    texts = read_texts(files.texts)
    report = radii.audit(vectors, vectors, files.qrels, texts=texts, exclude_self=True, protocol=FAST)
    page = write_html(report, tmp_path_factory.mktemp("demo"), menu(report, "radii-demo/report.json"))
    return report, page


@pytest.fixture
def opened(browser):
    """Opens a file as a reader would; when the test ends, whatever the page complained of fails it."""
    contexts, complaints = [], []

    def call(path, width=1280, scheme="light", **options):
        context = browser.new_context(
            viewport={"width": width, "height": 900}, color_scheme=scheme, **options
        )
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(20_000)
        page.on("console", lambda said: complaints.append(f"{said.type}: {said.text}"))
        page.on("pageerror", lambda error: complaints.append(f"error: {error}"))
        page.on("request", lambda asked: asked.url != path.as_uri() and complaints.append(asked.url[:100]))
        page.goto(path.as_uri())
        page.wait_for_function("document.documentElement.dataset.drawn !== undefined")
        return page

    yield call
    for context in contexts:
        context.close()
    assert [one for one in complaints if not one.startswith("data:,")] == []


def fits(page):
    """Nothing sticks out sideways, of the page or of a figure."""
    return page.evaluate(
        """() => {
            const wide = document.documentElement.clientWidth;
            const out = [...document.querySelectorAll("main *, header *")].filter((one) => {
                if (one.closest(".scroll, pre, nav, .hidden") || one.closest("[hidden]")) return false;
                const box = one.getBoundingClientRect();
                return box.width > 0 && (box.right > wide + 1 || box.left < -1);
            });
            const beyond = document.documentElement.scrollWidth - wide;
            return [beyond, out.map((one) => one.outerHTML.slice(0, 90))];
        }"""
    )


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", WIDTHS)
def test_the_demo_at_every_width(demo, opened, width, scheme):
    page = opened(demo[1], width, scheme)
    drawn = page.locator("[data-spec]")
    assert drawn.count() == 3 + len(demo[0].sample.signals)
    for place in drawn.all():
        box = place.locator("svg").bounding_box()
        assert box["width"] > 150
        assert box["height"] > 100
        assert place.locator("svg .role-mark path, svg .role-mark line").count() > 0
        assert place.get_attribute("aria-label", timeout=2000)
    assert page.locator("[data-spec=norms] .mark-rect path").count() >= 30
    assert page.locator("[data-spec=signal-0] .mark-symbol path").count() == 1000
    assert fits(page) == [0, []]
    SHOTS.mkdir(exist_ok=True)
    page.screenshot(path=SHOTS / f"report-{width}-{scheme}.png", full_page=True)


@pytest.mark.parametrize("name", CASES)
def test_every_kind_of_report_opens(opened, tmp_path, name):
    report = case(name)
    page = opened(write_html(report, tmp_path, menu(report, "it's here/report.json")), 360)
    assert fits(page) == [0, []]
    assert page.locator("h1").inner_text()
    assert page.evaluate("window.hacked") is None


def test_hostile_texts_are_shown_as_text(opened, tmp_path):
    page = opened(write_html(case("hostile"), tmp_path), 768)
    shown = " ".join(page.locator("#documents").inner_text().split())
    for words in HOSTILE:
        assert one_line(words, 60)[:-1] in shown
    assert page.locator("main img, main script, main style, main b, main i").count() == 0
    # Tooltips too.
    page.locator("[data-spec=arms] svg .mark-symbol path").first.hover(force=True)
    page.wait_for_selector("#vg-tooltip-element.visible")
    page.locator("[data-spec=signal-0] svg .mark-symbol path").first.hover(force=True)
    page.wait_for_timeout(100)
    assert page.locator("#vg-tooltip-element img, #vg-tooltip-element script").count() == 0
    assert page.evaluate("window.hacked") is None


def test_search_leaves_the_rows_that_hold_every_word(demo, opened):
    report, file = demo
    page = opened(file)
    rows = page.locator("#documents [data-row]:visible")
    documents = [*report.norms.longest, *report.norms.shortest]
    assert rows.count() == len(documents)
    word = "fruit"
    wanted = [d.id for d in documents if word in d.id.lower() or word in d.text.lower()]
    assert 0 < len(wanted) < len(documents)
    page.get_by_label("Search ids and texts").fill("FRUIT")
    assert [row.locator("th").inner_text() for row in rows.all()] == wanted
    assert page.locator("output.count").inner_text() == f"{len(wanted)} of {len(documents)}"
    page.get_by_label("Search ids and texts").fill("nothing has these words")
    assert rows.count() == 0
    assert page.locator("#documents .group:visible").count() == 0
    page.get_by_label("Search ids and texts").fill("")
    assert rows.count() == len(documents)


def test_a_recipe_is_chosen_and_copied(demo, opened):
    report, file = demo
    page = opened(file, permissions=["clipboard-read", "clipboard-write"])
    offered = menu(report, "radii-demo/report.json")
    assert page.locator("#engine option").all_inner_texts() == list(offered)
    for name in ("faiss", "redis (server)"):
        page.get_by_label("Engine", exact=True).select_option(name)
        engine = page.locator(".engine:visible")
        assert engine.count() == 1
        for (_, text), button in zip(offered[name], engine.get_by_role("button").all(), strict=True):
            button.click()
            page.wait_for_function("document.getElementById('said').textContent === 'Copied'")
            assert page.evaluate("navigator.clipboard.readText()") == text


def test_where_the_clipboard_is_refused_a_selection_is_copied(demo, opened):
    page = opened(demo[1])
    page.evaluate("() => { navigator.clipboard.writeText = () => Promise.reject(new Error('refused')); }")
    page.evaluate(
        """() => { document.execCommand = (name) => {
            window.asked = [name, document.activeElement.value];
            return true;
        }; }"""
    )
    page.locator(".engine:visible button.copy").first.click()
    page.wait_for_function("document.getElementById('said').textContent === 'Copied'")
    assert page.evaluate("window.asked") == ["copy", "pip install 'radii[faiss]'"]


def test_the_keyboard_reaches_everything(demo, opened):
    page = opened(demo[1])
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "main"
    page.locator("#theme").focus()
    before = page.evaluate("getComputedStyle(document.body).backgroundColor")
    page.keyboard.press("Enter")
    assert page.evaluate("document.documentElement.dataset.theme") == "dark"
    assert page.locator("#theme").get_attribute("aria-pressed") == "true"
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") != before
    second = page.locator(".change summary").nth(1)
    second.focus()
    page.keyboard.press("Enter")
    assert page.locator(".change").nth(1).get_attribute("open") is not None
    # Every place that scrolls can be scrolled by keys, and every control has a name.
    assert page.locator(".scroll:not([tabindex='0']), pre:not([tabindex='0'])").count() == 0
    controls = "[...document.querySelectorAll('button, select, input')]"
    assert page.evaluate(f"{controls}.filter((c) => !c.ariaLabel && !c.labels?.length).length") == 0


def luminance(colour):
    """Relative luminance of a colour of the style sheet, as WCAG 2 has it."""
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return sum(w * p for w, p in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_colours_stand_out_from_what_is_behind(demo, opened, scheme):
    page = opened(demo[1], scheme=scheme)

    def colour(name):
        return page.evaluate(
            f"getComputedStyle(document.documentElement).getPropertyValue('--{name}').trim()"
        )

    for front in ("ink", "muted", "blue", "vermillion", "green", "orange", "purple"):
        for back in ("card", "page", "tint"):
            a, b = sorted((luminance(colour(front)), luminance(colour(back))), reverse=True)
            assert (a + 0.05) / (b + 0.05) >= 4.5, (front, back)


def test_paper_shows_what_is_folded_and_is_light(demo, opened):
    page = opened(demo[1], scheme="dark")
    page.emulate_media(media="print")
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert page.locator("details:not([open])").count() == 0
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert not page.locator("#theme").is_visible()
    page.pdf(path=SHOTS / "report.pdf") if SHOTS.exists() else None
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    assert page.locator("details:not([open])").count() > 5


@pytest.mark.parametrize("width", WIDTHS)
def test_a_comparison_opens(demo, opened, tmp_path, width):
    docs, queries, qrels = random_corpus()
    other = radii.audit(docs, queries, qrels, protocol=FAST)
    page = opened(write_comparison(demo[0], other, tmp_path / "compare.html", ("demo", HOSTILE[0])), width)
    assert fits(page) == [0, []]
    assert page.locator("[data-spec] svg").count() == page.locator("[data-spec]").count() >= 2
    assert page.locator("main script").count() == 0
    SHOTS.mkdir(exist_ok=True)
    page.screenshot(path=SHOTS / f"compare-{width}.png", full_page=True)
