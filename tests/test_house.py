"""The rules of the house that a machine can check: layers, light imports, docstrings, pins."""

from __future__ import annotations

import ast
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import radii

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "radii"
MODULES = {str(path.relative_to(ROOT)): path for path in sorted(PACKAGE.rglob("*.py"))}
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())


def python(code: str) -> str:
    """Standard output of a fresh interpreter."""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    return done.stdout


# Layers --------------------------------------------------------------------------------------------------


@pytest.fixture
def lint(tmp_path):
    """Checks a copy of the package, changed by a module's name and a line to add, by its own contract."""

    def check(module: str | None = None, line: str = "") -> subprocess.CompletedProcess[str]:
        shutil.copytree(PACKAGE, tmp_path / "radii", ignore=shutil.ignore_patterns("__pycache__", "*.npy"))
        shutil.copyfile(ROOT / "pyproject.toml", tmp_path / "pyproject.toml")
        if module is not None:
            with open(tmp_path / "radii" / module, "a") as file:
                file.write(f"\n{line}\n")
        code = "from importlinter.cli import lint_imports_command; lint_imports_command()"
        command = [sys.executable, "-c", code, "--no-cache"]
        return subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)

    return check


def test_imports_point_down(lint):
    done = lint()
    assert done.returncode == 0, done.stdout
    assert "1 kept, 0 broken" in done.stdout


@pytest.mark.parametrize(
    ("module", "line"),
    [
        ("errors.py", "import radii.data.texts"),
        ("data/texts.py", "import radii.ranking.path"),
        ("ranking/score.py", "from radii.evidence import holdout"),
        ("result.py", "import radii.report.files"),
        ("auditing.py", "def f():\n    import radii.cli"),
    ],
)
def test_the_contract_breaks_on_an_import_that_points_up(lint, module, line):
    done = lint(module, line)
    assert done.returncode == 1
    assert "0 kept, 1 broken" in done.stdout


def test_the_contract_breaks_on_a_module_that_it_does_not_name(lint):
    assert lint("unnamed.py", "").returncode == 1


def test_every_module_of_the_package_has_a_layer():
    [contract] = PROJECT["tool"]["importlinter"]["contracts"]
    assert contract["exhaustive"] is True
    named = [name.strip() for layer in contract["layers"] for name in re.split("[:|]", layer)]
    there = {path.stem for path in PACKAGE.glob("[!_]*.py")} | {p.parent.name for p in PACKAGE.glob("*/*.py")}
    assert sorted(named) == sorted(there)
    assert contract["exhaustive_ignores"] == ["__main__"]


# Imports -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("module", "heavy"),
    [
        ("radii", ["numpy", "numba", "scipy", "pydantic", "pyarrow", "torch", "typer", "rich"]),
        ("radii.cli", ["numpy", "numba", "scipy", "pydantic", "pyarrow", "torch", "sentence_transformers"]),
        ("radii.auditing", ["torch", "sentence_transformers", "pyarrow", "typer", "rich"]),
        ("radii.data.encode", ["torch", "sentence_transformers"]),
        ("radii.dynamics.training", ["torch", "numba", "altair"]),
        ("radii.report.figures", ["torch", "altair", "vl_convert"]),
        ("radii.integrations.sentence_transformers", ["torch", "sentence_transformers"]),
        ("radii.integrations.langchain", ["langchain_core"]),
        ("radii.integrations.llama_index", ["llama_index"]),
    ],
)
def test_what_is_heavy_is_imported_when_used(module, heavy):
    loaded = python(f"import sys, {module}; print(*(m for m in {heavy} if m in sys.modules))").split()
    assert loaded == []


def test_imports_set_up_no_logging_and_change_no_environment():
    assert (
        python(
            "import logging, os, warnings, ir_measures, numba, numpy, pydantic, rich, scipy.stats, typer\n"
            "before = dict(os.environ), list(warnings.filters)\n"
            "import radii.auditing, radii.cli, radii.data.encode, radii.report.terminal\n"
            "print(logging.root.handlers, (dict(os.environ), list(warnings.filters)) == before)"
        )
        == "[] True\n"
    )


def test_every_public_name_resolves():
    assert set(radii._HOMES) == set(radii.__all__) - {"__version__"}
    for name in radii.__all__:
        assert getattr(radii, name) is not None
    assert dir(radii) == sorted(radii.__all__)
    with pytest.raises(AttributeError, match="wisdom"):
        _ = radii.wisdom


def test_the_version_is_that_of_the_project():
    assert radii.__version__ == PROJECT["project"]["version"]


# Source --------------------------------------------------------------------------------------------------


def public(tree: ast.Module):
    """(name, node) of public functions and classes, and of the public methods of public classes."""
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and not node.name.startswith("_"):
            yield node.name, node
            for part in node.body if isinstance(node, ast.ClassDef) else ():
                if isinstance(part, ast.FunctionDef) and not part.name.startswith("_"):
                    yield f"{node.name}.{part.name}", part


@pytest.mark.parametrize("path", MODULES.values(), ids=MODULES)
def test_everything_public_says_what_it_is(path):
    tree = ast.parse(path.read_text())
    assert ast.get_docstring(tree), "the module"
    assert [name for name, node in public(tree) if not ast.get_docstring(node)] == []


@pytest.mark.parametrize("path", MODULES.values(), ids=MODULES)
def test_no_assert_and_no_catch_all(path):
    for node in ast.walk(ast.parse(path.read_text())):
        assert not isinstance(node, ast.Assert), f"assert on line {node.lineno}"
        if isinstance(node, ast.ExceptHandler):
            caught = "" if node.type is None else ast.unparse(node.type)
            assert caught not in ("", "Exception", "BaseException"), f"catch-all on line {node.lineno}"


# Dependencies --------------------------------------------------------------------------------------------


def requirements() -> dict[str, Requirement]:
    project = PROJECT["project"]
    lines = [
        *project["dependencies"],
        *(r for extra in project["optional-dependencies"].values() for r in extra),
    ]
    found = [Requirement(line) for line in lines]
    return {r.name: r for r in found if r.name != project["name"]}


def pins() -> dict[str, str]:
    lines = [line.split("#")[0].strip() for line in (ROOT / "constraints.txt").read_text().splitlines()]
    return {
        canonicalize_name(name): version for name, version in (line.split("==") for line in lines if line)
    }


@pytest.mark.parametrize("requirement", requirements().values(), ids=requirements())
def test_every_dependency_has_a_lower_bound_and_a_pin_above_it(requirement):
    assert [part.operator for part in requirement.specifier] == [">="]
    assert requirement.specifier.contains(pins()[canonicalize_name(requirement.name)])


def test_the_core_installs_no_model_library():
    core = {canonicalize_name(Requirement(line).name) for line in PROJECT["project"]["dependencies"]}
    assert core.isdisjoint({"torch", "sentence-transformers", "transformers"})
