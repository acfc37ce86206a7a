"""The tokenizer of the model that made the vectors, to count tokens as it did."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from types import TracebackType

from radii.data.files import StrPath, open_text
from radii.data.model import PACKAGED, packaged_folder
from radii.errors import InputError, MissingExtraError

_FILE = "tokenizer.json"
_KINDS = ("BPE", "Unigram", "WordLevel", "WordPiece")


def read_tokenizer(source: StrPath) -> Callable[[str], list[str]]:
    """A function from a text to its tokens, none of them special, none cut off.

    `source` is a tokenizer.json, a model's folder that holds one, or PACKAGED. Nothing is downloaded.

    Raises
    ------
    InputError
        Where there is none, or one that cannot be read.
    MissingExtraError
        Without the `tokenizers` package.
    """
    try:
        from tokenizers import Tokenizer
    except ModuleNotFoundError as error:
        raise MissingExtraError("tokenizers", "models") from error
    path = _path(source)
    text = _checked(path)
    with _Refused(path):
        loaded = Tokenizer.from_str(text)
        loaded.no_truncation()
        loaded.no_padding()

    def tokenize(text: str) -> list[str]:
        with _Refused(path):
            return list(loaded.encode(text, add_special_tokens=False).tokens)

    return tokenize


class _Refused(AbstractContextManager[None]):
    """Turns a bare Exception, which is all that the library raises, into an InputError."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None
    ) -> None:
        if kind is Exception:
            raise InputError(
                f"a tokenizer that does not work ({error})",
                where=self.path,
                cause="a damaged file, or one for a newer version of tokenizers",
                fix="copy it again, or upgrade tokenizers",
            ) from error


def _checked(path: Path) -> str:
    """The text of a tokenizer.json, of a kind that the library knows."""
    with open_text(path) as file:
        text = file.read()
    try:
        kind = json.loads(text)["model"]["type"]
    except (ValueError, TypeError, KeyError, RecursionError):
        kind = None
    if kind not in _KINDS:
        raise InputError(
            "not a tokenizer" if kind is None else f"a tokenizer of unknown kind {kind!r}",
            where=path,
            cause="another file of the model",
            fix=f"give the {_FILE} of a fast tokenizer",
        )
    return text


def _path(source: StrPath) -> Path:
    path = Path(packaged_folder() if os.fspath(source) == PACKAGED else source)
    path = path / _FILE if path.is_dir() else path
    if not path.is_file():
        raise InputError(
            "no such file",
            where=path,
            cause="a model without a fast tokenizer, or a typing error",
            fix=f"give a {_FILE}, or leave the tokenizer out: words and marks are then counted",
        )
    return path
