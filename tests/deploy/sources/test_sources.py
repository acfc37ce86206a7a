"""Vectors read out of engines, for real: all of them, from where a reading stopped, with their lengths."""

from __future__ import annotations

import json
import shutil
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy as np
import pytest

from radii.deploy.sources import SOURCES, read_address
from radii.errors import InputError
from tests.deploy.sources.filled import FILLED, postgres, qdrant, usearch

RNG = np.random.default_rng(7)
N, DIM = 2300, 4  # three pages
VECTORS = (RNG.normal(size=(N, DIM)) * np.exp(RNG.normal(size=(N, 1)))).astype(np.float32)
IDS = [f"文書 {row} ü'\"%" for row in range(N - 2)] + [str(2**63 - 1), str(-(2**63))]


@pytest.fixture
def fill(tmp_path):
    """Fill an engine by name; its address."""
    held = []

    def make(name, metric="ip", ids=IDS, vectors=VECTORS):
        place = tmp_path / "engine"
        place.mkdir(exist_ok=True)
        if name == "postgresql" and not held:
            server = postgres(place)
            held.append((server, server.__enter__()))
        return FILLED[name](held[0][1] if held else place, list(ids), np.ascontiguousarray(vectors), metric)

    yield make
    for server, _ in held:
        server.__exit__(None, None, None)


@pytest.fixture
def read(tmp_path):
    def call(address, **more):
        return read_address(address, cache=tmp_path / "cache", **more)

    return call


def same(found, ids=IDS, vectors=VECTORS):
    assert sorted(found.ids) == sorted(ids)
    order = [found.rows[name] for name in ids]
    np.testing.assert_allclose(found.vectors[order], vectors, rtol=1e-6)


def test_every_source_is_filled_here():
    assert set(FILLED) == set(SOURCES)


def interrupt(read, address):
    """Stop a reading after its first page, as a power cut would."""

    class PowerCut(BaseException):
        pass

    def cut(done, total):
        raise PowerCut

    with pytest.raises(PowerCut):
        read(address, progress=cut)


@pytest.mark.parametrize("name", FILLED)
def test_everything_is_read_and_a_broken_reading_goes_on(name, fill, read, tmp_path, monkeypatch):
    monkeypatch.setattr("radii.deploy.sources.milvus._ROWS", 1000)  # else all would fit one page
    address = fill(name)
    interrupt(read, address)
    [folder] = (tmp_path / "cache").iterdir()
    begun = json.loads((folder / "state.json").read_text())
    assert 0 < begun["rows"] < N
    assert not (folder / "vectors.npy").exists()

    told = []
    found = read(address, progress=lambda done, total: told.append((done, total)))
    assert told[0][0] > begun["rows"]  # nothing twice
    assert told[-1] == (N, N)
    same(found.embeddings)
    assert isinstance(found.embeddings.vectors, np.memmap)
    assert found.notes == []

    # Once read, it lies there, and says so.
    again = read(address, progress=lambda done, total: pytest.fail("read again"))
    same(again.embeddings)
    [note] = again.notes
    assert str(folder) in note
    shutil.rmtree(folder)
    assert read(address).notes == []


@pytest.mark.parametrize("name", FILLED)
def test_other_contents_are_read_again(name, fill, read):
    read(fill(name))
    more = np.concatenate([2 * VECTORS, VECTORS[:1]])
    found = read(fill(name, ids=[*IDS, "one more"], vectors=more))
    same(found.embeddings, [*IDS, "one more"], more)
    assert found.notes == []


# Lengths: what each engine did with them when it was told that the metric is cosine.
LOST, KEPT = "the engine threw the norms away", "does not rank by the norms that it keeps"
COSINE = {
    "hnswlib": "the norms were thrown away, by the engine if its metric is cosine",
    "usearch": KEPT,
    "lancedb": KEPT,
    "chroma": KEPT,
    "milvus": KEPT,
    "sqlite-vec": KEPT,
    "qdrant": KEPT,
    "qdrant-edge": LOST,
    "postgresql": KEPT,
}


@pytest.mark.parametrize("name", COSINE)
def test_lengths_that_an_engine_threw_away_are_missed(name, fill, read):
    found = read(fill(name, "cosine", IDS[:300], VECTORS[:300]))
    [note] = found.notes
    assert COSINE[name] in note
    assert note.isprintable()
    norms = np.linalg.norm(found.embeddings.vectors, axis=1)
    if COSINE[name] == KEPT:
        rows = [found.embeddings.rows[i] for i in IDS[:300]]
        np.testing.assert_allclose(norms[rows], np.linalg.norm(VECTORS[:300], axis=1), rtol=1e-5)
    else:
        np.testing.assert_allclose(norms, 1.0, atol=1e-5)
        assert "Fix: embed again" in note


@pytest.mark.parametrize("name", ["faiss", "qdrant-edge", "chroma"])
def test_lengths_that_were_lost_before_are_not_the_engines_fault(name, fill, read):
    unit = VECTORS[:50] / np.linalg.norm(VECTORS[:50], axis=1, keepdims=True)
    [note] = read(fill(name, "ip", IDS[:50], unit)).notes
    assert "though the metric is ip" in note
    assert "lost before" in note


def test_codes_without_lengths_are_refused(tmp_path, read, refused):
    address = usearch(tmp_path, IDS[:50], VECTORS[:50], "ip", dtype="i8")
    refused(lambda: read(address), "i8", "lengths are lost")


def test_half_precision_is_read_as_it_rounds(tmp_path, read):
    found = read(usearch(tmp_path, IDS[:50], VECTORS[:50], "ip", dtype="f16")).embeddings
    rows = [found.rows[i] for i in IDS[:50]]
    np.testing.assert_allclose(found.vectors[rows], VECTORS[:50], rtol=1e-3, atol=1e-3)


# A Qdrant server ------------------------------------------------------------------------------------------


class Server(BaseHTTPRequestHandler):
    """The four answers that a reading needs, as a server gives them: Cosine normalised on upload."""

    unit = VECTORS / np.linalg.norm(VECTORS, axis=1, keepdims=True)
    asked: list[dict] = []  # noqa: RUF012

    def answer(self, result, **more):
        data = json.dumps(more or {"result": result, "status": "ok", "time": 0.0}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def do_GET(self):
        if self.path == "/":
            from importlib.metadata import version

            import qdrant_client.qdrant_remote  # noqa: F401

            return self.answer(None, title="qdrant", version=version("qdrant-client"), commit="0")
        if self.path == "/collections":
            return self.answer({"collections": [{"name": "words"}, {"name": "other"}]})
        params = {"vectors": {"size": DIM, "distance": "Cosine"}, "shard_number": 1}
        config = {
            "params": params,
            "hnsw_config": {"m": 16, "ef_construct": 100, "full_scan_threshold": 10000},
            "optimizer_config": {
                "deleted_threshold": 0.2,
                "vacuum_min_vector_number": 1000,
                "default_segment_number": 0,
                "flush_interval_sec": 5,
            },
            "wal_config": {"wal_capacity_mb": 32, "wal_segments_ahead": 0},
        }
        told = {"status": "green", "optimizer_status": "ok", "segments_count": 1, "config": config}
        return self.answer({**told, "payload_schema": {}, "points_count": N})

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.path.endswith("/count"):
            return self.answer({"count": N})
        assert self.path.endswith("/points/scroll")
        self.asked.append(body)
        at = body.get("offset") or 0
        rows = range(at, min(at + body["limit"], N))
        points = [{"id": row, "vector": self.unit[row].tolist(), "payload": {}} for row in rows]
        following = at + body["limit"] if at + body["limit"] < N else None
        return self.answer({"points": points, "next_page_offset": following})

    def log_message(self, *_):
        pass


@pytest.fixture
def server():
    pytest.importorskip("qdrant_client")
    Server.asked.clear()
    http = ThreadingHTTPServer(("127.0.0.1", 0), Server)
    thread = threading.Thread(target=http.serve_forever)
    thread.start()
    yield f"qdrant:http://127.0.0.1:{http.server_port}"
    http.shutdown()
    thread.join()
    http.server_close()


def test_a_server_that_normalised_is_told_from_the_local_mode(server, read, refused):
    refused(lambda: read(server), "2 collections", "'words'")
    found = read(f"{server}?collection=words")
    assert len(found.embeddings) == N
    assert found.embeddings.ids[:2] == ["0", "1"]
    [note] = found.notes
    assert LOST in note
    assert [body["limit"] for body in Server.asked] == [1000] * 3


def test_no_server_is_one_line(read, refused):
    pytest.importorskip("qdrant_client")
    refused(lambda: read("qdrant:http://127.0.0.1:9?collection=words"), "no answer")
    pytest.importorskip("psycopg")
    error = refused(lambda: read("postgresql://me:secret@127.0.0.1:9/db"), "no connection")
    assert "secret" not in str(error)


# What cannot be read ------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["faiss", "hnswlib", "usearch", "sqlite-vec"])
def test_another_file_is_refused(name, fill, read, refused, tmp_path):
    fill(name, ids=IDS[:5], vectors=VECTORS[:5])  # skips where the engine is not installed
    (tmp_path / "file").write_bytes(b"no index at all, but longer than any header would be" * 4)
    refused(lambda: read(f"{name}:{tmp_path / 'file'}"), "file")


@pytest.mark.parametrize("name", [name for name in FILLED if name != "postgresql"])
def test_what_is_not_there_is_refused_and_not_made(name, fill, read, refused, tmp_path):
    fill(name, ids=IDS[:5], vectors=VECTORS[:5])
    refused(lambda: read(f"{name}:{tmp_path / 'nowhere'}"), "nowhere")
    assert not (tmp_path / "nowhere").exists()


def test_a_name_that_is_not_there_lists_those_that_are(fill, read, refused):
    address = fill("sqlite-vec", ids=IDS[:5], vectors=VECTORS[:5])
    refused(lambda: read(f"{address}?table=words2"), "'words2'", "'words'")
    refused(lambda: read(f"{address}?id=key"), "'key'", "'id'")
    assert list(read(f"{address}?id=rowid").embeddings.ids) == ["1", "2", "3", "4", "5"]


def test_a_source_that_fails_to_open_lets_go(tmp_path, read, refused):
    address = qdrant(tmp_path, IDS[:5], VECTORS[:5], "ip")
    refused(lambda: read(address.replace("?", "?collection=x&")), "'x'")
    assert len(read(address).embeddings) == 5  # the folder's lock is free again


def test_ids_of_another_index_are_refused(fill, read, refused, tmp_path):
    address = fill("faiss", ids=IDS[:5], vectors=VECTORS[:5])
    (tmp_path / "engine" / "ids.txt").write_text("only one\n")
    refused(lambda: read(address), "1 ids for 5 vectors")
    (tmp_path / "engine" / "ids.txt").unlink()
    assert list(read(address).embeddings.ids) == ["0", "3", "6", "9", "12"]


def test_ids_can_be_given(fill, read, tmp_path):
    address = fill("faiss", ids=IDS[:5], vectors=VECTORS[:5])
    (tmp_path / "own.txt").write_text("a\nb\nc\nd\ne\n")
    assert list(read(address, ids=tmp_path / "own.txt").embeddings.ids) == list("abcde")


def test_a_state_of_another_version_is_read_again(fill, read, tmp_path):
    address = fill("faiss", ids=IDS[:5], vectors=VECTORS[:5])
    folder = read(address).folder
    (folder / "state.json").write_text("{}")
    assert read(address).notes == []


def test_parts_shorter_than_the_state_says_are_read_again(fill, read, tmp_path):
    address = fill("faiss")
    interrupt(read, address)
    [folder] = (tmp_path / "cache").iterdir()
    (folder / "vectors.npy.part").write_bytes(b"")
    same(read(address).embeddings)


def test_ids_that_are_double_are_refused(fill, read):
    address = fill("sqlite-vec", ids=["a", "b", "a"], vectors=VECTORS[:3])
    with pytest.raises(InputError, match="duplicate id 'a'"):
        read(address)
