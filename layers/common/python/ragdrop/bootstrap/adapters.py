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
    from ragdrop.adapters.openai_http import OpenAiHttp
    from ragdrop.adapters.retries import Retries
    from ragdrop.ports import ChatModel, ChunkIndex, Embedder, MessageQueue, ObjectStore, Prompter, Registry
    from ragdrop.ports.kept_replies import KeptReplies
    from ragdrop.ports.metrics import Metrics
    from ragdrop.ports.model_list import ModelList
    from ragdrop.ports.receipts import Receipts
    from ragdrop.ports.request_counts import RequestCounts
    from ragdrop.ports.reranker import Reranker
    from ragdrop.ports.snapshots import SnapshotWriter
    from ragdrop.ports.telemetry import Telemetry
    from ragdrop.ports.token_verifier import TokenVerifier
    from ragdrop.ports.tracer import Tracer
    from ragdrop.ports.visited import VisitedCache

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
    def telemetry(self) -> Telemetry:
        """The telemetry table."""
        from ragdrop.adapters.dynamodb_telemetry import DynamoDbTelemetry

        return DynamoDbTelemetry(self.settings.telemetry_table)

    @cached_property
    def metrics(self) -> Metrics:
        """Metrics, as lines of the function's log; nobody reads them elsewhere."""
        if not self.function:
            from ragdrop.adapters.no_metrics import NoMetrics

            return NoMetrics()
        from ragdrop.adapters.emf_metrics import EmfMetrics

        return EmfMetrics(function=self.function, stage=self.settings.stage)

    @cached_property
    def tracer(self) -> Tracer | None:
        """What takes traces, if TRACING says so."""
        if not self.settings.tracing:
            return None
        from ragdrop.adapters.open_telemetry_tracer import OpenTelemetryTracer

        return OpenTelemetryTracer()

    @cached_property
    def receipts(self) -> Receipts:
        """Receipts of answers, in the telemetry table."""
        from ragdrop.adapters.dynamodb_receipts import DynamoDbReceipts

        return DynamoDbReceipts(self.settings.telemetry_table)

    @cached_property
    def kept_replies(self) -> KeptReplies:
        """Replies to writes that carried a key, in the telemetry table."""
        from ragdrop.adapters.dynamodb_kept_replies import DynamoDbKeptReplies

        return DynamoDbKeptReplies(self.settings.telemetry_table)

    @cached_property
    def request_counts(self) -> RequestCounts:
        """Requests a minute, in the telemetry table."""
        from ragdrop.adapters.dynamodb_request_counts import DynamoDbRequestCounts

        return DynamoDbRequestCounts(self.settings.telemetry_table)

    @cached_property
    def tokens(self) -> TokenVerifier | None:
        """What verifies tokens, if JWT_ISSUER names who makes them."""
        rules = self.settings.token_rules()
        if rules is None:
            return None
        from ragdrop.adapters.jwt_verifier import JwtVerifier

        return JwtVerifier(rules)

    @cached_property
    def visited(self) -> VisitedCache:
        """The visited cache of link following."""
        from ragdrop.adapters.dynamodb_visited import DynamoDbVisitedCache

        return DynamoDbVisitedCache(self.settings.visited_table)

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

        password = self._secret(self.settings.index_password)()
        return OpenSearchChunkIndex.from_url(url, password=password, retries=self._retries())

    @cached_property
    def snapshots(self) -> SnapshotWriter:
        """Tenants' snapshots, as they are written."""
        from ragdrop.adapters.sqlite_snapshots import SqliteSnapshots

        return SqliteSnapshots(self.state)

    @cached_property
    def snapshot_folder(self) -> Path:
        """Where this environment keeps the snapshots that it searches; on AWS that is under /tmp."""
        return Path(tempfile.gettempdir()) / f"ragdrop-snapshots-{os.getuid()}" / self.settings.state_bucket

    @cached_property
    def embedding_http(self) -> OpenAiHttp:
        """The connection to the embedding service."""
        from ragdrop.adapters.openai_http import OpenAiHttp

        settings = self.settings
        key = self._secret(settings.embedding_api_key)
        return OpenAiHttp(
            settings.embedding_url, api_key=key, timeout_s=settings.embedding_timeout_s, retries=self._retries()
        )

    @cached_property
    def embedder(self) -> Embedder:
        """The embedding service."""
        from ragdrop.adapters.openai_embedder import OpenAiEmbedder

        size, concurrency = self.settings.embedding_batch_size, self.settings.embedding_concurrency
        return OpenAiEmbedder(self.embedding_http, batch_size=size, concurrency=concurrency)

    @cached_property
    def embedding_models(self) -> ModelList:
        """The models that the embedding service has."""
        from ragdrop.adapters.openai_model_list import OpenAiModelList

        return OpenAiModelList(self.embedding_http, service="embedding")

    @cached_property
    def chat_http(self) -> OpenAiHttp:
        """The connection to the chat service."""
        from ragdrop.adapters.openai_http import OpenAiHttp

        settings = self.settings
        key = self._secret(settings.chat_api_key)
        return OpenAiHttp(settings.chat_url, api_key=key, timeout_s=settings.chat_timeout_s, retries=self._retries())

    @cached_property
    def chat(self) -> ChatModel:
        """The chat service."""
        from ragdrop.adapters.openai_chat_model import OpenAiChatModel

        return OpenAiChatModel(self.chat_http, models=self.settings.chat_models)

    @cached_property
    def chat_models(self) -> ModelList:
        """The models that the chat service has."""
        from ragdrop.adapters.openai_model_list import OpenAiModelList

        return OpenAiModelList(self.chat_http, service="chat")

    @cached_property
    def reranker(self) -> Reranker | None:
        """The reranker, if RERANK_URL names one."""
        from ragdrop.adapters.http_reranker import HttpReranker
        from ragdrop.adapters.openai_http import OpenAiHttp

        settings = self.settings
        if settings.rerank_url is None:
            return None
        key = self._secret(settings.rerank_api_key)
        http = OpenAiHttp(settings.rerank_url, api_key=key, timeout_s=10, retries=self._retries())
        return HttpReranker(http, model=settings.rerank_model)

    @cached_property
    def prompter(self) -> Prompter:
        """The prompt templates."""
        from ragdrop.adapters.jinja_prompter import JinjaPrompter

        return JinjaPrompter()

    def _retries(self) -> Retries:
        """Retries of one dependency, by the settings, with a budget of its own."""
        from ragdrop.adapters.retries import Retries
        from ragdrop.domain.retrying import RetryRules

        settings = self.settings
        rules = RetryRules(settings.retry_attempts, settings.retry_base_ms / 1_000, settings.retry_cap_ms / 1_000)
        return Retries(rules)

    @staticmethod
    def _secret(reference: str | None) -> Callable[[], str | None]:
        from ragdrop.adapters.aws_secrets import read_secret

        return partial(read_secret, reference)
