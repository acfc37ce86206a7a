"""One writer at a time: runs that write several files into one folder must not mix them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from radii.data.files import StrPath
from radii.errors import InputError


@contextmanager
def only_writer(folder: StrPath, *, wait: bool = False) -> Iterator[None]:
    """Hold the folder, which is made, against other processes of radii until the block ends.

    The lock lies on the folder itself: no file stays behind, and the system lets go when a process dies.
    Where the system has no such lock (Windows, some network file systems) the block runs without one.

    Parameters
    ----------
    folder : str or path
        The folder.
    wait : bool
        Wait for the other one, for blocks of a moment; by default it is an InputError.
    """
    try:
        import fcntl
    except ModuleNotFoundError:  # Windows
        yield
        return
    try:
        Path(folder).mkdir(parents=True, exist_ok=True)
        handle = os.open(folder, os.O_RDONLY)
    except OSError as error:
        raise InputError(
            "cannot be written",
            where=folder,
            cause=error.strerror or str(error),
            fix="choose a folder you can write to",
        ) from error
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        except BlockingIOError as error:
            raise InputError(
                "another run of radii is writing here",
                where=folder,
                cause="the same command was started twice",
                fix="wait for it, or name another folder",
            ) from error
        except OSError:  # a file system without locks
            pass
        yield
    finally:
        os.close(handle)
