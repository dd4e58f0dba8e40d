"""Find as one types: documents by title, path and tags, and passages by exact words, codes and quotations."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from ragdrop.domain.chunks import CandidateQuery, Hit
from ragdrop.domain.deadlines import CANDIDATES, Deadline
from ragdrop.domain.documents import NamePlace, name_line, name_match, typed_words
from ragdrop.domain.keys import DocumentKey
from ragdrop.domain.retrieval import MAX_CANDIDATES, Query, documents_of, verified
from ragdrop.domain.tenants import Caller, IndexRef
from ragdrop.errors import IndexMovedError
from ragdrop.ports.search_services import SearchableIndex
from ragdrop.query.candidates import own_candidates
from ragdrop.query.exact import exact_terms, fold
from ragdrop.query.understand import UnderstandQuery
from ragdrop.query.view import ResolveQueryView

NAMED = 40  # documents found by name, of which the caller may not read some
PASSAGES = 60
BEFORE, AROUND = 60, 240  # characters of an excerpt before its words, and in all
LEAST_STEM = 4  # letters of a word that another form of it begins with
_QUOTED = re.compile(r"\"([^\"\n]{2,200})\"|„([^“”\n]{2,200})[“”]|“([^”\n]{2,200})”|«([^»\n]{2,200})»")


@dataclass(frozen=True, slots=True)
class Excerpt:
    """A passage around what was found: code points `start` to `end` of the parsed text; `marked` is what was typed."""

    hit: Hit
    start: int
    end: int
    marked: tuple[int, int] | None

    @property
    def text(self) -> str:
        """Exactly the parsed text from `start` to `end`."""
        chunk = self.hit.chunk
        return chunk.text[self.start - chunk.start : self.end - chunk.start]


@dataclass(frozen=True, slots=True)
class FoundTyped:
    """A document that was found, by its name or by the passage that comes with it."""

    key: DocumentKey
    hit: Hit
    found_in: NamePlace | Literal["text"]
    excerpt: Excerpt | None


class Find:
    """Finds as one types: no model, no vector, one look at the bucket index, which every tenant has.

    Args:
        resolve_view: What the caller may read.
        understand: The tenant, its index and the vaults in scope.
        index: The bucket index.
    """

    def __init__(self, *, resolve_view: ResolveQueryView, understand: UnderstandQuery, index: SearchableIndex) -> None:
        self._resolve_view = resolve_view
        self._understand = understand
        self._index = index

    def __call__(self, query: Query, caller: Caller, deadline: Deadline) -> list[FoundTyped]:
        """What *query* (its text, vaults and limit) names or says, documents by name first, each once.

        Every word must be there; the last one may have only begun.  What stands in quotation marks must be there as it
        is written, and of passages those come first that hold a code so.

        Raises:
            InvalidParamsError: A vault does not exist.
            ProjectNotActivatedError: There is no such tenant.
            DatabaseError: The index or the registry did not answer.
        """
        try:
            named, worded = self._hits(query, caller, deadline)
        except IndexMovedError:  # the cached item of the tenant was seconds old
            self._understand.forget(caller.tenant)
            named, worded = self._hits(query, caller, deadline)
        return findings(query.text, named, worded, limit=query.limit or NAMED)

    def _hits(self, query: Query, caller: Caller, deadline: Deadline) -> tuple[list[Hit], list[Hit]]:
        question = self._understand(replace(query, limit=None), caller)
        view = self._resolve_view(query, caller, deadline, self._index)
        names = CandidateQuery(query.text, None, question.scopes.whole, NAMED, match="names")
        passages = MAX_CANDIDATES if _QUOTED.search(query.text) or exact_terms(query.text) else PASSAGES
        asked = [names, replace(names, limit=passages, match="begun")]
        index: IndexRef = question.tenant.index
        within = CANDIDATES.of(deadline)
        view.ready(index, asked, within)
        found = [own_candidates(each, caller.tenant) for each in view.candidates(index, asked, within)]
        heads = view.heads(documents_of(found), deadline)
        named, worded = (verified(each.lexical, heads.found) for each in found)
        return named, worded


def findings(text: str, named: Sequence[Hit], worded: Sequence[Hit], *, limit: int) -> list[FoundTyped]:
    """At most *limit* documents: those whose names have what was typed, then those whose text has it.

    Where both kinds are many, each gets half of the room.
    """
    quoted = [next(filter(None, match.groups())) for match in _QUOTED.finditer(text)]
    phrases, words = [_phrase(each) for each in quoted], typed_words(text)
    codes = [term for term in exact_terms(text) if term.is_code]
    fitting = [hit for hit in worded if all(phrase.search(hit.chunk.in_context) for phrase in phrases)]
    if codes:
        fitting.sort(key=lambda hit: -sum(code.stands_in(fold(hit.chunk.in_context)) for code in codes))
    passages: dict[DocumentKey, Hit] = {}
    for hit in fitting:
        passages.setdefault(hit.key, hit)
    by_name: dict[DocumentKey, FoundTyped] = {}
    for hit in named:
        names = "\n".join((hit.facts.names, hit.key.path, *hit.facts.tags))
        match = name_match(words, name_line(hit.key.path, hit.facts)) if words else None
        if match is not None and all(phrase.search(names) for phrase in phrases):
            by_name[hit.key] = FoundTyped(hit.key, hit, match[1], _excerpt_of(passages.get(hit.key), text, quoted))
    others = {key: hit for key, hit in passages.items() if key not in by_name}
    by_text = [FoundTyped(key, hit, "text", _excerpt_of(hit, text, quoted)) for key, hit in others.items()]
    room = limit - min(len(by_text), limit // 2)
    first = list(by_name.values())[:room]
    return first + by_text[: limit - len(first)]


def _excerpt_of(hit: Hit | None, text: str, quoted: Sequence[str]) -> Excerpt | None:
    if hit is None:
        return None
    body, at = hit.chunk.text, hit.chunk.start
    found = next((match for each in _sought(text, quoted) if (match := each.search(body))), None)
    begin, end = found.span() if found is not None else (0, 0)
    first = max(0, begin - BEFORE)
    if first and (blank := body.find(" ", first, begin)) >= 0:
        first = blank + 1
    last = min(len(body), max(end, first + AROUND))
    return Excerpt(hit, at + first, at + last, (at + begin, at + end) if end else None)


def _sought(text: str, quoted: Sequence[str]) -> Iterator[re.Pattern[str]]:
    """What to mark in a passage, the first that stands there: quotations, all as typed, the longest word, its stem."""
    bare = text.strip(' "„“”«»')
    yield from (_phrase(each) for each in quoted)
    yield _phrase(bare, whole=False)
    words = sorted(re.findall(r"[^\W_]+", bare), key=len, reverse=True)
    yield from (_phrase(word, whole=False) for word in words)
    yield from (
        _phrase(word[: max(LEAST_STEM, len(word) - 3)], whole=False) for word in words if len(word) > LEAST_STEM
    )


def _phrase(text: str, *, whole: bool = True) -> re.Pattern[str]:
    r"""*text* where it begins as a word, whatever the case and the white space; *whole* where it ends as one too.

    >>> bool(_phrase("red pump").search("The Red\nPump.")), bool(_phrase("red pum").search("The red pump."))
    (True, False)
    """
    words = r"\s+".join(map(re.escape, text.split()))
    behind = r"(?![^\W_])" if whole and text[-1:].isalnum() else ""
    before = r"(?<![^\W_])" if text[:1].isalnum() else ""
    return re.compile(f"{before}{words}{behind}" if words else r"(?!)", re.IGNORECASE)
