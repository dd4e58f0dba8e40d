"""The embedded ChunkIndex: one SQLite file a tenant, exact vector search and BM25 with filters."""

# ruff: noqa: S608 - the parts of a statement are constants of this package, every value is bound

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import apsw

from ragdrop.domain.chunks import (
    CandidateQuery,
    Candidates,
    ChunkRange,
    Hit,
    IndexedChunk,
    IndexedRevision,
    RevisionPage,
    Vector,
)
from ragdrop.domain.deadlines import Deadline
from ragdrop.domain.keys import DocumentKey
from ragdrop.domain.tenants import IndexRef
from ragdrop.errors import DatabaseError, IndexLostError
from ragdrop.stores.index_queries import check_dimension, has_direction, match_expression
from ragdrop.stores.sqlite.files import SqliteFiles
from ragdrop.stores.sqlite.filters import Condition, condition
from ragdrop.stores.sqlite.schema import BM25, HIT_COLUMNS, check_stored_dimension, facts_from_json, hit, insert
from ragdrop.stores.sqlite.vectors import FLOAT32, VectorFormat

CHUNKS_A_TRANSACTION = 256  # some tens of milliseconds, so that other writers do not wait long

# `top` is found first, from few columns; only its rows are read whole.
_SHOWN = f"""SELECT {HIT_COLUMNS}, top.score FROM ({{top}}) AS top
JOIN chunks ON chunks.number = top.number JOIN bodies ON bodies.number = top.number
ORDER BY top.score DESC, chunks.id"""

_SHOWN_WITH_COSINE = f"""SELECT {HIT_COLUMNS},
    CASE WHEN vectors.vector IS NOT NULL THEN {{cosine}} END,
    top.score FROM ({{top}}) AS top
JOIN chunks ON chunks.number = top.number JOIN bodies ON bodies.number = top.number
LEFT JOIN vectors ON vectors.number = top.number
ORDER BY top.score DESC, chunks.id"""

_READ = f"""SELECT {HIT_COLUMNS} FROM chunks JOIN bodies ON bodies.number = chunks.number
WHERE chunks.path = ? AND chunks.vault = ? AND chunks.revision = ? AND chunks.ordinal BETWEEN ? AND ?
ORDER BY chunks.ordinal"""

_REVISIONS = """SELECT found.path, found.vault, found.revision, bodies.facts FROM (
    SELECT path, vault, revision, min(number) AS number FROM chunks WHERE (path, vault, revision) > (?, ?, ?)
    GROUP BY path, vault, revision ORDER BY path, vault, revision LIMIT ?
) AS found JOIN bodies ON bodies.number = found.number ORDER BY found.path, found.vault, found.revision"""

_ALL = f"SELECT {HIT_COLUMNS} FROM chunks JOIN bodies ON bodies.number = chunks.number"

# Of the rows of a group SQLite shows the one that holds the maximum ("bare columns in an aggregate query").
_NEAREST = f"""WITH wanted AS (SELECT value ->> 0 AS vault, value ->> 1 AS path, value ->> 2 AS revision
    FROM json_each(:revisions)),
scored AS (SELECT chunks.number, chunks.vault, chunks.path, chunks.revision, chunks.id,
    max(CASE WHEN :vector IS NULL OR vectors.vector IS NULL THEN -2.0 - chunks.ordinal
        ELSE {{cosine}} END) AS score
    FROM wanted CROSS JOIN chunks USING (path, vault, revision)
    LEFT JOIN vectors ON vectors.number = chunks.number
    GROUP BY chunks.path, chunks.vault, chunks.revision)
SELECT {HIT_COLUMNS}, first_body.facts, scored.score FROM scored
JOIN chunks ON chunks.number = scored.number JOIN bodies ON bodies.number = chunks.number
LEFT JOIN chunks AS first ON (first.path, first.vault, first.revision, first.ordinal)
    = (chunks.path, chunks.vault, chunks.revision, 0)
LEFT JOIN bodies AS first_body ON first_body.number = first.number
ORDER BY max(scored.score, -2.0) DESC, chunks.id"""


class SqliteChunkIndex:
    """A ChunkIndex in `{folder}/{tenant}/{index name}.db`; what is written is visible at once.

    Several processes may use one folder on a local disk.  A reader of a tenant without a file sees an empty index.

    Args:
        folder: Made with the first chunk that is written.
        extension: sqlite-vec's library; None finds it in its package.
        vectors: How the files in *folder* keep their vectors.
    """

    def __init__(self, folder: Path, *, extension: str | None = None, vectors: VectorFormat = FLOAT32) -> None:
        self.files = SqliteFiles(folder, extension=extension, further_schema=vectors.schema)
        self._vectors = vectors

    def upsert(self, index: IndexRef, chunks: Sequence[IndexedChunk], deadline: Deadline) -> None:
        """Write chunks in short transactions; the same id replaces.

        Raises:
            ConfigurationError: A vector is not of the index's dimension; nothing was written.
        """
        for chunk in chunks:
            check_dimension(index.dimension, len(chunk.vector))
        for first in range(0, len(chunks), CHUNKS_A_TRANSACTION):
            with self.files.writing(index, deadline) as connection:
                check_stored_dimension(connection, index, self._vectors)
                for chunk in chunks[first : first + CHUNKS_A_TRANSACTION]:
                    insert(connection, chunk, self._vectors)

    def refresh(self, indexes: Iterable[IndexRef], deadline: Deadline) -> None:
        """Nothing to do: a committed row is visible."""

    def candidates(self, index: IndexRef, queries: Sequence[CandidateQuery], deadline: Deadline) -> list[Candidates]:
        """Vector and lexical hits of every query, all of one moment."""
        for query in queries:
            if query.vector is not None:
                check_dimension(index.dimension, len(query.vector))
        with self.files.reading(index, deadline) as connection:
            if connection is None:
                return [Candidates([], []) for _ in queries]
            check_stored_dimension(connection, index, self._vectors)
            return [self._candidates(connection, index.tenant, query) for query in queries]

    def read(self, index: IndexRef, ranges: Sequence[ChunkRange], deadline: Deadline) -> list[list[Hit]]:
        """The chunks of each range in order of their ordinals, all of one moment."""
        with self.files.reading(index, deadline) as connection:
            if connection is None:
                return [[] for _ in ranges]
            return [_read(connection, index.tenant, wanted) for wanted in ranges]

    def nearest_of(
        self,
        index: IndexRef,
        wanted: Vector | None,
        revisions: Sequence[tuple[DocumentKey, int]],
        deadline: Deadline,
    ) -> list[Hit]:
        """Of each revision the chunk nearest to *wanted*, all of one moment."""
        asked = sorted({(key.vault, key.path, revision) for key, revision in revisions if key.tenant == index.tenant})
        with self.files.reading(index, deadline) as connection:
            if connection is None or not asked:
                return []
            check_stored_dimension(connection, index, self._vectors)
            vector = self._vectors.encode(wanted) if wanted is not None and has_direction(wanted) else None
            nearest = _NEAREST.format(cosine=self._vectors.cosine)
            rows = connection.execute(nearest, {"revisions": json.dumps(asked), "vector": vector})
            return [
                replace(
                    hit(index.tenant, row[:-2], 0.0 if row[-1] <= -2.0 else max(-1.0, min(1.0, row[-1]))),
                    links=facts_from_json(row[-2])[1] if row[-2] else (),
                )
                for row in rows
            ]

    def remove(
        self, index: IndexRef, key: DocumentKey, *, before_revision: int, deadline: Deadline, from_revision: int = 0
    ) -> int:
        """Remove the document's chunks of revisions from *from_revision* to below *before_revision*; how many."""
        if key.tenant != index.tenant or not self.files.exists(index):
            return 0
        with self.files.writing(index, deadline) as connection:
            connection.execute(
                "DELETE FROM chunks WHERE path = ? AND vault = ? AND revision >= ? AND revision < ?",
                (key.path, key.vault, from_revision, before_revision),
            )
            return connection.changes()

    def revisions(self, index: IndexRef, *, cursor: str | None, limit: int, deadline: Deadline) -> RevisionPage:
        """Some of the tenant's revisions, by path, vault and revision: the order of the table's own index."""
        after = json.loads(cursor) if cursor else ["", "", -1]
        with self.files.reading(index, deadline) as connection:
            rows = [] if connection is None else list(connection.execute(_REVISIONS, (*after, limit)))
        found = [
            IndexedRevision(DocumentKey(index.tenant, vault, path), revision, facts_from_json(facts)[0].indexed_at)
            for path, vault, revision, facts in rows
        ]
        return RevisionPage(found, json.dumps(rows[-1][:3]) if len(rows) == limit else None)

    def count(self, index: IndexRef, deadline: Deadline) -> int:
        """Chunks in the tenant's file."""
        with self.files.reading(index, deadline) as connection:
            return 0 if connection is None else _count(connection)

    def verify(self, index: IndexRef, deadline: Deadline) -> None:
        """Return if every page of the tenant's file fits the others and every row can be read; reads the whole file."""
        with self.files.reading(index, deadline) as connection:
            if connection is None:
                return
            if connection.execute("PRAGMA quick_check(1)").get != "ok":
                raise IndexLostError("an index file is damaged")
            for row in connection.execute(_ALL):
                hit(index.tenant, row, 0.0)

    def drop(self, index: IndexRef, deadline: Deadline) -> int:
        """Remove all rows and give the space back; how many chunks.

        The empty file stays: another process may hold it open, and what it wrote to an unlinked file would be lost.  A
        damaged file is set aside.
        """
        if not self.files.exists(index):
            return 0
        try:
            self.verify(index, deadline)
            with self.files.writing(index, deadline) as connection:
                removed = _count(connection)
                connection.execute("DELETE FROM chunks").fetchall()
            self.files.compact(index, deadline)
        except IndexLostError:
            self.files.set_aside(index)
            return 0
        return removed

    def check(self, deadline: Deadline) -> None:
        """Return if the extension loads and the folder is one, or can still be made.

        Raises:
            ConfigurationError: sqlite-vec cannot be loaded.
            DatabaseError: Something else than a folder is there.
        """
        deadline.timeout_s(1.0, stage="index")
        self.files.connect(":memory:").close()
        if self.files.folder.exists() and not self.files.folder.is_dir():
            raise DatabaseError("the index folder is not a folder", service="index", retryable=False)

    def _candidates(self, connection: apsw.Connection, tenant: str, query: CandidateQuery) -> Candidates:
        restricted = condition(query, tenant)
        wanted = None if query.vector is None or not has_direction(query.vector) else self._vectors.encode(query.vector)
        near = [] if wanted is None else self._vector_hits(connection, tenant, wanted, restricted, query.limit)
        expression = None if query.text is None else match_expression(query.text)
        if expression is None:
            return Candidates(near, [])
        return Candidates(near, self._lexical_hits(connection, tenant, expression, restricted, (query.limit, wanted)))

    def _vector_hits(
        self, connection: apsw.Connection, tenant: str, wanted: bytes, restricted: Condition, limit: int
    ) -> list[Hit]:
        numbers = f"SELECT number FROM chunks{restricted.after('WHERE')}" if restricted.sql else ""
        values: dict[str, Any] = {**restricted.values, "vector": wanted, "limit": limit}
        rows = connection.execute(_SHOWN.format(top=self._vectors.nearest(numbers)), values)
        return [hit(tenant, row[:-1], max(-1.0, min(1.0, row[-1]))) for row in rows]

    def _lexical_hits(
        self,
        connection: apsw.Connection,
        tenant: str,
        expression: str,
        restricted: Condition,
        asked: tuple[int, bytes | None],
    ) -> list[Hit]:
        # CROSS JOIN and the plus sign keep the order: words first, then filters.  The other way round FTS5 is asked
        # once a chunk, which took 100 s where this takes 0.1 s.
        top = (
            f"SELECT chunks.number, -{BM25} AS score FROM lexical CROSS JOIN chunks ON chunks.number = +lexical.rowid"
            f" WHERE lexical MATCH :expression{restricted.after('AND')} ORDER BY score DESC, chunks.id LIMIT :limit"
        )
        limit, wanted = asked
        values: dict[str, Any] = {**restricted.values, "expression": expression, "limit": limit}
        if wanted is None:
            return [hit(tenant, row[:-1], row[-1]) for row in connection.execute(_SHOWN.format(top=top), values)]
        shown = _SHOWN_WITH_COSINE.format(top=top, cosine=self._vectors.cosine)
        rows = connection.execute(shown, {**values, "vector": wanted})
        return [hit(tenant, row[:-2], row[-1], _bounded(row[-2])) for row in rows]


def _read(connection: apsw.Connection, tenant: str, wanted: ChunkRange) -> list[Hit]:
    if wanted.key.tenant != tenant:
        return []
    values = (wanted.key.path, wanted.key.vault, wanted.revision, wanted.first, wanted.last)
    return [hit(tenant, row, 0.0) for row in connection.execute(_READ, values)]


def _bounded(cosine: float | None) -> float | None:
    return None if cosine is None else max(-1.0, min(1.0, cosine))


def _count(connection: apsw.Connection) -> int:
    return int(connection.execute("SELECT count(*) FROM chunks").get)
