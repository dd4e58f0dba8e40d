"""The lexical part of segments: written by tantivy, and searched over all segments of a view as one index of it.

Every segment is written as a tantivy index of its own.  A view puts the files of its segments into one folder with
one list of them, so that tantivy ranks by the statistics of all: a word is as rare as it is in the whole tenant.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tantivy
from tantivy import Occur, Query

from bucketindex.analysis import ANALYZER, analyzer

META = "meta.json"
OWN_FILES = (META, ".managed.json", ".tantivy-meta.lock", ".tantivy-writer.lock")
HEAP_BYTES = 64 << 20  # tantivy writes what does not fit as another of its segments
WORDS, STOPS, FACETS, PLACE = "words", "stops", "facets", "place"
MORE = 16  # hits beyond the limit that are asked for, so that equal scores are ordered by chunk id at the limit too
MAX_ASKED = 1 << 20


def schema() -> tantivy.Schema:
    """The fields of a chunk: its words, what filters ask for, and where it is."""
    builder = tantivy.SchemaBuilder()
    builder.add_text_field(WORDS, tokenizer_name=ANALYZER, index_option="freq")
    builder.add_text_field(STOPS, tokenizer_name=ANALYZER, index_option="freq")
    builder.add_text_field(FACETS, tokenizer_name="raw", index_option="basic")
    builder.add_unsigned_field(PLACE, fast=True)
    return builder.build()


def place_of(tag: int, number: int) -> int:
    """A chunk of a view as one number: the tag of its segment, and its own.

    >>> divmod(place_of(3, 7), 1 << 32)
    (3, 7)
    """
    return (tag << 32) | number


class LexicalWriter:
    """Writes the lexical part of one segment into *folder*, chunk by chunk in the order of their numbers.

    Args:
        folder: An empty one.
        tag: Of the segment, below 2 to the 32nd; no other segment of the tenant has it.
    """

    def __init__(self, folder: Path, tag: int) -> None:
        self._folder = folder
        self._tag = tag
        self._index = tantivy.Index(schema(), path=str(folder))
        self._index.register_tokenizer(ANALYZER, analyzer())
        self._writer = self._index.writer(heap_size=HEAP_BYTES, num_threads=1)
        self._number = 0

    def add(self, words: str, stops: str, facets: Iterable[str]) -> None:
        """Add the next chunk."""
        document = tantivy.Document()
        document.add_text(WORDS, words)
        document.add_text(STOPS, stops)
        for facet in facets:
            document.add_text(FACETS, facet)
        document.add_unsigned(PLACE, place_of(self._tag, self._number))
        self._writer.add_document(document)
        self._number += 1

    def finish(self) -> tuple[list[Path], list[Mapping[str, Any]]]:
        """Commit; the files, and how tantivy's list names them."""
        self._writer.commit()
        self._writer.wait_merging_threads()
        files = sorted(each for each in self._folder.iterdir() if each.name not in OWN_FILES)
        listed = json.loads((self._folder / META).read_text("utf-8"))["segments"]
        named = {each["segment_id"].replace("-", "") for each in listed}
        return [each for each in files if each.name.partition(".")[0] in named], listed


def write_list(folder: Path, segments: Sequence[Mapping[str, Any]]) -> None:
    """Write tantivy's list of segments whose files are in *folder*."""
    listed = {
        "index_settings": {"docstore_compression": "lz4", "docstore_blocksize": 16384},
        "segments": list(segments),
        "schema": json.loads(_schema_json()),
        "opstamp": 0,
    }
    (folder / META).write_text(json.dumps(listed), "utf-8")


def _schema_json() -> str:
    def text(name: str, record: str, tokenizer: str) -> dict[str, Any]:
        indexing = {"record": record, "fieldnorms": True, "tokenizer": tokenizer}
        return {"name": name, "type": "text", "options": {"indexing": indexing, "stored": False, "fast": False}}

    number = {"indexed": False, "fieldnorms": False, "fast": True, "stored": False}
    fields = [text(WORDS, "freq", ANALYZER), text(STOPS, "freq", ANALYZER), text(FACETS, "basic", "raw")]
    return json.dumps([*fields, {"name": PLACE, "type": "u64", "options": number}])


@dataclass(frozen=True, slots=True)
class FacetFilter:
    """What chunks must have: one facet of each of `groups`, and none of `without`."""

    groups: tuple[tuple[str, ...], ...] = ()
    without: tuple[str, ...] = ()


class LexicalSearch:
    """Searches the folder of a view."""

    def __init__(self, folder: Path) -> None:
        index = tantivy.Index.open(str(folder))
        index.register_tokenizer(ANALYZER, analyzer())
        self._schema = index.schema
        self._searcher = index.searcher()

    def best(
        self, terms: Sequence[str], facets: FacetFilter, limit: int, *, field: str = WORDS
    ) -> list[tuple[float, int]]:
        """Score and place of the *limit* best chunks and of all that are as good as the last, best first."""
        if not self._searcher.num_docs:
            return []
        query = self._query(terms, facets, field)
        asked = limit + MORE
        while True:
            hits = self._searcher.search(query, asked, count=False).hits
            if len(hits) < asked or hits[limit - 1][0] > hits[-1][0] or asked >= MAX_ASKED:
                break
            asked *= 4
        places = self._searcher.fast_field_values(PLACE, [address for _, address in hits])
        least = hits[limit - 1][0] if len(hits) >= limit else 0.0
        return [
            (float(score), int(place or 0)) for (score, _), place in zip(hits, places, strict=True) if score >= least
        ]

    def _query(self, terms: Sequence[str], facets: FacetFilter, field: str) -> Query:
        asked = [(Occur.Should, Query.term_query(self._schema, field, term, "freq")) for term in terms]
        words = Query.boolean_query(asked)
        if not facets.groups and not facets.without:
            return words
        clauses = [(Occur.Must, words)]
        for group in facets.groups:
            held = Query.term_set_query(self._schema, FACETS, list(group)) if group else Query.empty_query()
            clauses.append((Occur.Must, Query.const_score_query(held, 0.0)))
        if facets.without:
            clauses.append((Occur.MustNot, Query.term_set_query(self._schema, FACETS, list(facets.without))))
        return Query.boolean_query(clauses)
