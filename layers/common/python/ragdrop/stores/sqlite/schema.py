"""The tables of one tenant's index file, and how a chunk becomes rows and comes back.

Four tables share the chunk's number.  What is filtered on stays apart from what is shown and from the vectors, so that
a filter reads few pages.  A trigger keeps them together when a chunk goes.  Vectors are plain blobs (`sqlite_vectors`)
compared by sqlite-vec's functions: exact under any filter, ties in the order wanted, one way to write.  Against its
virtual table they take about twice the time without a filter and less under a narrow one
(`benchmarks/embedded_index.py`).
"""

from __future__ import annotations

import json
import re
from functools import lru_cache
from typing import Any

import apsw

from ragdrop.domain.chunks import Chunk, Hit, IndexedChunk
from ragdrop.domain.documents import Facts
from ragdrop.domain.keys import DocumentKey
from ragdrop.domain.languages import segmented
from ragdrop.domain.links import Link
from ragdrop.domain.tenants import IndexRef
from ragdrop.errors import IndexLostError
from ragdrop.stores.index_queries import check_dimension, has_direction
from ragdrop.stores.sqlite.vectors import VectorFormat

# As docs/api.md says, "Candidates":
# text 10, title and headings 5, tags 5.  FTS5 multiplies how often a word stands in a field by this before
# it saturates: at 10 a word that stands there once would count as much as one that stands there ten times, and lengths
# for next to nothing (on Cranfield nDCG@10 0.30 where it is 0.36 now).
BM25 = "bm25(lexical, 1.0, 0.5, 0.5, 0.5)"

SCHEMA = """
PRAGMA page_size = 8192;
PRAGMA journal_mode = WAL;
BEGIN IMMEDIATE;
CREATE TABLE chunks (
    number INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    vault TEXT NOT NULL,
    path TEXT NOT NULL,
    revision INTEGER NOT NULL,
    ordinal INTEGER NOT NULL,
    doc_type TEXT,
    content_type TEXT NOT NULL,
    category TEXT,
    session_id TEXT,
    promotion_level TEXT NOT NULL,
    date TEXT,
    tags TEXT NOT NULL,       -- JSON array of words
    attributes TEXT NOT NULL  -- JSON array of attribute tokens
);
CREATE INDEX chunks_by_path ON chunks (path, vault, revision, ordinal);
CREATE TABLE bodies (
    number INTEGER PRIMARY KEY,
    start INTEGER NOT NULL,
    stop INTEGER NOT NULL,
    page INTEGER,
    heading_path TEXT NOT NULL,  -- JSON array
    facts TEXT NOT NULL,         -- JSON object
    text TEXT NOT NULL
);
-- The id stands here again so that ties are settled without reading another table.
CREATE TABLE vectors (number INTEGER PRIMARY KEY, id TEXT NOT NULL, vector BLOB NOT NULL);
CREATE VIRTUAL TABLE lexical USING fts5 (
    text, title, headings, tags,
    content = '', contentless_delete = 1, tokenize = 'porter unicode61 remove_diacritics 2'
);
CREATE TRIGGER chunk_removed AFTER DELETE ON chunks BEGIN
    DELETE FROM bodies WHERE number = old.number;
    DELETE FROM vectors WHERE number = old.number;
    DELETE FROM lexical WHERE rowid = old.number;
END;
COMMIT;
"""

HIT_COLUMNS = (
    "chunks.id, chunks.vault, chunks.path, chunks.revision, chunks.ordinal, "
    "bodies.start, bodies.stop, bodies.page, bodies.heading_path, bodies.facts, bodies.text"
)

_SURROGATE = re.compile("[\ud800-\udfff]")


def storable(text: str) -> str:
    r"""*text* with lone surrogates replaced one for one, as UTF-8 has none; offsets stay right.

    >>> ascii(storable("a\ud800b"))
    "'a\\ufffdb'"
    """
    return _SURROGATE.sub("\ufffd", text)


def attribute_token(name: str, value: str) -> str:
    """One attribute as one string that no other name and value give.

    >>> attribute_token("game", "go")
    '["game", "go"]'
    """
    return json.dumps([name, value])


def insert(connection: apsw.Connection, chunk: IndexedChunk, vectors: VectorFormat) -> None:
    """Write *chunk* in place of what has its id; a vector without direction is left out: nothing is near it."""
    facts, piece = chunk.facts, chunk.chunk
    connection.execute("DELETE FROM chunks WHERE id = ?", (chunk.id,))
    connection.execute(
        "INSERT INTO chunks (id, vault, path, revision, ordinal, doc_type, content_type, category, session_id,"
        " promotion_level, date, tags, attributes) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            chunk.id,
            chunk.key.vault,
            chunk.key.path,
            chunk.revision,
            piece.ordinal,
            _optional(facts.doc_type),
            facts.content_type,
            _optional(facts.category),
            _optional(facts.session_id),
            facts.promotion_level,
            _optional(facts.date),
            json.dumps([storable(tag) for tag in facts.tags]),
            json.dumps([attribute_token(name, value) for name, value in facts.attributes.items()]),
        ),
    )
    number = connection.last_insert_rowid()
    text = storable(piece.text)
    connection.execute(
        "INSERT INTO bodies VALUES (?, ?, ?, ?, ?, ?, ?)",
        # the body goes on with the white space behind the chunk; where it begins, start and stop say
        (
            number,
            piece.start,
            piece.end,
            piece.page,
            json.dumps(piece.heading_path),
            facts_json(facts, chunk.links, storable(piece.context)),
            text + piece.after,
        ),
    )
    if has_direction(chunk.vector):
        connection.execute("INSERT INTO vectors VALUES (?, ?, ?)", (number, chunk.id, vectors.encode(chunk.vector)))
        if vectors.after_insert:
            connection.execute(vectors.after_insert, {"number": number})
    words = (piece.in_context, facts.title, "\n".join(piece.heading_path), "\n".join(facts.tags))
    connection.execute(
        "INSERT INTO lexical (rowid, text, title, headings, tags) VALUES (?, ?, ?, ?, ?)",
        (number, *(segmented(storable(field)) for field in words)),
    )


def hit(tenant: str, row: tuple[Any, ...], score: float, cosine: float | None = None) -> Hit:
    """The Hit of a row of HIT_COLUMNS.

    Raises:
        IndexLostError: The row is damaged.
    """
    id_, vault, path, revision, ordinal, start, stop, page, headings, stored, text = row
    facts, links, context = facts_from_json(stored)
    try:
        size = stop - start
        chunk = Chunk(ordinal, start, stop, text[:size], _headings(headings), page, context, text[size:])
    except (ValueError, TypeError) as exc:
        raise IndexLostError("a row of an index file is damaged") from exc
    key = DocumentKey(tenant, vault, path)
    return Hit(key, revision, chunk, facts, score, links if ordinal == 0 else (), id_, cosine)


def facts_json(facts: Facts, links: tuple[Link, ...] = (), context: str = "") -> str:
    """Facts as a JSON object of its fields, with the links and the context of a chunk, where there are any."""
    fields: dict[str, Any] = {name: getattr(facts, name) for name in Facts.__slots__}
    if links:
        fields["links"] = [[link.target, link.text] for link in links]
    if context:
        fields["context"] = context
    return json.dumps(fields)


@lru_cache(maxsize=512)  # the chunks of a document mostly tell the same, and decoding it was half the time of a hit
def facts_from_json(text: str) -> tuple[Facts, tuple[Link, ...], str]:
    """Read what `facts_json` wrote: facts, links, context.

    Raises:
        IndexLostError: The text is damaged.

    >>> facts = Facts("Pump", "v1", "2024-05-01T00:00:00Z", tags=("a",), attributes={"game": "go"})
    >>> facts_from_json(facts_json(facts, context="| a |")) == (facts, (), "| a |")
    True
    """
    try:
        fields = json.loads(text)
        links = tuple(Link(*link) for link in fields.pop("links", ()))
        context = fields.pop("context", "")
        return Facts(**{**fields, "tags": tuple(fields["tags"])}), links, context
    except (ValueError, TypeError, KeyError, AttributeError) as exc:
        raise IndexLostError("a row of an index file is damaged") from exc


@lru_cache(maxsize=512)
def _headings(text: str) -> tuple[str, ...]:
    return tuple(json.loads(text))


def check_stored_dimension(connection: apsw.Connection, index: IndexRef, vectors: VectorFormat) -> None:
    """Return if the vectors of this file are of the index's dimension, or there are none.

    Raises:
        ConfigurationError: They are not.
    """
    size_bytes = connection.execute("SELECT length(vector) FROM vectors LIMIT 1").get
    if size_bytes is not None and size_bytes != vectors.size_bytes(index.dimension):
        check_dimension(size_bytes * index.dimension // vectors.size_bytes(index.dimension), index.dimension)


def _optional(text: str | None) -> str | None:
    return None if text is None else storable(text)
