"""Write a parsed revision into one index: split, embed what has no vector yet, keep the chunks, index them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from ragdrop.domain.chunks import Chunk, IndexedChunk, Vector
from ragdrop.domain.deadlines import Deadline
from ragdrop.domain.documents import Facts
from ragdrop.domain.keys import DocumentKey
from ragdrop.domain.links import followable
from ragdrop.domain.parsed import ParsedDocument
from ragdrop.domain.settings_in_force import chunking_in_force
from ragdrop.domain.tenants import ActiveIndex, ChunkingPlan, EmbeddingSpace, Tenant
from ragdrop.errors import EmptyDocumentError
from ragdrop.ports import ChunkIndex, Embedder, Splitter
from ragdrop.usecases.revision_store import RevisionStore

Known = Mapping[tuple[EmbeddingSpace, str], Vector]
"""Vectors that need not be computed again, by space and text."""


@dataclass(frozen=True, slots=True)
class WrittenChunks:
    """How many chunks a revision has in an index, and their vectors, for the next index to use."""

    count: int
    vectors: Known


class WriteChunks:
    """Puts revisions into indexes; what it writes answers only once the registry says so."""

    def __init__(self, *, revisions: RevisionStore, index: ChunkIndex, embedder: Embedder, splitter: Splitter) -> None:
        self._revisions = revisions
        self._index = index
        self._embedder = embedder
        self._splitter = splitter

    def __call__(
        self,
        key: DocumentKey,
        revision: int,
        document: ParsedDocument,
        facts: Facts,
        *,
        tenant: Tenant,
        target: ActiveIndex,
        deadline: Deadline,
        known: Known | None = None,
    ) -> WrittenChunks:
        """Write *revision* into *target*.

        The chunks are kept in the state bucket last: where they are, the index has them all.

        Raises:
            EmptyDocumentError: There is no text in the document.
            DependencyError: A service failed; the same call may succeed later.
        """
        plan = chunking_in_force(tenant, key.vault, target)
        chunks = self._split(document, plan)
        vectors = self._vectors([chunk.in_context for chunk in chunks], target.space, deadline, known or {})
        ordered = [vectors[target.space, chunk.in_context] for chunk in chunks]
        pairs = zip(chunks, ordered, strict=True)
        links = followable(document.links)
        indexed = [
            IndexedChunk(key, revision, chunk, facts, vector, () if chunk.ordinal else links) for chunk, vector in pairs
        ]
        self._index.upsert(tenant.part_of(target), indexed, deadline)
        sizes = plan.sizes_for(document.content_type or "")
        self._revisions.write_chunks(key, revision, target.name, chunks, ordered, sizes=sizes)
        return WrittenChunks(len(chunks), vectors)

    def _split(self, document: ParsedDocument, plan: ChunkingPlan) -> list[Chunk]:
        code = document.content_type == "code"
        chunks = self._splitter.split(
            document,
            max_tokens=plan.code_max_tokens if code else plan.max_tokens,
            overlap_tokens=plan.code_overlap_tokens if code else plan.overlap_tokens,
        )
        if not chunks:
            raise EmptyDocumentError("there is no text in this document")
        return chunks

    def _vectors(
        self, texts: Iterable[str], space: EmbeddingSpace, deadline: Deadline, known: Known
    ) -> dict[tuple[EmbeddingSpace, str], Vector]:
        wanted = dict.fromkeys((space, text) for text in texts)
        missing = [text for place, text in wanted if (place, text) not in known]
        made = self._embedder.passages(missing, space, deadline)
        found = {(space, text): vector for text, vector in zip(missing, made, strict=True)}
        return {place: found[place] if place in found else known[place] for place in wanted}
