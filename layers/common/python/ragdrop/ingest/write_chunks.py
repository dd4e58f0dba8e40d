"""Write revisions to indexes: chunk, embed new texts, index, store; large documents part by part."""

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from enum import Enum, auto

from ragdrop.domain.chunks import Chunk, IndexedChunk, Vector, under
from ragdrop.domain.deadlines import Deadline
from ragdrop.domain.documents import Detail, Facts, Head
from ragdrop.domain.keys import DocumentKey
from ragdrop.domain.links import Link
from ragdrop.domain.models import EmbeddingSpace
from ragdrop.domain.tenants import ActiveIndex, IndexRef, Tenant
from ragdrop.errors import DeadlineError, DependencyError, EmptyDocumentError, ObjectStoreError
from ragdrop.ingest.reconcile_rules import LEASE_S
from ragdrop.ingest.revision_store import KnownVectors, RevisionStore, StoredRevision, stored_links
from ragdrop.ports.indexes import ChunkIndex
from ragdrop.ports.message_queue import Continuation, Delivery, MessageQueue
from ragdrop.ports.model_services import Embedder
from ragdrop.ports.reading import Splitter
from ragdrop.ports.registry import Checkpoint, HopLimits, Registry
from ragdrop.tenants.settings_in_force import chunking_in_force
from readers.parsed import ParsedDocument

AT_ONCE = 8  # revisions that are read or saved at once
ABOVE_TOKENS = 24  # a chunk that fills the model's window loses so much of its end at most, which the next one repeats

Place = tuple[EmbeddingSpace, str]
"""What a vector belongs to: a space and a text."""
Known = Mapping[Place, Vector]
"""Vectors that need not be computed again."""


@dataclass(frozen=True, slots=True)
class Cut:
    """One part of a revision, cut for one index; `chunks` have ordinals and offsets of the whole document."""

    saved: StoredRevision
    number: int
    facts: Facts
    target: ActiveIndex
    index: IndexRef
    chunks: Sequence[Chunk]
    sizes: str
    links: tuple[Link, ...]

    @property
    def places(self) -> list[Place]:
        """What must have a vector, in order of the chunks."""
        return [(self.target.space, chunk.passage) for chunk in self.chunks]

    def unknown(self, known: Known) -> int:
        """How many chunks have no vector in *known*."""
        return sum(place not in known for place in self.places)


class WriteChunks:
    """Puts revisions into indexes; what it writes answers only once the registry says so.

    Every method raises DependencyError where a service failed: the same call may succeed later.
    """

    def __init__(self, *, revisions: RevisionStore, index: ChunkIndex, embedder: Embedder, splitter: Splitter) -> None:
        self._revisions = revisions
        self._index = index
        self._embedder = embedder
        self._splitter = splitter

    def cut(
        self,
        saved: StoredRevision,
        number: int,
        document: ParsedDocument,
        facts: Facts,
        *,
        tenant: Tenant,
        target: ActiveIndex,
        first_ordinal: int = 0,
    ) -> Cut:
        """Cut part *number* of *saved*, which *document* holds, as *target* requires it.

        Raises EmptyDocumentError: there is no text in the whole document.
        """
        plan = chunking_in_force(tenant, saved.key.vault, target)
        code = document.content_type == "code"
        cut = self._splitter.split(
            document,
            max_tokens=plan.code_max_tokens if code else plan.max_tokens,
            overlap_tokens=plan.code_overlap_tokens if code else plan.overlap_tokens,
        )
        chunks = [under(facts.names, chunk, tokens=ABOVE_TOKENS) for chunk in cut] if target.titled else cut
        if not chunks and len(saved.parts) == 1:
            raise EmptyDocumentError("there is no text in this document")
        offset = saved.parts[number][0]
        if offset or first_ordinal:
            chunks = [
                replace(c, ordinal=c.ordinal + first_ordinal, start=c.start + offset, end=c.end + offset)
                for c in chunks
            ]
        sizes = plan.sizes_for(document.content_type or "")
        return Cut(saved, number, facts, target, tenant.part_of(target), chunks, sizes, stored_links(document))

    def vectors(self, cuts: Iterable[Cut], known: Known, deadline: Deadline) -> dict[Place, Vector]:
        """The vectors of all chunks of *cuts*; each text that is not *known* is embedded once, whoever has it."""
        required = dict.fromkeys(place for cut in cuts for place in cut.places)
        found = {place: known[place] for place in required if place in known}
        missing: dict[EmbeddingSpace, list[str]] = {}
        for space, text in required:
            if (space, text) not in found:
                missing.setdefault(space, []).append(text)
        for space, texts in missing.items():
            made = self._embedder.passages(texts, space, deadline)
            found |= {(space, text): vector for text, vector in zip(texts, made, strict=True)}
        return found

    def write(self, cut: Cut, vectors: Known, deadline: Deadline) -> int:
        """Index the chunks of *cut*, then save them: where they are saved, the index has them all.  How many."""
        self.index([cut], vectors, deadline)
        return self.keep(cut, vectors)

    def index(self, cuts: Iterable[Cut], vectors: Known, deadline: Deadline) -> None:
        """Index the chunks of *cuts*, those of several documents together, so that they share requests."""
        by_index: dict[IndexRef, list[IndexedChunk]] = {}
        for cut in cuts:
            by_index.setdefault(cut.index, []).extend(_indexed(cut, vectors))
        for index, chunks in by_index.items():
            if chunks:
                self._index.upsert(index, chunks, deadline)

    def keep(self, cut: Cut, vectors: Known) -> int:
        """Keep the chunks of *cut*, which are in the index, for the revisions to come.  How many."""
        ordered = [vectors[place] for place in cut.places]
        self._revisions.write_chunks(
            cut.saved, cut.target.name, cut.chunks, ordered, number=cut.number, sizes=cut.sizes
        )
        return len(cut.chunks)


def _indexed(cut: Cut, vectors: Known) -> list[IndexedChunk]:
    pairs = zip(cut.chunks, (vectors[place] for place in cut.places), strict=True)
    key, revision = cut.saved.key, cut.saved.revision
    return [
        IndexedChunk(key, revision, chunk, cut.facts, found, () if chunk.ordinal else cut.links)
        for chunk, found in pairs
    ]


@dataclass(frozen=True, kw_only=True)
class CopyRevision:
    """Writes revisions that are in some index of their tenant into another one.

    Every method raises DependencyError where a service failed: the same call may succeed later.
    """

    revisions: RevisionStore
    write_chunks: WriteChunks

    def __call__(
        self, saved: StoredRevision, facts: Facts, *, tenant: Tenant, target: ActiveIndex, deadline: Deadline
    ) -> int | None:
        """Write all parts of *saved* into *target*; how many chunks, or None where the text is gone."""
        sizes, count = "", 0
        for number in range(len(saved.parts)):
            part = self._part(saved, number, facts, tenant=tenant, target=target, first_ordinal=count)
            if part is None:
                return None
            cut, known = part
            vectors = self.write_chunks.vectors([cut], known, deadline)
            count += self.write_chunks.write(cut, vectors, deadline)
            sizes = cut.sizes
        if len(saved.parts) > 1:
            self.revisions.mark_whole(saved, target.name, count, sizes=sizes)
        return count

    def several(
        self,
        revisions: Sequence[tuple[StoredRevision, Facts]],
        *,
        tenant: Tenant,
        target: ActiveIndex,
        deadline: Deadline,
    ) -> set[tuple[DocumentKey, int]]:
        """Do the same for many revisions; which of them were written: the text of others is gone.

        Those of one part share the writes of the index.
        """
        short = [each for each in revisions if len(each[0].parts) == 1]
        with ThreadPoolExecutor(AT_ONCE, thread_name_prefix="copies") as pool:
            made = pool.map(lambda each: self._part(each[0], 0, each[1], tenant=tenant, target=target), short)
            parts = [part for part in made if part is not None]
            cuts = [cut for cut, _ in parts]
            known = {place: vector for _, found in parts for place, vector in found.items()}
            vectors = self.write_chunks.vectors(cuts, known, deadline)
            self.write_chunks.index(cuts, vectors, deadline)
            list(pool.map(lambda cut: self.write_chunks.keep(cut, vectors), cuts))
        written = {(cut.saved.key, cut.saved.revision) for cut in cuts}
        for saved, facts in revisions:
            if len(saved.parts) > 1 and self(saved, facts, tenant=tenant, target=target, deadline=deadline) is not None:
                written.add((saved.key, saved.revision))
        return written

    def _part(
        self,
        saved: StoredRevision,
        number: int,
        facts: Facts,
        *,
        tenant: Tenant,
        target: ActiveIndex,
        first_ordinal: int = 0,
    ) -> tuple[Cut, Known] | None:
        """A part cut for *target*, with the vectors that its other indexes have; None where the text is gone."""
        document = saved.part(number)
        if document is None:
            return None
        others = [index for index in tenant.targets if index.name != target.name]
        same = self._cut_before(saved, number, document, facts, tenant=tenant, target=target, others=others)
        if same is not None and same[0].chunks:
            return same
        cut = self.write_chunks.cut(
            saved, number, document, facts, tenant=tenant, target=target, first_ordinal=first_ordinal
        )
        return cut, KnownVectors.between([saved], others, saved.parts[number])

    def _cut_before(
        self,
        saved: StoredRevision,
        number: int,
        document: ParsedDocument,
        facts: Facts,
        *,
        tenant: Tenant,
        target: ActiveIndex,
        others: Sequence[ActiveIndex],
    ) -> tuple[Cut, Known] | None:
        """The part as the index has it that the tenant moves from, if that was cut by the sizes that are in force.

        None where both are of one kind: then the tenant is reindexed so that its texts are cut again.
        """
        sizes = chunking_in_force(tenant, saved.key.vault, target).sizes_for(document.content_type or "")
        for other in others:
            if other.engine == target.engine or other.make[:-1] != target.make[:-1]:
                continue
            if self.revisions.chunk_sizes(saved.key, saved.revision, other.name) != sizes:
                continue
            pairs = saved.chunks(other.name, number, document.text)
            if pairs is None:
                continue
            chunks = [chunk for chunk, _ in pairs]
            links = stored_links(document)
            cut = Cut(saved, number, facts, target, tenant.part_of(target), chunks, sizes, links)
            return cut, {(target.space, chunk.passage): vector for chunk, vector in pairs}
        return None


MIN_TIME_FOR_A_PART_S = 15.0  # with less left no part is begun; the last one also waits for refresh and activation
PACE = 2.0  # the next part may take twice as long as the slowest so far


@dataclass(frozen=True, slots=True)
class WrittenRevision:
    """A revision whose chunks are written, to these indexes of its tenant, and wait for their activation.

    `first` says that the registry has no older revision of the document, not even one of a worker that died.
    """

    detail: Detail
    tenant: Tenant
    targets: tuple[ActiveIndex, ...]
    first: bool = False

    @property
    def key(self) -> DocumentKey:
        """The document."""
        return self.detail.key


@dataclass(frozen=True, slots=True)
class Unfinished:
    """A large revision that is parsed and saved; `sources` are where vectors for it may be.

    `is_current` says that no newer version waits to be brought behind it.
    """

    saved: StoredRevision
    detail: Detail
    tenant: Tenant
    checkpoint: Checkpoint
    sources: Sequence[StoredRevision]
    is_current: bool = True

    @property
    def key(self) -> DocumentKey:
        """The document."""
        return self.detail.key


class Stop(Enum):
    """Why a worker leaves a document that is not written whole."""

    HANDED_OVER = auto()  # the time is over, a message continues
    LOST = auto()  # the revision was superseded, or another worker holds its checkpoint


@dataclass(frozen=True, kw_only=True)
class WriteParts:
    """Continues large documents.

    Whoever moves the checkpoint works on the document; one that finds it moved by another stops.  Writing a part twice
    does no harm: parts, chunks and their ids are the same every time.
    """

    registry: Registry
    queue: MessageQueue
    revisions: RevisionStore
    write_chunks: WriteChunks
    known_vectors: KnownVectors
    limits: HopLimits
    clock: Callable[[], float]

    def find(
        self, head: Head, tenant: Tenant, delivery: Delivery, handed_over: Continuation | None, *, running: bool
    ) -> Unfinished | None:
        """The revision that *head* has claimed, where it is begun and *delivery* is to continue it.

        That is where its lease is over, where it was at work itself, and where it was sent to hand the revision over
        and nobody has taken it since.

        *running* says whether another message has a lease.
        """
        checkpoint = self.registry.checkpoint(head.key, head.revision)
        if checkpoint is None:
            return None
        here = Continuation(head.key.s3_key, head.revision, checkpoint.part, checkpoint.hop)
        if running and handed_over != here and not checkpoint.worker.startswith(f"{delivery.message_id}:"):
            return None
        detail = self.registry.detail(head.key, head.revision)
        saved = self.revisions.open(head.key, head.revision)
        if detail is None or saved is None:
            return None
        return Unfinished(saved, detail, tenant, checkpoint, self.known_vectors.sources(saved, head.live_revision))

    def __call__(self, work: Unfinished, delivery: Delivery, deadline: Deadline) -> WrittenRevision | Stop:
        """Write parts while there is time; a message continues what is left.

        Raises:
            DocumentError: It took too many invocations, or there is no text in it.
            DependencyError: A service failed; the same call continues from the checkpoint.
        """
        if deadline.remaining_s() < MIN_TIME_FOR_A_PART_S:
            return self._hand_over(work, work.checkpoint)
        taken = work.checkpoint.taken_by(f"{delivery.message_id}:{delivery.receives}", self.limits)
        if not _targets(work, taken):  # every index that it was begun for was dropped since: it is begun again
            taken = replace(taken, part=0, chunks={target.name: 0 for target in work.tenant.targets}, embedded=0)
        if not self.registry.advance(work.key, work.saved.revision, work.checkpoint, taken):
            return Stop.LOST
        at = taken
        slowest_s = 0.0
        while at.part < at.parts:
            if deadline.remaining_s() < MIN_TIME_FOR_A_PART_S + PACE * slowest_s:
                return self._hand_over(work, at)
            lease_until_s = self.clock() + LEASE_S
            if not self.registry.renew(work.key, work.saved.revision, delivery.message_id, lease_until_s):
                return Stop.LOST
            started_s = time.monotonic()
            try:
                moved = at.moved(*self._write(work, at, deadline))
            except DeadlineError:
                return self._hand_over(work, at)
            except DependencyError:
                self.registry.advance(work.key, work.saved.revision, at, at.not_counted())
                raise
            if not self.registry.advance(work.key, work.saved.revision, at, moved):
                return Stop.LOST
            at = moved
            slowest_s = max(slowest_s, time.monotonic() - started_s)
        return self._whole(work, at)

    def _write(self, work: Unfinished, at: Checkpoint, deadline: Deadline) -> tuple[dict[str, int], int]:
        """Write the part at the checkpoint; its chunks by index, and those whose vectors were computed."""
        document = work.saved.part(at.part)
        if document is None:
            raise ObjectStoreError("the stored text is gone", service="object_store")
        targets = _targets(work, at)
        cuts = [
            self.write_chunks.cut(
                work.saved,
                at.part,
                document,
                work.detail.facts,
                tenant=work.tenant,
                target=target,
                first_ordinal=at.chunks[target.name],
            )
            for target in targets
        ]
        known = KnownVectors.between(work.sources, work.tenant.targets, work.saved.parts[at.part])
        vectors = self.write_chunks.vectors(cuts, known, deadline)
        written = {cut.target.name: self.write_chunks.write(cut, vectors, deadline) for cut in cuts}
        return written, cuts[0].unknown(known) if cuts else 0

    def _whole(self, work: Unfinished, at: Checkpoint) -> WrittenRevision:
        """All parts are written: note it, so that nothing needs to count them again."""
        targets = _targets(work, at)
        if not any(at.chunks.values()):
            raise EmptyDocumentError("there is no text in this document")
        for target in targets:
            plan = chunking_in_force(work.tenant, work.key.vault, target)
            sizes = plan.sizes_for(work.saved.content_type)
            self.revisions.mark_whole(work.saved, target.name, at.chunks[target.name], sizes=sizes)
        self.known_vectors.remember(work.saved)
        count = at.chunks.get(work.tenant.active.name, max(at.chunks.values()))
        return WrittenRevision(replace(work.detail, chunk_count=count, embedded=at.embedded), work.tenant, targets)

    def _hand_over(self, work: Unfinished, at: Checkpoint) -> Stop:
        self.queue.go_on(Continuation(work.key.s3_key, work.saved.revision, at.part, at.hop))
        return Stop.HANDED_OVER


def _targets(work: Unfinished, at: Checkpoint) -> tuple[ActiveIndex, ...]:
    """The indexes that the revision is written to: those that its tenant had when it began, and still has."""
    return tuple(target for target in work.tenant.targets if target.name in at.chunks)
