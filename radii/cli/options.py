"""Options that several commands share, and the program they hang on."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

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
    typer.Argument(
        help="Document vectors: a .npy, .npz, .safetensors or .parquet file, a folder or quoted pattern of "
        "them, a URL of any of these (s3://, https://, ...), or an engine's address."
    ),
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
Backend = Annotated[
    str,
    typer.Option("--backend", help="What multiplies and prunes: auto, numba, torch, or ray (a cluster)."),
]
Work = Annotated[
    Path | None, typer.Option("--work", help="Folder that keeps finished parts: an interrupted run goes on.")
]
ShardRows = Annotated[int, typer.Option("--shard-rows", help="Documents of a part, with --work or ray.")]
Out = Annotated[Path, typer.Option("--out", help="Folder for report.json and report.html.")]
Json = Annotated[bool, typer.Option("--json", help="Print report.json instead of the summary.")]
Quiet = Annotated[bool, typer.Option("--quiet", help="Print the verdict and the advice only.")]
Html = Annotated[bool, typer.Option("--html/--no-html", help="Write report.html (extra `report`).")]
