"""Files made once from an input that cannot be mapped where it lies, and found again by the next run.

    $RADII_CACHE/inputs, or $TMPDIR/radii-UID, or radii-cache/inputs in the working folder
        unpacked-NAME-VERSION.npy    vectors of a parquet file
        fetched-NAME-VERSION.SUFFIX  a file behind a URL

NAME and VERSION are hashes. A new version of a name replaces the older one. Nothing else is ever deleted.
"""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import IO

from radii.data.files import atomic_write
from radii.errors import InputError

CACHE = "RADII_CACHE"


def cache_folder() -> Path:
    """Where such files lie, made or not. InputError where the one in TMPDIR belongs to another user."""
    chosen, scratch = os.environ.get(CACHE), os.environ.get("TMPDIR")
    if chosen:
        return Path(chosen).absolute() / "inputs"
    if scratch and hasattr(os, "getuid"):
        return _private(Path(scratch).absolute() / f"radii-{os.getuid()}")
    return Path.cwd() / "radii-cache" / "inputs"


def kept(what: str, name: str, version: str, suffix: str, write: Callable[[IO[bytes]], None]) -> Path:
    """The file that `write` made of this version of `name`, made now unless an earlier run did.

    It appears whole or not at all: what `write` raises leaves nothing behind, and an older version stays.
    Raises InputError where it cannot be written.

    Parameters
    ----------
    what : str
        'unpacked' or 'fetched'.
    name : str
        Of the input.
    version : str
        Differs when the input does.
    suffix : str
        Of the file.
    write : callable
        Gets the open file.
    """
    folder = cache_folder()
    own = f"{what}-{_digest(name)}-"
    target = folder / f"{own}{_digest(version)}{suffix}"
    if target.is_file():
        return target
    made = [place for place in (folder, folder.parent) if not place.exists()]
    try:
        with atomic_write(target) as file:
            write(file)
    except InputError as error:
        for place in made:  # a refused input leaves no empty folder behind
            with suppress(OSError):
                place.rmdir()
        if error.where != str(target):
            raise
        raise InputError(
            error.found, where=target, cause=error.cause, fix=f"set {CACHE} to a folder with room"
        ) from error
    for older in folder.glob(f"{own}*"):
        if older != target:
            older.unlink(missing_ok=True)
    return target


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()[:16]


def _private(folder: Path) -> Path:
    """The folder, made for this user alone: others may write where it lies."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        found = folder.lstat()
    except OSError as error:
        raise InputError(
            "cannot be written",
            where=folder,
            cause=error.strerror or str(error),
            fix=f"set {CACHE} to a folder you can write to",
        ) from error
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid():
        raise InputError(
            "is not this user's folder",
            where=folder,
            cause="another user made it first",
            fix=f"set {CACHE} to a folder of your own",
        )
    return folder
