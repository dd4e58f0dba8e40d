"""The outside world: every port with its adapter, by the settings."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING

from ragdrop.config import Settings

if TYPE_CHECKING:
    from ragdrop.models.http import OpenAiHttp
    from ragdrop.ports import ChatModel, ChunkIndex, Embedder, MessageQueue, ObjectStore, Prompter, Registry
    from ragdrop.ports.credentials import RequestCounts, TokenVerifier
    from ragdrop.ports.kept_replies import KeptReplies
    from ragdrop.ports.metrics import Metrics, Tracer
    from ragdrop.ports.models import ModelList, Reranker
    from ragdrop.ports.receipts import Receipts
    from ragdrop.ports.snapshots import SnapshotWriter
    from ragdrop.ports.telemetry import Telemetry
    from ragdrop.ports.visited import VisitedCache
    from ragdrop.resilience.retrying import Retries

SQLITE_SCHEME = "sqlite:///"


class Adapters:
    """The ports.  Each is made when it is first asked for.  `function` is what metrics call the one that runs."""

    function = ""  # none: a command of the operator's, a program on the laptop

    def __init__(self, settings: Settings, *, clock: Callable[[], float] = time.time) -> None:
        self.settings = settings
        self.clock = clock

    @cached_property
    def documents(self) -> ObjectStore:
        """The document bucket."""
        from ragdrop.stores.s3.object_store import S3ObjectStore

        return S3ObjectStore(self.settings.document_bucket)

    @cached_property
    def state(self) -> ObjectStore:
        """The state bucket."""
        from ragdrop.stores.s3.object_store import S3ObjectStore

        return S3ObjectStore(self.settings.state_bucket)

    @cached_property
    def registry(self) -> Registry:
        """The registry table."""
        from ragdrop.stores.dynamodb.registry import DynamoDbRegistry

        return DynamoDbRegistry(self.settings.registry_table)

    @cached_property
    def telemetry(self) -> Telemetry:
        """The telemetry table."""
        from ragdrop.stores.dynamodb.telemetry import DynamoDbTelemetry

        return DynamoDbTelemetry(self.settings.telemetry_table)

    @cached_property
    def metrics(self) -> Metrics:
        """Metrics, as lines of the function's log; nobody reads them elsewhere."""
        if not self.function:
            from ragdrop.stores.aws.telemetry import NoMetrics

            return NoMetrics()
        from ragdrop.stores.aws.telemetry import EmfMetrics

        return EmfMetrics(function=self.function, stage=self.settings.stage)

    @cached_property
    def tracer(self) -> Tracer | None:
        """What takes traces, if TRACING says so."""
        if not self.settings.tracing:
            return None
        from ragdrop.stores.aws.telemetry import OpenTelemetryTracer

        return OpenTelemetryTracer()

    @cached_property
    def receipts(self) -> Receipts:
        """Receipts of answers, in the telemetry table."""
        from ragdrop.stores.dynamodb.receipts import DynamoDbReceipts

        return DynamoDbReceipts(self.settings.telemetry_table)

    @cached_property
    def kept_replies(self) -> KeptReplies:
        """Replies to writes that carried a key, in the telemetry table."""
        from ragdrop.stores.dynamodb.expiring import DynamoDbKeptReplies

        return DynamoDbKeptReplies(self.settings.telemetry_table)

    @cached_property
    def request_counts(self) -> RequestCounts:
        """Requests a minute, in the telemetry table."""
        from ragdrop.stores.dynamodb.expiring import DynamoDbRequestCounts

        return DynamoDbRequestCounts(self.settings.telemetry_table)

    @cached_property
    def tokens(self) -> TokenVerifier | None:
        """What verifies tokens, if JWT_ISSUER names who makes them."""
        rules = self.settings.token_rules()
        if rules is None:
            return None
        from ragdrop.stores.aws.credentials import JwtVerifier

        return JwtVerifier(rules)

    @cached_property
    def visited(self) -> VisitedCache:
        """The visited cache of link following."""
        from ragdrop.stores.dynamodb.expiring import DynamoDbVisitedCache

        return DynamoDbVisitedCache(self.settings.visited_table)

    @cached_property
    def queue(self) -> MessageQueue:
        """The queue that feeds ingest."""
        from ragdrop.stores.sqs.message_queue import SqsMessageQueue

        return SqsMessageQueue(self.settings.queue_url)

    @cached_property
    def index(self) -> ChunkIndex:
        """The chunk index: one SQLite file a tenant, or OpenSearch, by INDEX_URL."""
        url = self.settings.index_url
        if url.startswith(SQLITE_SCHEME):
            from ragdrop.stores.sqlite.chunk_index import SqliteChunkIndex

            return SqliteChunkIndex(Path(url.removeprefix(SQLITE_SCHEME)))
        from ragdrop.stores.opensearch.chunk_index import OpenSearchChunkIndex

        password = self._secret(self.settings.index_password)()
        return OpenSearchChunkIndex.from_url(url, password=password, retries=self._retries())

    @cached_property
    def snapshots(self) -> SnapshotWriter:
        """Tenants' snapshots, as they are written."""
        from ragdrop.stores.sqlite.snapshots import SqliteSnapshots

        return SqliteSnapshots(self.state)

    @cached_property
    def snapshot_folder(self) -> Path:
        """Where this environment keeps the snapshots that it searches; on AWS that is under /tmp."""
        return Path(tempfile.gettempdir()) / f"ragdrop-snapshots-{os.getuid()}" / self.settings.state_bucket

    @cached_property
    def embedding_http(self) -> OpenAiHttp:
        """The connection to the embedding service."""
        from ragdrop.models.http import OpenAiHttp

        settings = self.settings
        key = self._secret(settings.embedding_api_key)
        return OpenAiHttp(
            settings.embedding_url, api_key=key, timeout_s=settings.embedding_timeout_s, retries=self._retries()
        )

    @cached_property
    def embedder(self) -> Embedder:
        """The embedding service."""
        from ragdrop.models.embedder import OpenAiEmbedder

        size, concurrency = self.settings.embedding_batch_size, self.settings.embedding_concurrency
        return OpenAiEmbedder(self.embedding_http, batch_size=size, concurrency=concurrency)

    @cached_property
    def embedding_models(self) -> ModelList:
        """The models that the embedding service has."""
        from ragdrop.models.http import OpenAiModelList

        return OpenAiModelList(self.embedding_http, service="embedding")

    @cached_property
    def chat_http(self) -> OpenAiHttp:
        """The connection to the chat service."""
        from ragdrop.models.http import OpenAiHttp

        settings = self.settings
        key = self._secret(settings.chat_api_key)
        return OpenAiHttp(settings.chat_url, api_key=key, timeout_s=settings.chat_timeout_s, retries=self._retries())

    @cached_property
    def chat(self) -> ChatModel:
        """The chat service."""
        from ragdrop.models.chat import OpenAiChatModel

        return OpenAiChatModel(self.chat_http, models=self.settings.chat_models)

    @cached_property
    def chat_models(self) -> ModelList:
        """The models that the chat service has."""
        from ragdrop.models.http import OpenAiModelList

        return OpenAiModelList(self.chat_http, service="chat")

    @cached_property
    def reranker(self) -> Reranker | None:
        """The reranker, if RERANK_URL names one."""
        from ragdrop.models.http import OpenAiHttp
        from ragdrop.models.reranker import HttpReranker

        settings = self.settings
        if settings.rerank_url is None:
            return None
        key = self._secret(settings.rerank_api_key)
        http = OpenAiHttp(settings.rerank_url, api_key=key, timeout_s=10, retries=self._retries())
        return HttpReranker(http, model=settings.rerank_model)

    @cached_property
    def prompter(self) -> Prompter:
        """The prompt templates."""
        from ragdrop.models.prompts import JinjaPrompter

        return JinjaPrompter()

    def _retries(self) -> Retries:
        """Retries of one dependency, by the settings, with a budget of its own."""
        from ragdrop.resilience.retrying import Retries, RetryRules

        settings = self.settings
        rules = RetryRules(settings.retry_attempts, settings.retry_base_ms / 1_000, settings.retry_cap_ms / 1_000)
        return Retries(rules)

    @staticmethod
    def _secret(reference: str | None) -> Callable[[], str | None]:
        from ragdrop.stores.aws.credentials import read_secret

        return partial(read_secret, reference)
