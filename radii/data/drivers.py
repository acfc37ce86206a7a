"""File systems behind URLs, by fsspec and the driver of each, and what those raise."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlsplit, urlunsplit

from radii.errors import InputError, MissingExtraError

_PATIENCE = 60.0  # seconds without a byte from a web server
# Exceptions of drivers that are none of Python's own kinds.
_RAISED = (
    ("aiohttp", "ClientError"),
    ("botocore.exceptions", "BotoCoreError"),
    ("botocore.exceptions", "ClientError"),
    ("azure.core.exceptions", "AzureError"),
    ("gcsfs.retry", "HttpError"),
    ("google.auth.exceptions", "GoogleAuthError"),
    ("httpx", "HTTPError"),
    ("paramiko", "SSHException"),
)
_PASSWORD, _SECRET = re.compile(r"(//[^/@:\s]*:)[^/@\s]+@"), re.compile(r"\?[^\s'\",)]+=[^\s'\",)]*")


def shown_url(url: str) -> str:
    """A URL for messages and reports, without what may be secret: password, query.

    >>> shown_url("https://me:secret@host/docs.npy?X-Amz-Signature=0a1b")
    'https://me:***@host/docs.npy?...'
    """
    try:
        parts = urlsplit(url)
    except ValueError:  # brackets that are no IPv6 address, as in a pattern
        return url
    user, _, host = parts.netloc.rpartition("@")
    if ":" in user:
        parts = parts._replace(netloc=f"{user.partition(':')[0]}:***@{host}")
    if parts.scheme.startswith("http") and parts.query:
        parts = parts._replace(query="...")
    text = urlunsplit(parts)
    return text if "://" in text else url  # of an empty host, as in memory:///docs.npy


def system_of(url: str, protocol: str, name: str) -> tuple[Any, str]:
    """The file system of a URL, and what it calls the place; `name` is the URL for messages.

    Raises MissingExtraError without fsspec, InputError on an unknown protocol or without its driver.
    """
    try:
        from fsspec.core import url_to_fs
        from fsspec.registry import get_filesystem_class, known_implementations
    except ModuleNotFoundError as error:
        raise MissingExtraError("fsspec", "remote") from error
    try:
        get_filesystem_class(protocol)
    except ImportError as error:
        driver = known_implementations[protocol]["class"].split(".")[0]
        package = {"http": "aiohttp", "https": "aiohttp"}.get(protocol, driver)
        raise InputError(
            f"no driver for {protocol}://",
            where=name,
            cause=f"{package} is not installed" if package != "fsspec" else str(error),
            fix=f"pip install {package}" if package != "fsspec" else "install what it needs",
        ) from error
    except ValueError as error:
        raise InputError(
            f"no file system is called {protocol}://",
            where=name,
            cause="a typing error, or the address of an engine",
            fix="name a file by s3://, gs://, az://, https://, hf:// or a path; "
            "engines are read by radii.deploy.sources.read_address",
        ) from error
    with asking(name):
        system, path = url_to_fs(url, **_options(protocol))
        return system, path


def _options(protocol: str) -> dict[str, Any]:
    """How a web server is asked: one request for a file, which may take as long as bytes arrive."""
    if protocol not in ("http", "https"):
        return {}
    from aiohttp import ClientTimeout
    from fsspec.config import conf

    own = conf.get(protocol, {}).get("client_kwargs", {})
    patience = ClientTimeout(total=None, sock_connect=_PATIENCE, sock_read=_PATIENCE)
    return {"block_size": 0, "client_kwargs": {"timeout": patience, **own}}


def _faults() -> tuple[type[Exception], ...]:
    """What drivers raise about a file, a connection or credentials: those that are loaded."""
    own = (getattr(sys.modules.get(module), name, None) for module, name in _RAISED)
    known = [kind for kind in own if isinstance(kind, type)]
    return OSError, ValueError, RuntimeError, LookupError, EOFError, ImportError, *known


@contextmanager
def asking(name: str) -> Iterator[None]:
    """Turn whatever a driver raises into an InputError that names the URL."""
    try:
        yield
    except InputError:  # a ValueError
        raise
    except _faults() as error:
        told = _SECRET.sub("?...", _PASSWORD.sub(r"\1***@", " ".join(str(error).split()))).rstrip(".")
        raise InputError(
            f"cannot be read ({type(error).__name__}{f': {told}' if told else ''})",
            where=name,
            cause="no connection, no right to read it, or a connection that broke off",
            fix="check the URL and the credentials, and run again: whole files are kept",
        ) from error
