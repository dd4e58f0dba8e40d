"""Answer a question from the tables of its documents, before a model is asked: the number is computed and proved."""

from __future__ import annotations

import hashlib
import logging
import re
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from itertools import islice
from typing import Any, TypeVar

from groundcheck import ClaimStatus
from groundcheck.sentences import stemmed_words
from ragdrop.domain.answers import (
    Answer,
    AnswersQuestion,
    CheckedSentence,
    Citation,
    Question,
    Segment,
    Shown,
    Source,
    TableProof,
)
from ragdrop.domain.bounded_cache import BoundedCache
from ragdrop.domain.chunks import Chunk, Hit
from ragdrop.domain.deadlines import Deadline, seconds_of
from ragdrop.domain.documents import Facts, Head, Status
from ragdrop.domain.history import ChangeCounts
from ragdrop.domain.keys import DocumentKey
from ragdrop.domain.retrieval import FoundDocument, Query, Retrieval
from ragdrop.domain.tenants import Caller
from ragdrop.generate.abstentions import abstention
from ragdrop.generate.answering import ReadFound, closest_passages
from ragdrop.generate.propose_plan import ProposePlan
from ragdrop.ingest.revision_store import RevisionStore, StoredRevision
from ragdrop.ports.search_services import SearchableRegistry
from ragdrop.query.exact import exact_terms, fold
from ragdrop.query.view import ResolveQueryView
from ragdrop.tables.answer_tables import TableAnswer, answer_from_tables
from ragdrop.tables.asked import Asked, read_question
from ragdrop.tables.cell_values import split_row
from ragdrop.tables.text_tables import table_of_records
from ragdrop.tables.typed import TypedTable
from ragdrop.tables.vocabulary import asked_words
from ragdrop.tenants.directory import TenantDirectory

logger = logging.getLogger(__name__)

MAX_LISTED = 2_000  # documents of the vaults asked; of more only what the search found is read
MAX_TABLES = 200  # documents whose tables one question reads
MAX_UNFOUND = 40  # documents of the vaults asked whose tables are read where the search found nothing
MAX_CITATIONS = 12
SAID_BY_A_ROW = 0.75  # of a question's words: "What does the label of the mill read?" and "label of the mill"
MAX_QUOTE_ROWS = 40  # of one citation
MAX_SENTENCE = 1_500  # characters of a list within the sentence
CACHED_S = 3_600.0
LARGE_ROWS = 50_000  # of a document's tables: some 3 MB; of larger ones three documents are cached
MOSTLY_ROWS = 0.8  # of the lines of a passage
_JUDGES = re.compile(
    r"(?i)^(?:why|how come|warum|wieso|weshalb)\b|\b(?:better|worse|worth|should|besser|lohnt|sollte)\b"
)
SHEETS = (".csv", ".tsv", ".xlsx", ".xlsm", ".xlsb", ".xls", ".ods")
_DOCUMENTS = re.compile(r"\b(?:notes?|documents?|files?|pages?|tagged|tags?|notizen?|dokumente?|dateien)\b", re.I)
DOCUMENTS = "documents and notes"


@dataclass(frozen=True, slots=True)
class _Listed:
    """A live document of the vaults asked."""

    key: DocumentKey
    revision: int
    facts: Facts | None = None


class AskTables:
    """Finds the tables that a question may be about, computes, and reads back what it cites.

    Args:
        revisions: Where typed tables and texts are.
        registry: For the documents of a vault.
        resolve_view: What the question may read.
        directory: For the index whose chunks are cited.
        bucket: The document bucket, named in every citation.
        clock: Seconds since 1970.
        propose: Asks a chat model for a plan where no words make one; None without a model.
    """

    def __init__(
        self,
        *,
        revisions: RevisionStore,
        registry: SearchableRegistry,
        resolve_view: ResolveQueryView,
        directory: TenantDirectory,
        bucket: str,
        clock: Callable[[], float],
        propose: ProposePlan | None = None,
    ) -> None:
        self._propose = propose
        self._revisions = revisions
        self._registry = registry
        self._resolve_view = resolve_view
        self._directory = directory
        self._bucket = bucket
        self._clock = clock
        self._tables = BoundedCache[tuple[DocumentKey, int], Sequence[TypedTable]](size=1_000, ttl_s=CACHED_S)
        self._large = BoundedCache[tuple[DocumentKey, int], Sequence[TypedTable]](size=3, ttl_s=CACHED_S)
        self._lists = BoundedCache[tuple[str, tuple[str, ...]], tuple[ChangeCounts, list[_Listed]]](
            size=100, ttl_s=CACHED_S
        )
        self._made = BoundedCache[tuple[str, bool, int, DocumentKey], tuple[Sequence[_Listed], TypedTable]](
            size=20, ttl_s=CACHED_S
        )

    def __call__(self, question: Question, caller: Caller, retrieval: Retrieval, deadline: Deadline) -> Answer | None:
        """The answer out of a table; None where the tables do not say, or the question is for no table.

        An abstention where no table answers and the best passage is a part of one: it would be quoted for an answer.

        Raises DependencyError: the registry or the state bucket did not answer.
        """
        asked = question.query
        read = read_question(asked.text, self._today(asked))
        if question.system_prompt or question.prompt_template:
            return None
        if read is None:
            is_judged = not question.answer_anyway and _is_of_tables(None, None, asked.text, retrieval)
            return _refusal(TableAnswer(reason="not_a_table_question"), asked.text, retrieval) if is_judged else None
        found = {each.key: each for each in _found(retrieval)}
        tables, owners, notes = self.tables_for(asked, caller, retrieval, deadline)
        given, planned_by = answer_from_tables(asked.text, tables, self._today(asked)), None
        if given and notes and given.table is tables[-1] and _is_by_tags(given, asked.text, notes):
            given = answer_from_tables(asked.text, tables[:-1], self._today(asked))
        if given is None or given.table is None:
            if given is None or question.answer_anyway or not _is_of_tables(given, read, asked.text, retrieval):
                return None
            near = {*given.closest, *(document.key.path for document in retrieval.documents[:1])}
            planned = self._planned(question, [table for table in tables if table.path in near], deadline)
            if planned is None:
                return _refusal(given, asked.text, retrieval)
            given, planned_by = planned
        elif given.number is None and set(stemmed_words(given.value)) <= set(stemmed_words(asked.text)):
            is_refused = not question.answer_anyway and _is_of_tables(given, read, asked.text, retrieval)
            return _refusal(given, asked.text, retrieval) if is_refused else None  # the question's own words
        if id(given.table) not in owners:
            hits = self._notes_cited([notes[row] for row in given.used])
        else:
            key, revision = owners[id(given.table)]
            facts = found[key].facts if key in found else self._facts(key, revision, deadline)
            hits = self._rows_cited(given, key, revision, facts, caller)
        if not hits:
            logger.warning("a table's cells could not be read back", extra={"expression": given.expression[:200]})
            return _refusal(given, asked.text, retrieval) if planned_by else None
        return _answer_of(given, hits, retrieval, self._bucket, planned_by)

    def tables_for(
        self, asked: Query, caller: Caller, retrieval: Retrieval, deadline: Deadline
    ) -> tuple[list[TypedTable], Mapping[int, tuple[DocumentKey, int]], Sequence[_Listed]]:
        """The tables that a question may be about, the revision of each by its `id`, and the documents of the last.

        The last table is that of the documents themselves, where they state anything: it has no revision.
        """
        listed = {each.key: each for each in self._listed(asked, caller, deadline)}
        tables: list[TypedTable] = []
        owners: dict[int, tuple[DocumentKey, int]] = {}
        for place in _places(_found(retrieval), [*listed.values()], nothing_found=not retrieval.documents):
            for table in self._of(*place):
                owners[id(table)] = place
                tables.append(table)
        whole = _is_of_documents(asked.text, listed.values())
        notes = [each for each in listed.values() if each.facts and (whole or each.facts.tags or each.facts.attributes)]
        if notes:
            tables.append(self._documents(notes, caller.tenant, whole=whole))
        return tables, owners, notes

    def _planned(
        self, question: Question, near: Sequence[TypedTable], deadline: Deadline
    ) -> tuple[TableAnswer, str] | None:
        if self._propose is None:
            return None
        return self._propose(question.query.text, near, self._today(question.query), deadline, question.model)

    def _documents(self, notes: Sequence[_Listed], tenant: str, *, whole: bool) -> TypedTable:
        """The table of documents; made again where other documents are to be read than before."""
        place, now_s = (tenant, whole, len(notes), notes[0].key), self._clock()
        cached = self._made.get(place, now_s=now_s)
        if cached is None or cached[0] != notes:
            cached = notes, _documents_table(notes, whole=whole)
            self._made.put(place, cached, now_s=now_s)
        return cached[1]

    def _today(self, query: Query) -> date:
        return datetime.fromtimestamp(seconds_of(query.as_of or "") or self._clock(), UTC).date()

    def _of(self, key: DocumentKey, revision: int) -> Sequence[TypedTable]:
        now_s, place = self._clock(), (key, revision)
        cached = self._tables.get(place, now_s=now_s)
        cached = self._large.get(place, now_s=now_s) if cached is None else cached
        if cached is None:
            cached = self._revisions.tables(key, revision)
            is_large = sum(table.row_count for table in cached) > LARGE_ROWS
            (self._large if is_large else self._tables).put(place, cached, now_s=now_s)
        return cached

    def _listed(self, query: Query, caller: Caller, deadline: Deadline) -> list[_Listed]:
        """The live documents that the question may read, where it asks about all of its vaults as they are now."""
        vaults = query.vaults or caller.vaults
        if replace(query, text="", vaults=()) != replace(_PLAIN, **_free_of(query)):
            return []
        view = self._resolve_view(query, caller, deadline, None)
        counts = view.change_counts(caller.tenant, deadline)
        cached = self._lists.get((caller.tenant, vaults), now_s=self._clock())
        if cached is None or cached[0] != counts:
            cached = counts, self._read_list(caller.tenant, vaults, deadline)
            self._lists.put((caller.tenant, vaults), cached, now_s=self._clock())
        heads: dict[DocumentKey, Head] = {}
        for batch in _batches([each.key for each in cached[1]]):
            heads |= view.heads(batch, deadline).found  # of a document that the caller may not read there is none
        return [
            each
            for each in cached[1]
            if caller.may_see(each.key.vault) and each.key in heads and heads[each.key].live_revision == each.revision
        ]

    def _read_list(self, tenant: str, vaults: Sequence[str], deadline: Deadline) -> list[_Listed]:
        """The live documents of vaults, of all without any; none if there are too many."""
        live: list[tuple[DocumentKey, int]] = []
        for vault in vaults or (None,):
            cursor: str | None = None
            while True:
                page = self._registry.page(
                    tenant, vault=vault, prefix="", status=Status.INDEXED, cursor=cursor, limit=1_000
                )
                live += [(head.key, head.live_revision) for head in page.heads if head.live_revision is not None]
                cursor = page.cursor
                if len(live) > MAX_LISTED:
                    return []
                if cursor is None:
                    break
        details = {
            (each.key, each.revision): each.facts
            for batch in _batches(live)
            for each in self._registry.details(batch, deadline)
        }
        return [_Listed(*place, details[place]) for place in sorted(live) if place in details]

    def _facts(self, key: DocumentKey, revision: int, deadline: Deadline) -> Facts:
        [detail] = self._registry.details([(key, revision)], deadline)
        return detail.facts

    def _rows_cited(
        self, given: TableAnswer, key: DocumentKey, revision: int, facts: Facts, caller: Caller
    ) -> list[tuple[Hit, int, int]]:
        """The chunks that hold the rows used, and which part of each is quoted; none where they read differently."""
        saved = self._revisions.open(key, revision)
        tenant = self._directory.tenant(caller.tenant)
        if saved is None or tenant is None or given.table is None:
            return []
        spans = list(islice(given.table.runs(sorted(set(given.used)), most=MAX_QUOTE_ROWS), MAX_CITATIONS))
        cited: list[tuple[Hit, int, int]] = []
        for start, end in spans:
            for chunk in _chunks_of(saved, tenant.active.name, start, end):
                first, last = max(start, chunk.start), min(end, chunk.end)
                if chunk.text[first - chunk.start : last - chunk.start].strip() and len(cited) < MAX_CITATIONS:
                    cited.append((Hit(key, revision, chunk, facts), first, last))
        return cited if cited and _reads_back(given, cited) else []

    def _notes_cited(self, notes: Sequence[_Listed]) -> list[tuple[Hit, int, int]]:
        """What the documents state of themselves: the text before their body, or their first lines."""
        cited = []
        for each in list({each.key: each for each in notes}.values())[:MAX_CITATIONS]:
            saved = self._revisions.open(each.key, each.revision)
            if saved is None or each.facts is None:
                return []
            end = int(saved.manifest["document"].get("body_start") or 0) or min(200, saved.char_count)
            text = saved.span(0, end)
            if text is None:
                return []
            end = len(text.rstrip())
            cited.append((Hit(each.key, each.revision, Chunk(0, 0, end, text[:end]), each.facts), 0, end))
        return cited


def _places(
    found: Sequence[FoundDocument], listed: Sequence[_Listed], *, nothing_found: bool
) -> list[tuple[DocumentKey, int]]:
    """The revisions whose tables are read: what was found, all sheets, and of few documents all if *nothing_found*.

    A search finds nothing where a question has other words than the rows, or a language that the model does not cover.
    """
    is_all = nothing_found and len(listed) <= MAX_UNFOUND
    places = [(each.key, each.revision) for each in found]
    places += [(each.key, each.revision) for each in listed if is_all or each.key.path.lower().endswith(SHEETS)]
    return list(dict.fromkeys(places))[:MAX_TABLES]


def _is_of_tables(given: TableAnswer | None, asked: Asked | None, question: str, retrieval: Retrieval) -> bool:
    """Whether the best passage is of a sheet, or of a table that knows all words of the question but one.

    A line with most of its words, or a row with its code or all that the header lacks, says it in its own text.  Rows
    do not say why, or what is better; of other documents than sheets, a passage nearly all rows does not say how many.
    """
    best = next((found.hit for document in retrieval.documents for found in document.chunks), None)
    if best is None:
        return False
    lines = best.chunk.text.strip().splitlines()
    rows = [line for line in lines if re.fullmatch(r"\|.*\|\s*", line)]
    is_sheet = best.key.path.lower().endswith(SHEETS)
    folded = fold(best.chunk.text)
    is_named = asked is not None and any(term.is_code and term.stands_in(folded) for term in exact_terms(question))
    if not (is_sheet or rows) or is_named:
        return False
    words = set(stemmed_words(question)) - {"much", "many"}
    asked_of_cells = words - (set(stemmed_words(rows[0])) if rows and not is_sheet else set())
    said = (words & set(stemmed_words(line)) for line in lines)
    if any(len(each) >= SAID_BY_A_ROW * len(words) or each >= asked_of_cells > set() for each in said):
        return False
    is_of_rows = is_sheet or len(rows) >= MOSTLY_ROWS * len(lines)
    if asked is None or given is None:
        return is_of_rows and _JUDGES.search(question) is not None
    computes = asked.fold or asked.superlative or asked.periods or asked.bounds or asked.wants in {"how much", "when"}
    return is_sheet or (is_of_rows and bool(computes)) or (given.unknown < 2 and best.key.path in given.closest)


def _refusal(given: TableAnswer, question: str, retrieval: Retrieval) -> Answer:
    tables = f"; closest: {', '.join(given.closest)}" if given.closest else ""
    return Answer(
        abstention("insufficient_information", question),
        retrieval,
        "",
        abstain_reason="insufficient_information",
        closest=closest_passages(ReadFound(), retrieval),
        warnings=[f"no table answers ({given.reason}){tables}"],
    )


_PLAIN = Query("")
Item = TypeVar("Item")


def _free_of(query: Query) -> dict[str, Any]:
    """What of a query is no filter."""
    names = ("limit", "detail", "mode", "min_relevance", "floor", "include_critical", "follow_links", "apply_boosting",
             "max_linked_docs", "max_link_depth", "expand", "session", "include_context", "allow_fallback", "agent",
             "debug", "rerank", "rank_folders", "prefer_folders")  # fmt: skip
    return {name: getattr(query, name) for name in names}


def _batches(items: Sequence[Item], size: int = 100) -> Iterator[Sequence[Item]]:
    return (items[at : at + size] for at in range(0, len(items), size))


def _found(retrieval: Retrieval) -> list[FoundDocument]:
    return [*retrieval.documents, *retrieval.critical, *retrieval.linked, *retrieval.nearest]


def _is_of_documents(question: str, listed: Iterable[_Listed]) -> bool:
    """Whether a question is about documents as such, or names an attribute that one of them states."""
    if _DOCUMENTS.search(question):
        return True
    names = {name.casefold() for each in listed if each.facts for name in each.facts.attributes}
    return not names.isdisjoint(asked_words(question))


def _is_by_tags(given: TableAnswer, question: str, notes: Sequence[_Listed]) -> bool:
    """Whether tags and titles alone chose the documents, and lack words of *question*: "What flour for the cake?"."""
    if given.plan is None or given.table is None or _is_of_documents(question, notes):
        return False
    columns = {given.plan.column or 0, *(each.column for each in given.plan.filters)}
    facts = filter(None, (notes[row].facts for row in given.used))
    said = set(stemmed_words(" ".join(" ".join((each.title, *each.tags)) for each in facts)))
    asked = set(stemmed_words(question))
    return {given.table.columns[at].name for at in columns} <= {"title", "tags"} and not (
        len(asked) > 1 and asked <= said
    )


def _documents_table(listed: Sequence[_Listed], *, whole: bool) -> TypedTable:
    """The table of a vault's documents: what they state of themselves; unless *whole*, without what any of them has."""
    records = []
    for each in listed:
        facts = each.facts
        if facts is None:
            continue
        own = {"title": facts.title, "tags": ", ".join(facts.tags), **facts.attributes}
        stated = {
            "title": facts.title,
            "path": each.key.path,
            "vault": each.key.vault,
            "tags": ", ".join(facts.tags),
            "category": facts.category or "",
            "type": facts.doc_type or "",
            "date": (facts.date or "")[:10],
            "promotion": facts.promotion_level,
            **facts.attributes,
        }
        records.append({name: value for name, value in (stated if whole else own).items() if value})
    return table_of_records(records, DOCUMENTS)


def _chunks_of(saved: StoredRevision, index: str, start: int, end: int) -> list[Chunk]:
    return [chunk for chunk, _ in saved.chunks_between(index, start, end) if chunk.start < end and chunk.end > start]


def _reads_back(given: TableAnswer, cited: Sequence[tuple[Hit, int, int]]) -> bool:
    """Whether the cells of the rows cited read in the stored text as they were computed with."""
    table = given.table
    assert table is not None  # noqa: S101 - its caller looked
    for hit, first, last in cited:  # neighbours that were all used
        for row in range(bisect_left(table.starts, first), bisect_left(table.starts, last)):
            begin, end = table.starts[row] - hit.chunk.start, table.starts[row + 1] - hit.chunk.start
            if begin < 0 or end > len(hit.chunk.text) + 1:
                continue  # a row that two chunks share
            cells = split_row(hit.chunk.text[begin:end])
            if not all(_same(table, row, at, cells) for at in range(len(table.columns))):
                return False
    return True


def _same(table: TypedTable, row: int, at: int, cells: Sequence[str]) -> bool:
    column, text = table.columns[at], cells[at] if at < len(cells) else ""
    value = column.value(row)
    if value is None:
        return True
    if column.kind == "text":
        return value == text
    if column.kind in {"number", "amount"}:
        plain = f"{value:f}".rstrip("0").rstrip(".") if "." in f"{value:f}" else f"{value:f}"
        digits = re.sub(r"\D", "", plain).lstrip("0").rstrip("0")
        return digits == re.sub(r"\D", "", re.split(r"[eE]", text)[0]).lstrip("0").rstrip("0") or "e" in text.lower()
    return bool(text)


def _answer_of(
    given: TableAnswer, hits: Sequence[tuple[Hit, int, int]], retrieval: Retrieval, bucket: str, planned_by: str | None
) -> Answer:
    """The answer, its one sentence proved by its cells; that a model's plan is what was asked, nothing proves."""
    citations = []
    for marker, (hit, start, end) in enumerate(hits, start=1):
        quote = hit.chunk.text[start - hit.chunk.start : end - hit.chunk.start].rstrip("\n")
        digest = hashlib.sha256(hit.chunk.text.encode()).hexdigest()
        citations.append(Citation(marker, bucket, hit, start, start + len(quote), quote, digest, 1.0, "verified"))
    said = given.value if len(given.value) <= MAX_SENTENCE else given.value[:MAX_SENTENCE].rpartition(",")[0] + " …"
    where = f"{given.path}, {given.range}" if given.path else given.range
    by = f"as planned by {planned_by}: " if planned_by else ""
    sentence = f"{said} ({by}{given.expression}; {where}; {given.rows_used} of {given.rows_total} rows)."
    text = sentence + "".join(f" [{each.marker}]" for each in citations)
    markers = tuple(each.marker for each in citations)
    status: ClaimStatus = "supported" if planned_by else "verified"
    reason = "meaning" if planned_by else None
    claim = CheckedSentence(0, len(sentence), sentence, status, markers, reason, support=1.0)
    documents = {each.key: each for each in _found(retrieval)}
    cited = list(dict.fromkeys(hit.key for hit, _, _ in hits))
    added = [_as_found(next(hit for hit, _, _ in hits if hit.key == key)) for key in cited if key not in documents]
    named = {each.key for each in (*retrieval.documents, *retrieval.critical, *retrieval.linked)}
    added += [documents[key] for key in cited if key in documents and key not in named]
    sources, number = [], 1
    for key in cited:
        own = [hit for hit, _, _ in hits if hit.key == key]
        own = list({hit.chunk_id: hit for hit in own}.values())
        segments = tuple(Segment(number + at, hit) for at, hit in enumerate(own))
        number += len(segments)
        sources.append(Source(documents.get(key) or _as_found(own[0]), "relevant", segments))
    return Answer(
        text=text,
        retrieval=replace(
            retrieval, documents=[*retrieval.documents, *added], total_matches=max(retrieval.total_matches, 1)
        ),
        prompt_version="",
        citations=citations,
        claims=[claim],
        shown=Shown(sources),
        answers=AnswersQuestion("unsure" if planned_by else "yes"),
        table=proof_of(given, planned_by),
    )


def proof_of(given: TableAnswer, planned_by: str | None = None) -> TableProof:
    """Where a computed answer comes from; *planned_by* is the model that proposed its plan."""
    return TableProof(
        given.value,
        None if given.number is None else format(given.number, "f"),
        given.path,
        given.range,
        given.cells,
        given.rows_used,
        given.rows_total,
        given.expression,
        planned_by,
    )


def _as_found(hit: Hit) -> FoundDocument:
    chunk = hit.chunk
    return FoundDocument(hit.key, hit.revision, hit.facts, None, None, (), chunk.text, chunk.start, chunk.end, (hit,))
