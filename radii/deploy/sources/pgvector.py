"""Reading a pgvector column of a PostgreSQL table."""

from __future__ import annotations

import re
from collections.abc import Iterator

from radii.deploy.sources.base import PAGE, Batch, Cursor, Source, as_matrix, chosen
from radii.errors import InputError

_OPERATORS = {"vector_cosine_ops": "cosine", "vector_ip_ops": "ip", "vector_l2_ops": "l2"}
_COLUMNS = """SELECT attname, format_type(atttypid, atttypmod) FROM pg_attribute
WHERE attrelid = %s::regclass AND attnum > 0 AND NOT attisdropped"""
_TABLES = """SELECT DISTINCT attrelid::regclass::text FROM pg_attribute a JOIN pg_class c ON c.oid = attrelid
WHERE atttypid IN (SELECT oid FROM pg_type WHERE typname IN ('vector', 'halfvec'))
AND relkind IN ('r', 'm', 'p')"""
_INDEXED = """SELECT opcname FROM pg_index i JOIN pg_opclass o ON o.oid = ANY(i.indclass::oid[])
JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = ANY(i.indkey)
WHERE i.indrelid = %s::regclass AND a.attname = %s"""
_TYPE = re.compile(r"(?:\w+\.)?(?:vector|halfvec)\((\d+)\)")


class PgvectorSource(Source):
    """A column of type vector or halfvec, in the order of an id column that no two rows share.

    The column keeps what it was given; the metric is that of its index, if it has one.
    """

    engine, package, extra = "postgresql", "psycopg", "pgvector"

    def __init__(
        self, url: str, table: str | None = None, vector: str | None = None, id: str | None = None
    ) -> None:
        self.url, self._named = url, (table, vector, id)

    def open(self) -> None:
        """As `Source.open`."""
        psycopg = self.library()
        try:
            self._connection = psycopg.connect(self.url)
        except psycopg.OperationalError as error:
            raise InputError(
                f"no connection ({str(error).strip().splitlines()[0]})",
                where=self.where,
                fix="start the server, or name its address",
            ) from error
        self.closing.callback(self._connection.close)
        run, sql = self._connection.execute, self.library("psycopg.sql")
        table, vector, key = self._named
        tables = [name for (name,) in run(_TABLES)]
        self._table = chosen(table, tables, "table", self.where, "docs")
        columns = dict(run(_COLUMNS, (self._table,)).fetchall())
        dims = {name: found[1] for name, kind in columns.items() if (found := _TYPE.fullmatch(kind))}
        self._vector = chosen(vector, dims, "vector", self.where, "vector")
        others = [name for name in columns if name not in dims]
        self._key = chosen(key, others, "id", self.where, "id")
        self._kind, self.dim = columns[self._key], int(dims[self._vector])
        # The table's name comes from the catalogue, quoted as it has to be.
        names = {"t": sql.SQL(self._table), "i": sql.Identifier(self._key), "v": sql.Identifier(self._vector)}
        self._ask = sql.SQL("SELECT {i}, {v}::real[] FROM {t} WHERE {v} IS NOT NULL").format(**names)
        self._behind = sql.SQL(" AND {i} > %s::" + self._kind).format(**names)
        self._order = sql.SQL(" ORDER BY {i}").format(**names)
        ask = sql.SQL("SELECT count(*) FROM {t} WHERE {v} IS NOT NULL").format(**names)
        [[self.count]] = run(ask).fetchall()
        kinds = [name for (name,) in run(_INDEXED, (self._table, self._vector))]
        self.metric = next((_OPERATORS[name] for name in kinds if name in _OPERATORS), None)

    @property
    def where(self) -> str:
        """The server, without a password."""
        return re.sub(r":[^:@/]*@", ":***@", self.url)

    def batches(self, after: Cursor = None) -> Iterator[Batch]:
        """As `Source.batches`; the cursor is the last id, as text."""
        ask = self._ask if after is None else self._ask + self._behind
        with self._connection.cursor(name="radii", binary=True) as cursor:
            cursor.itersize = PAGE
            cursor.execute(ask + self._order, () if after is None else (str(after),))
            while page := cursor.fetchmany(PAGE):
                ids = [str(name) for name, _ in page]
                yield Batch(ids, as_matrix([row for _, row in page], ids, self.where), ids[-1])
