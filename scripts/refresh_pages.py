"""Make the pages of docs/ true again: what a program prints is pasted, what a catalogue holds is listed.

python -m scripts.refresh_pages              # all of it
python -m scripts.refresh_pages PAGE ...     # the outputs on these pages only

README.md has its own script, refresh_readme.py.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

from radii.report.claims import as_markdown as claims_page
from radii.report.findings import page as findings_page
from scripts.collection import write_collection
from scripts.pages import ROOT, Block, Runner, blocks, commands, pages

_ELIDED = ("...", "…")


def cli_page() -> str:
    """docs/reference/cli.md: every command with its help, by typer."""
    command = [sys.executable, "-m", "typer", "radii.cli", "utils", "docs", "--name", "radii"]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT)
    lines = done.stdout.strip().splitlines()[1:]
    head = [
        "# Command line",
        "",
        "Made from the program's own help by `make pages`. Every command exits with 0, or with 2 on bad",
        "input: one line says what was found and how to fix it. `verify` exits with 1 when an engine's order",
        "is not the exact one.",
    ]
    return "\n".join([*head, *lines]).replace("```console", "```text") + "\n"


GENERATED = {
    ROOT / "docs" / "claims.md": claims_page,
    ROOT / "docs" / "findings.md": findings_page,
    ROOT / "docs" / "reference" / "cli.md": cli_page,
}


def refresh(page: Path, runner: Runner) -> None:
    """Run a page's blocks from the top and paste what they print; an output with `...` in it stays."""
    lines = page.read_text().splitlines()
    new: list[tuple[Block, str]] = []
    for block in blocks(page):
        if block.mark:
            continue
        if block.language == "console":
            new.append((block, _console(block, runner)))
        elif block.title == "prints":
            new.append((block, runner.printed))
        else:
            runner.run(block)
    for block, text in reversed(new):
        body = text.rstrip().splitlines()
        lines[block.first : block.last] = [(" " * block.indent + line).rstrip() for line in body]
    page.write_text("\n".join(lines) + "\n")


def _console(block: Block, runner: Runner) -> str:
    before, out = block.text.splitlines(), []
    found = commands(block)
    for number, command in enumerate(found):
        start = command.line - block.first
        end = found[number + 1].line - block.first if number + 1 < len(found) else len(before)
        _, printed = runner.call(command.words[1:])
        kept = command.shown is None or any(line.strip() in _ELIDED for line in before[start:end])
        shown = printed.strip("\n").splitlines()
        head = [line for line in before[start:end] if line not in (command.shown or "").splitlines()]
        out += before[start:end] if kept else head + shown
    return "\n".join(out)


def main() -> None:
    """Refresh the pages named, or every one of docs/ and the generated ones."""
    named = [Path(word).resolve() for word in sys.argv[1:]]
    if not named:
        for target, make in GENERATED.items():
            target.write_text(make())
    kept: dict[tuple[str, ...], tuple[int, str, dict[str, bytes]]] = {}
    for page in named or [p for p in pages() if p not in GENERATED and p.name != "README.md"]:
        with tempfile.TemporaryDirectory() as folder:
            refresh(page, Runner(write_collection(Path(folder)), kept))


if __name__ == "__main__":
    main()
