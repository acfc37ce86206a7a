"""Documents and topics in TREC's tagged text: `<DOC><DOCNO>…`, `<top><num>…<title>…`."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Sequence

from radii.data.files import StrPath, at_line, open_text
from radii.data.texts import Texts
from radii.errors import InputError

_TAG = re.compile(r"</?[A-Za-z][\w.-]*(\s[^<>]*)?/?>")
_REFERENCE = re.compile(r"&#?\w+;")


def read_trec_documents(path: StrPath, fields: Sequence[str] | None = None) -> Texts:
    """Read `<DOC>` records with their `<DOCNO>`, tags in either case, plain or with `.gz` at the end.

    Parameters
    ----------
    path : str or path
        The file.
    fields : sequence of str, optional
        Tags whose contents make the text, joined by a space in this order. Without it the text is
        everything but the number. White space is folded, character references are resolved.

    Raises
    ------
    InputError
        With file and line: a record that is not closed, has no number or a number seen before. With the
        file: no record, or none of the fields in any record.
    """
    return _read(path, "DOC", "DOCNO", fields)


def read_trec_topics(path: StrPath, fields: Sequence[str] = ("title",)) -> Texts:
    """Read `<top>` records with their `<num>`; fields may be closed or end where the next one starts.

    The words `Number:`, `Topic:`, `Description:` and `Narrative:` at the start of a field are left out.
    Raises as `read_trec_documents` does.
    """
    return _read(path, "top", "num", fields)


def plain(text: str) -> str:
    r"""Text without tags, character references resolved, white space folded.

    >>> plain("<b>AT&amp;T</b> and\n so on")
    'AT&T and so on'
    """
    bare = _REFERENCE.sub(lambda found: html.unescape(found[0]), _TAG.sub(" ", text))
    return " ".join(bare.split())


def _read(path: StrPath, tag: str, number: str, fields: Sequence[str] | None) -> Texts:
    texts: dict[str, str] = {}
    lines: dict[str, int] = {}
    found = 0
    for line, body in _records(path, tag):
        where = at_line(path, line)
        key = _field(body, number)
        if not key:
            raise InputError(
                f"a <{tag}> without <{number}>",
                where=where,
                cause="another tag for the number",
                fix=f"write <{number}>id</{number}> in every <{tag}>",
            )
        if key in texts:
            raise InputError(
                f"duplicate number {key!r}, first on line {lines[key]}",
                where=where,
                cause="two files joined",
                fix="make numbers unique",
            )
        if fields is None:
            texts[key] = plain(re.sub(rf"<{number}>[^<]*(</{number}>)?", " ", body, flags=re.I))
        else:
            parts = [_field(body, name) for name in fields]
            found += sum(part is not None for part in parts)
            texts[key] = " ".join(part for part in parts if part)
        lines[key] = line
    if not texts or (fields is not None and not found):
        wanted = f"<{tag}>" if not texts else " or ".join(f"<{name}>" for name in fields or ())
        raise InputError(
            f"no {wanted}", where=path, cause="another format", fix="give a file in TREC's tagged text"
        )
    return Texts(list(texts), list(texts.values()), str(path))


def _records(path: StrPath, tag: str) -> Iterator[tuple[int, str]]:
    """(line of its opening tag, content) of every record."""
    with open_text(path) as file:
        body: list[str] | None = None
        start = 0
        for number, line in enumerate(file, start=1):
            rest = line
            while rest:
                mark = re.search(rf"<(/?){tag}>", rest, flags=re.I)
                if mark is None:
                    if body is not None:
                        body.append(rest)
                    break
                closing = bool(mark[1])
                if closing == (body is None):
                    found = f"<{mark[1]}{tag}> " + (
                        "without an open record" if closing else f"inside that of line {start}"
                    )
                    raise _unbalanced(found, at_line(path, number), tag)
                if body is None:
                    body, start = [], number
                else:
                    yield start, "".join((*body, rest[: mark.start()]))
                    body = None
                rest = rest[mark.end() :]
        if body is not None:
            raise _unbalanced(f"<{tag}> that is never closed", at_line(path, start), tag)


def _unbalanced(found: str, where: str, tag: str) -> InputError:
    return InputError(
        found, where=where, cause="a file that was cut or joined badly", fix=f"close every <{tag}> once"
    )


def _field(body: str, name: str) -> str | None:
    """Content of a tag up to the next one, as plain text; None where there is no such tag."""
    found = re.search(rf"<{name}>(?:\s*(?:Number|Topic|Description|Narrative):)?([^<]*)", body, flags=re.I)
    return plain(found[1]) if found else None
