"""The outside world: every port with its adapter, by the settings.

An adapter is built, and its package imported, when it is first used: a function loads only what it calls.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Unpack

from ragdrop.config import Settings

if TYPE_CHECKING:
    from bucketindex.index import BucketChunkIndex
    from ragdrop.bootstrap.given import GivenPorts
    from ragdrop.ingest.revision_store import RevisionStore
    from ragdrop.models.http import OpenAiHttp
    from ragdrop.ports import ChatModel, ChunkIndex, Embedder, MessageQueue, ObjectStore, Registry
    from ragdrop.ports.indexes import ManifestStore
    from ragdrop.ports.message_queue import WiringProbe
    from ragdrop.ports.model_services import ClaimVerifier, ModelList, Prompter, Reranker
    from ragdrop.ports.reading import Parser, Splitter
    from ragdrop.ports.registry import HopLimits, RequestCounts, TokenVerifier
    from ragdrop.ports.shared_state import BreakerStore, Receipts, StoredReplies, VisitedCache
    from ragdrop.ports.telemetry import Metrics, Telemetry, Tracer
    from ragdrop.resilience.breakers import Breakers


class Ports:
    """Every port: its adapter, or what `replace` was given in place of it.

    Args:
        settings: Say which adapters, and where they connect.
        function: The name of the function in metrics; empty in a command, which emits none.
        clock: Seconds since 1970.
    """

    def __init__(self, settings: Settings, *, function: str = "", clock: Callable[[], float] = time.time) -> None:
        self.settings = settings
        self.function = function
        self.clock = clock
        self._given: GivenPorts = {}

    @classmethod
    def from_settings(cls, settings: Settings, *, function: str = "", clock: Callable[[], float] = time.time) -> Ports:
        """Ports with the real adapter of each."""
        return cls(settings, function=function, clock=clock)

    def replace(self, **given: Unpack[GivenPorts]) -> Ports:
        """Copy these ports with other adapters in place of some; the others are built again, over the given ones.

        Raises:
            TypeError: There is no port of that name.
        """
        unknown = [name for name in given if not isinstance(getattr(Ports, name, None), cached_property)]
        if unknown:
            raise TypeError(f"there is no port named {unknown[0]!r}")
        ports = Ports(self.settings, function=self.function, clock=self.clock)
        ports._given = {**self._given, **given}
        ports.__dict__.update(ports._given)
        return ports

    @cached_property
    def documents(self) -> ObjectStore:
        """The document bucket."""
        from ragdrop.stores.s3_objects import S3ObjectStore

        return S3ObjectStore(self.settings.document_bucket)

    @cached_property
    def state(self) -> ObjectStore:
        """The state bucket."""
        from ragdrop.stores.s3_objects import S3ObjectStore

        return S3ObjectStore(self.settings.state_bucket)

    @cached_property
    def registry(self) -> Registry:
        """The registry table."""
        from ragdrop.stores.dynamodb.registry_table import DynamoDbRegistry

        return DynamoDbRegistry(self.settings.registry_table)

    @cached_property
    def telemetry(self) -> Telemetry:
        """The telemetry table."""
        from ragdrop.stores.dynamodb.telemetry_table import DynamoDbTelemetry

        return DynamoDbTelemetry(self.settings.telemetry_table)

    @cached_property
    def metrics(self) -> Metrics:
        """Metrics, as lines of the function's log; nobody reads them elsewhere."""
        from ragdrop.stores.aws.monitoring import EmfMetrics, NoMetrics

        return EmfMetrics(function=self.function, stage=self.settings.stage) if self.function else NoMetrics()

    @cached_property
    def tracer(self) -> Tracer | None:
        """What takes traces, if TRACING says so."""
        if not self.settings.tracing:
            return None
        from ragdrop.stores.aws.monitoring import OpenTelemetryTracer

        return OpenTelemetryTracer()

    @cached_property
    def receipts(self) -> Receipts:
        """Receipts of answers, in the telemetry table."""
        from ragdrop.stores.dynamodb.telemetry_table import DynamoDbReceipts

        return DynamoDbReceipts(self.settings.telemetry_table)

    @cached_property
    def kept_replies(self) -> StoredReplies:
        """Replies to writes that carried a key, in the telemetry table."""
        from ragdrop.stores.dynamodb.telemetry_table import DynamoDbStoredReplies

        return DynamoDbStoredReplies(self.settings.telemetry_table)

    @cached_property
    def request_counts(self) -> RequestCounts:
        """Requests a minute, in the telemetry table."""
        from ragdrop.stores.dynamodb.telemetry_table import DynamoDbRequestCounts

        return DynamoDbRequestCounts(self.settings.telemetry_table)

    @cached_property
    def tokens(self) -> TokenVerifier | None:
        """What verifies tokens, if JWT_ISSUER names who makes them."""
        rules = self.settings.token_rules()
        if rules is None:
            return None
        from ragdrop.stores.aws.token_verifier import JwtVerifier

        return JwtVerifier(rules)

    @cached_property
    def visited(self) -> VisitedCache:
        """The visited cache of link following."""
        from ragdrop.stores.dynamodb.telemetry_table import DynamoDbVisitedCache

        return DynamoDbVisitedCache(self.settings.visited_table)

    @cached_property
    def queue(self) -> MessageQueue:
        """The queue that feeds ingest."""
        from ragdrop.stores.sqs_queue import SqsMessageQueue

        return SqsMessageQueue(self.settings.queue_url, bulk_url=self.settings.bulk_queue_url)

    @cached_property
    def manifests(self) -> ManifestStore:
        """Which segments of bucket indexes are live, in the registry table."""
        from ragdrop.stores.dynamodb.registry_table import DynamoDbManifests

        return DynamoDbManifests(self.settings.registry_table)

    @cached_property
    def index(self) -> ChunkIndex:
        """The chunk index: segments in the state bucket, or OpenSearch with these beside it, by INDEX_URL."""
        from ragdrop.bootstrap.connections import opensearch
        from ragdrop.stores.routed_index import RoutedIndex

        return RoutedIndex(self.bucket_index, opensearch(self.settings))

    @cached_property
    def bucket_index(self) -> BucketChunkIndex:
        """The index in the state bucket."""
        from ragdrop.bootstrap.connections import bucket_index

        return bucket_index(self.state, self.manifests, self.index_folder, clock=self.clock)

    @cached_property
    def index_folder(self) -> Path:
        """Where this environment keeps copies of segments; on AWS that is under /tmp."""
        return Path(tempfile.gettempdir()) / f"ragdrop-index-{os.getuid()}" / self.settings.state_bucket

    @cached_property
    def embedding_http(self) -> OpenAiHttp:
        """The connection to the embedding service."""
        from ragdrop.bootstrap.connections import embedding_service

        return embedding_service(self.settings)

    @cached_property
    def embedder(self) -> Embedder:
        """The embedding service."""
        from ragdrop.models.embedder import OpenAiEmbedder

        size, at_once = self.settings.embedding_batch_size, self.settings.embedding_concurrency
        return OpenAiEmbedder(self.embedding_http, batch_size=size, concurrency=at_once)

    @cached_property
    def embedding_models(self) -> ModelList:
        """The models that the embedding service has."""
        from ragdrop.models.http import OpenAiModelList

        return OpenAiModelList(self.embedding_http, service="embedding")

    @cached_property
    def chat_http(self) -> OpenAiHttp:
        """The connection to the chat service."""
        from ragdrop.bootstrap.connections import chat_service

        return chat_service(self.settings)

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
        from ragdrop.bootstrap.connections import reranker

        return reranker(self.settings)

    @cached_property
    def claim_verifier(self) -> ClaimVerifier | None:
        """What judges claims that rules leave open, behind the breakers of the service that it asks."""
        from ragdrop.bootstrap.connections import claim_verifier

        return claim_verifier(self.settings, self.guarded_embedder, self.guarded_chat)

    @cached_property
    def prompter(self) -> Prompter:
        """The prompt templates."""
        from ragdrop.models.prompts import JinjaPrompter

        return JinjaPrompter()

    @cached_property
    def breaker_store(self) -> BreakerStore:
        """The breakers' one item, in the telemetry table."""
        from ragdrop.stores.dynamodb.breaker_item import DynamoDbBreakers

        return DynamoDbBreakers(self.settings.telemetry_table)

    @cached_property
    def breakers(self) -> Breakers:
        """All breakers, as this environment knows them."""
        from ragdrop.ports.shared_state import BreakerRules
        from ragdrop.resilience.breakers import Breakers

        settings = self.settings
        rules = BreakerRules(settings.breaker_threshold, settings.breaker_window_s, settings.breaker_open_s)
        return Breakers(self.breaker_store, rules, metrics=self.metrics, clock=self.clock)

    @cached_property
    def guarded_index(self) -> ChunkIndex:
        """The chunk index, for questions."""
        from ragdrop.resilience.guarded import INDEX, guarded

        return guarded(self.index, INDEX, self.breakers)

    @cached_property
    def guarded_embedder(self) -> Embedder:
        """The embedding service, for questions."""
        from ragdrop.resilience.guarded import EMBEDDING, guarded

        return guarded(self.embedder, EMBEDDING, self.breakers)

    @cached_property
    def guarded_registry(self) -> Registry:
        """The registry, for questions."""
        from ragdrop.resilience.guarded import REGISTRY, guarded

        return guarded(self.registry, REGISTRY, self.breakers)

    @cached_property
    def guarded_reranker(self) -> Reranker | None:
        """The reranker, if there is one."""
        from ragdrop.resilience.guarded import RERANK, guarded

        return guarded(self.reranker, RERANK, self.breakers) if self.reranker else None

    @cached_property
    def guarded_chat(self) -> ChatModel:
        """The chat service."""
        from ragdrop.resilience.guarded import GuardedChatModel

        return GuardedChatModel(self.chat, self.breakers)

    @cached_property
    def guarded_bucket_index(self) -> ChunkIndex:
        """The index in the state bucket, for questions that OpenSearch does not answer."""
        from ragdrop.resilience.guarded import OBJECT_STORE, guarded

        return guarded(self.bucket_index, OBJECT_STORE, self.breakers)

    @cached_property
    def parser(self) -> Parser:
        """The parsers; only ingest carries their packages."""
        from ragdrop.bootstrap.connections import parser

        return parser(self.settings)

    @cached_property
    def splitter(self) -> Splitter:
        """The splitter, counting in the embedding model's own tokens where EMBEDDING_TOKENIZER names its file."""
        from ragdrop.bootstrap.connections import read_tokenizer
        from ragdrop.models.splitter import SemanticSplitter

        name = self.settings.embedding_tokenizer
        return SemanticSplitter(lambda: read_tokenizer(self.state, name) if name else None)

    @cached_property
    def wiring(self) -> WiringProbe:
        """How bucket and queues are wired."""
        from ragdrop.stores.aws.deployment import AwsWiring

        return AwsWiring(self.settings.document_bucket, self.settings.queue_url)

    @cached_property
    def revisions(self) -> RevisionStore:
        """Parsed texts, chunks and vectors in the state bucket."""
        from ragdrop.ingest.revision_store import RevisionStore

        return RevisionStore(self.state)

    @cached_property
    def hop_limits(self) -> HopLimits:
        """How many invocations a large document may take."""
        from ragdrop.ports.registry import HopLimits

        return HopLimits()
