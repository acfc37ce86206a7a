"""One writer at a time, and nobody waits for a process that is gone."""

from __future__ import annotations

import subprocess
import sys

import pytest

from radii.data.locks import only_writer

pytest.importorskip("fcntl")

HOLD = """
import sys
from radii.data.locks import only_writer
with only_writer(sys.argv[1]):
    print("held", flush=True)
    sys.stdin.readline()
"""


@pytest.fixture
def held(tmp_path):
    """A folder that another process holds, and that process."""
    words = [sys.executable, "-c", HOLD, str(tmp_path / "out")]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout.readline() == "held\n"
        yield tmp_path / "out", other
        other.kill()


def enter(folder, **how):
    with only_writer(folder, **how):
        return list(folder.iterdir())


def test_a_second_writer_is_refused_and_nothing_is_left(held, refused):
    folder, other = held
    refused(lambda: enter(folder), folder, "another run of radii is writing here", "started twice")
    other.communicate("\n")
    assert enter(folder) == []


def test_a_killed_writer_holds_nothing(held):
    folder, other = held
    other.kill()
    other.wait()
    assert enter(folder) == []


def test_a_moment_is_waited_for(held):
    folder, other = held
    other.stdin.write("\n")
    other.stdin.close()
    assert enter(folder, wait=True) == []


def test_the_lock_goes_with_an_exception(tmp_path):
    with pytest.raises(ZeroDivisionError), only_writer(tmp_path / "out"):
        raise ZeroDivisionError
    assert enter(tmp_path / "out") == []


def test_a_folder_that_cannot_be_made_is_refused(tmp_path, refused):
    (tmp_path / "file").touch()
    refused(lambda: enter(tmp_path / "file" / "out"), "out", "cannot be written", "you can write to")
