"""Commands that judge norms: audit, path, demo, compare, findings."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

import radii
from radii.cli.options import (
    AllowMissing,
    Backend,
    DocIds,
    Docs,
    ExcludeSelf,
    Html,
    Json,
    MetricName,
    Out,
    Queries,
    QueryIds,
    Quiet,
    Range,
    ShardRows,
    Work,
    app,
)
from radii.cli.talking import emit, interruptible, program, progress_of, say, vectors_at

if TYPE_CHECKING:
    from radii.deploy.menu import Inputs


@app.command()
def audit(
    docs: Docs,
    queries: Queries,
    qrels: Annotated[Path | None, typer.Option(help="Judgements: TREC or BEIR format.")] = None,
    texts: Annotated[Path | None, typer.Option(help="Texts of the documents: .jsonl or .tsv.")] = None,
    signals: Annotated[
        Path | None, typer.Option(help="Columns of numbers per document to test: .parquet, .csv or .tsv.")
    ] = None,
    tokenizer: Annotated[
        str | None, typer.Option(help="Of the model, to count tokens by: tokenizer.json or its folder.")
    ] = None,
    ids: DocIds = None,
    query_ids: QueryIds = None,
    metric: MetricName = "nDCG@10",
    gamma_range: Range = (-1.0, 1.0),
    exclude_self: ExcludeSelf = False,
    allow_missing: AllowMissing = False,
    min_effect: Annotated[float, typer.Option(help="The smallest gain worth acting on.")] = 0.02,
    seed: Annotated[int, typer.Option(help="Of every random draw.")] = 0,
    probe: Annotated[
        Path | None, typer.Option(help="Folder of radii probe, of the model that made the vectors.")
    ] = None,
    query_texts: Annotated[
        Path | None, typer.Option(help="Texts of the queries, to show: .jsonl or .tsv.")
    ] = None,
    backend: Backend = "auto",
    work: Work = None,
    shard_rows: ShardRows = 1 << 20,
    out: Out = Path("radii-report"),
    json: Json = False,
    quiet: Quiet = False,
    html: Html = True,
) -> None:
    """Say whether the norms of DOCS may be used to rank, judged on held-out queries."""
    from radii.data.files import readable, writable
    from radii.data.texts import read_texts
    from radii.data.tokenizer import read_tokenizer
    from radii.deploy.menu import Inputs
    from radii.probing.report import read_report
    from radii.ranking.search import Search
    from radii.report.progress import stages
    from radii.signals.columns import read_columns

    search = Search(backend, work=work, shard=shard_rows)
    # Cheap checks first: a typing error should not wait for the vectors, nor the result for a bad folder.
    writable(out / "report.json")
    if qrels is not None:
        readable(qrels)
    known = None if texts is None else read_texts(texts)
    tokenize = None if tokenizer is None else read_tokenizer(tokenizer)
    vectors = vectors_at(docs, ids)
    columns = None if signals is None else read_columns(signals, vectors.ids)
    with interruptible(work), stages() as tell:
        report = radii.audit(
            vectors,
            vectors_at(queries, query_ids),
            qrels,
            texts=known,
            tokenize=tokenize,
            signals=columns,
            metric=metric,
            gamma_range=gamma_range,
            exclude_self=exclude_self,
            allow_missing=allow_missing,
            min_effect=min_effect,
            seed=seed,
            probe=None if probe is None else read_report(probe),
            query_texts=None if query_texts is None else read_texts(query_texts),
            search=search,
            progress=tell,
        )
    files = {"ids": ids, "query_ids": query_ids, "texts": texts, "signals": signals}
    named = {name: str(file) for name, file in files.items() if file is not None}
    _deliver(report, Inputs(docs, queries, tokenizer=tokenizer, **named), out, json, quiet, html)


@app.command()
def path(
    docs: Docs,
    queries: Queries,
    qrels: Annotated[Path, typer.Option(help="Judgements: TREC or BEIR format.")],
    ids: DocIds = None,
    query_ids: QueryIds = None,
    metric: MetricName = "nDCG@10",
    gamma_range: Range = (-1.0, 1.0),
    exclude_self: ExcludeSelf = False,
    allow_missing: AllowMissing = False,
    backend: Backend = "auto",
    work: Work = None,
    shard_rows: ShardRows = 1 << 20,
    out: Annotated[Path | None, typer.Option(help="A .json or .csv file; standard output if none.")] = None,
    csv: Annotated[bool, typer.Option("--csv", help="CSV on standard output instead of JSON.")] = False,
) -> None:
    """Write the metric as an exact step function of γ."""
    from radii.data.files import atomic_write, writable
    from radii.data.qrels import read_qrels, usable_qrels
    from radii.ranking.metrics import Metric
    from radii.ranking.search import Search
    from radii.report.files import path_csv, path_json

    search = Search(backend, work=work, shard=shard_rows)
    if out is not None and out.suffix not in (".json", ".csv"):
        raise radii.InputError(
            f"output format {out.suffix!r}", where=out, fix="end the name in .json or .csv"
        )
    if out is not None:
        writable(out)
    judged, wanted = read_qrels(qrels), Metric.parse(metric)
    vectors, asked = vectors_at(docs, ids), vectors_at(queries, query_ids)
    judged = usable_qrels(vectors, asked, judged, str(qrels), allow_missing, exclude_self)
    with interruptible(work), progress_of("ranking") as tell:
        found = radii.exponent_path(
            vectors,
            asked,
            k=wanted.k,
            gamma_range=gamma_range,
            exclude_self=exclude_self,
            search=search,
            progress=tell,
        )
        steps = found.metric(wanted, judged)
    text = path_csv(steps) if csv or (out is not None and out.suffix == ".csv") else path_json(steps)
    if out is None:
        emit(text)
    else:
        with atomic_write(out, mode="w") as file:
            file.write(text)


@app.command()
def demo(
    out: Out = Path("radii-demo"),
    json: Json = False,
    quiet: Quiet = False,
    html: Html = True,
) -> None:
    """Audit the bundled data: CLIP text vectors of 1,203 class names, each a query against the others."""
    from radii.data import demo as bundled
    from radii.data.texts import read_texts
    from radii.deploy.menu import Inputs
    from radii.report.progress import stages

    files = bundled.paths()
    vectors = radii.load(files.vectors)
    vectors = radii.Embeddings(vectors.ids, vectors.vectors, "CLIP text vectors of LVIS classes")
    with stages() as tell:
        report = radii.audit(
            vectors,
            vectors,
            files.qrels,
            texts=read_texts(files.texts),
            exclude_self=True,
            seed=0,
            progress=tell,
        )
    # The bundled files lie wherever Python keeps packages: what comes next has to name some that are here.
    copied = str(bundled.copy_vectors(out))
    _deliver(report, Inputs(copied, copied), out, json, quiet, html)


def _deliver(report: radii.Report, given: Inputs, out: Path, as_json: bool, quiet: bool, html: bool) -> None:
    """Write report.json and, with the extra `report`, report.html; then print as asked."""
    from rich.console import Console

    from radii.data.locks import only_writer
    from radii.deploy.menu import next_command
    from radii.report.files import write_report
    from radii.report.terminal import show, show_briefly

    with only_writer(out, wait=True):  # both files are of one run
        target = write_report(report, out)
        text = target.read_text("utf-8")
        page = _write_page(report, out, str(target)) if html else None
    if as_json:
        emit(text)
    elif quiet:
        show_briefly(report, Console(highlight=False))
    else:
        export = next_command(report, str(target), given, program())
        show(report, Console(highlight=False), report_file=str(target), page=page, export=export)


def _write_page(report: radii.Report, out: Path, report_file: str) -> str:
    """Where report.html is, or what it takes to have one."""
    from radii.deploy.menu import menu
    from radii.report.html import write_html

    try:
        return str(write_html(report, out, menu(report, report_file)))
    except radii.MissingExtraError as error:
        return f"no report.html: {error}"


@app.command()
def compare(
    first: Annotated[Path, typer.Argument(help="A report.json.")],
    second: Annotated[Path, typer.Argument(help="Another, of other vectors or another corpus.")],
    out: Annotated[Path | None, typer.Option(help="An .html file to write as well (extra `report`).")] = None,
) -> None:
    """Show two reports side by side."""
    from rich.console import Console

    from radii.report.compare import names_of, show_comparison, write_comparison
    from radii.report.reading import read_report

    names = names_of(first, second)
    reports = read_report(first), read_report(second)
    show_comparison(*reports, Console(highlight=False), names)
    if out is not None:
        say(f"Page  {write_comparison(*reports, out, names)}")


@app.command()
def findings(
    code: Annotated[str | None, typer.Argument(help="Such as R404; all of them if none.")] = None,
) -> None:
    """Print what the findings of a report mean and what to do about them, as Markdown."""
    from radii.report.findings import page, section

    emit(page() if code is None else "\n".join(section(code)) + "\n")
