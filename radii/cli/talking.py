"""What every command does with its input and output: read, tell how far, print."""

from __future__ import annotations

import errno
import os
import shlex
import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import typer

import radii


def vectors_at(where: str, ids: Path | None) -> radii.Embeddings:
    """Vectors of a file, folder, pattern or URL, or of the engine at an address.

    What is odd about an engine's vectors goes to standard error.
    """
    from radii.deploy.address import is_address

    if not is_address(where):
        with progress_of("reading") as progress:
            return radii.load(where, ids=ids, progress=progress)
    from radii.deploy.sources import read_address
    from radii.errors import printable

    with progress_of("reading") as progress:
        reading = read_address(where, ids=ids, progress=progress)
    for note in reading.notes:
        typer.echo(printable(f"radii: {note}"), err=True)
    return reading.embeddings


def progress_of(what: str) -> AbstractContextManager[Callable[[int, int], None]]:
    """A progress bar on standard error, silent when that is not a terminal."""
    from radii.report.progress import progress

    return progress(what)


def program() -> str:
    """How a shell calls this program again: by its name where that finds it, else by where it lies.

    `make demo` runs it from a virtual environment that nobody has activated.
    """
    called = sys.argv[0]
    if os.path.basename(called) == "__main__.py":
        return f"{shlex.quote(sys.executable)} -m radii"
    found = shutil.which("radii")
    by_name = not os.path.dirname(called) or (found is not None and _same_file(found, called))
    return "radii" if by_name else shlex.quote(called)


def _same_file(first: str, second: str) -> bool:
    try:
        return os.path.samefile(first, second)
    except OSError:  # Windows calls radii.exe without its suffix
        return False


@contextmanager
def interruptible(work: Path | None) -> Iterator[None]:
    """Ctrl-C is one line that says how to go on, and exit code 130."""
    from radii.errors import printable

    try:
        yield
    except KeyboardInterrupt:
        kept = "nothing is kept: with --work FOLDER the next run would go on from here"
        if work is not None:
            kept = f"finished parts are kept in {work}: run the same command again to go on"
        typer.echo(printable(f"radii: interrupted; {kept}"), err=True)
        raise typer.Exit(130) from None


def say(*lines: str) -> None:
    """Print lines for a reader: what came from a file cannot steer the terminal."""
    from radii.errors import printable

    emit("".join(f"{printable(line)}\n" for line in lines))


def emit(text: str) -> None:
    """Print a document as it is; a full disk behind standard output is one line, too."""
    try:
        typer.echo(text, nl=False)
    except OSError as error:
        if error.errno == errno.EPIPE:  # as `| head` does: typer ends the program quietly
            raise
        # What could not be written would fail again when the interpreter ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise radii.InputError(
            "cannot be written",
            where="standard output",
            cause=error.strerror,
            fix="make room, or use --out",
        ) from error
