"""What a work folder keeps: used when it matches to the byte, computed again when it does not."""

from __future__ import annotations

import io
import os
import signal
import subprocess
import sys
import time
import zipfile
from pathlib import Path

import numpy as np
import pytest

import radii
from radii.data.embeddings import Embeddings
from radii.data.vectors import load
from radii.ranking import bank, partition
from radii.ranking.path import exponent_path
from radii.ranking.search import Search

N, SHARD = 600, 150


@pytest.fixture
def vectors():
    rng = np.random.default_rng(2)
    return tuple((rng.normal(size=(n, 8)) + 0.5).astype("f4") for n in (N, 5))


@pytest.fixture
def computed(monkeypatch):
    """First row of every part that was computed, not read."""
    rows, real = [], partition.find_part

    def counted(docs, *rest):
        rows.append(docs.ids[0])
        return real(docs, *rest)

    monkeypatch.setattr(partition, "find_part", counted)
    return rows


def answers(docs, queries, work, k=3, gamma_range=(-1.0, 1.0), **more):
    search = Search("numba", work=work, shard=SHARD)
    path = exponent_path(docs, queries, k=k, gamma_range=gamma_range, search=search, **more)
    return [(path.top(q, g).tolist(), path.scores(q, g).tolist()) for q in range(5) for g in (-0.5, 0.0, 0.5)]


def plain(docs, queries, **more):
    path = exponent_path(docs, queries, k=3, search=Search("numba"), **more)
    return [(path.top(q, g).tolist(), path.scores(q, g).tolist()) for q in range(5) for g in (-0.5, 0.0, 0.5)]


def test_a_second_run_computes_nothing(vectors, tmp_path, computed):
    first = answers(*vectors, tmp_path / "w")
    assert computed == [0, 150, 300, 450]
    assert answers(*vectors, tmp_path / "w") == first == plain(*vectors)
    assert len(computed) == 4
    assert len(list((tmp_path / "w").iterdir())) == 4  # nothing half-written, nothing else


def test_only_the_part_that_changed_is_computed(vectors, tmp_path, computed):
    docs, queries = vectors
    answers(docs, queries, tmp_path)
    computed.clear()
    other = docs.copy()
    other[200] = -other[200]  # the same norm
    assert answers(other, queries, tmp_path) == plain(other, queries)
    assert computed == [150]


@pytest.mark.parametrize(
    "change",
    [
        {"k": 4},
        {"gamma_range": (-1.0, 0.75)},
        {"exclude_self": True},
        {"multiplier": np.linspace(1.0, 2.0, N)},
    ],
    ids=lambda change: next(iter(change)),
)
def test_another_question_shares_nothing(vectors, tmp_path, computed, change):
    answers(*vectors, tmp_path)
    computed.clear()
    answers(*vectors, tmp_path, **change)
    # A query is only excluded where it lies.
    assert computed == ([0] if "exclude_self" in change else [0, 150, 300, 450])


def test_other_queries_and_other_numbers_share_nothing(vectors, tmp_path, computed):
    docs, queries = vectors
    answers(docs, queries, tmp_path)
    for other in ((docs, queries + 1), (docs.astype("f8"), queries)):
        computed.clear()
        answers(*other, tmp_path)
        assert len(computed) == 4


def test_a_file_is_known_by_its_stamp(vectors, tmp_path, computed):
    docs, queries = vectors
    np.save(tmp_path / "docs.npy", docs)
    first = answers(load(tmp_path / "docs.npy"), queries, tmp_path / "w")
    assert first == answers(load(tmp_path / "docs.npy"), queries, tmp_path / "w") == plain(docs, queries)
    assert len(computed) == 4
    docs[200] = -docs[200]
    np.save(tmp_path / "docs.npy", docs)
    os.utime(tmp_path / "docs.npy", (1, 1))
    assert answers(load(tmp_path / "docs.npy"), queries, tmp_path / "w") == plain(docs, queries)
    assert len(computed) == 8


def cut_short(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-40])


def emptied(path: Path) -> None:
    path.write_bytes(b"")


def one_bit(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(bytes(data))


def of_another_part(path: Path) -> None:
    other = next(p for p in sorted(path.parent.iterdir()) if p != path)
    path.write_bytes(other.read_bytes())


def another_number(path: Path) -> None:
    """A whole, valid file whose content is wrong: only its own checksum knows."""
    with np.load(path) as stored:
        arrays = dict(stored)
    arrays["array_2"][0] += 0.25
    with open(path, "wb") as file:
        np.savez(file, **arrays)


def pickled(path: Path) -> None:
    with open(path, "wb") as file:
        np.savez(file, checksum=np.array([{}], dtype=object))


def promising(path: Path) -> None:
    """A header of petabytes, which numpy would try to have room for."""
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    head = io.BytesIO()
    np.lib.format.write_array_header_1_0(head, {"descr": "<i8", "fortran_order": False, "shape": (2**47,)})
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in (members | {"array_0.npy": head.getvalue()}).items():
            archive.writestr(name, data)


DAMAGE = [cut_short, emptied, one_bit, of_another_part, another_number, pickled, promising]


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_damaged_part_is_computed_again(vectors, tmp_path, computed, damage):
    first = answers(*vectors, tmp_path)
    computed.clear()
    path = sorted(tmp_path.iterdir())[2]
    damage(path)
    assert answers(*vectors, tmp_path) == first
    assert computed == [300]
    assert answers(*vectors, tmp_path) == first
    assert computed == [300]


def test_a_folder_that_cannot_be(vectors, tmp_path, refused):
    (tmp_path / "file").write_text("")
    refused(lambda: answers(*vectors, tmp_path / "file"), "file")


def test_an_audit_goes_on_and_says_the_same(tmp_path, computed, monkeypatch):
    monkeypatch.setattr(bank, "_SMALL", 0)
    rng = np.random.default_rng(4)
    docs, queries = ((rng.normal(size=(n, 8)) + 0.5).astype("f4") for n in (N, 40))
    qrels = {str(q): {str(d): 1 for d in rng.integers(0, N, 5)} for q in range(40)}
    whole = radii.audit(docs, queries, qrels, search=Search("numba"))
    kept = [radii.audit(docs, queries, qrels, search=Search("numba", None, tmp_path, 400)) for _ in range(2)]
    for report in kept:
        assert report.model_copy(update={"provenance": whole.provenance}) == whole
    banks, parts = len(list(tmp_path.glob("bank-*"))), sorted(tmp_path.glob("part-*"))
    assert banks == 2  # of 512 rows, whole tiles, and the rest
    assert computed == [0, 400]  # for all folds together
    assert len(parts) == 2 * 5  # a file for each of them
    parts[-1].unlink()
    again = radii.audit(docs, queries, qrels, search=Search("numba", None, tmp_path, 400))
    assert again.model_copy(update={"provenance": whole.provenance}) == whole
    assert len(computed) == 3


# Real processes ------------------------------------------------------------------------------------------


@pytest.fixture
def files(tmp_path):
    rng = np.random.default_rng(0)
    n, m = 40_000, 20
    np.save(tmp_path / "docs.npy", (rng.normal(size=(n, 12)) + 0.5).astype("f4"))
    np.save(tmp_path / "queries.npy", (rng.normal(size=(m, 12)) + 0.5).astype("f4"))
    lines = [f"{q}\t0\t{d}\t1" for q in range(m) for d in rng.integers(0, n, 400)]
    (tmp_path / "qrels.txt").write_text("\n".join(lines) + "\n")
    return tmp_path


PARTS = 40_000 // 64  # so many that one is unfinished when the signal comes, on a busy machine, too


def command(*more):
    given = ["docs.npy", "--queries", "queries.npy", "--qrels", "qrels.txt", "--backend", "numba"]
    return [sys.executable, "-m", "radii", "path", *given, *more]


def interrupted(files, how):
    """Start a run, send it a signal when its second part is there; (exit code, standard error, parts)."""
    before = len(list(files.glob("w/part-*.npz")))
    run = subprocess.Popen(
        command("--work", "w", "--shard-rows", "64", "--out", "half.json"),
        cwd=files,
        stderr=subprocess.PIPE,
        text=True,
    )
    deadline = time.monotonic() + 240  # compiles first, perhaps beside much else
    while (
        len(list(files.glob("w/part-*.npz"))) < before + 2
        and run.poll() is None
        and time.monotonic() < deadline
    ):
        time.sleep(0.002)
    run.send_signal(how)
    said = run.communicate(timeout=60)[1]
    parts = {p.name: (p.stat().st_ino, p.stat().st_mtime_ns) for p in files.glob("w/part-*.npz")}
    assert before + 2 <= len(parts) < PARTS
    assert not (files / "half.json").exists()
    return run.returncode, said, parts


@pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")
def test_killed_and_interrupted_runs_go_on_and_give_the_same_bytes(files):
    code, _, killed = interrupted(files, signal.SIGKILL)
    assert code == -signal.SIGKILL
    code, said, parts = interrupted(files, signal.SIGINT)
    assert code == 130
    assert said.strip() == (
        "radii: interrupted; finished parts are kept in w: run the same command again to go on"
    )
    assert killed.items() <= parts.items()
    subprocess.run(
        command("--work", "w", "--shard-rows", "64", "--out", "on.json"), cwd=files, check=True, timeout=100
    )
    subprocess.run(command("--out", "whole.json"), cwd=files, check=True, timeout=100)
    now = {p.name: (p.stat().st_ino, p.stat().st_mtime_ns) for p in files.glob("w/part-*.npz")}
    assert len(now) == PARTS
    assert parts.items() <= now.items()  # not written again
    assert (files / "on.json").read_bytes() == (files / "whole.json").read_bytes()
    assert (files / "whole.json").read_text().count(",") > 20


def test_parts_of_two_runs_at_once(files):
    runs = [
        subprocess.Popen(command("--work", "w", "--shard-rows", "2500", "--out", f"{name}.json"), cwd=files)
        for name in ("one", "two")
    ]
    assert [run.wait(100) for run in runs] == [0, 0]
    assert len(list((files / "w").iterdir())) == 16
    assert (files / "one.json").read_bytes() == (files / "two.json").read_bytes()


def test_an_array_is_known_by_its_bytes_wherever_it_lies(vectors, tmp_path, computed):
    docs, queries = vectors
    first = answers(Embeddings.of(docs), queries, tmp_path)
    assert answers(Embeddings.of(docs.copy()), queries, tmp_path) == first
    assert len(computed) == 4
