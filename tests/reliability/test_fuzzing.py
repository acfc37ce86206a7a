"""A short piece of the fuzzing that benchmarks/fuzz.py does for minutes, with the same damage."""

from __future__ import annotations

import random
import sys
import warnings
from pathlib import Path

import pytest

from radii.errors import InputError, NumericalError

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))
try:
    import fuzz_damage
    import fuzz_targets
finally:
    sys.path.pop(0)

INPUTS = 25
NAMES = fuzz_targets.NAMES


@pytest.fixture(scope="module")
def targets(tmp_path_factory):
    return fuzz_targets.targets(tmp_path_factory.mktemp("targets"))


def test_every_target_is_named(targets):
    assert tuple(targets) == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_valid_files_are_read(targets, tmp_path, name):
    """Otherwise damage would only ever meet a reader's first check."""
    target = targets[name]
    for other, content in target.beside.items():
        (tmp_path / other).write_bytes(content)
    for content in target.valid:
        (tmp_path / target.file).write_bytes(content)
        target.read(tmp_path / target.file)


@pytest.mark.parametrize("name", NAMES)
def test_damaged_files_are_read_or_refused(targets, tmp_path, name):
    target, rng = targets[name], random.Random(name)
    for _ in range(INPUTS):
        for other, content in target.beside.items():
            (tmp_path / other).write_bytes(content)
        grown = target.grown is not None and rng.random() < 0.4
        content = target.grown(rng) if grown else fuzz_damage.damaged(target.valid, rng)
        (tmp_path / target.file).write_bytes(content)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            told = ""
            try:
                target.read(tmp_path / target.file)
            except (InputError, NumericalError) as error:
                told = str(error)
            assert told.isprintable()
