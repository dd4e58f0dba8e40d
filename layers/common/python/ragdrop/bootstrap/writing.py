"""What makes the index agree with the bucket: ingest, reindex, documents over HTTP."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from ragdrop.bootstrap.watching import WatchingParts

if TYPE_CHECKING:
    from ragdrop.documents.idempotency import WriteOnce
    from ragdrop.documents.service import KeepDocuments
    from ragdrop.ingest.known_vectors import KnownVectors
    from ragdrop.ingest.reconcile import ConvergeKeys
    from ragdrop.ingest.revision_store import RevisionStore
    from ragdrop.ingest.write_chunks import CopyRevision, WriteChunks
    from ragdrop.ingest.write_parts import WriteParts
    from ragdrop.operate.reindex import Reindex
    from ragdrop.ports import Parser, Splitter
    from ragdrop.ports.registry import HopLimits
    from ragdrop.tenants.directory import Directory


class WritingParts(WatchingParts):
    """Use cases that write."""

    @cached_property
    def revisions(self) -> RevisionStore:
        """Parsed texts, chunks and vectors in the state bucket."""
        from ragdrop.ingest.revision_store import RevisionStore

        return RevisionStore(self.state)

    @cached_property
    def parser(self) -> Parser:
        """The parsers; only ingest carries their packages."""
        from ragdrop.formats.content import ContentParser
        from ragdrop.formats.isolated_reader import IsolatedReader

        return ContentParser(IsolatedReader())

    @cached_property
    def splitter(self) -> Splitter:
        """The splitter, counting in the embedding model's own tokens where EMBEDDING_TOKENIZER names its file."""
        from ragdrop.formats.splitter import SemanticSplitter

        name = self.settings.embedding_tokenizer
        return SemanticSplitter(lambda: self._tokenizer(name) if name else None)

    @cached_property
    def write_chunks(self) -> WriteChunks:
        """One revision into one index."""
        from ragdrop.ingest.write_chunks import WriteChunks

        return WriteChunks(revisions=self.revisions, index=self.index, embedder=self.embedder, splitter=self.splitter)

    @cached_property
    def copy_revision(self) -> CopyRevision:
        """One revision into one more index."""
        from ragdrop.ingest.write_chunks import CopyRevision

        return CopyRevision(revisions=self.revisions, write_chunks=self.write_chunks)

    @cached_property
    def write_once(self) -> WriteOnce:
        """Writes that carry a key."""
        from ragdrop.documents.idempotency import WriteOnce

        return WriteOnce(self.kept_replies, clock=self.clock)

    @cached_property
    def known_vectors(self) -> KnownVectors:
        """Vectors by text, of revisions that were embedded before."""
        from ragdrop.ingest.known_vectors import KnownVectors

        return KnownVectors(self.state, self.revisions)

    @cached_property
    def hop_limits(self) -> HopLimits:
        """How many invocations a large document may take."""
        from ragdrop.ports.registry import HopLimits

        return HopLimits()

    @cached_property
    def write_parts(self) -> WriteParts:
        """Large documents."""
        from ragdrop.ingest.write_parts import WriteParts

        return WriteParts(
            registry=self.registry,
            queue=self.queue,
            revisions=self.revisions,
            write_chunks=self.write_chunks,
            known_vectors=self.known_vectors,
            limits=self.hop_limits,
            clock=self.clock,
        )

    @cached_property
    def writers_directory(self) -> Directory:
        """Tenants, by the registry itself: no breaker that readers opened stops a write."""
        return self.directory.over(self.registry)

    @cached_property
    def converge_keys(self) -> ConvergeKeys:
        """Ingest."""
        from ragdrop.ingest.activate import PublishRevisions
        from ragdrop.ingest.index_revision import IndexRevision
        from ragdrop.ingest.reconcile import ConvergeKeys
        from ragdrop.tenants.apply_settings import ApplySettings

        index_revision = IndexRevision(
            documents=self.documents,
            revisions=self.revisions,
            parser=self.parser,
            registry=self.registry,
            write_chunks=self.write_chunks,
            copy_revision=self.copy_revision,
            known_vectors=self.known_vectors,
            clock=self.clock,
        )
        publish = PublishRevisions(
            registry=self.registry,
            index=self.index,
            directory=self.writers_directory,
            index_revision=index_revision,
            metrics=self.metrics,
            clock=self.clock,
        )
        apply_settings = ApplySettings(
            documents=self.documents,
            registry=self.registry,
            directory=self.writers_directory,
            prompter=lambda: self.prompter,
            environment=self.settings.tunables(),
            clock=self.clock,
        )
        return ConvergeKeys(
            documents=self.documents,
            registry=self.registry,
            queue=self.queue,
            directory=self.writers_directory,
            index_revision=index_revision,
            publish=publish,
            apply_settings=apply_settings,
            environment=self.settings.tunables(),
            write_parts=self.write_parts,
            retry_base_s=self.settings.ingest_retry_base_s,
            clock=self.clock,
        )

    @cached_property
    def reindex(self) -> Reindex:
        """Moving tenants from one index to another."""
        from ragdrop.operate.reindex import Reindex

        return Reindex(
            registry=self.registry, revisions=self.revisions, index=self.index, copy_revision=self.copy_revision
        )

    @cached_property
    def keep_documents(self) -> KeepDocuments:
        """Documents over HTTP."""
        from ragdrop.documents.service import CheckLinks, KeepDocuments

        return KeepDocuments(
            documents=self.documents,
            registry=self.registry,
            revisions=self.revisions,
            usage=self.telemetry,
            check_links=CheckLinks(registry=self.registry, environment=self.settings.tunables()),
            budget=self.daily_budget,
            clock=self.clock,
        )

    def _tokenizer(self, name: str) -> bytes:
        from ragdrop.errors import ConfigurationError

        body = self.state.get(name)
        if body is None:
            raise ConfigurationError(f"EMBEDDING_TOKENIZER names {name!r}, which the state bucket does not hold")
        return body
