"""CLIP text vectors of four detection vocabularies, their rows named by equality with named rows.

Detic's files hold one vector per class, without names but for those of LVIS. All were made by one prompt, so
a class that two vocabularies write alike has one vector in both, up to the rounding of half precision. COCO's
80 names stand below in the order of the data set; where LVIS has the same name, the vector says whether the
order is right.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from radii.claims.material import shared
from radii.data import demo
from radii.data.embeddings import Embeddings, Vectors
from radii.data.qrels import Qrels, read_qrels
from radii.data.vectors import load
from radii.errors import InputError

FILES = {
    "COCO": "coco_clip_a+cname.npy",
    "Objects365": "o365_clip_a+cnamefix.npy",
    "OpenImages": "oid_clip_a+cname.npy",
}
# Rows that name one class differ by 0.02 at most, of norms near 10; the nearest other class is 1 away.
SAME = 0.1

_COCO = """
person, bicycle, car, motorcycle, airplane, bus, train, truck, boat, traffic light, fire hydrant, stop
sign, parking meter, bench, bird, cat, dog, horse, sheep, cow, elephant, bear, zebra, giraffe, backpack,
umbrella, handbag, tie, suitcase, frisbee, skis, snowboard, sports ball, kite, baseball bat, baseball
glove, skateboard, surfboard, tennis racket, bottle, wine glass, cup, fork, knife, spoon, bowl, banana,
apple, sandwich, orange, broccoli, carrot, hot dog, pizza, donut, cake, chair, couch, potted plant, bed,
dining table, toilet, tv, laptop, mouse, remote, keyboard, cell phone, microwave, oven, toaster, sink,
refrigerator, book, clock, vase, scissors, teddy bear, hair drier, toothbrush
"""
COCO = [" ".join(name.split()) for name in _COCO.split(",")]
# COCO's names that LVIS writes in another way, and what LVIS calls the same thing; None where it has no such
# class.
ELSEWHERE: dict[str, str | None] = {
    "car": "car_(automobile)",
    "bus": "bus_(vehicle)",
    "train": "train_(railroad_vehicle)",
    "traffic light": "traffic_light",
    "fire hydrant": "fireplug",
    "stop sign": "stop_sign",
    "parking meter": "parking_meter",
    "tie": "necktie",
    "skis": "ski",
    "sports ball": "ball",
    "baseball bat": "baseball_bat",
    "baseball glove": "baseball_glove",
    "tennis racket": "tennis_racket",
    "wine glass": "wineglass",
    "orange": "orange_(fruit)",
    "hot dog": None,
    "donut": "doughnut",
    "couch": "sofa",
    "potted plant": "flowerpot",
    "dining table": "dining_table",
    "tv": "television_set",
    "laptop": "laptop_computer",
    "mouse": "mouse_(computer_equipment)",
    "remote": "remote_control",
    "keyboard": "computer_keyboard",
    "cell phone": "cellular_telephone",
    "microwave": "microwave_oven",
    "teddy bear": "teddy_bear",
    "hair drier": "hair_dryer",
}


@dataclass(frozen=True)
class Task:
    """Class names that ask for related classes.

    Attributes
    ----------
    queries : Embeddings
        By the LVIS class that they name.
    docs : Embeddings
        Classes by their LVIS name; a query's own class is among them and must not be retrieved.
    qrels : dict
        Those of the bundled demo, as far as the documents hold them.
    """

    queries: Embeddings
    docs: Embeddings
    qrels: Qrels


def vocabularies() -> dict[str, Embeddings]:
    """Every vocabulary's rows whose LVIS class is known, by that class; `LVIS` holds all of them.

    Raises InputError where the files lie elsewhere, or where a row of COCO is not what its place says.
    """
    lvis = load(demo.paths().vectors)
    found = {"LVIS": Embeddings(lvis.ids, lvis.vectors, "LVIS")}
    for name in FILES:
        vectors = load(path_of(name)).vectors
        matched = same_rows(vectors, lvis)
        if name == "COCO":
            matched |= _by_place(matched)
        # OpenImages has a class twice.
        rows = sorted({one: row for row, one in sorted(matched.items(), reverse=True)}.values())
        found[name] = Embeddings([matched[row] for row in rows], vectors[rows], name)
    return found


def path_of(name: str) -> Path:
    """Where a vocabulary's vectors lie."""
    return shared("detic_clip_text", FILES[name])


def same_rows(vectors: Vectors, named: Embeddings) -> dict[int, str]:
    """Row → the id of the named row that it equals up to SAME, where there is one."""
    found = {}
    known = named.vectors.astype(np.float64)
    for row, vector in enumerate(vectors.astype(np.float64)):
        distance = np.linalg.norm(known - vector, axis=1)
        if distance.min() < SAME:
            found[row] = named.ids[int(distance.argmin())]
    return found


def tasks() -> dict[str, Task]:
    """Three tasks whose queries name different classes.

    LVIS: the classes that no other vocabulary names, against all LVIS classes. COCO: its 80 names against all
    LVIS classes. Objects365: its names that are not COCO's, against the classes of OpenImages.
    """
    known, qrels = vocabularies(), read_qrels(demo.paths().qrels)
    coco, objects = known["COCO"], known["Objects365"]
    named = set(coco.ids) | set(objects.ids)
    return {
        "LVIS": _task(_without(known["LVIS"], named), known["LVIS"], qrels),
        "COCO": _task(coco, known["LVIS"], qrels),
        "Objects365": _task(_without(objects, set(coco.ids)), known["OpenImages"], qrels),
    }


def _by_place(matched: dict[int, str]) -> dict[int, str]:
    """LVIS classes of the rows of COCO that LVIS writes in another way."""
    for row, name in enumerate(COCO):
        expected = ELSEWHERE.get(name, name.replace(" ", "_"))
        # A row that equals a class must be that class; one that equals none is another spelling of it.
        if matched.get(row, expected) != expected or (row in matched) == (name in ELSEWHERE):
            raise InputError(
                f"row {row} is {matched.get(row)!r}, not {name!r}",
                where=path_of("COCO"),
                cause="another order of the classes",
                fix="give the file of Detic's repository",
            )
    elsewhere = {row: ELSEWHERE.get(name) for row, name in enumerate(COCO)}
    return {row: name for row, name in elsewhere.items() if name is not None}


def _without(some: Embeddings, names: set[str]) -> Embeddings:
    return some.part(np.array([row for row, name in enumerate(some.ids) if name not in names]))


def _task(queries: Embeddings, docs: Embeddings, qrels: Qrels) -> Task:
    return Task(queries, docs, among(qrels, queries.ids, docs.ids))


def among(qrels: Qrels, queries: Iterable[str], docs: Iterable[str]) -> Qrels:
    """The judgements of these queries about these documents; queries without one are left out.

    >>> among({"q": {"d": 1, "e": 1}, "r": {"e": 1}}, ["q", "r", "s"], ["d"])
    {'q': {'d': 1}}
    """
    there = set(docs)
    kept = {
        query: {document: grade for document, grade in qrels.get(query, {}).items() if document in there}
        for query in queries
    }
    return {query: grades for query, grades in kept.items() if grades}
