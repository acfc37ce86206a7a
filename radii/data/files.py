"""Opening and writing files so that every failure is one line that names the file."""

from __future__ import annotations

import gzip
import io
import lzma
import os
import secrets
import stat
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Literal, TextIO, cast

from radii.errors import InputError

StrPath = str | os.PathLike[str]


def readable(path: StrPath) -> Path:
    """`path` as a Path once it is known to open for reading; InputError where it does not.

    A device is none, and no pipe is opened: that would wait for its writer.
    """
    with _reading(path):
        if not _is_pipe(path):
            with open(path, "rb"):
                pass
        return Path(path)


def writable(path: StrPath) -> Path:
    """`path` as a Path once it looks as if it could be written; nothing is made. InputError where not.

    To be asked before hours of work whose result goes there; `atomic_write` still has the last word.
    """
    target = Path(os.path.realpath(path))
    try:
        os.lstat(target)
    except (FileNotFoundError, NotADirectoryError):
        pass
    except OSError as error:  # a name too long, a loop of links
        raise _os_fault("cannot be written", path, error, fix=_WRITABLE) from error
    there = next(p for p in (target, *target.parents) if os.path.exists(p))
    if there == target and not target.is_file():
        raise _no_file(path, target)
    if there != target and not there.is_dir():
        raise _os_fault(
            "cannot be written", path, NotADirectoryError(20, f"{there} is a file"), fix=_WRITABLE
        )
    if not os.access(there if there.is_dir() else there.parent, os.W_OK):
        raise _os_fault("cannot be written", path, OSError(30, f"{there} is read-only"), fix=_WRITABLE)
    return Path(path)


_WRITABLE = "choose a folder you can write to"


@dataclass(frozen=True)
class Stamp:
    """A file as it was when it was opened, to notice that it was written to since.

    One that was replaced by another of its name, as `atomic_write` does, is not: what is mapped stays whole.
    """

    path: Path
    inode: int
    size: int
    modified: int

    @classmethod
    def of(cls, path: StrPath) -> Stamp:
        """The file now; InputError where it cannot be looked at."""
        with _reading(path):
            now = os.stat(path)
        return cls(Path(path), now.st_ino, now.st_size, now.st_mtime_ns)

    def check(self) -> None:
        """Raise InputError when the file is not as it was."""
        try:
            now = os.stat(self.path)
        except OSError:
            return
        if now.st_ino == self.inode and (now.st_size, now.st_mtime_ns) != (self.size, self.modified):
            raise InputError(
                f"changed while it was read ({self.size:,} bytes before, {now.st_size:,} now)",
                where=self.path,
                cause="an export that was still running, or a second one into the same file",
                fix="run again when the file is complete",
            )


@contextmanager
def open_text(path: StrPath) -> Iterator[TextIO]:
    r"""Read a UTF-8 text file, with or without a byte order mark, unpacked when its name ends in `.gz`.

    The path may lead into a zip file, as `scifact.zip/scifact/corpus.jsonl` does. Lines end at `\n` only:
    other separators that Unicode knows may be part of an id or a text.

    Raises
    ------
    InputError
        When the file is missing, a folder or not permitted; while it is read, when it is not UTF-8 (the
        message has the line) or a broken gzip file.
    """
    with open_bytes(path) as file, io.TextIOWrapper(file, encoding="utf-8-sig", newline="\n") as text:
        yield text


@contextmanager
def open_bytes(path: StrPath) -> Iterator[IO[bytes]]:
    """Read a file, or a member of a zip file, unpacked when its name ends in `.gz`; raises as `open_text`."""
    with _reading(path), ExitStack() as held:
        archive = next((p for p in Path(path).parents if p.suffix.lower() == ".zip" and p.is_file()), None)
        if archive is None:
            _is_pipe(path)
            file: IO[bytes] = held.enter_context(open(path, "rb"))
        else:
            file = held.enter_context(_member(archive, Path(path)))
        if os.fspath(path).lower().endswith(".gz"):
            file = cast(IO[bytes], held.enter_context(gzip.GzipFile(fileobj=file)))
        yield file


def zip_names(path: StrPath) -> list[str]:
    """Names of the files in a zip file; InputError where it is none."""
    try:
        with _reading(path), zipfile.ZipFile(path) as archive:
            return [name for name in archive.namelist() if not name.endswith("/")]
    except (NotImplementedError, RuntimeError) as error:
        raise _no_zip(path, error) from error


def numbered_lines(path: StrPath) -> Iterator[tuple[int, str]]:
    r"""(line number from 1, line without its `\n` or `\r\n`) of a text file; raises as `open_text` does."""
    with open_text(path) as file:
        for number, line in enumerate(file, start=1):
            yield number, line.removesuffix("\n").removesuffix("\r")


def at_line(path: StrPath, number: int) -> str:
    """Name a place for messages: file and line.

    >>> at_line("docs.tsv", 3)
    'docs.tsv, line 3'
    """
    return f"{os.fspath(path)}, line {number}"


@contextmanager
def atomic_write(path: StrPath, *, mode: Literal["wb", "w"] = "wb") -> Iterator[IO[Any]]:
    """Write a whole file or none: under a temporary name in the same folder, renamed on success.

    Creates the folders above; text is UTF-8. On any exception the temporary file goes and an older file
    at `path` stays as it was.

    Raises
    ------
    InputError
        When the folder or the file cannot be written.
    """
    # Through a link to the file it points at, which would otherwise be replaced itself.
    target = Path(os.path.realpath(path))
    if os.path.exists(target) and not target.is_file():
        raise _no_file(path, target)
    # Not from tempfile, whose files only their owner may read.
    temporary = target.parent / f".radii-{secrets.token_hex(8)}.tmp"
    encoding, newline = (None, None) if "b" in mode else ("utf-8", "\n")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        try:
            with open(temporary, mode.replace("w", "x"), encoding=encoding, newline=newline) as file:
                yield file
            os.replace(temporary, target)
        finally:
            temporary.unlink(missing_ok=True)
    except OSError as error:
        # A failed write names no file. One that names a file which is none of ours is the caller's.
        if error.filename is None or str(error.filename) in map(str, (temporary, *target.parents)):
            raise _os_fault("cannot be written", path, error, fix=_WRITABLE) from error
        raise


def _no_file(path: StrPath, target: Path) -> InputError:
    kind = "a folder" if target.is_dir() else "not a regular file"
    return InputError(f"is {kind}", where=path, cause="a file name is missing", fix="name a file to write")


def _is_pipe(path: StrPath) -> bool:
    """Whether it is one; InputError on a device, which may have no end. Nothing on what is not there."""
    try:
        mode = os.stat(path).st_mode
    except OSError:
        return False
    if stat.S_ISCHR(mode) or stat.S_ISBLK(mode) or stat.S_ISSOCK(mode):
        raise InputError("a device, not a file", where=path, cause="a typing error", fix="name a file")
    return stat.S_ISFIFO(mode)


def _member(archive: Path, path: Path) -> IO[bytes]:
    """Open `path`, which lies in the zip file `archive`."""
    try:
        with zipfile.ZipFile(archive) as opened:
            # What is opened keeps the archive's file open after the archive is closed.
            return opened.open(path.relative_to(archive).as_posix())
    except KeyError as error:
        raise InputError(
            "no such file in the zip file",
            where=path,
            cause="another layout inside",
            fix=f"list it (python -m zipfile -l {archive})",
        ) from error
    except (NotImplementedError, RuntimeError) as error:
        raise _no_zip(archive, error) from error


def _no_zip(path: StrPath, error: Exception) -> InputError:
    return InputError(
        f"not a zip file that can be read ({error})",
        where=path,
        cause="an interrupted copy, a password, or another kind of archive",
        fix="copy it again, or give the unpacked folder",
    )


@contextmanager
def _reading(path: StrPath) -> Iterator[None]:
    """Turn what goes wrong while `path` is read into an InputError."""
    try:
        yield
    except UnicodeDecodeError as error:
        raise InputError(
            f"not UTF-8 ({error.reason})",
            where=at_line(path, _undecodable_line(path)),
            cause="another encoding, or a compressed file without its suffix",
            fix="save the file as UTF-8",
        ) from error
    except (EOFError, zlib.error, lzma.LZMAError, gzip.BadGzipFile) as error:
        raise InputError(
            f"not a whole gzip file ({error})",
            where=path,
            cause="an interrupted copy, or a plain file named .gz",
            fix="copy it again, or rename it",
        ) from error
    except zipfile.BadZipFile as error:
        raise _no_zip(path, error) from error
    except FileNotFoundError as error:
        raise InputError(
            "no such file",
            where=path,
            cause="a typing error or another working folder",
            fix=f"check the path (working folder: {Path.cwd()})",
        ) from error
    except IsADirectoryError as error:
        raise InputError(
            "is a folder", where=path, cause="a file name is missing", fix="name a file in it"
        ) from error
    except OSError as error:
        raise _os_fault("cannot be read", path, error, fix="make it readable, or copy it") from error


def _undecodable_line(path: StrPath) -> int:
    """Find the first line that is not UTF-8: the decoder reads ahead and only knows its block."""
    with open_bytes(path) as file:
        for number, line in enumerate(file, start=1):
            try:
                line.decode("utf-8")
            except UnicodeDecodeError:
                return number
    return 1


def _os_fault(found: str, path: StrPath, error: OSError, *, fix: str) -> InputError:
    return InputError(found, where=path, cause=error.strerror or str(error), fix=fix)
