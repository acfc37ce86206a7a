import numpy as np

from radii.claims import vocabularies as module
from radii.claims.vocabularies import COCO, ELSEWHERE, same_rows, tasks, vocabularies
from radii.data import demo
from radii.data.embeddings import Embeddings
from radii.data.qrels import read_qrels
from radii.data.vectors import load


def test_a_row_is_named_by_the_row_that_it_equals():
    named = Embeddings(["hub", "norm"], np.array([[1.0, 2.0], [3.0, 4.0]]))
    others = np.array([[3.001, 4.0], [9.0, 9.0], [1.0, 2.002], [1.0, 2.2]])
    assert same_rows(others, named) == {0: "norm", 2: "hub"}


def test_coco_has_its_names_once():
    assert len(COCO) == len(set(COCO)) == 80
    assert (COCO[0], COCO[39], COCO[79]) == ("person", "bottle", "toothbrush")
    assert set(ELSEWHERE) < set(COCO)


def test_every_other_spelling_is_a_class_of_lvis():
    known = set(load(demo.paths().vectors).ids)
    assert {name for name in ELSEWHERE.values() if name is not None} <= known
    assert {name.replace(" ", "_") for name in COCO if name not in ELSEWHERE} <= known


def test_rows_that_equal_confirm_the_order(shared_data):
    """51 of COCO's rows equal a row of LVIS, every one of them the row of the same name."""
    lvis = load(demo.paths().vectors)
    matched = same_rows(load(module.path_of("COCO")).vectors, lvis)
    assert len(matched) == 51
    assert {COCO[row] for row in matched} == {name.replace("_", " ") for name in matched.values()}
    # No near miss: what equals is a rounding apart, what does not is another text.
    vectors, known = (v.vectors.astype(float) for v in (load(module.path_of("COCO")), lvis))
    nearest = np.array([np.linalg.norm(known - row, axis=1).min() for row in vectors])
    assert (nearest < 0.03).sum() == 51
    assert (nearest > 1.0).sum() == 29


def test_another_order_is_refused(shared_data, tmp_path, monkeypatch, refused):
    own = module.path_of
    vectors = np.load(own("COCO"))
    np.save(tmp_path / "other.npy", vectors[np.r_[1, 0, 2:80]])
    monkeypatch.setattr(module, "path_of", lambda n: tmp_path / "other.npy" if n == "COCO" else own(n))
    refused(vocabularies, "row 0 is 'bicycle', not 'person'", "order")


def test_tasks_ask_for_different_classes(shared_data):
    found, qrels = tasks(), read_qrels(demo.paths().qrels)
    asked = [set(task.queries.ids) for task in found.values()]
    assert len(set().union(*asked)) == sum(map(len, asked))
    for task in found.values():
        for query, grades in task.qrels.items():
            assert grades == {d: 1 for d in task.docs.ids if d in qrels[query]}
    assert len(found["COCO"].queries) == 79  # LVIS has no hot dog
