"""Composition root: Settings -> adapters -> use cases, once per execution environment.

Parts are made when they are first asked for, so that a function imports and connects only what it uses.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING

from ragdrop.bootstrap_operating import OperatingParts
from ragdrop.config import Settings

if TYPE_CHECKING:
    from ragdrop.ports import (
        ChatModel,
        ChunkIndex,
        Embedder,
        MessageQueue,
        ObjectStore,
        Parser,
        Prompter,
        Registry,
        Splitter,
    )
    from ragdrop.usecases.ask import Ask
    from ragdrop.usecases.converge_keys import ConvergeKeys
    from ragdrop.usecases.keep_documents import KeepDocuments
    from ragdrop.usecases.reindex import Reindex
    from ragdrop.usecases.revision_store import RevisionStore
    from ragdrop.usecases.search import Search
    from ragdrop.usecases.tenants import AdministerTenants, Directory
    from ragdrop.usecases.write_chunks import WriteChunks

SQLITE_SCHEME = "sqlite:///"


class App(OperatingParts):
    """Every part of ragdrop by its name: ports first, then the use cases over them.

    A part may be given instead of made, by assigning it before it is used: `bootstrap(embedder=HashingEmbedder())`.
    """

    def __init__(self, settings: Settings, *, clock: Callable[[], float] = time.time) -> None:
        self.settings = settings
        self.clock = clock

    @cached_property
    def documents(self) -> ObjectStore:
        """The document bucket."""
        from ragdrop.adapters.s3_object_store import S3ObjectStore

        return S3ObjectStore(self.settings.document_bucket)

    @cached_property
    def state(self) -> ObjectStore:
        """The state bucket."""
        from ragdrop.adapters.s3_object_store import S3ObjectStore

        return S3ObjectStore(self.settings.state_bucket)

    @cached_property
    def registry(self) -> Registry:
        """The registry table."""
        from ragdrop.adapters.dynamodb_registry import DynamoDbRegistry

        return DynamoDbRegistry(self.settings.registry_table)

    @cached_property
    def queue(self) -> MessageQueue:
        """The queue that feeds ingest."""
        from ragdrop.adapters.sqs_message_queue import SqsMessageQueue

        return SqsMessageQueue(self.settings.queue_url)

    @cached_property
    def index(self) -> ChunkIndex:
        """The chunk index: one SQLite file a tenant, or OpenSearch, by INDEX_URL."""
        url = self.settings.index_url
        if url.startswith(SQLITE_SCHEME):
            from ragdrop.adapters.sqlite_chunk_index import SqliteChunkIndex

            return SqliteChunkIndex(Path(url.removeprefix(SQLITE_SCHEME)))
        from ragdrop.adapters.opensearch_chunk_index import OpenSearchChunkIndex

        return OpenSearchChunkIndex.from_url(url, password=self._secret(self.settings.index_password)())

    @cached_property
    def embedder(self) -> Embedder:
        """The embedding service."""
        from ragdrop.adapters.openai_embedder import OpenAiEmbedder
        from ragdrop.adapters.openai_http import OpenAiHttp

        settings = self.settings
        key = self._secret(settings.embedding_api_key)
        http = OpenAiHttp(settings.embedding_url, api_key=key, timeout_s=settings.embedding_timeout_s)
        return OpenAiEmbedder(http, batch_size=settings.embedding_batch_size)

    @cached_property
    def chat(self) -> ChatModel:
        """The chat service."""
        from ragdrop.adapters.openai_chat_model import OpenAiChatModel
        from ragdrop.adapters.openai_http import OpenAiHttp

        settings = self.settings
        http = OpenAiHttp(
            settings.chat_url, api_key=self._secret(settings.chat_api_key), timeout_s=settings.chat_timeout_s
        )
        return OpenAiChatModel(http, models=settings.chat_models)

    @cached_property
    def parser(self) -> Parser:
        """The parsers; only ingest carries their packages."""
        from ragdrop.adapters.content_parser import ContentParser
        from ragdrop.adapters.isolated_reader import IsolatedReader

        return ContentParser(IsolatedReader())

    @cached_property
    def splitter(self) -> Splitter:
        """The splitter, counting in the embedding model's own tokens where EMBEDDING_TOKENIZER names its file."""
        from ragdrop.adapters.semantic_splitter import SemanticSplitter

        name = self.settings.embedding_tokenizer
        return SemanticSplitter(lambda: self._tokenizer(name) if name else None)

    @cached_property
    def prompter(self) -> Prompter:
        """The prompt templates."""
        from ragdrop.adapters.jinja_prompter import JinjaPrompter

        return JinjaPrompter()

    @cached_property
    def revisions(self) -> RevisionStore:
        """Parsed texts, chunks and vectors in the state bucket."""
        from ragdrop.usecases.revision_store import RevisionStore

        return RevisionStore(self.state)

    @cached_property
    def directory(self) -> Directory:
        """Callers and tenants."""
        from ragdrop.usecases.tenants import Directory

        return Directory(self.registry, clock=self.clock)

    @cached_property
    def operator(self) -> AdministerTenants:
        """What operators do."""
        from ragdrop.usecases.tenants import AdministerTenants

        return AdministerTenants(self.registry, self.settings.seed_index(), clock=self.clock)

    @cached_property
    def search(self) -> Search:
        """Search."""
        from ragdrop.usecases.search import Search

        return Search(registry=self.registry, index=self.index, embedder=self.embedder, directory=self.directory)

    @cached_property
    def ask(self) -> Ask:
        """Ask."""
        from ragdrop.usecases.ask import Ask, TokenBudget

        settings = self.settings
        budget = TokenBudget(
            settings.max_context_tokens, settings.reserved_answer_tokens, settings.reserved_prompt_tokens
        )
        return Ask(
            search=self.search,
            registry=self.registry,
            chat=self.chat,
            prompter=self.prompter,
            budget=budget,
            bucket=settings.document_bucket,
        )

    @cached_property
    def keep_documents(self) -> KeepDocuments:
        """Documents over HTTP."""
        from ragdrop.usecases.keep_documents import KeepDocuments

        return KeepDocuments(
            documents=self.documents, registry=self.registry, revisions=self.revisions, clock=self.clock
        )

    @cached_property
    def write_chunks(self) -> WriteChunks:
        """One revision into one index."""
        from ragdrop.usecases.write_chunks import WriteChunks

        return WriteChunks(revisions=self.revisions, index=self.index, embedder=self.embedder, splitter=self.splitter)

    @cached_property
    def converge_keys(self) -> ConvergeKeys:
        """Ingest."""
        from ragdrop.usecases.converge_keys import ConvergeKeys
        from ragdrop.usecases.index_revision import IndexRevision
        from ragdrop.usecases.known_vectors import KnownVectors

        index_revision = IndexRevision(
            documents=self.documents,
            revisions=self.revisions,
            parser=self.parser,
            write_chunks=self.write_chunks,
            known_vectors=KnownVectors(self.state, self.revisions),
            clock=self.clock,
        )
        return ConvergeKeys(
            documents=self.documents,
            registry=self.registry,
            index=self.index,
            queue=self.queue,
            directory=self.directory,
            index_revision=index_revision,
            retry_base_s=self.settings.ingest_retry_base_s,
            clock=self.clock,
        )

    @cached_property
    def reindex(self) -> Reindex:
        """Moving tenants from one index to another."""
        from ragdrop.usecases.reindex import Reindex

        return Reindex(
            registry=self.registry, revisions=self.revisions, index=self.index, write_chunks=self.write_chunks
        )

    @staticmethod
    def _secret(reference: str | None) -> Callable[[], str | None]:
        from ragdrop.adapters.aws_secrets import read_secret

        return partial(read_secret, reference)

    def _tokenizer(self, name: str) -> bytes:
        from ragdrop.errors import ConfigurationError

        body = self.state.get(name)
        if body is None:
            raise ConfigurationError(f"EMBEDDING_TOKENIZER names {name!r}, which the state bucket does not hold")
        return body


def bootstrap(environ: Mapping[str, str] | None = None, **parts: object) -> App:
    """Compose the application.

    Args:
        environ: Where the settings come from; the process's own environment if None.
        parts: Parts of App by name, given instead of made: fakes in tests.

    Raises:
        ConfigurationError: Names every setting that is missing or wrong.
        TypeError: A part that App does not have.
    """
    app = App(Settings.from_environment(environ))
    for name, part in parts.items():
        if not hasattr(App, name) and name != "clock":
            raise TypeError(f"App has no part named {name!r}")
        app.__dict__[name] = part
    return app
