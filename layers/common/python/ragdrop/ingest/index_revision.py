"""Index one version of an object: parse, chunk, embed, write. Readers see nothing until the activation."""

import hashlib
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace

from ragdrop.domain.deadlines import Deadline, rfc3339
from ragdrop.domain.documents import Detail, Head, Status
from ragdrop.domain.history import WRITTEN_BY
from ragdrop.domain.keys import DocumentKey
from ragdrop.domain.languages import language_warning, uncovered
from ragdrop.domain.tenants import Tenant
from ragdrop.errors import DocumentTooLargeError
from ragdrop.ingest.metadata import MAX_SIDECAR_BYTES, facts_of, read_sidecar
from ragdrop.ingest.parse import SavedPages, parse
from ragdrop.ingest.revision_store import KnownVectors, RevisionStore, StoredRevision
from ragdrop.ingest.write_chunks import CopyRevision, Cut, Known, Unfinished, WriteChunks, WrittenRevision
from ragdrop.ports.object_store import ObjectStore, StoredObject
from ragdrop.ports.reading import Parser
from ragdrop.ports.registry import Checkpoint, Registry
from ragdrop.tenants.settings_in_force import categories_in_force, mentions_in_force
from readers.parsed import MAX_SHOWN_CHARACTERS, ParsedDocument, WrittenLink

MAX_OBJECT_BYTES = 50 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class CurrentVersions:
    """What is in the bucket now: the document's current version, and its sidecar's where there is one."""

    document: StoredObject
    sidecar: StoredObject | None

    @property
    def versions(self) -> tuple[str, str | None]:
        """What a claim is for."""
        return self.document.version_id, self.sidecar.version_id if self.sidecar else None


@dataclass(frozen=True, slots=True)
class ParsedRevision:
    """A revision that is parsed and cut for every index of its tenant, and fits into this invocation.

    `known` are the vectors that it need not be embedded for; `first` says that the document had no head before,
    `is_current` that no newer version waits to be brought behind it.
    """

    saved: StoredRevision
    detail: Detail
    tenant: Tenant
    cuts: tuple[Cut, ...]
    known: Known
    first: bool = False
    is_current: bool = True

    @property
    def key(self) -> DocumentKey:
        """The document."""
        return self.detail.key


def _of_language(text: str, tenant: Tenant) -> list[str]:
    """A warning where the tenant's embedding model does not cover the language of *text*."""
    model = tenant.active.space.model
    found = uncovered(text, model)
    return [] if found is None else [language_warning(found, model, what="the text")]


@dataclass(frozen=True, kw_only=True)
class IndexRevision:
    """Writes a claimed revision to the state bucket and to every index of its tenant.

    Every method raises DependencyError where a service failed: the same call may succeed later.
    """

    documents: ObjectStore
    registry: Registry
    revisions: RevisionStore
    parser: Parser
    write_chunks: WriteChunks
    known_vectors: KnownVectors
    clock: Callable[[], float]

    def prepare(
        self, claimed: Head, found: CurrentVersions, tenant: Tenant, deadline: Deadline, *, first: bool
    ) -> ParsedRevision | Unfinished | None:
        """Read and cut the revision *claimed* of the versions *found*; None where one of them is gone by now.

        *first* says that the document had no head before the claim.

        A long text is only parsed and saved; the rest is done in parts.

        Raises:
            DocumentError: The document can never be indexed as it is.
            ScanUnfinishedError: Pages of a scan are left to recognise.
            DependencyError: A service failed; the same call may succeed later.
        """
        stored = found.document
        if stored.size_bytes > MAX_OBJECT_BYTES:
            message = f"the object has {stored.size_bytes} bytes, at most {MAX_OBJECT_BYTES} are allowed"
            raise DocumentTooLargeError(message, limit_bytes=MAX_OBJECT_BYTES, size_bytes=stored.size_bytes)
        parsed = self._parsed(claimed, found, tenant, deadline)
        if parsed is None:
            return None
        document, detail = parsed
        from ragdrop.tables.typed import tables_of  # the sweep needs none

        version_id = stored.version_id
        saved = self.revisions.write_text(claimed.key, claimed.revision, document, version_id=version_id)
        self.revisions.write_tables(saved, tables_of(document, claimed.key.path))
        sources = self.known_vectors.sources(saved, claimed.live_revision)
        if len(saved.parts) > 1:
            checkpoint = Checkpoint(len(saved.parts), chunks={target.name: 0 for target in tenant.targets})
            self.registry.begin(detail, checkpoint)
            return Unfinished(saved, detail, tenant, checkpoint, sources)
        cuts = tuple(
            self.write_chunks.cut(saved, 0, document, detail.facts, tenant=tenant, target=target)
            for target in tenant.targets
        )
        known = KnownVectors.between(sources, tenant.targets, saved.parts[0])
        return ParsedRevision(saved, detail, tenant, cuts, known, first)

    def vectors(self, prepared: Iterable[ParsedRevision], deadline: Deadline) -> Known:
        """The vectors of several documents, in shared requests; the same text is embedded once."""
        several = list(prepared)
        known = {place: vector for each in several for place, vector in each.known.items()}
        return self.write_chunks.vectors((cut for each in several for cut in each.cuts), known, deadline)

    def index(self, prepared: Iterable[ParsedRevision], vectors: Known, deadline: Deadline) -> None:
        """Put the chunks of several documents into the index, in shared requests; they wait for the activations."""
        self.write_chunks.index((cut for each in prepared for cut in each.cuts), vectors, deadline)

    def keep(self, prepared: ParsedRevision, vectors: Known) -> WrittenRevision:
        """Keep the chunks of a document that are in the index."""
        counts = [self.write_chunks.keep(cut, vectors) for cut in prepared.cuts]
        self.known_vectors.remember(prepared.saved)
        embedded = prepared.cuts[0].unknown(prepared.known)
        detail = replace(prepared.detail, chunk_count=counts[0], embedded=embedded)
        targets = tuple(cut.target for cut in prepared.cuts)
        return WrittenRevision(detail, prepared.tenant, targets, first=prepared.first)

    def catch_up(self, detail: Detail, tenant: Tenant, deadline: Deadline) -> None:
        """Write an activated revision to those indexes of its tenant that do not have it: a reindex began meanwhile."""
        key, revision = detail.key, detail.revision
        missing = [each for each in tenant.targets if self.revisions.chunk_count(key, revision, each.name) is None]
        saved = self.revisions.open(key, revision) if missing else None
        copy_revision = CopyRevision(revisions=self.revisions, write_chunks=self.write_chunks)
        for target in missing:
            if saved is not None:
                copy_revision(saved, detail.facts, tenant=tenant, target=target, deadline=deadline)

    def _parsed(
        self, claimed: Head, found: CurrentVersions, tenant: Tenant, deadline: Deadline
    ) -> tuple[ParsedDocument, Detail] | None:
        """The document and its detail; the object's bytes end here, as two copies of a large one are too much."""
        stored = found.document
        body = self.documents.get(stored.key, version_id=stored.version_id)
        beside = self._sidecar(found)
        if body is None or beside is None:
            return None
        digest = hashlib.sha256(body).hexdigest()
        pages = SavedPages(self.revisions.state, claimed.key, digest, is_needed=lambda: self._is_claimed(claimed))
        document = parse(
            self.parser, body, name=claimed.key.path, media_type=stored.media_type, pages=pages, deadline=deadline
        )
        stated, problems = read_sidecar(beside) if beside else ({}, ())
        facts, warnings, basis = facts_of(
            claimed.key,
            document,
            version_id=stored.version_id,
            indexed_at=rfc3339(self.clock(), precision="milliseconds"),
            object_metadata=stored.metadata,
            sidecar=stated,
            categories=categories_in_force(tenant, claimed.key.vault),
        )
        detail = Detail(
            key=claimed.key,
            revision=claimed.revision,
            facts=facts,
            chunk_count=0,
            content_hash=digest,
            size_bytes=len(body),
            etag=stored.etag,
            media_type=document.media_type,
            content_type_basis=basis,
            links=tuple(link.target for link in document.links),
            warnings=(*problems, *warnings, *_of_language(document.text, tenant)),
            written_by=stored.metadata.get(WRITTEN_BY),
            stage=claimed.stage,
        )
        if mentions_in_force(tenant, claimed.key.vault):
            document = replace(
                document, links=(*document.links, *mentions(document.text, body_start=document.body_start))
            )
        return document, detail

    def _is_claimed(self, claimed: Head) -> bool:
        head = self.registry.head(claimed.key)
        return head is not None and (head.status, head.revision) == (Status.PENDING, claimed.revision)

    def _sidecar(self, found: CurrentVersions) -> bytes | None:
        """The sidecar's bytes, none where there is no sidecar; None where its version is gone by now."""
        if found.sidecar is None:
            return b""
        return self.documents.get(found.sidecar.key, version_id=found.sidecar.version_id, end=MAX_SIDECAR_BYTES + 1)


MAX_MENTIONS = 45
"""Of a document: they hold 81 % of the titles that occur in a page of HotpotQA, 30 hold 74 % (evidence/quality.md).

Two pages of so many leave room in the hundred targets of one level.
"""
MIN_WORD_LETTERS = 4  # of a single word: shorter ones are seldom titles
MAX_NAME_WORDS = 8

_WORD = re.compile(r"\w+(?:['’.\-]\w+)*")
_JOINED = re.compile(r"[ ,:!]{1,2}")  # what may stand between two words of one name
_SMALL_WORDS = "of the and de la le du del della di da van von der den for in on at to a an"
_SMALL = frozenset(_SMALL_WORDS.split())

Word = tuple[str, int, int]


def mentions(text: str, *, body_start: int = 0) -> tuple[WrittenLink, ...]:
    """The names in *text* as wikilinks: runs of words with a capital or a number, then the parts of such runs.

    Whether a document has such a name is found out when links are followed, so that the order in which documents
    arrive does not count.  At most 45, each once, in order of their place.

    >>> [link.text for link in mentions("sold to the Harbour Trust of Kiel, and then to Pump Ltd.")]
    ['Harbour Trust of Kiel', 'Pump Ltd', 'Trust of Kiel', 'Harbour Trust', 'Harbour', 'Trust', 'Kiel', 'Pump']
    """
    runs = list(_runs(text, body_start))
    whole = dict.fromkeys(_written(text, run) for run in runs)
    parts = dict.fromkeys(_written(text, part) for run in runs for part in _parts(run))
    names = [name for name in {**whole, **parts} if len(name) <= MAX_SHOWN_CHARACTERS]
    return tuple(WrittenLink(f"[[{name}]]", name) for name in names[:MAX_MENTIONS])


def _runs(text: str, start: int) -> Iterator[list[Word]]:
    """Words that stand side by side and begin with a capital or a digit, small words between them included."""
    run: list[Word] = []
    for found in _WORD.finditer(text, start):
        word = (found.group(), found.start(), found.end())
        large = word[0][0].isupper() or word[0][0].isdigit()
        apart = run and not _JOINED.fullmatch(text, run[-1][2], word[1])
        if run and (apart or not (large or word[0] in _SMALL)):
            yield from _name(run)
            run = []
        if large or run:
            run.append(word)
    yield from _name(run)


def _name(run: list[Word]) -> Iterator[list[Word]]:
    while run and run[-1][0] in _SMALL:
        run = run[:-1]
    if run and not all(word[0].isdigit() for word, _, _ in run) and _is_name(run):
        yield run[:MAX_NAME_WORDS]


def _parts(run: list[Word]) -> Iterator[list[Word]]:
    """Shorter names in a name, longest first."""
    for size in range(len(run) - 1, 0, -1):
        for at in range(len(run) - size + 1):
            part = run[at : at + size]
            if part[0][0] not in _SMALL and part[-1][0] not in _SMALL and _is_name(part):
                yield part


def _is_name(part: list[Word]) -> bool:
    return len(part) > 1 or (part[0][0][0].isupper() and len(part[0][0]) >= MIN_WORD_LETTERS)


def _written(text: str, words: list[Word]) -> str:
    return " ".join(text[words[0][1] : words[-1][2]].split())
