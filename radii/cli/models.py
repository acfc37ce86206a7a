"""Commands about encoders: embed, probe, simulate."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

import radii
from radii.cli.options import app
from radii.cli.talking import emit, progress_of, say


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

    with progress_of("embedding") as progress:
        info = embed_file(model, texts, out, dtype=dtype, batch_size=batch_size, progress=progress)
    say(f"{info.n:,} × {info.dim} {info.dtype} vectors in {out}")
    if info.stripped:
        say("The model ends in a Normalize module, which was stripped: with it every norm would be 1.")


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
    with progress_of("probing") as progress:
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
        emit(target.read_text("utf-8"))
    else:
        say(*probe_lines(found.report), f"Report  {target} · inputs.csv")


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
        with progress_of("training") as progress:
            runs = simulate_in(out, settings, progress=progress)
        text = write_runs(runs, out)
        figure = draw_runs(runs, out)
    if json:
        emit(text)
    else:
        show_runs(runs, Console(highlight=False), folder=str(out), figure=figure)
