"""A chunk as a segment stores it: bytes that are written once and copied when segments are merged."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from functools import lru_cache
from typing import Any

from pydantic_core import from_json

from bucketindex.vectors import norm, quantised, signs
from ragdrop.domain.chunks import Chunk, Hit, IndexedChunk, chunk_places, has_direction
from ragdrop.domain.documents import Facts
from ragdrop.domain.keys import DocumentKey, chunk_id
from ragdrop.domain.links import Link
from ragdrop.errors import IndexLostError

_FACTS = tuple(each.name for each in fields(Facts))
RevisionKey = tuple[str, str, int]
"""Vault, path and revision: what segments are ordered by."""


@dataclass(frozen=True, slots=True)
class StoredDocument:
    """One revision with its metadata, which its chunks in a segment share."""

    key: DocumentKey
    revision: int
    facts: Facts

    @property
    def order(self) -> RevisionKey:
        return self.key.vault, self.key.path, self.revision


@dataclass(frozen=True, slots=True)
class StoredChunk:
    """One chunk to be stored: `numbers` is the quantised vector, `signs` its signs, `norm` its length or 0."""

    order: RevisionKey
    ordinal: int
    document: bytes
    body: bytes
    numbers: bytes
    signs: bytes
    norm: float


def row_of(chunk: IndexedChunk) -> StoredChunk:
    """The row of a chunk; a vector without direction is stored as zeros."""
    numbers = quantised(chunk.vector) if has_direction(chunk.vector) else bytes(len(chunk.vector))
    return StoredChunk(
        (chunk.key.vault, chunk.key.path, chunk.revision),
        chunk.chunk.ordinal,
        *stored_texts(chunk),
        numbers,
        signs(numbers),
        norm(numbers),
    )


def stored_texts(chunk: IndexedChunk | Hit) -> tuple[bytes, bytes]:
    """The document of a chunk and its body, as `stored_document` and `chunk_of` read them."""
    key, piece = chunk.key, chunk.chunk
    facts = {name: getattr(chunk.facts, name) for name in _FACTS}
    document = {"vault": key.vault, "path": key.path, "revision": chunk.revision, "facts": facts}
    links = [[link.target, link.text] for link in chunk.links]
    body: list[Any] = [piece.ordinal, piece.start, piece.end, piece.page, piece.heading_path, piece.context]
    body += [piece.after, links, piece.text]
    if piece.places:  # a row without any is readable by older versions
        body.append(piece.places)
    return _encoded(document), _encoded(body)


def rows_in_order(chunks: Sequence[IndexedChunk]) -> Iterator[StoredChunk]:
    """The rows of *chunks* in the order of a segment, the last of each id alone."""
    last = {(each.key.vault, each.key.path, each.revision, each.chunk.ordinal): each for each in chunks}
    return (row_of(last[place]) for place in sorted(last))


def _encoded(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode(errors="surrogatepass")


@lru_cache(maxsize=2_048)
def stored_document(tenant: str, encoded: bytes) -> StoredDocument:
    """Decode a document; raises IndexLostError if it is damaged."""
    try:
        found = json.loads(encoded)
        facts = found["facts"]
        key = DocumentKey(tenant, found["vault"], found["path"])
        lists = {name: tuple(facts[name]) for name in ("tags", "access") if facts.get(name) is not None}
        return StoredDocument(key, int(found["revision"]), Facts(**{**facts, **lists}))
    except (ValueError, KeyError, TypeError) as exc:
        raise IndexLostError("a segment of the index is damaged: a document cannot be read") from exc


def chunk_of(body: bytes) -> tuple[Chunk, tuple[Link, ...]]:
    """Decode a chunk and its links; raises IndexLostError if it is damaged."""
    try:
        fields_: list[Any] = from_json(body) if b"\xed" not in body else json.loads(body)  # a lone surrogate begins so
        ordinal, start, end, page, headings, context, after, links, text, *later = fields_
        places = chunk_places(later[0]) if later else ()
        chunk = Chunk(ordinal, start, end, text, tuple(headings), page, context, after, places=places)
        return chunk, tuple(Link(*link) for link in links)
    except (ValueError, TypeError) as exc:
        raise IndexLostError("a segment of the index is damaged: a chunk cannot be read") from exc


def unscored_hit(document: StoredDocument, body: bytes) -> Hit:
    """The chunk *body* of *document*, as read and not searched."""
    chunk, links = chunk_of(body)
    id_ = chunk_id(document.key, document.revision, chunk.ordinal)
    return Hit(document.key, document.revision, chunk, document.facts, 0.0, () if chunk.ordinal else links, id_)


def as_found(hit: Hit, score: float, cosine: float | None) -> Hit:
    """*hit* as a search found it; `dataclasses.replace` takes three times as long, and each search has sixty."""
    if score == hit.score and cosine is None:
        return hit
    return Hit(hit.key, hit.revision, hit.chunk, hit.facts, score, hit.links, hit.stored_id, cosine)


def searched_texts(document: StoredDocument, chunk: Chunk) -> tuple[str, ...]:
    """The texts of a chunk that a lexical search finds."""
    facts = document.facts
    return chunk.in_context, facts.names, *chunk.heading_path, *facts.tags
