"""Commands about claims."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

import radii
from radii.cli.options import app
from radii.cli.talking import emit, progress_of, say

claims = typer.Typer(help="Claims about norms, each tested by its own experiment.", no_args_is_help=True)


app.add_typer(claims, name="claims")


ClaimsForm = Literal["markdown", "json", "html"]


ClaimId = Annotated[str, typer.Argument(metavar="ID", help="As `radii claims list` names it.")]


@claims.command("list")
def list_claims() -> None:
    """Print the id and the title of every claim."""
    from radii.claims.catalogue import CLAIMS, title

    for name in CLAIMS:
        say(f"{name:<14}{title(name)}")


@claims.command("run")
def run_claim(
    claim: ClaimId,
    full: Annotated[
        bool, typer.Option("--full/--fast", help="Full is the recorded setting: minutes.")
    ] = False,
    model: Annotated[
        str | None, typer.Option(help="Another encoder, where texts are embedded: a folder or a cached name.")
    ] = None,
    dataset: Annotated[
        str | None, typer.Option(help="Another collection: a BEIR folder or zip, or an ir_datasets id.")
    ] = None,
    out: Annotated[Path | None, typer.Option(help="A .json file to write as well.")] = None,
    json: Annotated[bool, typer.Option("--json", help="Print JSON instead of the summary.")] = False,
) -> None:
    """Test a claim now. The exit code is 0 whatever comes out."""
    from rich.console import Console

    from radii.claims import catalogue
    from radii.data.files import atomic_write
    from radii.report.simulation import show_outcome

    with progress_of(claim) as progress:
        outcome = catalogue.run_claim(claim, full=full, progress=progress, model=model, dataset=dataset)
    text = outcome.model_dump_json(indent=2) + "\n"
    if out is not None:
        with atomic_write(out, mode="w") as file:
            file.write(text)
    if json:
        emit(text)
    else:
        show_outcome(outcome, Console(highlight=False))


@claims.command("table")
def claims_table(
    form: Annotated[ClaimsForm, typer.Option("--format", help="What to print.")] = "markdown",
) -> None:
    """Print every recorded result: one row per claim, then everything behind it."""
    from radii.report import claims as render

    makers = {"markdown": render.as_markdown, "json": render.as_json, "html": render.as_html}
    emit(makers[form]())


@claims.command("show")
def show_claim(claim: ClaimId) -> None:
    """Print what the full setting gave when this version of radii was made."""
    from rich.console import Console

    from radii.claims.catalogue import recorded
    from radii.report.simulation import show_outcome

    outcome = recorded(claim)
    if outcome is None:
        raise radii.InputError(
            f"no recorded result of {claim!r}", fix=f"run `radii claims run {claim} --full`"
        )
    show_outcome(outcome, Console(highlight=False))
