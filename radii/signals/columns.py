"""Columns: signals that the user brings along, one number per document."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from radii.data.embeddings import Floats
from radii.data.files import StrPath, readable
from radii.data.formats import ID_NAMES
from radii.errors import InputError, shown

_DELIMITERS = {".csv": ",", ".tsv": "\t"}


def read_columns(path: StrPath, ids: Sequence[str]) -> dict[str, Floats]:
    """Every column of a table but the ids, in the order of `ids`: name → (n_docs,) float64, all finite.

    The table is a `.parquet`, `.csv` or `.tsv` file, the last two with a header and perhaps `.gz` at the
    end. One column holds the ids and is named id, _id, doc_id, docid, docno or ids; all others hold
    numbers. Rows whose id is not among `ids` are passed over.

    Raises
    ------
    InputError
        With the file: it cannot be read, has no or several id columns, no other column, two columns of one
        name, ids that are null or not unique, documents without a row. With column and id: not a number,
        null, NaN or infinity.
    """
    file = readable(path)
    table, typed = _read(file)
    names = table.column_names
    if len(set(names)) != len(names):
        twice = dict.fromkeys(name for name in names if names.count(name) > 1)
        raise InputError(f"two columns named {shown(twice)}", where=path, fix="name every column differently")
    id_name = _id_name(names, file)
    known = _ids(table.column(id_name), id_name, file)
    if len(names) == 1:
        raise InputError(
            f"no column beside {id_name!r}", where=path, cause="a list of ids only", fix="add a signal"
        )
    rows = {key: row for row, key in enumerate(known)}
    if len(rows) != len(known):
        twice = dict.fromkeys(key for row, key in enumerate(known) if rows[key] != row)
        raise InputError(
            f"duplicate ids in column {id_name!r}: {shown(twice)}",
            where=path,
            cause="the same document was exported twice",
            fix="keep one row per document",
        )
    missing = [key for key in ids if key not in rows]
    if missing:
        raise InputError(
            f"no row for {len(missing)} of {len(ids)} documents: {shown(missing)}",
            where=path,
            cause="signals of another corpus, or ids written in another form",
            fix="give a row for every document",
        )
    order = np.array([rows[key] for key in ids], dtype=np.int64)
    return {
        name: _numbers(table.column(name).take(order), name, ids, typed, file)
        for name in names
        if name != id_name
    }


def _read(path: Path) -> tuple[Any, bool]:
    """Read a pyarrow table, and whether its columns have the types of the file; else all are strings."""
    import pyarrow as pa
    import pyarrow.parquet as pq
    from pyarrow import csv

    suffix = Path(path.name.lower().removesuffix(".gz")).suffix
    if suffix not in _DELIMITERS and path.suffix.lower() != ".parquet":
        raise InputError(
            f"unknown suffix {path.suffix!r}",
            where=path,
            cause="a table saved in another format",
            fix=f"save it as one of .parquet, {', '.join(_DELIMITERS)}",
        )
    try:
        if suffix not in _DELIMITERS:
            with pq.ParquetFile(path) as file:
                table = file.read()
                table.validate(full=True)  # strings are UTF-8, offsets lie inside
                return table, True
        # Left to itself the reader makes 7 of the id 007, and takes a type from the first rows alone.
        parse = csv.ParseOptions(delimiter=_DELIMITERS[suffix])
        with csv.open_csv(path, parse_options=parse) as reader:
            strings = dict.fromkeys(reader.schema.names, pa.string())
        as_text = csv.ConvertOptions(column_types=strings, strings_can_be_null=False)
        return csv.read_csv(path, parse_options=parse, convert_options=as_text), False
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        told = " ".join(str(error).split()).rstrip(".")
        raise InputError(
            f"not a {suffix} file ({told})",
            where=path,
            cause="an interrupted copy, or another format under this name",
            fix="export the file again",
        ) from error


def _id_name(names: list[str], path: Path) -> str:
    found = [name for name in names if name in ID_NAMES]
    if len(found) != 1:
        raise InputError(
            f"{len(found) or 'no'} id column{'s' if found else ''} among {shown(names, limit=20)}",
            where=path,
            cause="another name for the ids, or no header",
            fix=f"name one column {ID_NAMES[0]!r}",
        )
    return found[0]


def _ids(column: Any, name: str, path: Path) -> list[str]:
    values = column.to_pylist()
    bad = next((row for row, value in enumerate(values) if type(value) not in (str, int)), None)
    if bad is not None:
        raise InputError(
            f"row {bad} of id column {name!r} is {values[bad]!r}",
            where=path,
            cause="a document without an id, or ids saved as another type",
            fix="give every row an id, a string or an integer",
        )
    return [str(value) for value in values]


def _numbers(column: Any, name: str, ids: Sequence[str], typed: bool, path: Path) -> Floats:
    """Make (n_docs,) float64 of a column that is in the order of the ids."""
    import pyarrow as pa
    import pyarrow.types as of

    def refuse(row: int, found: str) -> InputError:
        return InputError(
            f"column {name!r} is {found} for id {ids[row]!r}",
            where=path,
            cause="a missing value, or a column that is no signal",
            fix="fill it in, or drop the column",
        )

    kind = column.type
    if typed and not (of.is_integer(kind) or of.is_floating(kind) or of.is_null(kind)):
        raise refuse(0, f"{column[0].as_py()!r} ({kind})")
    if column.null_count:
        raise refuse(int(np.flatnonzero(column.is_null().to_numpy())[0]), "null")
    if not typed:
        try:
            column = column.cast(pa.float64())
        except pa.ArrowInvalid:
            row, text = next((r, v.as_py()) for r, v in enumerate(column) if not _is_number(v))
            raise refuse(row, repr(text) if text else "empty") from None
    values: Floats = column.to_numpy().astype(np.float64)
    odd = np.flatnonzero(~np.isfinite(values))
    if odd.size:
        raise refuse(int(odd[0]), str(values[odd[0]]))
    return values


def _is_number(scalar: Any) -> bool:
    import pyarrow as pa

    try:
        scalar.cast(pa.float64())
    except pa.ArrowInvalid:
        return False
    return True
