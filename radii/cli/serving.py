"""Commands that put a correction into an engine: export, recipe, verify."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

import radii
from radii.cli.options import DocIds, QueryIds, app
from radii.cli.talking import progress_of, say, vectors_at


@app.command()
def export(
    report: Annotated[
        Path, typer.Argument(help="report.json of an audit; with --restore, an export's folder.")
    ],
    docs: Annotated[
        str | None, typer.Argument(help="The document vectors that were audited, or their address.")
    ] = None,
    to: Annotated[
        str, typer.Option(help="Engine (faiss, qdrant, ...), or server (see radii recipe).")
    ] = "faiss",
    out: Annotated[Path, typer.Option(help="A new folder; with --restore, a .npy file.")] = Path(
        "radii-export"
    ),
    queries: Annotated[
        str | None, typer.Option(help="The audit's queries, where a method asks them.")
    ] = None,
    texts: Annotated[Path | None, typer.Option(help="Texts of the documents: .jsonl or .tsv.")] = None,
    signals: Annotated[Path | None, typer.Option(help="Columns of numbers per document.")] = None,
    tokenizer: Annotated[str | None, typer.Option(help="Of the model, as in the audit.")] = None,
    ids: DocIds = None,
    query_ids: QueryIds = None,
    arm: Annotated[str | None, typer.Option(help="An arm of the report in place of its advice.")] = None,
    form: Annotated[
        Literal["ip", "centred", "unit"] | None, typer.Option(help="In place of the engine's own.")
    ] = None,
    dtype: Annotated[Literal["float32", "float16"], typer.Option(help="Precision to store.")] = "float32",
    restore: Annotated[bool, typer.Option("--restore", help="Get the original vectors back.")] = False,
) -> None:
    """Write the correction that REPORT recommends into a vector engine; or, with --restore, undo it."""
    from radii.data.texts import read_texts
    from radii.data.tokenizer import read_tokenizer
    from radii.deploy.command import export_to, restore_to
    from radii.signals.columns import read_columns

    if restore:
        back = restore_to(report, out)
        say(f"{len(back):,} × {back.dim} original vectors in {out}")
        return
    if docs is None:
        raise radii.InputError("no documents", where="DOCS", fix="give the vectors that were audited")
    vectors = vectors_at(docs, ids)
    with progress_of("exporting") as progress:
        lines = export_to(
            report,
            vectors,
            out,
            to,
            queries=None if queries is None else vectors_at(queries, query_ids),
            texts=None if texts is None else read_texts(texts),
            signals=None if signals is None else read_columns(signals, vectors.ids),
            tokenize=None if tokenizer is None else read_tokenizer(tokenizer),
            arm=arm,
            form=form,
            dtype=dtype,
            progress=progress,
        )
    say(*lines)


@app.command()
def recipe(
    folder: Annotated[Path, typer.Argument(help="The export's folder that `radii export` wrote.")],
    to: Annotated[str, typer.Option(help="Server: elasticsearch, vespa, redis-formula, ...")],
    k: Annotated[int, typer.Option(help="How many documents to ask for.")] = 10,
    documents: Annotated[Path | None, typer.Option(help="A file to write all documents to.")] = None,
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Print what to send to a vector engine that is a server: how to create, load and ask."""
    from radii.deploy.command import recipe_of

    say(*"\n".join(recipe_of(folder, to, k=k, json=json, documents=documents)).split("\n"))


@app.command()
def verify(
    location: Annotated[Path, typer.Argument(help="The engine's folder that `radii export` filled.")],
    against: Annotated[Path, typer.Option(help="The export's folder that it was filled from.")],
    queries: Annotated[str | None, typer.Option(help="Queries to sample; random directions if none.")] = None,
    k: Annotated[int, typer.Option(help="How many documents to compare.")] = 10,
    sample: Annotated[int, typer.Option(help="How many queries to ask.")] = 100,
    seed: Annotated[int, typer.Option(help="Of the sample.")] = 0,
) -> None:
    """Compare an engine's answers with the exact order; exit code 1 when they differ."""
    from radii.deploy.verify import verify as compare

    asked = None if queries is None else radii.load(queries)
    found = compare(location, against, asked, k=k, sample=sample, seed=seed)
    say(
        f"{found.engine}: overlap@{found.k} {found.overlap:.4f}, {found.violations} order violations, "
        f"{found.queries} queries"
    )
    if found.cause is not None:
        say(f"likely cause: {found.cause}")
        raise typer.Exit(1)
    say("the engine returns the exact order")
