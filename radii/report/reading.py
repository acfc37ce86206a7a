"""Reading report.json again, also one that an older radii wrote."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

from pydantic import ValidationError

from radii.data.files import StrPath, open_text
from radii.errors import InputError
from radii.result import SCHEMA_VERSION, Report

Body = dict[str, Any]

# First number of a schema version → what makes a body of the next one of it. A new field raises the second
# number only: it has a default, and needs no step.
STEPS: dict[int, Callable[[Body], Body]] = {}

_VERSION = re.compile(r"(\d{1,4})\.(\d{1,4})")


def read_report(path: StrPath) -> Report:
    """Read the report of a file, brought to the present schema.

    Raises
    ------
    InputError
        On a file that is no report, and on a report of a newer schema, or of one that is no longer read.
    """
    with open_text(path) as file:
        text = file.read()
    try:
        body = json.loads(text)
        version = _VERSION.fullmatch(body["schema_version"])
    except (ValueError, TypeError, KeyError, RecursionError):
        version = None
    if version is None:
        raise _no_report(path, "not a report of radii: no JSON object with a schema_version")
    major, minor = (int(number) for number in version.groups())
    now = tuple(int(number) for number in SCHEMA_VERSION.split("."))
    if (major, minor) > now:
        raise InputError(
            f"schema {major}.{minor}, and this radii reads up to {SCHEMA_VERSION}",
            where=path,
            cause="a report of a newer radii",
            fix="upgrade radii, or audit again",
        )
    for step in range(major, now[0]):
        if step not in STEPS:
            raise InputError(
                f"schema {major}.{minor}, which radii no longer reads",
                where=path,
                cause="a report of a much older radii",
                fix="audit again",
            )
        body = STEPS[step](body)
    try:
        return Report.model_validate({**body, "schema_version": SCHEMA_VERSION})
    except ValidationError as error:
        first = error.errors()[0]
        raise _no_report(path, f"{'.'.join(map(str, first['loc'])) or 'the file'}: {first['msg']}") from error


def _no_report(path: StrPath, found: str) -> InputError:
    return InputError(
        found, where=path, cause="another file, or a damaged one", fix="give the report.json of radii audit"
    )
