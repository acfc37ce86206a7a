"""Claim 15: behind a projection head, an exponent chosen on one retrieval task gains on another."""

from __future__ import annotations

from itertools import permutations
from typing import Any

from radii.claims.material import beyond, copies
from radii.claims.outcome import NotRun, Progress, Statement, Tested, reported
from radii.claims.vocabularies import FILES, Task, path_of, tasks
from radii.data import demo
from radii.evidence.holdout import Protocol, choose, held_out
from radii.evidence.intervals import estimate
from radii.ranking.path import MetricPath, exponent_path

TITLE = "Behind a projection head, an exponent chosen on one retrieval task gains on another"
ON = "CLIP text vectors of class names: LVIS, COCO, Objects365, OpenImages"
METHOD = (
    "Un-normalised CLIP text vectors of class names (Detic's files). Rows of COCO, Objects365 and OpenImages "
    "are named by equality with a row of LVIS; COCO's other rows by their place, which the equal ones "
    "confirm. A class asks for related classes, as in the bundled demo: WordNet ancestors and descendants "
    "within two steps, and those that share a direct hypernym. Three tasks whose queries name different "
    "classes: LVIS (classes that no other vocabulary names) and COCO against all LVIS classes, Objects365 "
    "(without COCO's) against OpenImages. nDCG@10; γ from -1 to 1 is chosen on all queries of one task and "
    "judged on all of another, in every direction. Intervals are Student's over the queries judged."
)


def run(full: bool, progress: Progress | None = None) -> Tested:
    """Choose and judge; seconds in either setting, which differ in the resamples of p-values."""
    protocol = Protocol() if full else Protocol(repeats=2, resamples=999)
    paths = {name: path_along(task) for name, task in tasks().items()}
    table: list[dict[str, Any]] = []
    statements: list[Statement] = []
    chosen = {name: choose(steps.curves, -1.0, 1.0) for name, steps in paths.items()}
    for number, (name, steps) in enumerate(paths.items()):
        own = held_out(steps.curves, -1.0, 1.0, 0, protocol).estimate
        over = f"{own.n} queries"
        statements += [
            reported(f"{name}: nDCG@10 of cosine", steps.at(0.0), over=over),
            reported(f"{name}: gain of norm exponent", own.mean, low=own.low, high=own.high, over=over),
        ]
        row = {
            "task": name,
            "queries": own.n,
            "cosine": round(steps.at(0.0), 4),
            "inner product": round(steps.at(1.0), 4),
            "chosen γ": round(chosen[name], 3),
        }
        for other, gamma in chosen.items():
            row[f"gain at the γ of {other}"] = round(steps.at(gamma) - steps.at(0.0), 4)
        table.append(row)
        if progress is not None:
            progress(number + 1, len(paths))
    for source, target in permutations(paths, 2):
        curves = paths[target].curves
        worth = estimate(curves.values(chosen[source]) - curves.values(0.0), 0, resamples=protocol.resamples)
        title = f"γ of {source} on {target}: gain"
        over = f"{worth.n} queries"
        statements.append(beyond(title, worth.mean, worth.low, worth.high, "above", over))
    return Tested(
        seeds=1,
        statements=statements,
        table=table,
        notes=[
            "One encoder, one prompt and one source of judgements: tasks differ in their queries and "
            "documents, not in their kind.",
            "COCO has 71 and Objects365 62 queries with a related class: gains below about 0.03 cannot be "
            "seen there.",
            "A gain in the table at a task's own γ is one on the queries that chose it.",
        ],
        data=copies(demo.paths().vectors, demo.paths().qrels, *(path_of(name) for name in FILES)),
        not_run=[
            NotRun(
                what="rows of Objects365 and OpenImages that LVIS does not name",
                why="their names are not in the files",
            ),
            NotRun(
                what="CLIP's image tower",
                why="no weights of it",
                command="radii audit IMAGES.npy --queries CAPTIONS.npy --qrels QRELS.tsv",
            ),
        ],
    )


def path_along(task: Task) -> MetricPath:
    """nDCG@10 of a task along γ."""
    return exponent_path(task.docs, task.queries, exclude_self=True).metric("nDCG@10", task.qrels)
