"""Room for long columns: where it lies changes nothing but the memory that it takes."""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

import numpy as np
import pytest

import radii
from radii.data import scratch as module
from radii.data.scratch import LARGE, scratch
from radii.ranking.search import Search, Sizes
from radii.synthetic import Truth, plant

LINUX = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="counts pages as Linux does")


def anonymous():
    """Bytes of memory that belong to no file."""
    status = Path("/proc/self/status").read_text()
    return next(int(line.split()[1]) << 10 for line in status.splitlines() if line.startswith("RssAnon"))


@LINUX
def test_what_is_large_takes_no_memory_of_its_own():
    before = anonymous()
    large = scratch((LARGE // 8 + 1, 2), np.float32)
    small = scratch(LARGE // 8 - 1)
    large[:], small[:] = 1.0, 2.0
    assert large.shape == (LARGE // 8 + 1, 2)
    assert large.dtype == np.float32
    assert large.flags.c_contiguous
    assert anonymous() - before < LARGE + (4 << 20)  # `small` alone
    assert float(large.sum(dtype=np.float64)) == LARGE / 4 + 2


@LINUX
def test_at_the_limit_it_is_memory_and_beyond_it_a_file():
    assert not isinstance(base_of(scratch(LARGE, np.uint8)), memoryview)
    assert isinstance(base_of(scratch(LARGE + 1, np.uint8)), memoryview)


def base_of(array):
    while isinstance(array.base, np.ndarray):
        array = array.base
    return array.base


@LINUX
def test_nothing_is_left_in_the_folder_even_while_it_is_used(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    column = scratch(LARGE + 1, np.uint8)
    assert os.listdir(tmp_path) == []
    mapped = Path("/proc/self/maps").read_text()
    assert str(tmp_path) in mapped
    del column
    assert str(tmp_path) not in Path("/proc/self/maps").read_text()


def test_without_a_folder_it_is_memory(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "nowhere"))
    column = scratch(LARGE + 1, np.uint8)
    column[:] = 3
    assert not isinstance(base_of(column), memoryview)


def test_an_audit_says_the_same_wherever_its_columns_lie(monkeypatch):
    made = plant(Truth(hubness=0.7, n_queries=60, n_docs=1500), seed=3)
    search = Search(sizes=Sizes(block=256, first=64, threads=2))

    def told():
        report = radii.audit(made.docs, made.queries, made.qrels, signals=made.signals, search=search)
        return report.model_dump(exclude={"provenance"})

    expected = told()
    asked = []
    monkeypatch.setattr(module, "LARGE", 0)
    real = module.mmap.mmap
    monkeypatch.setattr(module.mmap, "mmap", lambda *given: asked.append(given) or real(*given))
    assert told() == expected
    if sys.platform.startswith("linux"):
        assert len(asked) > 100  # of bank, families and arms
