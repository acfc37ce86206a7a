"""The examples run as they stand and print what they are there to show; the notebooks run to their end."""

from __future__ import annotations

import contextlib
import json
import re
import runpy
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SCRIPTS = sorted((ROOT / "examples").glob("*.py"))
NOTEBOOKS = sorted((ROOT / "examples" / "notebooks").glob("*.ipynb"))

# Script → what it cannot do without, and what it has to print.
SAYS = {
    "audit_arrays": ((), r"^proxy - "),
    "export_faiss": (("faiss",), r"overlap@10 1\.0000, 0 order violations"),
    "monitor_training": (("torch",), r"step  600  log norm .* heading to (0\.[89]|1\.[01])"),
    "own_judgements": ((), r"^200 judged queries: discount\n20 judged queries: unverified, needs \d+"),
    "path_and_corrections": ((), r"rank as the path says: True"),
    "probe_model": (("torch",), r"^norm with text length: ρ -0\.\d\d"),
    "simulate_norms": (
        ("torch",),
        r"(?s)stationary: True.+stationary: True.+over trained: (0\.99|1\.00)",
    ),
}


def test_every_script_is_known_and_short():
    assert {script.stem for script in SCRIPTS} == set(SAYS)
    for script in SCRIPTS:
        assert len(script.read_text().splitlines()) < 50, script.name


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.stem)
def test_the_script_shows_what_it_says(script, tmp_path, capsys):
    modules, shown = SAYS[script.stem]
    for module in modules:
        pytest.importorskip(module)
    with contextlib.chdir(tmp_path):
        runpy.run_path(str(script), run_name="__main__")
    assert re.search(shown, capsys.readouterr().out, flags=re.M)


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda notebook: notebook.stem)
def test_notebooks_are_kept_without_outputs(notebook):
    cells = json.loads(notebook.read_text())["cells"]
    assert sum(cell["cell_type"] == "code" for cell in cells) >= 4
    assert not any(cell.get("outputs") or cell.get("execution_count") for cell in cells)


@pytest.mark.slow
@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda notebook: notebook.stem)
def test_the_notebook_runs(notebook, tmp_path):
    for module in ("torch", "altair", "ipykernel"):
        pytest.importorskip(module)
    nbformat, nbclient = pytest.importorskip("nbformat"), pytest.importorskip("nbclient")
    book = nbformat.read(notebook, 4)
    # Raises CellExecutionError where a cell does: each notebook asserts what it says.
    nbclient.NotebookClient(book, timeout=300, kernel_name="python3").execute(cwd=str(tmp_path))
    drawn = [o for cell in book.cells for o in cell.get("outputs", []) if "text/html" in o.get("data", {})]
    assert drawn
