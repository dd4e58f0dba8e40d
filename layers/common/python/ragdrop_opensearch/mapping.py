"""The mapping of the index, and the conversion between chunks and OpenSearch documents."""

import dataclasses
import hashlib
import json
import re
from typing import Any, TypeAlias

from ragdrop.domain.chunks import Chunk, Hit, IndexedChunk, Vector, chunk_places
from ragdrop.domain.documents import Facts
from ragdrop.domain.keys import DocumentKey
from ragdrop.domain.links import Link
from ragdrop.domain.tenants import IndexRef
from ragdrop.errors import ConfigurationError

MAX_TERM_BYTES = 1_000  # Lucene refuses terms over 32,766 bytes; a longer value is compared by its hash
# What has its usual value is not written: half of a hit's decoding time went into fields that say nothing.
FACT_DEFAULTS = tuple(
    (field.name, {} if field.default_factory is dict else field.default) for field in dataclasses.fields(Facts)
)
KNOWN_FACTS = frozenset(name for name, _ in FACT_DEFAULTS)
Documents: TypeAlias = dict[str, tuple[DocumentKey, int, Facts]]
SHARDS = 6  # divides among 1, 2, 3 and 6 data nodes; a query touches only those of its tenant's routing values
REFRESH_INTERVAL = "30s"  # only a safety net: writers refresh before they activate, so nothing waits for it

# Like Lucene's own English analyzer, and accents do not matter, as in the bucket index: "Warmepumpe" finds
# "Wärmepumpe", its ä written as one character or as two.  The standard tokenizer keeps swift.fuzzy and retry_after_s
# whole, so that "fuzzy" would not find the first; the bucket index has their parts.
ANALYSIS: dict[str, Any] = {
    "char_filter": {
        "joints": {"type": "pattern_replace", "pattern": r"(?<=[\p{L}\p{N}])[._:](?=[\p{L}\p{N}])", "replacement": " "}
    },
    "filter": {
        "possessive": {"type": "stemmer", "language": "possessive_english"},
        "marks": {"type": "pattern_replace", "pattern": "[\\u0300-\\u036f]+", "replacement": ""},
        "stop_words": {"type": "stop", "stopwords": "_english_"},
    },
    "analyzer": {
        "english_words": {
            "type": "custom",
            "char_filter": ["joints"],
            "tokenizer": "standard",
            "filter": ["possessive", "lowercase", "stop_words", "marks", "asciifolding", "porter_stem"],
        },
        "plain_words": {
            "type": "custom",
            "char_filter": ["joints"],
            "tokenizer": "standard",
            "filter": ["lowercase", "marks", "asciifolding"],
        },
    },
}
_SURROGATE = re.compile("[\ud800-\udfff]")


def index_body(dimension: int, *, alias: str, shards: int = SHARDS) -> dict[str, Any]:
    """Settings and mapping of an index whose vectors have *dimension* components.

    m and ef_construction are the usual trade of HNSW (Malkov and Yashunin, 2018) at this size; the vector is left out
    of the stored source, as nothing reads it back and it would be three quarters of the stored bytes.

    >>> index_body(384, alias="w")["mappings"]["dynamic"]
    'strict'
    """
    keyword: dict[str, Any] = {"type": "keyword"}
    unsearched = {"type": "integer", "index": False, "doc_values": False}
    english: dict[str, Any] = {"type": "text", "analyzer": "english_words"}
    plain = {"type": "text", "analyzer": "plain_words"}
    words = english | {"fields": {"plain": plain}}
    vector = {
        "type": "knn_vector",
        "dimension": dimension,
        "method": {
            "name": "hnsw",
            "engine": "lucene",
            "space_type": "cosinesimil",
            "parameters": {"m": 16, "ef_construction": 100},
        },
    }
    properties = {
        **dict.fromkeys(("tenant", "vault", "folders", "document", "document_revision", "chunk_id"), keyword),
        **dict.fromkeys(("doc_type", "content_type", "promotion_level", "category", "session_id"), keyword),
        **dict.fromkeys(("date", "attributes"), keyword),
        "path": {"type": "keyword", "index": False, "doc_values": False},
        "revision": {"type": "long"},
        "ordinal": {"type": "integer"},
        **dict.fromkeys(("start", "end", "page"), unsearched),
        **dict.fromkeys(("text", "title", "headings"), words),
        "tags": keyword | {"fields": {"words": english, "plain": plain}},
        "facts": {"type": "object", "enabled": False},
        "vector": vector,
    }
    return {
        "settings": {
            "index": {
                "knn": True,
                "number_of_shards": shards,
                "auto_expand_replicas": "0-1",
                "refresh_interval": REFRESH_INTERVAL,
                "analysis": ANALYSIS,
            }
        },
        "aliases": {alias: {}},
        "mappings": {
            "dynamic": "strict",
            "_routing": {"required": True},
            "_source": {"excludes": ["vector"]},
            "properties": properties,
        },
    }


def term(value: str) -> str:
    """*value* as a term of a keyword field: itself, or its hash where it is too long.

    >>> term("pump"), term("x" * 2000)[:14]
    ('pump', 'sha256:5c0e0ea')
    """
    raw = utf8(value)
    return value if len(raw) <= MAX_TERM_BYTES else f"sha256:{hashlib.sha256(raw).hexdigest()}"


def utf8(text: str) -> bytes:
    r"""*text* as bytes; lone surrogates, which UTF-8 has none of, replaced one for one, so that offsets stay right.

    >>> utf8("a\ud800b")
    b'a\xef\xbf\xbdb'
    """
    try:
        return text.encode()
    except UnicodeEncodeError:
        return _SURROGATE.sub("\ufffd", text).encode()


def attribute_term(name: str, value: str) -> str:
    """One term for a name and its value; as JSON, so that no pair can be mistaken for another.

    >>> attribute_term("game", "chess")
    '["game","chess"]'
    """
    return term(json.dumps([name, value], ensure_ascii=False, separators=(",", ":")))


def document_term(key: DocumentKey) -> str:
    """The document within its tenant, in 32 hex digits (128 bits)."""
    return key.digest[:32]


def revision_term(key: DocumentKey, revision: int) -> str:
    """One revision of one document within its tenant.

    >>> revision_term(DocumentKey("acme", "team", "a.md"), 7)[-3:]
    '9-7'
    """
    return f"{document_term(key)}-{revision}"


def folders_of(path: str) -> list[str]:
    """All prefixes of *path* on segment boundaries, the path itself too.

    >>> folders_of("a/b/c.md")
    ['a', 'a/b', 'a/b/c.md']
    """
    parts = path.split("/")
    return [term("/".join(parts[:count])) for count in range(1, len(parts) + 1)]


def source_of(indexed: IndexedChunk) -> str:
    """The JSON document of a chunk, on one line.  A vector of zeros has no direction and is left out."""
    key, chunk, facts = indexed.key, indexed.chunk, indexed.facts
    fields: dict[str, Any] = {
        "tenant": key.tenant,
        "vault": key.vault,
        "path": key.path,
        "folders": folders_of(key.path),
        "document": document_term(key),
        "document_revision": revision_term(key, indexed.revision),
        "chunk_id": indexed.id,
        "revision": indexed.revision,
        "ordinal": chunk.ordinal,
        "start": chunk.start,
        "end": chunk.end,
        # what stands elsewhere and is searched with it comes first; start and end say where the white space begins
        "text": chunk.in_context + chunk.after,
        "title": facts.names,
        "headings": chunk.heading_path,
        "tags": [term(tag) for tag in facts.tags],
        "attributes": [attribute_term(name, value) for name, value in facts.attributes.items()],
        "facts": {name: value for name, default in FACT_DEFAULTS if (value := getattr(facts, name)) != default},
    }
    if indexed.links:  # beside the facts, which no search looks into, so that an index needs no field for them
        fields["facts"]["links"] = [[link.target, link.text] for link in indexed.links]
    if chunk.context:
        fields["facts"]["context"] = chunk.context
    if chunk.places:
        fields["facts"]["places"] = chunk.places
    for name in ("doc_type", "content_type", "promotion_level", "category", "session_id", "date"):
        value = getattr(facts, name)
        if value is not None:
            fields[name] = term(value)
    if chunk.page is not None:
        fields["page"] = chunk.page
    encoded = json.dumps(fields, ensure_ascii=False, separators=(",", ":"))
    return encoded if not any(indexed.vector) else f'{encoded[:-1]},"vector":{vector_json(indexed.vector)}}}'


def vector_json(vector: Vector) -> str:
    """A vector as a JSON array; 9 significant digits bring each float32 back exactly.

    >>> from array import array
    >>> vector_json(array("f", [0.6, -0.25]))
    '[0.600000024,-0.25]'
    """
    # one format string for all components takes half the time of one each; much of a query's time goes here
    return "[" + ("%.9g," * len(vector) % tuple(vector))[:-1] + "]"


def hit_of(source: dict[str, Any], score: float, known: Documents, cosine: float | None = None) -> Hit:
    """The hit of a stored document; *known* gathers what the chunks of one revision share, so that it is made once."""
    name, facts = source["document_revision"], source["facts"]
    shared = known.get(name)
    if shared is None:
        key = DocumentKey(source["tenant"], source["vault"], source["path"])
        shared = known[name] = key, source["revision"], _facts_of(facts)
    context = facts.get("context", "")
    text = source["text"][len(context) + 1 :] if context else source["text"]
    size = source["end"] - source["start"]
    chunk = Chunk(  # by position, here and below: a query makes sixty of them, and names cost a fifth more
        source["ordinal"],
        source["start"],
        source["end"],
        text[:size],
        tuple(source["headings"]),
        source.get("page"),
        context,
        text[size:],
        "",
        chunk_places(facts["places"]) if "places" in facts else (),
    )
    links = tuple(Link(*link) for link in facts.get("links", ())) if source["ordinal"] == 0 else ()
    return Hit(shared[0], shared[1], chunk, shared[2], score, links, source["chunk_id"], cosine)


def _facts_of(stored: dict[str, Any]) -> Facts:
    """Stored facts; those that this version does not know are passed over."""
    if not stored.keys() <= KNOWN_FACTS:
        stored = {name: value for name, value in stored.items() if name in KNOWN_FACTS}
    for name in ("tags", "access"):
        if name in stored:
            stored[name] = tuple(stored[name])
    return Facts(**stored)


def dimension_error(index: IndexRef, given: int, stored: object) -> ConfigurationError:
    """The error for a vector of *given* components in an index of *stored*."""
    return ConfigurationError(
        f"a vector has {given} components and index {index.name} holds vectors of {stored}: "
        "EMBEDDING_MODEL and EMBEDDING_DIMENSION do not fit the index"
    )
