"""Words and filters of segments: how texts become words, values become facets, and tantivy searches both.

Every segment is written as a tantivy index.  A view puts the files of its segments into one folder with one list of
them, so that tantivy ranks by the statistics of all: a word is as rare as it is in the whole tenant.
"""

from __future__ import annotations

import json
import re
import unicodedata
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate
from pathlib import Path
from typing import Any

import tantivy
from tantivy import Filter, Occur, Query, TextAnalyzer, TextAnalyzerBuilder, Tokenizer

from ragdrop.domain.chunks import CandidateQuery, Filters, Folder
from ragdrop.domain.documents import EVERYONE, Facts
from ragdrop.domain.languages import (
    JOINED_TERM,
    LUCENE_STOP_WORDS,
    MAX_TERMS,
    TERM_PART,
    content_of,
    language_of,
    segmented,
)

ANALYZER = "words"  # as tantivy knows it, in the schema of every segment
MAX_PARTS = 8  # of a joined term such as a path; longer ones are found by their parts alone
_APART = re.compile(r"(?<=\d)(?=[⁰¹²³⁴-⁻₀-₋])|(?<=[^\W\d]{4})(?=[⁰¹²³⁴-⁹])|[™℠®©]")
_RAISED_TAG, _TAG = re.compile(r"(?<=\d)<sup>"), re.compile(r"</?sub>|(?<!\d)<sup>|</sup>")
_MARKS = re.compile("[\u0300-\u036f]+")
_SURROGATE = re.compile("[\ud800-\udfff]")
DATE, ACCESS = "date", "access"
Ranges = list[tuple[int, int]]
"""Documents by number: first of each run and the one behind its last, in order."""
META = "meta.json"
OWN_FILES = (META, ".managed.json", ".tantivy-meta.lock", ".tantivy-writer.lock")
HEAP_BYTES = 64 << 20  # tantivy writes what does not fit as another of its segments
WORDS, STOPS, FACETS, PLACE = "words", "stops", "facets", "place"
MORE = 16  # hits requested beyond the limit, so that equal scores are ordered by chunk id at the limit too
MAX_ASKED = 1 << 20
STEMMED = {
    "ar": "arabic", "de": "german", "el": "greek", "es": "spanish", "fr": "french", "it": "italian", "nl": "dutch",
    "pt": "portuguese", "ru": "russian",
}  # fmt: skip
"""Languages but English whose words are found by their stems too, with tantivy's name."""


@lru_cache(maxsize=1)
def analyzer() -> TextAnalyzer:
    """Split the text of `spaced` at blanks, fold letters with strokes, and stem English words."""
    return (
        TextAnalyzerBuilder(Tokenizer.whitespace())
        .filter(Filter.ascii_fold())
        .filter(Filter.stemmer("english"))
        .build()
    )


@lru_cache(maxsize=len(STEMMED))
def _stemmer(name: str) -> TextAnalyzer:
    return TextAnalyzerBuilder(Tokenizer.whitespace()).filter(Filter.stemmer(name)).build()


def _with_stems(words: list[str], language: str | None) -> list[str]:
    """*words*, then the stems of their *language* that differ from them.

    A text has both, so that a question whose language is not recognised finds its words as they are written.
    """
    if language not in STEMMED or not words:
        return words
    stems = _stemmer(STEMMED[language]).analyze(" ".join(words))
    return words + [stem for word, stem in zip(words, stems, strict=True) if stem != word]


def spaced(texts: Iterable[str]) -> tuple[str, str]:
    """The folded words of *texts* with blanks between them and their stems, and separately the English stop words.

    A joined term is also one word, with underscores: a code found as written then ranks above one found in pieces.
    Stop words are searched only if a query has no others, and would count in the length of a text.

    >>> spaced(["The pump's code: QX-5521", "Größe"])
    ('pump s pump_s code qx 5521 qx_5521 grosse', 'the')
    """
    whole = "\n".join(texts)
    words = _words(_folded(whole))
    content = _with_stems([word for word in words if word not in LUCENE_STOP_WORDS], language_of(whole))
    return " ".join(content), " ".join([word for word in words if word in LUCENE_STOP_WORDS])


def query_terms(text: str) -> tuple[list[str], bool]:
    """The terms of a question, each once, at most 128; whether they are stop words, because it has no others.

    They are without the function words of their language: BM25 would rank by "how", "can" and "my" where a user's words
    are not those of the text.  In other languages than English stems are beside them.

    >>> query_terms("What are the pumps of QX-5521?")
    (['pump', 'qx', '5521', 'qx_5521'], False)
    >>> query_terms("to be or not to be"), query_terms("?! *")
    ((['to', 'be', 'or', 'not'], True), ([], True))
    >>> query_terms("Wer wartet die Pumpen?")
    (['wartet', 'pumpen', 'wart', 'pump'], False)
    """
    words = list(dict.fromkeys(_words(_folded(text), least_part=2)))
    asked = [word for word in words if word not in LUCENE_STOP_WORDS]
    not_about = _folded_words(content_of(text)[1])
    content = [word for word in asked if word not in not_about] or asked
    terms = _with_stems(content or words, language_of(text))[:MAX_TERMS]
    return list(dict.fromkeys(analyzer().analyze(" ".join(terms)))), not asked


def _typed(text: str) -> tuple[list[str], str]:
    """Whole words without stop words, and the one that has begun; one letter begins too many.

    >>> _typed("the pump QX-55"), _typed("pump p"), _typed("the "), _typed("5")
    ((['pump', 'qx'], '55'), (['pump'], ''), ([], ''), ([], '5'))
    """
    parts = TERM_PART.findall(_folded(text))
    begun = parts.pop() if parts and text[-1].isalnum() else ""
    begun = "" if len(begun) == 1 and begun.isascii() and begun.isalpha() else begun
    return [part for part in dict.fromkeys(parts) if part not in LUCENE_STOP_WORDS][:MAX_TERMS], begun


@lru_cache(maxsize=16)
def _folded_words(words: frozenset[str]) -> frozenset[str]:
    return frozenset(map(_folded, words))


def _folded(text: str) -> str:
    """*text* in one case without accents; a superscript behind a number or a word is a separate word.

    >>> _folded("10⁶ l of H₂O, 7 m², pump³, Seal™"), _folded("10<sup>6</sup> l of H<sub>2</sub>O")
    ('10 6 l of h2o, 7 m2, pump 3, seal ', '10 6 l of h2o')
    """
    text = segmented(unicodedata.normalize("NFC", text))
    if "<su" in text:  # of HTML within Markdown
        text = _RAISED_TAG.sub(" ", _TAG.sub("", text))
    if text.isascii():
        return text.lower()
    return _MARKS.sub("", unicodedata.normalize("NFKD", _APART.sub(" ", text).casefold()))


def _words(text: str, *, least_part: int = 1) -> list[str]:
    terms = JOINED_TERM.findall(text)
    plain = [term for term in terms if term.isalnum()]
    if len(plain) == len(terms):
        return plain
    return [word for term in terms for word in _parts(term, least_part)]


def _parts(term: str, least: int) -> list[str]:
    if term.isalnum():
        return [term]
    parts: list[str] = TERM_PART.findall(term)
    found = [part for part in parts if len(part) >= least or len(parts) == 1]
    return [*found, "_".join(parts)] if 1 < len(parts) <= MAX_PARTS else found


def facet(kind: str, *values: str) -> str:
    r"""The facet of a value: one word for each value that a document can be filtered by.

    >>> facet("tag", "red")
    'tag\x1fred'
    """
    text = "\x1f".join((kind, *values))
    return text if text.isascii() else _SURROGATE.sub("\ufffd", text)


def revision_facet(vault: str, path: str, revision: int) -> str:
    """The facet of one revision, which excludes it."""
    return facet("revision", vault, path, str(revision))


def facets_of(vault: str, path: str, facts: Facts) -> list[str]:
    r"""The facets of a document, but for its revision.

    >>> [each.split("\x1f") for each in facets_of("team", "a/b.md", Facts("t", "v", ""))][:3]
    [['vault', 'team'], ['folder', 'team', 'a'], ['folder', 'team', 'a/b.md']]
    """
    found = [facet("vault", vault)]
    at = path.find("/")
    while at >= 0:
        found.append(facet("folder", vault, path[:at]))
        at = path.find("/", at + 1)
    found.append(facet("folder", vault, path))
    found.append(facet("content_type", facts.content_type))
    found.append(facet("promotion_level", facts.promotion_level))
    optional = (("doc_type", facts.doc_type), ("category", facts.category), ("session_id", facts.session_id))
    found += [facet(kind, value) for kind, value in (*optional, (DATE, facts.date)) if value is not None]
    found += [facet("tag", tag) for tag in dict.fromkeys(facts.tags)]
    found += [] if facts.access is None else [facet(ACCESS, *(facts.access or ("",)))]
    return found + [_attribute(name, value) for name, value in facts.attributes.items()]


def groups_of(filters: Filters, vaults: Iterable[str], dates: Iterable[str]) -> list[tuple[str, ...]]:
    """The groups of facets of which documents must have one each, given all *vaults* and *dates* of a view.

    A folder without a vault is one in each vault.
    """
    fields = (
        ("vault", filters.vaults),
        ("doc_type", filters.doc_types),
        ("content_type", filters.content_types),
        ("category", filters.categories),
        ("session_id", filters.session_ids),
        ("promotion_level", filters.promotion_levels),
        ("tag", filters.tags),
    )
    groups = [tuple(facet(kind, value) for value in values) for kind, values in fields if values]
    groups += [tuple(_attribute(name, value) for value in values) for name, values in filters.alternatives]
    if filters.folders and not any(not folder.path and folder.vault is None for folder in filters.folders):
        groups.append(tuple(each for folder in filters.folders for each in _folder(folder, vaults)))
    if filters.date_from is not None or filters.date_to is not None:
        groups.append(tuple(facet(DATE, date) for date in dates if _within(date, filters)))
    return groups


def hidden_of(query: CandidateQuery, stated: Iterable[str]) -> tuple[tuple[str, tuple[str, ...]], ...]:
    r"""What a query must not find: facets, each with those that are found all the same.

    *stated* are the lists of groups that files of the view state, as their facets have them.

    >>> hidden_of(CandidateQuery(None, None, Filters(), 1, groups=("hr",)), ["hr\x1flaw", "law", "*", ""])
    (('access\x1flaw', ()), ('access\x1f', ()))
    """
    found = [(_place(each.folder), tuple(map(_place, each.but))) for each in query.hidden]
    if query.groups is not None:
        readable = {*query.groups, EVERYONE}
        found += [(facet(ACCESS, one), ()) for one in stated if readable.isdisjoint(one.split("\x1f"))]
    return tuple(found)


def _place(folder: Folder) -> str:
    return next(_folder(folder, ()))


def _attribute(name: str, value: str) -> str:
    return facet("attribute", json.dumps([name, value]))  # as JSON, so that no pair can be mistaken for another


def _folder(folder: Folder, vaults: Iterable[str]) -> Iterator[str]:
    for vault in vaults if folder.vault is None else (folder.vault,):
        yield facet("folder", vault, folder.path) if folder.path else facet("vault", vault)


def _within(date: str, filters: Filters) -> bool:
    first, last = filters.date_from, filters.date_to
    if first is not None and date < first:
        return False
    if last is None:
        return True
    return (date[: len("2026-01-31")] if len(last) == len("2026-01-31") else date) <= last


def admitted(facets: Mapping[str, Sequence[int]], filters: FacetFilter, documents: int) -> Ranges:
    """The documents of a segment that have one facet of each group and are not hidden; `without` does not count here.

    *facets* of the segment are flat runs: first document, the one behind the last, and so on.

    >>> admitted({"a": [0, 2, 5, 6], "b": [1, 9], "c": [8, 9]}, FacetFilter((("a", "c"), ("b",))), 9)
    [(1, 2), (5, 6), (8, 9)]
    """
    found: Ranges = [(0, documents)] if documents else []
    for group in filters.groups:
        found = _both(found, _united(sorted(_all_runs(facets, group))))
    for name, but in filters.hidden:
        found = _less(found, _less(list(_runs(facets.get(name, ()))), _united(sorted(_all_runs(facets, but)))))
    return found


def _all_runs(facets: Mapping[str, Sequence[int]], names: Iterable[str]) -> Iterator[tuple[int, int]]:
    return (run for name in names for run in _runs(facets.get(name, ())))


def _less(one: Ranges, other: Ranges) -> Ranges:
    """What of *one* is not in *other*.

    >>> _less([(0, 4), (6, 9)], [(1, 2), (3, 7)])
    [(0, 1), (2, 3), (7, 9)]
    """
    found: Ranges = []
    for first, behind in one:
        start = first
        for low, high in other:
            if low < behind and high > start:
                found += [(start, low)] if start < low else []
                start = high
        found += [(start, behind)] if start < behind else []
    return found


def split(ranges: Ranges, gone: Iterable[int]) -> Ranges:
    """*ranges* without the numbers that are *gone*.

    >>> split([(0, 4), (6, 9)], [2, 5, 6])
    [(0, 2), (3, 4), (7, 9)]
    """
    numbers = sorted(gone)
    found: Ranges = []
    for first, behind in ranges:
        start = first
        for number in numbers[bisect_left(numbers, first) : bisect_left(numbers, behind)]:
            if start < number:
                found.append((start, number))
            start = number + 1
        if start < behind:
            found.append((start, behind))
    return found


def numbering(ranges: Ranges) -> Callable[[int], int]:
    """A function that gives the number at each place of concatenated *ranges*.

    >>> [numbering([(3, 5), (7, 9)])(place) for place in range(4)]
    [3, 4, 7, 8]
    """
    behind = list(accumulate(last - first for first, last in ranges))

    def number(place: int) -> int:
        at = bisect_right(behind, place)
        return ranges[at][1] - behind[at] + place

    return number


def _runs(flat: Sequence[int]) -> Iterator[tuple[int, int]]:
    return zip(flat[::2], flat[1::2], strict=True)


def _united(runs: Iterable[tuple[int, int]]) -> Ranges:
    found: Ranges = []
    for first, behind in runs:
        if found and first <= found[-1][1]:
            found[-1] = (found[-1][0], max(behind, found[-1][1]))
        else:
            found.append((first, behind))
    return found


def _both(one: Ranges, other: Ranges) -> Ranges:
    found: Ranges = []
    at, place = 0, 0
    while at < len(one) and place < len(other):
        first, behind = max(one[at][0], other[place][0]), min(one[at][1], other[place][1])
        if first < behind:
            found.append((first, behind))
        if one[at][1] < other[place][1]:
            at += 1
        else:
            place += 1
    return found


def schema() -> tantivy.Schema:
    """The fields of a chunk: its words, what filters ask for, and where it is."""
    builder = tantivy.SchemaBuilder()
    builder.add_text_field(WORDS, tokenizer_name=ANALYZER, index_option="freq")
    builder.add_text_field(STOPS, tokenizer_name=ANALYZER, index_option="freq")
    builder.add_text_field(FACETS, tokenizer_name="raw", index_option="basic")
    builder.add_unsigned_field(PLACE, fast=True)
    return builder.build()


class LexicalWriter:
    """Writes the lexical part of one segment into an empty *folder*, chunk by chunk in the order of their numbers.

    A chunk's place in a view is one number: *tag* of its segment, below 2 to the 32nd, then its own in 32 bits.
    """

    def __init__(self, folder: Path, tag: int) -> None:
        self._folder = folder
        self._tag = tag
        self._index = tantivy.Index(schema(), path=str(folder))
        self._index.register_tokenizer(ANALYZER, analyzer())
        self._writer = self._index.writer(heap_size=HEAP_BYTES, num_threads=1)
        self._number = 0

    def add(self, words: str, stops: str, facets: Iterable[str]) -> None:
        document = tantivy.Document()
        document.add_text(WORDS, words)
        document.add_text(STOPS, stops)
        for facet in facets:
            document.add_text(FACETS, facet)
        document.add_unsigned(PLACE, (self._tag << 32) | self._number)
        self._writer.add_document(document)
        self._number += 1

    def finish(self) -> tuple[list[Path], list[Mapping[str, Any]]]:
        """Commit; the files, and tantivy's list of them."""
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
    """What chunks must have: one facet of each of `groups`, none of `without`, and none of `hidden`.

    Each of `hidden` has facets beside it by which a chunk is found all the same.
    """

    groups: tuple[tuple[str, ...], ...] = ()
    without: tuple[str, ...] = ()
    hidden: tuple[tuple[str, tuple[str, ...]], ...] = ()


class LexicalSearch:
    """Searches the folder of a view, which has the files of all its segments."""

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
        return self._placed(hits, hits[limit - 1][0] if len(hits) >= limit else 0.0)

    def begun(self, text: str, facets: FacetFilter, limit: int) -> list[tuple[float, int]]:
        """Score and place of *limit* chunks that have every word of *text*, and one that begins as its last does."""
        words, begun = _typed(text)
        if not (words or begun) or not self._searcher.num_docs:
            return []
        terms = analyzer().analyze(" ".join(words))
        asked = [(Occur.Must, Query.term_query(self._schema, WORDS, one)) for one in terms]
        if begun:
            either = [Query.term_query(self._schema, WORDS, one) for one in analyzer().analyze(begun)]
            either.append(Query.regex_query(self._schema, WORDS, f"{begun}.*"))
            asked.append((Occur.Must, Query.boolean_query([(Occur.Should, one) for one in either])))
        query = self._within(Query.boolean_query(asked), facets)
        return self._placed(self._searcher.search(query, limit, count=False).hits)

    def _placed(self, hits: Sequence[tuple[float, Any]], least: float = 0.0) -> list[tuple[float, int]]:
        places = self._searcher.fast_field_values(PLACE, [address for _, address in hits])
        found = zip(hits, places, strict=True)
        return [(float(score), int(place or 0)) for (score, _), place in found if score >= least]

    def _query(self, terms: Sequence[str], facets: FacetFilter, field: str) -> Query:
        asked = [(Occur.Should, Query.term_query(self._schema, field, term, "freq")) for term in terms]
        return self._within(Query.boolean_query(asked), facets)

    def _within(self, words: Query, facets: FacetFilter) -> Query:
        if facets == FacetFilter():
            return words
        clauses = [(Occur.Must, words)]
        for group in facets.groups:
            any_of = Query.term_set_query(self._schema, FACETS, list(group)) if group else Query.empty_query()
            clauses.append((Occur.Must, Query.const_score_query(any_of, 0.0)))
        if without := [*facets.without, *(name for name, but in facets.hidden if not but)]:
            clauses.append((Occur.MustNot, Query.term_set_query(self._schema, FACETS, without)))
        for name, but in facets.hidden:
            if but:
                hidden = (Occur.Must, Query.term_query(self._schema, FACETS, name, "basic"))
                shown = (Occur.MustNot, Query.term_set_query(self._schema, FACETS, list(but)))
                clauses.append((Occur.MustNot, Query.boolean_query([hidden, shown])))
        return Query.boolean_query(clauses)
