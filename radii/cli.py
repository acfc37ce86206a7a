"""The command line: parse, call, render. No arithmetic here."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Annotated, Literal

import typer

import radii

app = typer.Typer(
    name="radii",
    help="What the lengths of your embedding vectors know, and whether it is safe to rank with them.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)

Docs = Annotated[
    str,
    typer.Argument(help="Document vectors: .npy, .npz, .safetensors, .parquet, or an engine's address."),
]
Queries = Annotated[str, typer.Option("--queries", help="Query vectors, in any of the same places.")]
DocIds = Annotated[Path | None, typer.Option("--ids", help="Document ids, one per line.")]
QueryIds = Annotated[Path | None, typer.Option("--query-ids", help="Query ids, one per line.")]
MetricName = Annotated[str, typer.Option("--metric", help="nDCG@k, R@k, P@k, RR@k (MRR), AP@k, Success@k.")]
Range = Annotated[tuple[float, float], typer.Option("--gamma-range", help="Exponents to look at.")]
ExcludeSelf = Annotated[bool, typer.Option("--exclude-self", help="Skip the document that is the query.")]
AllowMissing = Annotated[
    bool, typer.Option("--allow-missing", help="Accept qrels that name unknown queries or documents.")
]
Out = Annotated[Path, typer.Option("--out", help="Folder for report.json and report.html.")]
Json = Annotated[bool, typer.Option("--json", help="Print report.json instead of the summary.")]
Quiet = Annotated[bool, typer.Option("--quiet", help="Print the verdict and the advice only.")]
Html = Annotated[bool, typer.Option("--html/--no-html", help="Write report.html (extra `report`).")]


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
    out: Out = Path("radii-report"),
    json: Json = False,
    quiet: Quiet = False,
    html: Html = True,
) -> None:
    """Say whether the norms of DOCS may be used to rank, judged on held-out queries."""
    from radii.data.files import readable, writable
    from radii.data.texts import read_texts
    from radii.data.tokenizer import read_tokenizer
    from radii.probing.report import read_report
    from radii.report.progress import stages
    from radii.signals.columns import read_columns

    # Cheap checks first: a typing error should not wait for the vectors, nor the result for a bad folder.
    writable(out / "report.json")
    if qrels is not None:
        readable(qrels)
    known = None if texts is None else read_texts(texts)
    tokenize = None if tokenizer is None else read_tokenizer(tokenizer)
    vectors = _vectors(docs, ids)
    columns = None if signals is None else read_columns(signals, vectors.ids)
    with stages() as tell:
        report = radii.audit(
            vectors,
            _vectors(queries, query_ids),
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
            progress=tell,
        )
    _deliver(report, out, json, quiet, html)


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
    out: Annotated[Path | None, typer.Option(help="A .json or .csv file; standard output if none.")] = None,
    csv: Annotated[bool, typer.Option("--csv", help="CSV on standard output instead of JSON.")] = False,
) -> None:
    """Write the metric as an exact step function of γ."""
    from radii.data.files import atomic_write, writable
    from radii.data.qrels import read_qrels, usable_qrels
    from radii.ranking.metrics import Metric
    from radii.report.files import path_csv, path_json

    if out is not None and out.suffix not in (".json", ".csv"):
        raise radii.InputError(
            f"output format {out.suffix!r}", where=out, fix="end the name in .json or .csv"
        )
    if out is not None:
        writable(out)
    judged, wanted = read_qrels(qrels), Metric.parse(metric)
    vectors, asked = _vectors(docs, ids), _vectors(queries, query_ids)
    judged = usable_qrels(vectors, asked, judged, str(qrels), allow_missing, exclude_self)
    with _progress("ranking") as tell:
        found = radii.exponent_path(
            vectors, asked, k=wanted.k, gamma_range=gamma_range, exclude_self=exclude_self, progress=tell
        )
        steps = found.metric(wanted, judged)
    text = path_csv(steps) if csv or (out is not None and out.suffix == ".csv") else path_json(steps)
    if out is None:
        _emit(text)
    else:
        with atomic_write(out, mode="w") as file:
            file.write(text)


@app.command()
def embed(
    texts: Annotated[Path, typer.Argument(help="Texts: .jsonl (BEIR) or .tsv.")],
    out: Annotated[Path, typer.Argument(help="The .npy file to write; ids go beside it.")],
    model: Annotated[str, typer.Option(help="A sentence-transformers model: a folder or a name.")],
    dtype: Annotated[Literal["float32", "float16"], typer.Option(help="Precision to store.")] = "float32",
    batch_size: Annotated[int, typer.Option(help="Texts at a time.")] = 64,
) -> None:
    """Embed TEXTS without normalising, and write the vectors to OUT."""
    from radii.data.encode import embed_file

    with _progress("embedding") as progress:
        info = embed_file(model, texts, out, dtype=dtype, batch_size=batch_size, progress=progress)
    _say(f"{info.n:,} × {info.dim} {info.dtype} vectors in {out}")
    if info.stripped:
        _say("The model ends in a Normalize module, which was stripped: with it every norm would be 1.")


@app.command()
def probe(
    model: Annotated[str, typer.Option(help="A model on this machine: a folder or a cached name.")],
    pairs: Annotated[Path, typer.Option(help="Anchors and positives: .tsv or .jsonl.")],
    inputs: Annotated[
        Path, typer.Option(help="Texts to probe (image paths for clip-image): .jsonl or .tsv.")
    ],
    encoder: Annotated[
        str, typer.Option(help="sentence, mean, cls, last, projected, clip-text or clip-image.")
    ] = "sentence",
    objective: Annotated[str, typer.Option(help="Surrogate: infonce, siglip or simcse.")] = "infonce",
    optimizer: Annotated[str, typer.Option(help="sgd or adamw.")] = "sgd",
    params: Annotated[str, typer.Option(help="all, head, or a regular expression of names.")] = "all",
    batches: Annotated[int, typer.Option(help="Minibatches, at most.")] = 32,
    batch_size: Annotated[int, typer.Option(help="Pairs in a minibatch.")] = 32,
    tau: Annotated[float, typer.Option(help="Temperature of infonce and simcse.")] = 0.05,
    eta: Annotated[
        float | None, typer.Option(help="Learning rate; by default one that moves an anchor by 1 %.")
    ] = None,
    weight_decay: Annotated[float, typer.Option(help="Of the predicted norm.")] = 0.01,
    until: Annotated[
        float | None, typer.Option(help="Stop when ρ of norm and raw heat is known ± this over minibatches.")
    ] = None,
    signals: Annotated[
        Path | None, typer.Option(help="Columns of numbers per input to hold fixed: .parquet, .csv or .tsv.")
    ] = None,
    method: Annotated[str, typer.Option(help="exact or jvp.")] = "exact",
    device: Annotated[str | None, typer.Option(help="As torch names it; the CPU by default.")] = None,
    seed: Annotated[int, typer.Option(help="Of every random draw.")] = 0,
    out: Annotated[Path, typer.Option(help="Folder for probe.json and inputs.csv.")] = Path("radii-probe"),
    json: Annotated[bool, typer.Option("--json", help="Print probe.json instead of the summary.")] = False,
) -> None:
    """Say what controls the norms of a trained MODEL, by virtual training steps on PAIRS."""
    from radii.data.files import writable
    from radii.data.pairs import read_pairs
    from radii.data.texts import read_texts
    from radii.probing.loading import in_folder, load_encoder
    from radii.probing.objectives import objective as known_objective
    from radii.report.probe import probe_lines
    from radii.signals.columns import read_columns

    writable(out / "probe.json")
    goal = known_objective(objective, tau=tau)
    given, asked = read_pairs(pairs), read_texts(inputs)
    columns = None if signals is None else read_columns(signals, asked.ids)
    items: list[str] = asked.texts
    if encoder.startswith("clip"):
        places = in_folder([image for _, image in given], pairs.parent)
        given = list(zip([text for text, _ in given], places, strict=True))
        if encoder == "clip-image":
            given, items = [(image, text) for text, image in given], in_folder(items, inputs.parent)
    tower, partner = load_encoder(model, encoder, device or "cpu")
    with _progress("probing") as progress:
        found = radii.probe(
            tower,
            given,
            items,
            ids=asked.ids,
            partner=partner,
            objective=goal,
            signals=columns,
            progress=progress,
            optimizer=optimizer,
            params=params,
            batches=batches,
            batch_size=batch_size,
            eta=eta,
            weight_decay=weight_decay,
            until=until,
            method=method,
            seed=seed,
        )
    target = found.write(out)
    if json:
        _emit(target.read_text("utf-8"))
    else:
        _say(*probe_lines(found.report), f"Report  {target} · inputs.csv")


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
    _deliver(report, out, json, quiet, html)


def _vectors(where: str, ids: Path | None) -> radii.Embeddings:
    """Vectors of a file, or of the engine at an address; what is odd about those goes to standard error."""
    from radii.deploy.address import is_address

    if not is_address(where):
        return radii.load(where, ids=ids)
    from radii.deploy.sources import read_address
    from radii.errors import printable

    with _progress("reading") as progress:
        reading = read_address(where, ids=ids, progress=progress)
    for note in reading.notes:
        typer.echo(printable(f"radii: {note}"), err=True)
    return reading.embeddings


def _deliver(report: radii.Report, out: Path, as_json: bool, quiet: bool, html: bool) -> None:
    """Write report.json and, with the extra `report`, report.html; then print as asked."""
    from rich.console import Console

    from radii.data.locks import only_writer
    from radii.report.files import write_report
    from radii.report.terminal import show, show_briefly

    with only_writer(out, wait=True):  # both files are of one run
        target = write_report(report, out)
        text = target.read_text("utf-8")
        page = _write_page(report, out, str(target)) if html else None
    if as_json:
        _emit(text)
    elif quiet:
        show_briefly(report, Console(highlight=False))
    else:
        show(report, Console(highlight=False), report_file=str(target), page=page)


def _write_page(report: radii.Report, out: Path, report_file: str) -> str:
    """Where report.html is, or what it takes to have one."""
    from radii.deploy.menu import menu
    from radii.report.html import write_html

    try:
        return str(write_html(report, out, menu(report, report_file)))
    except radii.MissingExtraError as error:
        return f"no report.html: {error}"


@app.command()
def simulate(
    config: Annotated[
        Path | None, typer.Argument(help="TOML with tables [setting] and [grid]; none for one default run.")
    ] = None,
    values: Annotated[
        list[str] | None, typer.Option("--set", help="NAME=VALUE of a setting, as in TOML; may be repeated.")
    ] = None,
    out: Annotated[Path, typer.Option(help="Folder for results.json and figure.svg.")] = Path("radii-runs"),
    json: Annotated[bool, typer.Option("--json", help="Print results.json instead of the summary.")] = False,
) -> None:
    """Train embeddings under controlled conditions and compare their norms with the equation.

    Broken off, the same command goes on from its last checkpoint.
    """
    from rich.console import Console

    from radii.data.locks import only_writer
    from radii.dynamics.config import parse_values, read_settings, setting
    from radii.dynamics.resume import simulate_in
    from radii.report.figures import draw_runs
    from radii.report.simulation import show_runs, write_runs

    given = parse_values(values or [])
    settings = [setting(given, "--set")] if config is None else read_settings(config, given)
    with only_writer(out):
        with _progress("training") as progress:
            runs = simulate_in(out, settings, progress=progress)
        text = write_runs(runs, out)
        figure = draw_runs(runs, out)
    if json:
        _emit(text)
    else:
        show_runs(runs, Console(highlight=False), folder=str(out), figure=figure)


claims = typer.Typer(help="Claims about norms, each tested by its own experiment.", no_args_is_help=True)
app.add_typer(claims, name="claims")
ClaimsForm = Literal["markdown", "json", "html"]
ClaimId = Annotated[str, typer.Argument(metavar="ID", help="As `radii claims list` names it.")]


@claims.command("list")
def list_claims() -> None:
    """Print the id and the title of every claim."""
    from radii.claims.catalogue import CLAIMS, title

    for name in CLAIMS:
        _say(f"{name:<14}{title(name)}")


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

    with _progress(claim) as progress:
        outcome = catalogue.run_claim(claim, full=full, progress=progress, model=model, dataset=dataset)
    text = outcome.model_dump_json(indent=2) + "\n"
    if out is not None:
        with atomic_write(out, mode="w") as file:
            file.write(text)
    if json:
        _emit(text)
    else:
        show_outcome(outcome, Console(highlight=False))


@claims.command("table")
def claims_table(
    form: Annotated[ClaimsForm, typer.Option("--format", help="What to print.")] = "markdown",
) -> None:
    """Print every recorded result: one row per claim, then everything behind it."""
    from radii.report import claims as render

    makers = {"markdown": render.as_markdown, "json": render.as_json, "html": render.as_html}
    _emit(makers[form]())


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


def _progress(what: str) -> AbstractContextManager[Callable[[int, int], None]]:
    """A progress bar on standard error, silent when that is not a terminal."""
    from radii.report.progress import progress

    return progress(what)


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
        _say(f"{len(back):,} × {back.dim} original vectors in {out}")
        return
    if docs is None:
        raise radii.InputError("no documents", where="DOCS", fix="give the vectors that were audited")
    vectors = _vectors(docs, ids)
    with _progress("exporting") as progress:
        lines = export_to(
            report,
            vectors,
            out,
            to,
            queries=None if queries is None else _vectors(queries, query_ids),
            texts=None if texts is None else read_texts(texts),
            signals=None if signals is None else read_columns(signals, vectors.ids),
            tokenize=None if tokenizer is None else read_tokenizer(tokenizer),
            arm=arm,
            form=form,
            dtype=dtype,
            progress=progress,
        )
    _say(*lines)


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

    _say(*"\n".join(recipe_of(folder, to, k=k, json=json, documents=documents)).split("\n"))


@app.command()
def verify(
    location: Annotated[Path, typer.Argument(help="The engine's folder that `radii export` filled.")],
    against: Annotated[Path, typer.Option(help="The export's folder that it was filled from.")],
    queries: Annotated[
        Path | None, typer.Option(help="Queries to sample; random directions if none.")
    ] = None,
    k: Annotated[int, typer.Option(help="How many documents to compare.")] = 10,
    sample: Annotated[int, typer.Option(help="How many queries to ask.")] = 100,
    seed: Annotated[int, typer.Option(help="Of the sample.")] = 0,
) -> None:
    """Compare an engine's answers with the exact order; exit code 1 when they differ."""
    from radii.deploy.verify import verify as compare

    asked = None if queries is None else radii.load(queries)
    found = compare(location, against, asked, k=k, sample=sample, seed=seed)
    _say(
        f"{found.engine}: overlap@{found.k} {found.overlap:.4f}, {found.violations} order violations, "
        f"{found.queries} queries"
    )
    if found.cause is not None:
        _say(f"likely cause: {found.cause}")
        raise typer.Exit(1)
    _say("the engine returns the exact order")


@app.command()
def findings(
    code: Annotated[str | None, typer.Argument(help="Such as R404; all of them if none.")] = None,
) -> None:
    """Print what the findings of a report mean and what to do about them, as Markdown."""
    from radii.report.findings import page, section

    _emit(page() if code is None else "\n".join(section(code)) + "\n")


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
        _say(f"Page  {write_comparison(*reports, out, names)}")


@app.command()
def version() -> None:
    """Print the version."""
    _say(radii.__version__)


def _say(*lines: str) -> None:
    """Print lines for a reader: what came from a file cannot steer the terminal."""
    from radii.errors import printable

    _emit("".join(f"{printable(line)}\n" for line in lines))


def _emit(text: str) -> None:
    """Print a document as it is; a full disk behind standard output is one line, too."""
    try:
        typer.echo(text, nl=False)
    except OSError as error:
        if error.errno == errno.EPIPE:  # as `| head` does: typer ends the program quietly
            raise
        # What could not be written would fail again when the interpreter ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise radii.InputError(
            "cannot be written",
            where="standard output",
            cause=error.strerror,
            fix="make room, or use --out",
        ) from error


def main() -> None:
    """Entry point: an expected error is one line on standard error and exit code 2."""
    from radii.errors import printable

    try:
        app(prog_name="radii")
    except radii.RadiiError as error:
        typer.echo(printable(f"radii: {error}"), err=True)
        sys.exit(2)


if __name__ == "__main__":
    main()
