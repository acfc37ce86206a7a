"""Vectors behind URLs: fsspec's memory, a web server on this machine, and a file system that breaks off."""

import functools
import io
import sys
import threading
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

import fsspec
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from fsspec.implementations.memory import MemoryFileSystem

import radii.data.remote as remote
from radii.cli.talking import vectors_at
from radii.data.drivers import shown_url
from radii.data.vectors import load
from radii.deploy.address import is_address
from radii.errors import MissingExtraError

ROWS = np.arange(24, dtype=np.float32).reshape(8, 3) + 1


def npy(array):
    file = io.BytesIO()
    np.save(file, array)
    return file.getvalue()


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("RADII_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache" / "inputs"


@pytest.fixture
def put():
    """Write files into fsspec's memory, which is empty before and after."""
    system = fsspec.filesystem("memory")

    def write(**files):
        for name, content in files.items():
            system.pipe(f"/data/{name.replace('__', '/').replace('_', '.')}", content)

    system.store.clear()
    yield write
    system.store.clear()
    system.pseudo_dirs[:] = [""]


@pytest.fixture
def shards(put):
    put(part10_npy=npy(ROWS[4:]), part9_npy=npy(ROWS[:4]))
    put(part9_ids_txt=b"a\nb\nc\nd\n", part10_txt=b"e\nf\ng\nh\n")
    return "memory://data"


@pytest.mark.parametrize("url", ["memory://data", "memory://data/", "memory://data/*.npy", "memory://d*/p*"])
def test_folders_and_patterns(shards, url, cache):
    both = load(url)
    assert np.array_equal(both.vectors, ROWS)
    assert both.ids == list("abcdefgh")
    assert both.source == url
    assert all(isinstance(part, np.memmap) for part in both.vectors.parts)
    assert {path.suffix for path in cache.iterdir()} == {".npy", ".txt"}


def test_a_file_with_the_ids_beside_it(shards):
    one = load("memory://data/part9.npy")
    assert isinstance(one.vectors, np.memmap)
    assert (one.ids, one.source) == (list("abcd"), "memory://data/part9.npy")
    assert np.array_equal(one.vectors, ROWS[:4])


def test_without_ids_rows_are_counted_over_all_files(put):
    put(a_npy=npy(ROWS[:5]), b_npy=npy(ROWS[5:]))
    assert load("memory://data").ids == [str(row) for row in range(8)]


def test_ids_in_one_file_for_all(shards, tmp_path):
    (tmp_path / "ids.txt").write_text("".join(f"x{row}\n" for row in range(8)))
    assert load("memory://data", ids=tmp_path / "ids.txt").ids == [f"x{row}" for row in range(8)]


def test_a_large_parquet_file_is_fetched_and_unpacked(put, monkeypatch):
    monkeypatch.setattr("radii.data.reading.IN_MEMORY", 0)
    file = io.BytesIO()
    pq.write_table(pa.table({"v": ROWS.tolist(), "id": list("abcdefgh")}), file)
    put(docs_parquet=file.getvalue())
    back = load("memory://data/docs.parquet")
    assert isinstance(back.vectors, np.memmap)
    assert back.ids == list("abcdefgh")
    assert np.array_equal(back.vectors, ROWS)


def test_file_urls_are_paths(tmp_path, cache):
    np.save(tmp_path / "a.npy", ROWS)
    for url in (f"file://{tmp_path}/a.npy", f"file://{tmp_path}/*.npy", f"local://{tmp_path}"):
        assert np.array_equal(load(url).vectors, ROWS)
    assert not cache.exists(), "what lies here was copied"


class Broken(MemoryFileSystem):
    """Memory that counts what is opened, and breaks off where it is told to."""

    protocol = "broken"
    store: dict = {}  # noqa: RUF012 - its own, as that of its parent is
    pseudo_dirs = [""]  # noqa: RUF012
    opened: list = []  # noqa: RUF012
    fails: dict = {}  # noqa: RUF012 - name → (bytes that arrive, error or None)
    cachable = False

    @classmethod
    def _strip_protocol(cls, path):
        return "/" + path.removeprefix("broken://").strip("/") if path.strip("/") else ""

    def _open(self, path, mode="rb", **kwargs):
        file = super()._open(path, mode, **kwargs)
        if mode != "rb":
            return file
        self.opened.append(path.rpartition("/")[2])
        return Faulty(file, *self.fails.get(self.opened[-1], (None, None)))


class Faulty(io.BytesIO):
    def __init__(self, file, most, error):
        super().__init__(file.getvalue()[:most])
        self.error = error

    def read(self, size=-1):
        chunk = super().read(min(size, 64))
        if not chunk and self.error is not None:
            raise self.error
        return chunk


@pytest.fixture
def broken():
    fsspec.register_implementation("broken", Broken, clobber=True)
    system = fsspec.filesystem("broken")
    for kept in (Broken.store, Broken.opened, Broken.fails):
        kept.clear()
    for name, rows in (("a", ROWS[:3]), ("b", ROWS[3:6]), ("c", ROWS[6:])):
        system.pipe(f"/data/{name}.npy", npy(rows))
    return Broken


FAULTS = {
    "a time-out": ((100, TimeoutError("timed\nout")), ["cannot be read (TimeoutError: timed out)", "again"]),
    "an OSError": ((100, OSError(5, "Input/output error")), ["cannot be read (OSError: [Errno 5]", "again"]),
    "an error of no kind": ((0, RuntimeError()), ["cannot be read (RuntimeError)"]),
    "fewer bytes": ((100, None), ["100 of 164 bytes arrived", "a connection that broke off"]),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_failure_in_the_middle_leaves_whole_files_and_the_next_run_goes_on(broken, cache, refused, fault):
    how, fragments = FAULTS[fault]
    broken.fails["b.npy"] = how
    error = refused(lambda: load("broken://data"), *fragments)
    assert error.where == "broken:///data/b.npy"
    assert len(list(cache.iterdir())) == 1, "half a file"
    assert broken.opened == ["a.npy", "b.npy"]
    broken.fails.clear()
    assert np.array_equal(load("broken://data").vectors, ROWS)
    assert broken.opened == ["a.npy", "b.npy", "b.npy", "c.npy"]
    load("broken://data")
    assert len(broken.opened) == 4, "fetched again"


def test_a_changed_file_is_fetched_again_and_the_older_copy_goes(broken, cache):
    before = load("broken://data")
    fsspec.filesystem("broken").pipe("/data/b.npy", npy(-ROWS[3:6]))
    after = load("broken://data")
    assert broken.opened == ["a.npy", "b.npy", "c.npy", "b.npy"]
    assert np.array_equal(after.vectors[3:6], -ROWS[3:6])
    assert np.array_equal(before.vectors, ROWS), "what is mapped stays whole"
    assert len(list(cache.iterdir())) == 3


def test_no_right_to_see_ids_that_may_not_be_there(broken, monkeypatch, refused):
    info = Broken.info

    def only_vectors(self, path, **more):
        if path.endswith(".txt") or path == "/data/c.npy":
            raise PermissionError(path)
        return info(self, path, **more)

    monkeypatch.setattr(Broken, "info", only_vectors)
    assert load("broken://data/a.npy").ids == ["0", "1", "2"]
    refused(lambda: load("broken://data/c.npy"), "broken://data/c.npy: cannot be read (PermissionError")


BAD = {
    "no such file": ("memory://data/none.npy", ["no such file or folder", "credentials"]),
    "no such folder": ("memory://none", ["no such file or folder"]),
    "no match": ("memory://data/*.parquet", ["no file matches"]),
    "another suffix": ("memory://data/notes.md", ["memory://data/notes.md: unknown suffix '.md'"]),
    "a broken file": ("memory://bad/a.npy", ["memory://bad/a.npy: not a .npy file"]),
    "several kinds": ("memory://mixed", ["memory://mixed: files of 2 kinds"]),
    "an empty folder": ("memory://texts", ["memory://texts: holds no file of vectors"]),
    "a nested folder": ("memory://nested", ["memory:///nested/old/b.npy lies deeper", "/nested/**/*.npy"]),
    "nested folders alone": ("memory://only", ["memory:///only/old/b.npy lies deeper"]),
    "other dims": ("memory://dims", ["memory:///dims/b.npy: 2 dimensions, 3 in memory:///dims/a.npy"]),
    "no ids for one": ("memory://half", ["memory:///half/b.npy: has no ids"]),
    "an id twice": (
        "memory://twice",
        ["/twice/b.npy, row 0: id 'x'", "memory:///twice/a.npy, row 0"],
    ),
    "an engine": ("postgresql://host/db", ["no file system is called postgresql://", "read_address"]),
    "no protocol": ("s4://bucket/a.npy", ["no file system is called s4://", "s3://"]),
}


@pytest.mark.parametrize("fault", BAD)
def test_refused(put, refused, fault):
    system = fsspec.filesystem("memory")
    good, one = npy(ROWS), npy(ROWS[:1])
    for name, content in {
        "data/a.npy": good, "data/notes.md": b"x", "bad/a.npy": good[:50], "mixed/a.npy": good,
        "mixed/b.npz": b"", "texts/a.txt": b"x", "nested/a.npy": good, "nested/old/b.npy": good,
        "only/old/b.npy": good, "dims/a.npy": good, "dims/b.npy": npy(ROWS[:, :2]), "half/a.npy": one,
        "half/a.ids.txt": b"x\n", "half/b.npy": one, "twice/a.npy": one, "twice/a.txt": b"x\n",
        "twice/b.npy": one, "twice/b.txt": b"x\n",
    }.items():  # fmt: skip
        system.pipe(f"/{name}", content)
    url, fragments = BAD[fault]
    refused(lambda: load(url), *fragments)


@pytest.mark.parametrize(("protocol", "package"), [("s3", "s3fs"), ("gs", "gcsfs"), ("az", "adlfs")])
def test_a_driver_that_is_missing_is_named(refused, monkeypatch, protocol, package):
    monkeypatch.setitem(sys.modules, package, None)
    monkeypatch.delitem(sys.modules["fsspec.registry"]._registry, protocol, raising=False)
    url = f"{protocol}://bucket/docs.npy"
    refused(lambda: load(url), f"{url}: no driver for {protocol}://", f"Fix: pip install {package}.")


def test_without_fsspec_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "fsspec.core", None)
    with pytest.raises(MissingExtraError, match=r"radii\[remote\]"):
        load("memory://data")


def test_secrets_are_not_shown(monkeypatch, refused):
    signed = "https://me:hush@host/a.npy?X-Amz-Signature=hush"
    assert shown_url(signed) == "https://me:***@host/a.npy?..."
    assert shown_url("s3://bucket/part-[0-9].npy") == "s3://bucket/part-[0-9].npy"

    def fail(*_, **__):
        raise OSError(f"403, url={signed!r}")

    monkeypatch.setattr("fsspec.core.url_to_fs", fail)
    error = refused(lambda: load(signed), "https://me:***@host/a.npy?...: cannot be read", "403")
    assert "hush" not in str(error)


@pytest.mark.parametrize(
    ("text", "engine"),
    [
        ("qdrant:http://localhost:6333", True),
        ("milvus:http://localhost:19530?collection=a", True),
        ("postgresql://me@host/db?table=docs", True),
        ("faiss:docs.index", True),
        ("s3://bucket/docs.npy", False),
        ("https://host/qdrant:a.npy", False),
        ("memory://faiss:docs.npy", False),
        ("s3://bucket/parts/*.parquet", False),
    ],
)
def test_engines_and_urls_are_not_mixed_up(text, engine):
    assert is_address(text) is engine


def test_the_command_line_takes_urls(shards):
    assert vectors_at("memory://data/*.npy", None).ids == list("abcdefgh")


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


@pytest.fixture
def web(tmp_path):
    """A folder, and the address under which a server on this machine shows it."""
    pytest.importorskip("aiohttp")
    folder = tmp_path / "web"
    (folder / "parts").mkdir(parents=True)
    server = ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=folder))
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield folder, f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()
    thread.join()


def test_a_web_server(web, refused, cache):
    folder, address = web
    np.save(folder / "parts" / "p9.npy", ROWS[:4])
    np.save(folder / "parts" / "p10.npy", ROWS[4:])
    (folder / "parts" / "p9.ids.txt").write_text("a\nb\nc\nd\n")
    one = load(f"{address}/parts/p9.npy?signature=1")
    assert np.array_equal(one.vectors, ROWS[:4])
    (folder / "parts" / "p10.ids.txt").write_text("e\nf\ng\nh\n")
    for url in (f"{address}/parts/", f"{address}/parts/*.npy"):
        both = load(url)
        assert np.array_equal(both.vectors, ROWS)
        assert both.ids == list("abcdefgh")
    refused(lambda: load(f"{address}/none.npy"), f"{address}/none.npy: no such file")
    refused(lambda: load(f"{address}/none/"), f"{address}/none/: no such file")
    copies = {path: path.stat().st_mtime_ns for path in cache.iterdir()}
    load(f"{address}/parts/")
    assert copies == {path: path.stat().st_mtime_ns for path in cache.iterdir()}, "fetched again"


def test_a_file_of_many_chunks_from_a_server_that_knows_no_ranges(web):
    folder, address = web
    rows = np.random.default_rng(0).normal(size=(50_000, 30))  # 12 MB
    np.save(folder / "a.npy", rows)
    assert np.array_equal(load(f"{address}/a.npy").vectors, rows)


def test_a_server_that_breaks_off(web, refused, cache, monkeypatch):
    folder, address = web
    np.save(folder / "a.npy", np.ones((50_000, 30)))
    monkeypatch.setattr(Quiet, "copyfile", lambda self, source, out: out.write(source.read(5_000_000)))
    error = refused(lambda: load(f"{address}/a.npy"), "cannot be read (ClientPayloadError", "run again")
    assert error.where == f"{address}/a.npy"
    assert not cache.exists()


def test_a_suffix_that_is_unknown_is_refused_before_the_file_is_fetched(broken, refused):
    fsspec.filesystem("broken").pipe("/data/a.bin", b"x")
    refused(lambda: load("broken://data/a.bin"), "broken://data/a.bin: unknown suffix '.bin'")
    assert not broken.opened


def test_a_server_that_is_gone_is_one_line(refused):
    pytest.importorskip("aiohttp")
    refused(lambda: load("http://127.0.0.1:9/docs.npy"), "http://127.0.0.1:9/docs.npy: ")


def test_what_is_fetched_comes_in_chunks(put, monkeypatch):
    monkeypatch.setattr(remote, "_CHUNK", 7)
    put(a_npy=npy(ROWS))
    assert np.array_equal(load("memory://data/a.npy").vectors, ROWS)
