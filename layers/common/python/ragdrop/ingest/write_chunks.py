"""Write parts of revisions to indexes: chunk, embed new texts, index, store the chunks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from ragdrop.domain.chunks import Chunk, IndexedChunk, Vector, under
from ragdrop.domain.deadlines import Deadline
from ragdrop.domain.documents import Facts
from ragdrop.domain.links import Link, followable
from ragdrop.domain.models import EmbeddingSpace
from ragdrop.domain.parsed import ParsedDocument
from ragdrop.domain.tenants import ActiveIndex, IndexRef, Tenant
from ragdrop.errors import EmptyDocumentError
from ragdrop.ingest.known_vectors import KnownVectors
from ragdrop.ingest.revision_store import RevisionStore
from ragdrop.ingest.stored_revision import StoredRevision
from ragdrop.ports import ChunkIndex, Embedder, Splitter
from ragdrop.tenants.settings_in_force import chunking_in_force

ABOVE_TOKENS = 24  # a chunk that fills the model's window loses so much of its end at most, which the next one repeats

Place = tuple[EmbeddingSpace, str]
"""What a vector belongs to: a space and a text."""
Known = Mapping[Place, Vector]
"""Vectors that need not be computed again."""


@dataclass(frozen=True, slots=True)
class Cut:
    """One part of a revision, cut for one index; `chunks` have ordinals and offsets of the whole document."""

    kept: StoredRevision
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


class WriteChunks:
    """Puts revisions into indexes; what it writes answers only once the registry says so."""

    def __init__(self, *, revisions: RevisionStore, index: ChunkIndex, embedder: Embedder, splitter: Splitter) -> None:
        self._revisions = revisions
        self._index = index
        self._embedder = embedder
        self._splitter = splitter

    def cut(
        self,
        kept: StoredRevision,
        number: int,
        document: ParsedDocument,
        facts: Facts,
        *,
        tenant: Tenant,
        target: ActiveIndex,
        first_ordinal: int = 0,
    ) -> Cut:
        """Cut part *number* of *kept*, which *document* holds, as *target* wants it.

        Raises:
            EmptyDocumentError: There is no text in the whole document.
        """
        plan = chunking_in_force(tenant, kept.key.vault, target)
        code = document.content_type == "code"
        cut = self._splitter.split(
            document,
            max_tokens=plan.code_max_tokens if code else plan.max_tokens,
            overlap_tokens=plan.code_overlap_tokens if code else plan.overlap_tokens,
        )
        chunks = [under(facts.title, chunk, tokens=ABOVE_TOKENS) for chunk in cut] if target.titled else cut
        if not chunks and len(kept.parts) == 1:
            raise EmptyDocumentError("there is no text in this document")
        offset = kept.parts[number][0]
        if offset or first_ordinal:
            chunks = [
                replace(c, ordinal=c.ordinal + first_ordinal, start=c.start + offset, end=c.end + offset)
                for c in chunks
            ]
        sizes = plan.sizes_for(document.content_type or "")
        return Cut(kept, number, facts, target, tenant.part_of(target), chunks, sizes, followable(document.links))

    def vectors(self, cuts: Iterable[Cut], known: Known, deadline: Deadline) -> dict[Place, Vector]:
        """The vectors of all chunks of *cuts*; each text that is not *known* is embedded once, whoever has it.

        Raises:
            DependencyError: The embedding service failed; the same call may succeed later.
        """
        wanted = dict.fromkeys(place for cut in cuts for place in cut.places)
        found = {place: known[place] for place in wanted if place in known}
        missing: dict[EmbeddingSpace, list[str]] = {}
        for space, text in wanted:
            if (space, text) not in found:
                missing.setdefault(space, []).append(text)
        for space, texts in missing.items():
            made = self._embedder.passages(texts, space, deadline)
            found |= {(space, text): vector for text, vector in zip(texts, made, strict=True)}
        return found

    def write(self, cut: Cut, vectors: Known, deadline: Deadline) -> int:
        """Index the chunks of *cut*, then keep them: where they are kept, the index has them all.  How many.

        Raises:
            DependencyError: A service failed; the same call may succeed later.
        """
        self.index([cut], vectors, deadline)
        return self.keep(cut, vectors)

    def index(self, cuts: Iterable[Cut], vectors: Known, deadline: Deadline) -> None:
        """Index the chunks of *cuts*, those of several documents together, so that they share requests.

        Raises:
            DependencyError: The index failed; some of the chunks may be in it.
        """
        by_index: dict[IndexRef, list[IndexedChunk]] = {}
        for cut in cuts:
            by_index.setdefault(cut.index, []).extend(_indexed(cut, vectors))
        for index, chunks in by_index.items():
            if chunks:
                self._index.upsert(index, chunks, deadline)

    def keep(self, cut: Cut, vectors: Known) -> int:
        """Keep the chunks of *cut*, which are in the index, for the revisions to come.  How many."""
        ordered = [vectors[place] for place in cut.places]
        self._revisions.write_chunks(cut.kept, cut.target.name, cut.chunks, ordered, number=cut.number, sizes=cut.sizes)
        return len(cut.chunks)


def _indexed(cut: Cut, vectors: Known) -> list[IndexedChunk]:
    pairs = zip(cut.chunks, (vectors[place] for place in cut.places), strict=True)
    key, revision = cut.kept.key, cut.kept.revision
    return [
        IndexedChunk(key, revision, chunk, cut.facts, found, () if chunk.ordinal else cut.links)
        for chunk, found in pairs
    ]


class CopyRevision:
    """Writes a revision that is in some index of its tenant into another one."""

    def __init__(self, *, revisions: RevisionStore, write_chunks: WriteChunks) -> None:
        self._revisions = revisions
        self._write_chunks = write_chunks

    def __call__(
        self, kept: StoredRevision, facts: Facts, *, tenant: Tenant, target: ActiveIndex, deadline: Deadline
    ) -> int | None:
        """Write all parts of *kept* into *target*; how many chunks, or None where the text is gone.

        Raises:
            DependencyError: A service failed; the same call may succeed later.
        """
        others = [index for index in tenant.targets if index.name != target.name]
        sizes, count = "", 0
        for number, span in enumerate(kept.parts):
            document = kept.part(number)
            if document is None:
                return None
            known = KnownVectors.between([kept], others, span)
            cut = self._write_chunks.cut(
                kept, number, document, facts, tenant=tenant, target=target, first_ordinal=count
            )
            vectors = self._write_chunks.vectors([cut], known, deadline)
            count += self._write_chunks.write(cut, vectors, deadline)
            sizes = cut.sizes
        if len(kept.parts) > 1:
            self._revisions.mark_whole(kept, target.name, count, sizes=sizes)
        return count
