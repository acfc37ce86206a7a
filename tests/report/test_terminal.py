"""What the terminal shows: the answer, its caveats, and ids as text whatever they hold."""

from __future__ import annotations

import io
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.console import Console

import radii
from radii.data.embeddings import Embeddings
from radii.report.terminal import chosen, plain, show, show_briefly, sparkline
from tests.planted import FAST, FLIP, long_distractors, random_corpus, unit, unrelated_norms


def printed(report, width=80, **console) -> str:
    file = io.StringIO()
    show(report, Console(file=file, width=width, highlight=False, **console), report_file="out/report.json")
    return file.getvalue()


def words(text: str) -> str:
    return " ".join(text.split())


@pytest.fixture(scope="module")
def discount():
    return radii.audit(*long_distractors(), metric="RR@10", protocol=FAST)


def test_the_answer_is_there_with_its_numbers(discount):
    text = words(printed(discount))
    low, high = discount.verdict.gain_ci
    assert "80 documents · 40 judged queries · 80 dims" in text
    assert "Verdict discount: Discounting long vectors helps" in text
    assert f"γ = {-FLIP - 0.1:.2f} takes RR@10 from 0.750 to 1.000" in text
    assert f"+0.250 (95 % {low:+.3f} … {high:+.3f}), 40 queries" in text
    assert "inner product 0.500 · cosine 0.750 · best 1.000" in text
    assert "out/report.json" in text


CASES = {
    "discount": lambda: radii.audit(*long_distractors(), metric="RR@10", protocol=FAST),
    "unverified": lambda: radii.audit(*unrelated_norms(), protocol=FAST),
    "few queries": lambda: radii.audit(*long_distractors(3), protocol=FAST),
    "no judgements": lambda: radii.audit(*long_distractors(3)[:2]),
    "no-signal": lambda: radii.audit(unit(random_corpus()[0]), *random_corpus()[1:], protocol=FAST),
}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("width", [40, 80, 160])
def test_verdict_arms_and_caveats_are_complete_at_every_width(case, width):
    report = CASES[case]()
    text = printed(report, width)
    assert all(cell_len(line) <= width for line in text.splitlines())
    told = words(text)
    assert f"{report.verdict.label}:" in told
    joined = text.replace(" ", "").replace("\n", "")
    assert report.verdict.summary.replace(" ", "") in joined
    assert ("more in the report" in told) == (len(report.arms) > 8)
    for arm in chosen(report):
        low, high = arm.gain_ci
        gain, low, high = (plain(value).strip() for value in (arm.gain, low, high))
        assert f"{gain}({low}…{high}){arm.p:.1g}" in joined
        for value in list(arm.parameters.values())[:1]:
            assert f"{value:+.2f}" in joined
    for found in report.findings:
        caveat = found.status in ("fails", "skipped")
        assert (f"[{found.code}]" in told) == caveat
        assert (f"{found.meaning}.[{found.code}]".replace(" ", "") in joined) == caveat


HOSTILE = ["[bold]loud[/bold]", "\x1b[31mred\x1b[0m", "two\nlines", "tab\t\x07bell", ":boom:", "[/]", "‮right"]


@pytest.mark.parametrize("terminal", [False, True], ids=["plain", "terminal"])
@pytest.mark.parametrize("width", [40, 80])
def test_ids_are_printed_as_text_and_do_not_steer(width, terminal):
    docs, queries, _ = random_corpus()
    docs = unit(docs[: len(HOSTILE)]) * np.arange(1, len(HOSTILE) + 1)[:, None]
    for first in range(len(HOSTILE)):
        names = HOSTILE[first:] + HOSTILE[:first]
        report = radii.audit(Embeddings(names, docs, f"{names[0]}.npy"), Embeddings.of(queries, names[1]))
        text = printed(report, width, force_terminal=terminal, color_system="standard" if terminal else None)
        for style in ("\x1b[1m", "\x1b[0m", "\x1b[2m", "\x1b[1;35m"):  # bold, dim and the colour of the label
            text = text.replace(style, "")
        assert all(c == "\n" or c.isprintable() for c in text)
        joined = text.replace(" ", "").replace("\n", "")
        for name in (names[-1], names[-2], names[0], names[1]):
            spelt = name.encode("unicode_escape").decode() if not name.isprintable() else name
            assert spelt in joined


def test_a_very_long_id_is_shortened():
    docs, queries, _ = random_corpus()
    names = ["x" * 500, *map(str, range(2))]
    text = printed(radii.audit(Embeddings(names, docs[:3]), queries), width=1000)
    assert "x" * 39 + "…" in text
    assert "x" * 41 not in text


BARS = "▁▂▃▄▅▆▇█"
values = st.lists(st.floats(0, 1, width=16), min_size=1, max_size=300)


@given(values, st.integers(1, 60))
def test_sparkline_has_its_width_and_only_bars(curve, width):
    assert len(sparkline(curve, width)) == width
    assert set(sparkline(curve, width)) <= set(BARS)


@given(values)
def test_sparkline_of_all_points_keeps_their_order(curve):
    heights = [BARS.index(bar) for bar in sparkline(curve, len(curve))]
    order = np.argsort(curve, kind="stable")
    assert (np.diff(np.array(heights)[order]) >= 0).all()
    assert heights[int(np.argmin(curve))] == 0
    assert heights[int(np.argmax(curve))] == (7 if max(curve) > min(curve) else 0)


@given(values)
def test_sparkline_reads_the_same_from_behind(curve):
    width = len(curve)
    assert sparkline(curve[::-1], width) == sparkline(curve, width)[::-1]


def test_sparkline_by_hand():
    assert sparkline([i / 7 for i in range(8)], 8) == BARS
    assert sparkline([0.3] * 201, 5) == "▁▁▁▁▁"
    assert sparkline([0.0, 9.0, 1.0], 2) == "▁█"  # first and last are always shown


def test_the_arms_shown_are_the_norms_own_and_the_best_of_the_rest(discount):
    shown = [arm.name for arm in chosen(discount)]
    assert len(shown) == 8 < len(discount.arms)
    assert {"norm exponent", "inner product"} <= set(shown)
    gains = [arm.gain for arm in chosen(discount)]
    assert gains == sorted(gains, reverse=True)
    left = [arm.gain for arm in discount.arms if arm.name not in shown]
    free = [arm.gain for arm in chosen(discount) if not arm.name.startswith(("norm", "inner"))]
    assert min(free) >= max(left)


def test_the_story_fits_a_screen(discount):
    assert len(printed(discount, width=100).splitlines()) <= 32


@pytest.mark.parametrize("case", CASES)
def test_briefly_is_the_verdict_and_the_advice(case):
    report, file = CASES[case](), io.StringIO()
    show_briefly(report, Console(file=file, width=40, highlight=False))
    verdict, advice = file.getvalue().splitlines()
    assert verdict.lower().startswith(report.verdict.label.split("-")[0][:7].lower()) or (
        report.verdict.label == "amplify"
    )
    if report.verdict.gain is not None:
        assert f"{report.verdict.gain:+.3f}" in verdict
        assert f"{report.how.metric}" in verdict
    assert advice.startswith("Rank by ")


def test_colours_are_for_terminals_only(discount):
    assert "\x1b[" not in printed(discount)
    assert "\x1b[" in printed(discount, force_terminal=True, color_system="standard")


def test_the_page_is_named_beside_the_report(discount):
    file = io.StringIO()
    show(discount, Console(file=file, width=80), report_file="out/report.json", page="out/report.html")
    assert "Report   out/report.json\n         out/report.html\n" in re.sub(" +\n", "\n", file.getvalue())


@pytest.mark.parametrize("width", [40, 80])
def test_the_command_to_go_on_with_is_one_line_at_every_width(discount, width):
    file, command = io.StringIO(), "radii export out/report.json 'my docs.npy' " + "x" * 100
    show(discount, Console(file=file, width=width), report_file="out/report.json", export=command)
    before, last = file.getvalue().removesuffix("\n").rsplit("\n", 1)
    assert last.strip() == command
    assert "Next Export it" in words(before)


def test_without_a_command_nothing_is_said_of_going_on(discount):
    assert "Next" not in printed(discount)


def test_a_command_does_not_steer_the_terminal(discount):
    file = io.StringIO()
    show(discount, Console(file=file, width=80), report_file="r.json", export="radii export 'a\x1b[31m\n[b]'")
    assert file.getvalue().splitlines()[-1].strip() == "radii export 'a\\x1b[31m\\n[b]'"
