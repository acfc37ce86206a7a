"""The command line: parse, call, render. No arithmetic here."""

from __future__ import annotations

import sys

import typer

import radii
from radii.cli import auditing, claims, models, serving
from radii.cli.options import app
from radii.cli.talking import say

__all__ = ["app", "auditing", "claims", "main", "models", "serving"]


@app.command()
def version() -> None:
    """Print the version."""
    say(radii.__version__)


def main() -> None:
    """Entry point: an expected error is one line on standard error and exit code 2."""
    from radii.errors import printable

    try:
        app(prog_name="radii")
    except radii.RadiiError as error:
        typer.echo(printable(f"radii: {error}"), err=True)
        sys.exit(2)
