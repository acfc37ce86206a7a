"""The three ways a call can fail, kept apart: bad input, numerical trouble, a missing extra."""

from __future__ import annotations

import json


class RadiiError(Exception):
    """Base of every error that radii raises on purpose."""


class InputError(RadiiError, ValueError):
    """Something the user handed in cannot be used.

    The message is one line: where, what was found, the likely cause, the fix.

    >>> str(InputError("row 3 is all zeros", where="docs.npy", cause="an empty text", fix="drop the row"))
    'docs.npy: row 3 is all zeros. Likely cause: an empty text. Fix: drop the row.'
    """

    def __init__(
        self, found: str, *, where: object = None, cause: str | None = None, fix: str | None = None
    ) -> None:
        self.where = None if where is None else str(where)
        self.found, self.cause, self.fix = found, cause, fix
        message = found if self.where is None else f"{self.where}: {found}"
        if cause:
            message += f". Likely cause: {cause}"
        if fix:
            message += f". Fix: {fix}"
        if cause or fix:
            message += "."
        super().__init__(printable(message))


class NumericalError(RadiiError, ArithmeticError):
    """The input was fine and the arithmetic was not: a result that would have been NaN or wrong."""


class MissingExtraError(RadiiError, ImportError):
    """A feature needs a package of an extra that is not installed.

    >>> str(MissingExtraError("torch", "models"))
    "torch is not installed. Fix: pip install 'radii[models]'"
    """

    def __init__(self, package: str, extra: str) -> None:
        super().__init__(f"{package} is not installed. Fix: pip install 'radii[{extra}]'")


def printable(text: str) -> str:
    r"""One line that cannot steer a terminal: control characters are spelled out.

    >>> printable("a\tb\x1b[31m\n")
    'a\\tb\\x1b[31m\\n'
    """
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in text)


def printable_json(text: str) -> str:
    r"""JSON of the same meaning that cannot steer a terminal, for writers that leave characters above ASCII.

    >>> printable_json('{"é": "\x9b31m"}')
    '{"é": "\\u009b31m"}'
    """
    if text.replace("\n", "").isprintable():
        return text
    return "".join(c if c.isprintable() or c == "\n" else json.dumps(c)[1:-1] for c in text)


def shown(items: object, limit: int = 5) -> str:
    """The first few of a collection, and how many more there are.

    >>> shown(["a", "b", "c"], limit=2)
    "'a', 'b' (and 1 more)"
    """
    values = list(items)  # type: ignore[call-overload]
    text = ", ".join(repr(v) for v in values[:limit])
    return text if len(values) <= limit else f"{text} (and {len(values) - limit} more)"
