"""Whole or not there: every writer goes through `atomic_write`, two runs at once, a full disk, a cut pipe."""

from __future__ import annotations

import ast
import json
import os
import resource
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import radii
from tests.reliability.world import World

PACKAGE = Path(radii.__file__).parent

# What writes a file by itself, and who may: `atomic_write`; a log and a reading that grow and are taken up
# again; the command line and the locks open /dev/null and a folder.
WRITERS = {
    "write_text",
    "write_bytes",
    "savez_compressed",
    "write_table",
    "write_csv",
    "to_csv",
    "save_file",
    "tofile",
}
MAY = {
    *(("data/files.py", "open"), ("data/locks.py", "open"), ("cli/talking.py", "open")),
    *(("probing/monitoring.py", "open"), ("deploy/sources/cache.py", "open")),
}


def writes(tree: ast.AST):
    """(line, name) of every call that writes a file itself."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        mode = (
            node.args[1]
            if len(node.args) > 1
            else next((k.value for k in node.keywords if k.arg == "mode"), None)
        )
        if name == "open" and mode is not None:
            reads = isinstance(mode, ast.Constant) and not set("wax+") & set(str(mode.value))
            if not reads:
                yield node.lineno, name
        elif name in WRITERS:
            yield node.lineno, name


def test_every_writer_of_the_package_is_atomic():
    found = {
        (str(path.relative_to(PACKAGE)), name)
        for path in PACKAGE.rglob("*.py")
        for _, name in writes(ast.parse(path.read_text()))
        if "engines" not in path.parts  # those are the engines' own files
    }
    assert found == MAY


def test_the_command_line_prints_in_two_places():
    """What is printed anywhere else would not be escaped."""
    trees = [ast.parse(file.read_text()) for file in sorted((PACKAGE / "cli").glob("*.py"))]
    found = [
        ast.unparse(node)
        for tree in trees
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and ast.unparse(node.func) in ("typer.echo", "print")
    ]
    assert [call for call in found if "printable(" not in call] == ["typer.echo(text, nl=False)"]


def test_the_check_sees_a_writer():
    source = "open(p, 'w'); open(p, mode=m); p.write_text(t); open(p, 'rb'); open(p); q.open('x', 'ab')"
    assert len(list(writes(ast.parse(source)))) == 4


@pytest.mark.parametrize(
    "module", sorted(p for p in PACKAGE.rglob("*.py")), ids=lambda p: str(p.relative_to(PACKAGE))
)
def test_nothing_is_unpickled(module):
    for node in ast.walk(ast.parse(module.read_text())):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            called, words = ast.unparse(node.func), {k.arg: ast.unparse(k.value) for k in node.keywords}
            assert words.get("allow_pickle") in (None, "False"), f"line {node.lineno}"
            assert called not in ("pickle.load", "pickle.loads", "yaml.load", "joblib.load"), (
                f"line {node.lineno}"
            )
            if called == "torch.load":
                assert words.get("weights_only") == "True", f"line {node.lineno}"
            if called == "np.load":
                assert words.get("allow_pickle") == "False", f"line {node.lineno}"
            assert called.rpartition(".")[2] not in ("extractall", "unpack_archive"), f"line {node.lineno}"


# Two at once -----------------------------------------------------------------------------------------------

REPEAT = """
import sys
from radii.data.files import atomic_write
content = sys.argv[2] * 300_000
for _ in range(40):
    with atomic_write(sys.argv[1], mode="w") as file:
        for at in range(0, len(content), 50_000):
            file.write(content[at : at + 50_000])
"""


def test_two_writers_of_one_file_leave_it_whole_at_every_moment(tmp_path):
    path = tmp_path / "out" / "report.json"
    words = [sys.executable, "-c", REPEAT, str(path)]
    others = [subprocess.Popen([*words, letter], stderr=subprocess.PIPE) for letter in "ab"]
    seen = 0
    while any(other.poll() is None for other in others):
        if path.exists():
            text = path.read_text()
            assert len(text) == 300_000
            assert len(set(text)) == 1
            seen += 1
    assert [(other.communicate()[1], other.returncode) for other in others] == [(b"", 0), (b"", 0)]
    assert seen
    assert [p.name for p in path.parent.iterdir()] == ["report.json"]


def start(world, command, *more):
    words = [sys.executable, "-m", "radii", *world.words(command, *more)]
    return subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


@pytest.fixture
def world(tmp_path, monkeypatch):
    (tmp_path / "world").mkdir()
    return World.made(tmp_path / "world", monkeypatch)


def test_two_audits_into_one_folder(world):
    """Every file is whole, and all of them are of one of the two runs."""
    running = [start(world, "audit", "--no-qrels", "--seed", seed) for seed in (1, 2)]
    ended = [(other.communicate(), other.returncode) for other in running]
    assert [(code, err) for (_, err), code in ended] == [(0, ""), (0, "")]
    report = json.loads((world / "out" / "report.json").read_text())
    assert report["how"]["seed"] in (1, 2)
    assert {p.name for p in (world / "out").iterdir()} <= {"report.json", "report.html"}
    if (world / "out" / "report.html").exists():
        page = (world / "out" / "report.html").read_text()
        assert f"<dt>Seed</dt><dd>{report['how']['seed']}</dd>" in page


def test_two_exports_into_one_folder_do_not_mix(tmp_path, refused, monkeypatch):
    """While one writes, another is refused; the first one's files are all its own."""
    from radii.deploy import export as module
    from radii.deploy.correction import correction
    from radii.deploy.export import export, exported
    from tests.reliability.world import DOCS

    change = correction("norm exponent", {"gamma": -0.5}, DOCS)
    write_ids, out, met = module.write_ids, tmp_path / "out", []

    def meanwhile(path, ids):
        write_ids(path, ids)
        if not met:
            met.append(
                refused(lambda: export(DOCS, change, out), out, "another run of radii is writing here")
            )

    monkeypatch.setattr(module, "write_ids", meanwhile)
    export(DOCS, change, out)
    assert met
    served, manifest = exported(out)
    assert list(served.ids) == list(DOCS.ids)
    assert manifest.n_docs == len(DOCS)


# Nowhere to write ------------------------------------------------------------------------------------------


@pytest.fixture
def full(tmp_path):
    """A folder on a disk of 64 KB, or one whose files may be no larger than 4 KB."""
    place = tmp_path / "disk"
    place.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", place], capture_output=True)
    if mounted.returncode == 0:
        (place / "filler").write_bytes(bytes(60_000))
        yield place
        subprocess.run(["umount", place], check=True)
        return
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, before[1]))
    yield place
    resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_a_full_disk_is_one_line_and_leaves_the_older_report(full, refused):
    from radii.data.files import atomic_write

    (full / "report.json").write_text("older")

    def write():
        with atomic_write(full / "report.json", mode="w") as file:
            file.write("x" * 100_000)

    refused(write, full / "report.json", "cannot be written", "choose a folder")
    assert (full / "report.json").read_text() == "older"
    assert {p.name for p in full.iterdir()} <= {"report.json", "filler"}


def test_an_audit_onto_a_full_disk_is_one_line(world, full, monkeypatch, capsys):
    from radii.cli import main

    monkeypatch.setattr(sys, "argv", ["radii", *world.words("audit", "--no-qrels", "--out", full / "out")])
    with pytest.raises(SystemExit) as stopped:
        main()
    out, err = capsys.readouterr()
    assert (stopped.value.code, out) == (2, "")
    assert err.startswith(f"radii: {full / 'out' / 'report.json'}: cannot be written. Likely cause: ")
    assert err.count("\n") == 1
    assert list((full / "out").iterdir()) == []


def ended(world, command, stdout):
    words = [sys.executable, "-m", "radii", *world.words(command)]
    done = subprocess.run(words, stdout=stdout, stderr=subprocess.PIPE, text=True)
    return done.returncode, done.stderr


def test_a_full_disk_behind_standard_output_is_one_line(world):
    with open("/dev/full", "w") as full:
        code, err = ended(world, "path", full)
    assert code == 2
    assert err == "radii: standard output: cannot be written. Likely cause: No space left on device. " + (
        "Fix: make room, or use --out.\n"
    )


def test_a_reader_that_has_seen_enough_is_no_error(world):
    read, write = os.pipe()
    os.close(read)
    code, err = ended(world, "path", write)
    os.close(write)
    assert (code, err) == (1, "")
