"""Writing served vectors to a folder, streamed, and getting the original ones back from it."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Literal

import numpy as np
import numpy.typing as npt

from radii.data.embeddings import Embeddings
from radii.data.files import StrPath, atomic_write, numbered_lines, readable
from radii.data.formats import read_arrays, read_npy
from radii.data.locks import only_writer
from radii.data.vectors import check_writable_ids, write_ids
from radii.deploy.correction import Correction
from radii.deploy.forms import Form, Served
from radii.deploy.manifest import FILE, Checksum, Manifest, read_manifest
from radii.errors import InputError

VECTORS, IDS, RESTORE = "vectors.npy", "vectors.ids.txt", "restore.npz"


def export(
    docs: Embeddings,
    correction: Correction,
    out: StrPath,
    *,
    form: Form = "ip",
    dtype: Literal["float32", "float16"] = "float32",
    progress: Callable[[int, int], None] | None = None,
) -> Manifest:
    """Write served vectors, their ids, a manifest, and what it takes to undo it, into the folder `out`.

    `vectors.npy` (n_docs, served dim), `vectors.ids.txt`, `restore.npz`, and last of all `manifest.json`: a
    folder without it is not an export. Documents are read and written block by block; another export into the
    same folder is kept out meanwhile.

    Raises InputError when the folder cannot be written or is being written to, half precision cannot hold a
    vector, or an id does not fit on a line.
    """
    check_writable_ids(docs.ids, docs.source)
    folder, served = Path(out), Served(docs, correction, form)
    with only_writer(folder):
        (folder / FILE).unlink(missing_ok=True)
        checksum = _write_vectors(served, folder / VECTORS, dtype, progress)
        write_ids(folder / IDS, docs.ids)
        with atomic_write(folder / RESTORE) as file:
            np.savez(file, **_undo(served))  # type: ignore[arg-type]
        manifest = Manifest.of(served, dtype, checksum)
        with atomic_write(folder / FILE, mode="w") as text:
            text.write(manifest.model_dump_json(indent=1) + "\n")
    return manifest


def _write_vectors(
    served: Served,
    path: Path,
    dtype: Literal["float32", "float16"],
    progress: Callable[[int, int], None] | None,
) -> str:
    """Write the vectors, (n_docs, served dim); their checksum."""
    n, checksum = len(served.docs), Checksum()
    # A block is written while the next one is made.
    with atomic_write(path) as file, ThreadPoolExecutor(1) as beside:
        header = {"descr": np.dtype(dtype).newbyteorder("<").str, "fortran_order": False}
        np.lib.format.write_array_header_2_0(file, {**header, "shape": (n, served.dim)})
        written: Future[int] | None = None
        for rows, block in served.blocks(dtype):
            if dtype == "float16" and (block.view(np.uint16) & 0x7FFF).max() >= 0x7C00:  # infinite
                raise InputError(
                    f"vectors longer than half precision holds, up to {served.largest:.3g}",
                    where=path,
                    fix="export float32, or the unit form",
                )
            data = checksum.add(block)
            if written is not None:
                written.result()
            written = beside.submit(file.write, data)
            if progress is not None:
                progress(rows.stop, n)
        if written is not None:
            written.result()
    return checksum.digest


def exported(folder: StrPath) -> tuple[Embeddings, Manifest]:
    """Served vectors, memory-mapped, with their manifest.

    Raises InputError when anything is missing, or the vectors are not those that the manifest speaks of.
    """
    manifest = read_manifest(folder)
    path = Path(folder) / VECTORS
    ids = [line for _, line in numbered_lines(Path(folder) / IDS)]
    docs = Embeddings(ids, read_npy(readable(path), with_ids=False)[0], str(path))
    vectors, checksum = docs.vectors, Checksum(manifest.checksum)
    # The checksum is of bytes: what they mean, in a header, could differ.
    found = str(vectors.dtype), vectors.shape
    if found != (manifest.dtype, (manifest.n_docs, manifest.served_dim)):
        raise InputError(
            f"{found[0]} {found[1]}, the manifest says {manifest.dtype} "
            f"{(manifest.n_docs, manifest.served_dim)}",
            where=path,
            cause="files of two exports in one folder, or a damaged header",
            fix="export again",
        )
    for at in range(0, len(vectors), 1024):
        checksum.add(vectors[at : at + 1024])
    if checksum.digest != manifest.checksum:
        raise InputError(
            "not the vectors that the manifest speaks of",
            where=path,
            cause="files of two exports in one folder, or a broken copy",
            fix="export again",
        )
    return docs, manifest


def restore(folder: StrPath) -> Embeddings:
    """The original vectors of an export, to within the rounding of what was stored.

    x = r (ℓ d'/m + Σ ⟨y, t⟩ t + c), ℓ the length that the projection left. Raises InputError as `exported`.
    """
    served, manifest = exported(folder)
    factor, norms, along = read_undo(folder, manifest)
    scale = manifest.largest if manifest.form == "unit" else 1.0
    vectors = np.asarray(served.vectors[:, : manifest.dim], dtype=np.float64)
    if manifest.shift is not None:
        vectors += np.array(manifest.shift)[: manifest.dim]
    vectors *= (scale * factor)[:, None]
    projection = manifest.projection
    if projection is not None:
        vectors += along @ projection.directions + projection.centre
    vectors *= norms[:, None]
    return Embeddings(served.ids, vectors.astype(np.float32), manifest.source)


def read_undo(folder: StrPath, manifest: Manifest) -> list[npt.NDArray[np.float64]]:
    """What `restore` needs: ℓ/m (n_docs,), r (n_docs,) and ⟨y, t⟩ (n_docs, n_directions).

    Raises InputError where restore.npz is missing, damaged or of other documents.
    """
    path = readable(Path(folder) / RESTORE)
    undo = read_arrays(path, ["factor", "norms", "along"])
    n, wanted = manifest.n_docs, [(manifest.n_docs,)] * 2 + [(manifest.n_docs, len(manifest.directions))]
    if (
        any(array.dtype != np.float64 for array in undo.values())
        or [a.shape for a in undo.values()] != wanted
    ):
        found = ", ".join(f"{name} {array.dtype} {array.shape}" for name, array in undo.items())
        raise InputError(
            f"{found} for {n} documents",
            where=path,
            cause="files of two exports in one folder",
            fix="export again",
        )
    return list(undo.values())


def _undo(served: Served) -> dict[str, npt.NDArray[np.float64]]:
    """ℓ/m, r and ⟨y, t⟩ of every document."""
    docs, projection = served.docs, served.correction.projection
    left, along = np.ones(len(docs)), np.empty((len(docs), 0))
    if projection is not None:
        parts = []
        for at, block in docs.blocks():
            unit = block / docs.norms[at : at + len(block), None]
            left[at : at + len(unit)] = np.linalg.norm(projection.moved(unit), axis=1)
            parts.append((unit - projection.centre) @ projection.directions.T)
        along = np.concatenate(parts)
    return {"factor": left / served.correction.multiplier, "norms": docs.norms, "along": along}
