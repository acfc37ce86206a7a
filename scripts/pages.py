"""The code blocks of a Markdown page: found, run, and held against the output that the page shows.

A fenced `python` block runs in the page's one namespace; a `text` block titled `prints` below it is what it
printed. In a `console` block (or an indented one), `$ radii ...` runs the command line in this process; the
lines below it are its output, and a line `...` stands for any number of lines. A `toml` or `tsv` block
with a title is that file. A comment just above a block, `<!-- slow: why -->` or `<!-- not run: why -->`,
keeps it out of the default suite, or out of every one.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import shlex
import sys
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
_FENCE = re.compile(r"^( *)(`{3,})(\w*) *(.*)$")
_MARK = re.compile(r"^ *<!-- (slow|not run): (.+) -->$")
_INDENTED = re.compile(r"^ {4}(\$ |radii |make |pip )")
# Seconds, versions: what differs from run to run. Numbers: compared to their last printed decimal.
_PASSING = re.compile(r"\d+(\.\d+)? s\b|\b\d+\.\d+\.\d+\b")
_NUMBER = re.compile(r"(?<![\w.])[-+−]?\d[\d,]*(?:\.\d+)?")


@dataclass(frozen=True)
class Block:
    """A code block: lines `first` to `last` (from 0, `last` left out) are its text, without the fences."""

    page: Path
    first: int
    last: int
    indent: int
    language: str
    title: str
    text: str
    mark: str = ""
    reason: str = ""

    def __str__(self) -> str:
        return f"{self.page.relative_to(ROOT)}:{self.first + 1}"


def pages() -> list[Path]:
    """README.md and every page of the docs."""
    return [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


def blocks(page: Path) -> list[Block]:
    """Every fenced block, and every indented one that begins with a command, in order."""
    lines, found, at = page.read_text().splitlines(), [], 0
    while at < len(lines):
        fence = _FENCE.match(lines[at])
        if fence:
            end = next(i for i in range(at + 1, len(lines)) if lines[i].strip() == fence[2])
            title = re.search(r'title="([^"]+)"', fence[4])
            found.append(
                _block(page, lines, at + 1, end, len(fence[1]), fence[3], title[1] if title else "", at)
            )
            at = end
        elif _INDENTED.match(lines[at]) and (at == 0 or not lines[at - 1].strip()):
            end = next((i for i in range(at, len(lines)) if not lines[i].startswith("    ")), len(lines))
            found.append(_block(page, lines, at, end, 4, "console", "", at))
            at = end
        at += 1
    return found


def _block(
    page: Path, lines: list[str], first: int, last: int, indent: int, language: str, title: str, top: int
) -> Block:
    above = next((line for line in reversed(lines[:top]) if line.strip()), "")
    mark = _MARK.match(above)
    text = textwrap.dedent("\n".join(lines[first:last]))
    said = (mark[1], mark[2]) if mark else ("", "")
    return Block(page, first, last, indent, language, title, text, *said)


@dataclass(frozen=True)
class Command:
    """A command of a console block and the output that the page shows for it; none when it shows nothing."""

    words: list[str]
    shown: str | None
    line: int


def commands(block: Block) -> list[Command]:
    """The commands of a console block. A bare indented command needs no dollar sign."""
    found: list[Command] = []
    lines = block.text.splitlines()
    dollars = any(line.startswith("$ ") for line in lines)
    at = 0
    while at < len(lines):
        if lines[at].startswith("$ ") or (not dollars and lines[at].strip()):
            command, start = lines[at].removeprefix("$ "), at
            while command.endswith("\\"):
                at += 1
                command = command[:-1] + lines[at].strip()
            end = next((i for i in range(at + 1, len(lines)) if lines[i].startswith("$ ")), len(lines))
            shown = "\n".join(lines[at + 1 : end]).strip("\n") if dollars else ""
            found.append(Command(shlex.split(command, comments=True), shown or None, block.first + start))
            at = end if dollars else at + 1
        else:
            at += 1
    return found


@dataclass
class Runner:
    """Runs blocks in a folder; `kept` has what audits and probes gave, for pages that repeat them."""

    folder: Path
    kept: dict[tuple[str, ...], tuple[int, str, dict[str, bytes]]] = field(default_factory=dict)
    namespace: dict[str, Any] = field(default_factory=lambda: {"__name__": "__page__"})
    printed: str = ""

    def run(self, block: Block) -> None:
        """Run one block; raises AssertionError where the page and the run differ."""
        if block.language == "python":
            self.printed = self._python(block)
        elif block.language == "text" and block.title == "prints":
            assert_same(self.printed, block.text, str(block))
        elif block.title and block.language in ("toml", "tsv", "jsonl"):
            (self.folder / block.title).write_text(block.text + "\n")
        elif block.language == "console":
            for command in commands(block):
                self._expect(command, f"{block.page.relative_to(ROOT)}:{command.line + 1}")

    def _expect(self, command: Command, place: str) -> None:
        assert command.words[0] == "radii", f"{place}: only radii is run here; mark the block"
        code, printed = self.call(command.words[1:])
        wanted = 2 if (command.shown or "").startswith("radii: ") else 0
        assert code == wanted, f"{place}: exit code {code}\n{printed}"
        if command.shown is not None:
            assert_same(printed, command.shown, place)

    def _python(self, block: Block) -> str:
        out = io.StringIO()
        source = "\n" * block.first + block.text
        with inside(self.folder), contextlib.redirect_stdout(out):
            exec(compile(source, str(block.page), "exec"), self.namespace)
        return out.getvalue()

    def call(self, words: list[str]) -> tuple[int, str]:
        """Exit code, and standard output and error as one, of the command line."""
        key = tuple(words)
        if key not in self.kept:
            before = self._files()
            code, printed = self._call(words)
            if words[0] not in ("audit", "demo", "probe"):
                return code, printed
            after = self._files()
            made = {name: data for name, data in after.items() if before.get(name) != data}
            self.kept[key] = code, printed, made
        code, printed, made = self.kept[key]
        for name, data in made.items():
            (self.folder / name).parent.mkdir(parents=True, exist_ok=True)
            (self.folder / name).write_bytes(data)
        return code, printed

    def _files(self) -> dict[str, bytes]:
        return {str(p.relative_to(self.folder)): p.read_bytes() for p in self.folder.glob("radii-*/*")}

    def _call(self, words: list[str]) -> tuple[int, str]:
        from radii.cli import main

        out, code, given = io.StringIO(), 0, sys.argv
        sys.argv = ["radii", *words]
        try:
            with inside(self.folder), contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
                main()
        except SystemExit as ended:
            code = ended.code if isinstance(ended.code, int) else int(ended.code is not None)
        finally:
            sys.argv = given
        return code, out.getvalue()


@contextlib.contextmanager
def inside(folder: Path) -> Iterator[None]:
    """Work in a folder, with a terminal 100 columns wide."""
    before = os.environ.get("COLUMNS")
    os.environ["COLUMNS"] = "100"
    try:
        with contextlib.chdir(folder):
            yield
    finally:
        os.environ.pop("COLUMNS")
        if before is not None:
            os.environ["COLUMNS"] = before


def assert_same(printed: str, shown: str, place: str) -> None:
    """The output that a page shows against a real one: words alike, numbers to the last decimal shown."""
    got = [line.rstrip() for line in printed.strip("\n").splitlines()]
    want = [line.rstrip() for line in shown.strip("\n").splitlines()]
    parts = _cut(want)
    if len(parts) == 1:
        # An error is one long line, which a page may wrap.
        assert same(" ".join(" ".join(got).split()), " ".join(" ".join(want).split())), (
            f"{place} shows\n{shown}\nbut the run printed\n{printed}"
        )
        return
    at = 0
    for number, part in enumerate(parts):
        last = number == len(parts) - 1
        starts = [len(got) - len(part)] if last else [0] if number == 0 else range(at, len(got))
        found = next((i for i in starts if i >= at and _alike(got[i : i + len(part)], part)), None)
        assert found is not None, f"{place}: the run did not print\n" + "\n".join(part) + f"\nbut\n{printed}"
        at = found + len(part)


def _cut(lines: list[str]) -> list[list[str]]:
    parts: list[list[str]] = [[]]
    for line in lines:
        if line.strip() in ("...", "…"):
            parts.append([])
        else:
            parts[-1].append(line)
    return parts


def _alike(got: list[str], want: list[str]) -> bool:
    return len(got) == len(want) and all(map(same, got, want))


def same(got: str, want: str) -> bool:
    """Two lines: equal but for seconds and versions, and for one unit in a number's last printed place.

    >>> same("gain +0.020, 7.2 s", "gain +0.021, 3 s"), same("gain +0.020", "gain +0.03")
    (True, False)
    """
    got, want = (" ".join(_PASSING.sub("@", line).split()) for line in (got, want))
    if _NUMBER.sub("#", got) != _NUMBER.sub("#", want):
        return False
    return all(_close(a, b) for a, b in zip(_NUMBER.findall(got), _NUMBER.findall(want), strict=True))


def _close(a: str, b: str) -> bool:
    decimals = [len(n.partition(".")[2]) for n in (a, b)]
    if decimals == [0, 0]:
        return a == b
    x, y = (float(n.replace(",", "").replace("−", "-")) for n in (a, b))
    return decimals[0] == decimals[1] and abs(x - y) < 1.5 * 10.0 ** -decimals[0]
