import gzip
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from radii.data import files
from radii.data.files import atomic_write, numbered_lines, open_text, readable
from radii.errors import InputError


def read(path):
    with open_text(path) as file:
        return file.read()


def write(path, content=b"new"):
    with atomic_write(path) as file:
        file.write(content)


# --- reading


@pytest.mark.parametrize("name", ["a.txt", "a.txt.gz", "a.TXT.GZ"])
@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"], ids=["plain", "BOM"])
def test_open_text_reads_utf8_with_or_without_mark_and_gzip(tmp_path, name, mark):
    content = mark + "é\n一\n".encode()
    path = tmp_path / name
    path.write_bytes(gzip.compress(content) if name.lower().endswith(".gz") else content)
    assert read(path) == "é\n一\n"


def test_numbered_lines_end_at_newline_only(tmp_path):
    path = tmp_path / "a.txt"
    path.write_bytes("one\r\ntwo\u2028still two\x0b\x85\n\nfour".encode())
    assert list(numbered_lines(path)) == [(1, "one"), (2, "two\u2028still two\x0b\x85"), (3, ""), (4, "four")]


# name of the file × its bytes (None: no file, "dir": a folder) × fragments of the message
UNREADABLE = {
    "missing": ("a.txt", None, ["no such file", "check the path"]),
    "folder": ("a.txt", "dir", ["is a folder"]),
    "Latin-1": ("a.txt", b"one\ntwo\nth\xe9\nfour\n", [", line 3", "not UTF-8", "save the file as UTF-8"]),
    "Latin-1 far down": ("a.txt", b"line\n" * 9000 + b"\xe9", [", line 9001", "not UTF-8"]),
    "UTF-16": ("a.txt", "id".encode("utf-16"), [", line 1", "not UTF-8"]),
    "cut short": ("a.txt.gz", gzip.compress(b"text" * 99)[:-9], ["not a whole gzip file"]),
    "no gzip": ("a.txt.gz", b"plain", ["not a whole gzip file", "rename it"]),
    "gzip, garbled": ("a.txt.gz", gzip.compress(b"text" * 99)[:12] + b"\xff" * 40, ["not a whole gzip file"]),
    "gzip of Latin-1": ("a.txt.gz", gzip.compress(b"a\n\xe9"), [", line 2", "not UTF-8"]),
}


@pytest.mark.parametrize(("name", "content", "fragments"), UNREADABLE.values(), ids=UNREADABLE)
def test_unreadable_files_are_refused(tmp_path, refused, name, content, fragments):
    path = tmp_path / name
    if content == "dir":
        path.mkdir()
    elif content is not None:
        path.write_bytes(content)
    refused(lambda: read(path), path, *fragments)


def test_no_permission_is_refused(monkeypatch, refused):
    # Not by chmod, which does not bind root.
    def refuse(*args, **kwargs):
        raise PermissionError(13, "Permission denied", "secret.txt")

    monkeypatch.setattr(files, "open", refuse, raising=False)
    refused(lambda: readable("secret.txt"), "secret.txt", "cannot be read", "Permission denied")


def test_a_file_as_folder_is_refused(tmp_path, refused):
    (tmp_path / "file").touch()
    refused(lambda: readable(tmp_path / "file" / "a.npy"), "cannot be read", "Not a directory")


# --- writing


@given(content=st.binary(max_size=100))
def test_atomic_write_writes_bytes(tmp_path_factory, content):
    path = tmp_path_factory.mktemp("out") / "new" / "folder" / "a.bin"
    write(path, content)
    assert path.read_bytes() == content
    assert list(path.parent.iterdir()) == [path]


def test_atomic_write_writes_utf8_text_as_it_is(tmp_path):
    with atomic_write(tmp_path / "a.txt", mode="w") as file:
        file.write("é\n")
    assert (tmp_path / "a.txt").read_bytes() == "é\n".encode()


def test_the_old_file_stays_until_the_new_one_is_whole(tmp_path):
    path = tmp_path / "a.bin"
    write(path, b"old")
    with atomic_write(path) as file:
        file.write(b"new")
        file.flush()
        assert path.read_bytes() == b"old"
    assert path.read_bytes() == b"new"


@pytest.mark.parametrize("fault", [ValueError, KeyboardInterrupt, GeneratorExit, SystemExit])
def test_any_exception_leaves_the_old_file_and_no_other(tmp_path, fault):
    path = tmp_path / "a.bin"
    write(path, b"old")
    with pytest.raises(fault), atomic_write(path) as file:  # noqa: PT012
        file.write(b"half")
        raise fault
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_link_is_written_through(tmp_path):
    (tmp_path / "real").mkdir()
    link = tmp_path / "link.bin"
    link.symlink_to(tmp_path / "real" / "a.bin")
    write(link)
    assert link.is_symlink()
    assert (tmp_path / "real" / "a.bin").read_bytes() == b"new"


def test_new_files_have_the_usual_permissions(tmp_path):
    write(tmp_path / "a.bin")
    (tmp_path / "b.bin").touch()
    assert (tmp_path / "a.bin").stat().st_mode == (tmp_path / "b.bin").stat().st_mode


def test_targets_that_are_no_files_are_refused(tmp_path, refused):
    refused(lambda: write(tmp_path), tmp_path, "is a folder", "name a file")
    refused(lambda: write("/dev/null"), "/dev/null", "not a regular file")
    (tmp_path / "file").touch()
    refused(lambda: write(tmp_path / "file" / "a.bin"), "cannot be written", "a folder you can write to")


@pytest.mark.parametrize("step", ["mkdir", "open", "replace"])
def test_a_read_only_folder_is_refused(tmp_path, monkeypatch, refused, step):
    path = tmp_path / "out" / "a.bin"

    def refuse(first, *args, **kwargs):
        raise PermissionError(13, "Permission denied", str(first))

    if step == "mkdir":
        monkeypatch.setattr(Path, "mkdir", refuse)
    elif step == "open":
        monkeypatch.setattr(files, "open", refuse, raising=False)
    else:
        monkeypatch.setattr(files.os, "replace", refuse)
    refused(lambda: write(path), path, "cannot be written", "Permission denied", "you can write to")
    assert not path.exists()


def test_a_full_disk_is_refused_and_another_files_fault_passes(tmp_path, refused):
    path = tmp_path / "a.bin"

    def fill():
        with atomic_write(path):
            raise OSError(28, "No space left on device")

    refused(fill, path, "cannot be written", "No space left on device")
    with pytest.raises(FileNotFoundError), atomic_write(path):
        open(tmp_path / "other.bin")  # noqa: SIM115
    with pytest.raises(InputError, match="no such file"), atomic_write(path):
        readable(tmp_path / "other.bin")
    assert list(tmp_path.iterdir()) == []
