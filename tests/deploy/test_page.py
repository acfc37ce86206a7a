"""docs/deploy.md says of every engine what its code does."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from radii.deploy.engines import ENGINES

PAGE = (Path(__file__).parents[2] / "docs" / "deploy.md").read_text()
ROWS = {row[1]: row[0] for row in re.finditer(r"^\| `([a-z-]+)` \|.*$", PAGE, flags=re.M)}


@pytest.mark.parametrize("name", ENGINES)
def test_the_page_says_what_the_engine_does(name):
    _, _, form, looked_at = (cell.strip() for cell in ROWS[name].strip("|").split("|"))
    assert form == f"`{ENGINES[name].forms[0]}`"
    assert (looked_at == "every document") == ENGINES[name].exact
