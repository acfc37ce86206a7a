"""The report as one HTML file that needs nothing else: no network, no server. Needs the extra `report`.

What comes from users (ids, texts, file names) reaches the page through autoescape, or as JSON data.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

from radii.data.files import atomic_write
from radii.errors import MissingExtraError
from radii.report import story
from radii.result import Report

TEMPLATES = Path(__file__).parent / "templates"
Recipes = Mapping[str, Sequence[tuple[str, str]]]  # engine → (what it is for, text to copy), in order


def write_html(report: Report, folder: str | os.PathLike[str], recipes: Recipes | None = None) -> Path:
    """`folder`/report.html, of the same result as report.json.

    Raises MissingExtraError without the extra `report`, InputError when the file cannot be written.
    """
    return _written(report_html(report, recipes), Path(folder) / "report.html")


def report_html(report: Report, recipes: Recipes | None = None) -> str:
    """The page as text. `recipes` maps an engine to what is to be copied for it."""
    check_extra()
    from radii.report import document_charts, evidence_charts
    from radii.report.drawing import theme

    figures = {
        "path": evidence_charts.path_figure(report),
        "arms": evidence_charts.forest_figure(report),
        "norms": document_charts.norms_figure(report),
    }
    signals = document_charts.signal_figures(report)
    return page(
        "report.html",
        report=report,
        recipes=recipes or {},
        figures=figures,
        signals=signals,
        specs={one.name: one.spec for one in [*figures.values(), *signals] if one is not None},
        theme=theme(),
        caveats=story.caveats(report),
        standing=story.STANDING,
    )


def page(template: str, **values: Any) -> str:
    """A template of this package, filled in; every value is escaped."""
    environment = _environment()
    from markupsafe import Markup

    scripts = Markup(_scripts() if values["specs"] else "")  # two megabytes that only figures need
    return str(environment.get_template(template).render(**values, scripts=scripts))


def check_extra() -> None:
    """MissingExtraError names the extra that installs what pages are made with."""
    for name in ("altair", "jinja2", "vl_convert"):
        try:
            import_module(name)
        except ModuleNotFoundError as error:
            raise MissingExtraError(name, "report") from error


@cache
def _environment() -> Any:
    import jinja2

    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "line": story.one_line,
        "signed": _signed,
        "minus": _told,
        "thousands": lambda n: f"{n:,}",
    }
    environment.globals |= {
        "headline": lambda report: _told(story.headline(report)),
        "advice": lambda report: _told(story.advice(report)),
    }
    return environment


def _told(text: str) -> str:
    return story.minus(story.one_line(text))


def _signed(value: float, digits: int = 3) -> str:
    return story.minus(story.signed(value, digits))


@cache
def _scripts() -> str:
    """Vega, Vega-Lite and Vega-Embed (BSD-3-Clause) as one script, from the wheel of vl-convert."""
    import vl_convert

    text: str = vl_convert.javascript_bundle()  # type: ignore[call-arg]
    return text.replace("</script", "<\\/script").replace("<!--", "<\\!--")


def _written(text: str, target: Path) -> Path:
    with atomic_write(target, mode="w") as out:
        out.write(text)
    return target
