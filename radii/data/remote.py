"""Files of vectors behind URLs, fetched once into the cache: s3://, gs://, az://, https:// and the like.

A URL names a file, a folder (a prefix, in object stores) or a pattern, as a local path does. `file://` is a
local path. Credentials come from where the driver looks for them: the environment, its own files.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import IO, Any
from urllib.parse import urlsplit

from radii.data.cache import kept
from radii.data.drivers import asking, shown_url, system_of
from radii.data.formats import SUFFIXES
from radii.data.listing import (
    Place,
    also_deeper,
    is_pattern,
    local_places,
    natural,
    nothing,
    of_one_kind,
    refuse_suffix,
    refuse_too_many,
    sidecars,
    unmatched,
    visible,
)
from radii.errors import InputError

_CHUNK = 4 << 20
_DEPTH, _LOOKED_AT = 3, 100
# What file systems say of a file that differs when its content does.
_VERSIONS = (
    *("ETag", "etag", "Content-MD5", "content_md5", "content_settings", "Digest", "md5Hash", "crc32c"),
    *("VersionId", "generation", "LastModified", "Last-Modified", "last_modified", "updated", "mtime"),
    *("created", "commit_hash"),
)


@dataclass(frozen=True)
class Remote:
    """A file behind a URL.

    Attributes
    ----------
    system : fsspec's file system
    path : what it calls the file
    name : the URL, for messages
    """

    system: Any
    path: str
    name: str

    def file(self) -> Path:
        """A copy in the cache, fetched unless one of this version lies there."""
        info = self._info(self.path)
        if info is None:
            raise _missing(self.name)
        refuse_suffix(self._suffix(self.path), self.name)
        return self._copy(self.path, info, self.name)

    def ids(self) -> Path | None:
        """A copy of the text file of ids beside it."""
        path, mark, query = self.path, "", ""
        if "http" in _protocols(self.system):
            path, mark, query = self.path.partition("?")
        for beside in sidecars(path):
            info = self._info(beside + mark + query)
            if info is not None and info.get("type") != "directory":
                name = sidecars(self.name.partition("?")[0])[sidecars(path).index(beside)]
                return self._copy(beside + mark + query, info, name)
        return None

    def _suffix(self, path: str) -> str:
        return Path(urlsplit(path).path if "http" in _protocols(self.system) else path).suffix.lower()

    def _info(self, path: str) -> dict[str, Any] | None:
        """What the file system says of a file; None where it is not there, or none may know."""
        with asking(self.name):
            try:
                found: dict[str, Any] = self.system.info(path)
            except FileNotFoundError:
                return None
            except PermissionError:  # S3, of what is not there, where listing is not allowed
                if path == self.path:
                    raise
                return None
        return found

    def _copy(self, path: str, info: dict[str, Any], name: str) -> Path:
        size = info.get("size")

        def write(out: IO[bytes]) -> None:
            with asking(name):
                source = self.system.open(path, "rb")
            try:
                done = 0
                while True:
                    with asking(name):  # and not what the disk says: that is another error
                        chunk = source.read(_CHUNK)
                    if not chunk:
                        break
                    out.write(chunk)
                    done += len(chunk)
            finally:
                source.close()
            if size is not None and done != size:
                raise InputError(
                    f"{done:,} of {size:,} bytes arrived",
                    where=name,
                    cause="a connection that broke off, or a file that changed while it was read",
                    fix="run again: whole files are kept",
                )

        told = {field: str(info[field]) for field in _VERSIONS if info.get(field) is not None}
        if not told:
            with asking(name):
                told = {"ukey": self.system.ukey(path)}
        url = self.system.unstrip_protocol(path)
        return kept("fetched", url, f"{size} {sorted(told.items())}", self._suffix(path), write)


def remote_places(url: str) -> list[Place]:
    """The file at a URL, or the files of vectors of a folder or pattern, in natural order: as `local_places`.

    Raises
    ------
    InputError
        As `local_places`; where the protocol is unknown or its driver is not installed, and on whatever the
        driver raises.
    MissingExtraError
        Without fsspec.
    """
    protocol = url.partition("://")[0].lower()
    if protocol in ("file", "local"):
        return [*local_places(url.partition("://")[2])]
    name = shown_url(url)
    system, path = system_of(url, protocol, name)
    with asking(name):
        system.invalidate_cache()
    http = protocol in ("http", "https")
    if is_pattern(path.partition("?")[0] if http else path):
        paths = _matching(system, path, name)
    elif _is_folder(system, path, name, http):
        paths = _in_folder(system, path, name, http)
    else:
        return [Remote(system, path, name)]
    refuse_too_many(len(paths), name)
    return [Remote(system, one, shown_url(system.unstrip_protocol(one))) for one in paths]


def _is_folder(system: Any, path: str, name: str, http: bool) -> bool:
    if http:  # knows no folders: pages that link to files
        return Path(urlsplit(path).path).suffix.lower() not in SUFFIXES
    with asking(name):
        try:
            return bool(system.info(path)["type"] == "directory")
        except FileNotFoundError:
            raise _missing(name) from None


def _in_folder(system: Any, path: str, name: str, http: bool) -> list[str]:
    with asking(name):
        try:
            entries = system.ls(path, detail=True)
        except FileNotFoundError:
            raise _missing(name) from None
        files = {_last(one["name"]): one["name"] for one in entries if one["type"] != "directory"}
        held = of_one_kind(files, name)
        deeper = None if http else _deeper(system, path)
    if not held:
        raise nothing(name, deeper)
    if deeper is not None:
        raise also_deeper(name, deeper)
    return [files[one] for one in held]


def _deeper(system: Any, path: str) -> str | None:
    """A visible file of vectors in a folder inside, if one is soon found."""
    for place, folders, files in islice(system.walk(path, maxdepth=_DEPTH), _LOOKED_AT):
        for hidden in [one for one in folders if not visible(one)]:
            folders.pop(hidden) if isinstance(folders, dict) else folders.remove(hidden)
        if place.rstrip("/") != path.rstrip("/"):
            for one in sorted(files, key=natural):
                if visible(one) and Path(one).suffix.lower() in SUFFIXES:
                    return str(system.unstrip_protocol(f"{place}/{one}"))
    return None


def _matching(system: Any, path: str, name: str) -> list[str]:
    root = path[: re.search(r"[*?\[]", path).start()].rpartition("/")[0]  # type: ignore[union-attr]
    with asking(name):
        matched = system.glob(path, detail=True)
    below = {one.removeprefix(root).lstrip("/"): one for one in matched}
    files = [short for short, one in below.items() if matched[one]["type"] != "directory"]
    held = of_one_kind(files, name)
    if not held:
        raise unmatched(name, sorted(below))
    return [below[one] for one in held]


def _last(path: str) -> str:
    return path.rstrip("/").rpartition("/")[2]


def _protocols(system: Any) -> tuple[str, ...]:
    return (system.protocol,) if isinstance(system.protocol, str) else tuple(system.protocol)


def _missing(name: str) -> InputError:
    return InputError(
        "no such file or folder",
        where=name,
        cause="a typing error, or no right to see it",
        fix="check the URL and the credentials",
    )
