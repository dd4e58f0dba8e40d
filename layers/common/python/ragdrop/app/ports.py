"""The outside world: every port with its adapter, by the settings.

An adapter is built, and its package imported, when it is first used: a function loads only what it calls.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from collections.abc import Callable, Mapping
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from ragdrop.app.stored_ports import StoredPorts
from ragdrop.config import FUNCTION, TEXTRACT, Settings, bedrock_region
from ragdrop.domain.models import BEDROCK_RERANKERS
from ragdrop.errors import ConfigurationError

if TYPE_CHECKING:
    from bucketindex.index import BucketChunkIndex
    from ragdrop.domain.deadlines import Deadline
    from ragdrop.generate.answering import ReadQuestion
    from ragdrop.ingest.revision_store import RevisionStore
    from ragdrop.models.function_transport import ShardFunction
    from ragdrop.models.http import OpenAiHttp
    from ragdrop.ports.answer_services import ClaimVerifier, Prompter
    from ragdrop.ports.indexes import ChunkIndex
    from ragdrop.ports.message_queue import WiringProbe
    from ragdrop.ports.model_services import ChatModel, Embedder, ModelCatalogue, ModelList, Reader
    from ragdrop.ports.reading import Parser, Splitter, TextRecognizer
    from ragdrop.ports.registry import HopLimits, Registry, TokenVerifier
    from ragdrop.ports.search_services import Metrics, Reranker, Tracer
    from ragdrop.resilience.breakers import Breakers, Retries

RERANK_TIMEOUT_S = 10
READER_TIMEOUT_S = 10
SHARD_TIMEOUT_S = 29  # of the query function
OCR_TIMEOUT_S = 60  # a page takes a small CPU seconds
SHARE_OF_DISK = 0.8  # of /tmp, for copies of segments
MAX_COPIES_BYTES = 4 << 30  # a laptop's disk is larger than that of a function

T = TypeVar("T")


class Ports(StoredPorts):
    """Every port: its adapter, or what `replace` was given in place of it.

    Those named `guarded_` are behind a breaker, for questions; ingest writes through the others.

    Args:
        settings: Say which adapters, and where they connect.
        function: The name of the function in metrics; empty in a command, which emits none.
        clock: Seconds since 1970.
    """

    def __init__(self, settings: Settings, *, function: str = "", clock: Callable[[], float] = time.time) -> None:
        self.settings = settings
        self.function = function
        self.clock = clock
        self._given: dict[str, Any] = {}

    def replace(self, **given: Any) -> Ports:
        """Copy these ports with other adapters in place of some; the others are built again, over the given ones.

        Raises TypeError: there is no port of that name.
        """
        unknown = [name for name in given if not isinstance(getattr(Ports, name, None), cached_property)]
        if unknown:
            raise TypeError(f"there is no port named {unknown[0]!r}")
        ports = Ports(self.settings, function=self.function, clock=self.clock)
        ports._given = {**self._given, **given}
        ports.__dict__.update(ports._given)
        return ports

    @cached_property
    def sleep(self) -> Callable[[float], None]:
        """Lets seconds pass, where an operator's command waits for others."""
        return time.sleep

    @cached_property
    def wiring(self) -> WiringProbe:
        from ragdrop.stores.aws.deployment import AwsWiring

        return AwsWiring(self.settings.document_bucket, self.settings.queue_url)

    @cached_property
    def tokens(self) -> TokenVerifier | None:
        rules = self.settings.token_rules()
        if rules is None:
            return None
        from ragdrop.stores.aws.token_verifier import JwtVerifier

        return JwtVerifier(rules)

    @cached_property
    def metrics(self) -> Metrics:
        from ragdrop.stores.aws.monitoring import EmfMetrics, NoMetrics

        return EmfMetrics(function=self.function, stage=self.settings.stage) if self.function else NoMetrics()

    @cached_property
    def tracer(self) -> Tracer | None:
        if not self.settings.tracing:
            return None
        from ragdrop.stores.aws.monitoring import OpenTelemetryTracer

        return OpenTelemetryTracer()

    # The chunk index

    @cached_property
    def index(self) -> ChunkIndex:
        """Segments in the state bucket; with an INDEX_URL of OpenSearch the two together."""
        from ragdrop.stores.routed_index import RoutedIndex, connection_to

        def connect() -> ChunkIndex:
            password = _secret(self.settings.index_password) if self.settings.index_password else None
            shards = {} if self.settings.index_shards is None else {"shards": self.settings.index_shards}
            return connection_to(engine)(self.settings.index_url, password=password, retries=self._retries(), **shards)

        engine = self.settings.engine
        return RoutedIndex(self.bucket_index, None if engine == "bucket" else connect)

    @cached_property
    def bucket_index(self) -> BucketChunkIndex:
        """The index in the state bucket, with local copies as large as the disk for temporary files allows."""
        from bucketindex.index import BucketChunkIndex

        room = int(min(shutil.disk_usage(tempfile.gettempdir()).total * SHARE_OF_DISK, MAX_COPIES_BYTES))
        return BucketChunkIndex(
            self.state,
            self.manifests,
            self.index_folder,
            max_bytes=room,
            clock=self.clock,
            shard_chunks=self.settings.fan_out_chunks,
            ask_shard=self._ask_shard if self.settings.fan_out_function else None,
        )

    def _ask_shard(self, request: Mapping[str, Any], deadline: Deadline) -> Mapping[str, Any]:
        """Ask the stack's query function for a part of a large index."""
        return self._shard_function(request, deadline)

    @cached_property
    def _shard_function(self) -> ShardFunction:
        from ragdrop.models.function_transport import MAX_SHARDS, ShardFunction

        return ShardFunction(self._function_http(self.settings.fan_out_function, SHARD_TIMEOUT_S, calls=MAX_SHARDS))

    @cached_property
    def index_folder(self) -> Path:
        """Where this environment stores copies of segments; on AWS that is under /tmp."""
        return Path(tempfile.gettempdir()) / f"ragdrop-index-{os.getuid()}" / self.settings.state_bucket

    @cached_property
    def revisions(self) -> RevisionStore:
        from ragdrop.ingest.revision_store import RevisionStore

        return RevisionStore(self.state)

    @cached_property
    def hop_limits(self) -> HopLimits:
        from ragdrop.ports.registry import HopLimits

        return HopLimits()

    # Models

    @cached_property
    def embedder(self) -> Embedder:
        settings = self.settings
        size, concurrency = settings.embedding_batch_size, settings.embedding_concurrency
        region = bedrock_region(settings.embedding_url)
        if region is not None:
            from ragdrop.models.bedrock import BedrockEmbedder

            http, model = self._bedrock(region, settings.embedding_timeout_s), settings.embedding_model
            return BedrockEmbedder(http, model=model, batch_size=size, concurrency=concurrency)
        from ragdrop.models.embedder import OpenAiEmbedder

        return OpenAiEmbedder(self._embedding_http, batch_size=size, concurrency=concurrency)

    @cached_property
    def embedding_models(self) -> ModelList:
        region = bedrock_region(self.settings.embedding_url)
        if region is not None:
            return self._bedrock_models(region, "embedding")
        from ragdrop.models.http import OpenAiModelList

        return OpenAiModelList(self._embedding_http, service="embedding")

    @cached_property
    def _embedding_http(self) -> OpenAiHttp:
        settings = self.settings
        return self._http(settings.embedding_url, settings.embedding_api_key, settings.embedding_timeout_s)

    @cached_property
    def chat(self) -> ChatModel:
        from ragdrop.models.chat import OpenAiChatModel

        models, region = self.settings.chat_models, bedrock_region(self.settings.chat_url)
        if region is None:
            return OpenAiChatModel(self._chat_http, models=models)
        from ragdrop.models.bedrock import refusals_of
        from ragdrop.models.converse import BedrockChatModel, ConverseChatModel

        timeout_s = self.settings.chat_timeout_s
        route = self._bedrock(region, timeout_s, path="/openai/v1")
        by_openai = OpenAiChatModel(route, models=models, thinks=True, refusal=refusals_of("chat"))
        by_converse = ConverseChatModel(self._bedrock(region, timeout_s), models=models)
        return BedrockChatModel(by_openai, by_converse, models=models)

    @cached_property
    def chat_models(self) -> ModelList:
        region = bedrock_region(self.settings.chat_url)
        if region is not None:
            return self._bedrock_models(region, "chat")
        from ragdrop.models.http import OpenAiModelList

        return OpenAiModelList(self._chat_http, service="chat")

    @cached_property
    def _chat_http(self) -> OpenAiHttp:
        return self._http(self.settings.chat_url, self.settings.chat_api_key, self.settings.chat_timeout_s)

    @cached_property
    def reranker(self) -> Reranker | None:
        settings = self.settings
        if settings.rerank_url is None:
            return None
        region = bedrock_region(settings.rerank_url)
        if region is not None:
            from ragdrop.models.bedrock import BedrockReranker

            return BedrockReranker(self._bedrock(region, RERANK_TIMEOUT_S), model=settings.rerank_model)
        from ragdrop.models.reranker import HttpReranker

        http = self._http(settings.rerank_url, settings.rerank_api_key, RERANK_TIMEOUT_S)
        return HttpReranker(http, model=settings.rerank_model)

    @cached_property
    def reader(self) -> Reader | None:
        settings = self.settings
        if settings.reader_url is None:
            return None
        from ragdrop.models.reader import HttpReader

        http = self._http(settings.reader_url, settings.reader_api_key, READER_TIMEOUT_S)
        return HttpReader(http, version=settings.reader_version)

    @cached_property
    def claim_verifier(self) -> ClaimVerifier | None:
        """What judges claims beside the rules, behind the breaker of its service; None if VERIFIER is `rules`."""
        from ragdrop.domain.models import for_space
        from ragdrop.models.verifiers import ChatVerifier, ReaderVerifier, SentenceVectorVerifier

        kind = self.settings.verifier or ("vectors" if self.guarded_reader is None else "reader")
        if kind == "chat":
            return ChatVerifier(self.guarded_chat)
        if kind == "reader" and self.guarded_reader is not None:
            return ReaderVerifier(self.guarded_reader)
        if kind != "vectors":
            return None
        space = self.settings.seed_index().space
        return SentenceVectorVerifier(self.guarded_embedder, space, for_space(space).vector)

    @cached_property
    def prompter(self) -> Prompter:
        from ragdrop.models.prompts import JinjaPrompter

        return JinjaPrompter()

    @cached_property
    def parser(self) -> Parser:
        """The parsers; only ingest carries their packages."""
        from readers.content import ContentParser
        from readers.isolated_reader import IsolatedReader

        reader, recognizer = IsolatedReader(), self._text_recognizer()
        if recognizer is None:
            return ContentParser(reader)
        from ragdrop.ingest.parse import DeadlineRecognizer
        from readers.pages.page_recognition import PageRecognition

        return ContentParser(reader, PageRecognition(DeadlineRecognizer(recognizer), reader.picture))

    def _text_recognizer(self) -> TextRecognizer | None:
        """Connect to the service or to Textract, if OCR_URL names one."""
        if self.settings.ocr_url is None:
            return None
        from ragdrop.models.text_recognizers import HttpTextRecognizer, TextractRecognizer

        if self.settings.ocr_url != TEXTRACT:
            return HttpTextRecognizer(self._http(self.settings.ocr_url, None, OCR_TIMEOUT_S))
        from botocore.exceptions import BotoCoreError, ClientError

        from ragdrop.stores.aws.clients import client

        return TextractRecognizer(client("textract"), failures=(BotoCoreError, ClientError))

    @cached_property
    def splitter(self) -> Splitter:
        """The splitter, which counts the embedding model's tokens where EMBEDDING_TOKENIZER names its file."""
        from ragdrop.models.splitter import SemanticSplitter

        return SemanticSplitter(self._tokenizer)

    def _tokenizer(self) -> bytes | None:
        name = self.settings.embedding_tokenizer
        body = self.state.get(name) if name else None
        if name and body is None:
            raise ConfigurationError(f"EMBEDDING_TOKENIZER names {name!r}, which the state bucket does not hold")
        return body

    def _http(self, url: str, key: str | None, timeout_s: float) -> OpenAiHttp:
        from ragdrop.models.http import OpenAiHttp

        if url.startswith(FUNCTION):
            return self._function_http(url.removeprefix(FUNCTION), timeout_s)
        secret = _secret(key)
        renewed = partial(secret, renew=True)
        return OpenAiHttp(url, api_key=secret, renewed_key=renewed, timeout_s=timeout_s, retries=self._retries())

    def _function_http(self, name: str, timeout_s: float, *, calls: int = 16) -> OpenAiHttp:
        """A client whose requests a function of the stack answers, called by this one's role."""
        import httpx

        from ragdrop.models.function_transport import BASE_URL, FunctionTransport
        from ragdrop.models.http import OpenAiHttp
        from ragdrop.stores.aws.clients import client

        transport = httpx.Client(transport=FunctionTransport(name, client("lambda"), calls=calls))
        no_key, retries = _secret(None), self._retries()
        return OpenAiHttp(BASE_URL, api_key=no_key, timeout_s=timeout_s, client=transport, retries=retries)

    def _bedrock(self, region: str, timeout_s: float, *, path: str = "/model") -> OpenAiHttp:
        """A client of bedrock-runtime that signs with the role's credentials."""
        from ragdrop.models.http import OpenAiHttp
        from ragdrop.stores.aws.clients import signed_endpoint

        endpoint = signed_endpoint("bedrock-runtime", region)
        url, sign = f"{endpoint.url}{path}", endpoint.sign
        return OpenAiHttp(url, api_key=_secret(None), timeout_s=timeout_s, retries=self._retries(), sign=sign)

    def _bedrock_models(self, region: str, service: str) -> ModelList:
        from ragdrop.models.bedrock import BedrockModelList

        return BedrockModelList(self._bedrock(region, READER_TIMEOUT_S), service=service)

    @cached_property
    def catalogue(self) -> ModelCatalogue | None:
        """What the account has of the models of Amazon Bedrock; None where no address names it."""
        settings = self.settings
        named = (
            (settings.chat_url, settings.chat_models),
            (settings.embedding_url, (settings.embedding_model,)),
            (settings.rerank_url, (settings.rerank_model or BEDROCK_RERANKERS[0],)),
        )
        regions = ((bedrock_region(url), models) for url, models in named)
        found = [(region, model) for region, models in regions if region is not None for model in models]
        if not found:
            return None
        from ragdrop.stores.aws.deployment import BedrockCatalogue

        return BedrockCatalogue(found)

    def _retries(self) -> Retries:
        """Retries of one dependency, with a budget for it alone."""
        from ragdrop.resilience.breakers import Retries, RetryRules

        settings = self.settings
        rules = RetryRules(settings.retry_attempts, settings.retry_base_ms / 1_000, settings.retry_cap_ms / 1_000)
        return Retries(rules)

    # Behind breakers

    @cached_property
    def breakers(self) -> Breakers:
        from ragdrop.ports.shared_state import BreakerRules
        from ragdrop.resilience.breakers import Breakers

        settings = self.settings
        rules = BreakerRules(settings.breaker_threshold, settings.breaker_window_s, settings.breaker_open_s)
        return Breakers(self.breaker_store, rules, metrics=self.metrics, clock=self.clock)

    @cached_property
    def guarded_index(self) -> ChunkIndex:
        return self._guarded(self.index, "index")

    @cached_property
    def guarded_bucket_index(self) -> ChunkIndex:
        return self._guarded(self.bucket_index, "object_store")

    @cached_property
    def guarded_registry(self) -> Registry:
        return self._guarded(self.registry, "registry")

    @cached_property
    def guarded_embedder(self) -> Embedder:
        return self._guarded(self._traced(self.embedder, self.settings.embedding_url), "embedding")

    @cached_property
    def guarded_reranker(self) -> Reranker | None:
        return None if self.reranker is None else self._guarded(self.reranker, "rerank")

    @cached_property
    def guarded_reader(self) -> Reader | None:
        """The reader behind its breaker, and a cache before both: what was read needs no service."""
        if self.reader is None:
            return None
        from ragdrop.models.cached_reader import CachedReader

        return CachedReader(self._guarded(self.reader, "reader"))

    @cached_property
    def read_question(self) -> ReadQuestion:
        """What reads questions against passages, and answers against questions."""
        from ragdrop.domain.models import of_model
        from ragdrop.generate.answering import ReadQuestion  # few searches ask for it
        from ragdrop.models.sentence_vectors import COMPARES, NearestSentence

        space = self.settings.seed_index().space
        compares = self.guarded_reader is not None and of_model(space.model, COMPARES)
        nearest = NearestSentence(self.guarded_embedder, space) if compares else None
        return ReadQuestion(self.guarded_reader, nearest=nearest)

    @cached_property
    def guarded_chat(self) -> ChatModel:
        from ragdrop.resilience.breakers import GuardedChatModel

        return GuardedChatModel(self._traced(self.chat, self.settings.chat_url), self.breakers)

    def _traced(self, model: T, url: str) -> T:
        if self.tracer is None:
            return model
        from ragdrop.resilience.traced_models import traced_model

        return traced_model(model, self.tracer, url, default=self.settings.chat_models[0])

    def _guarded(self, port: T, dependency: str) -> T:
        from ragdrop.resilience.breakers import guarded

        return guarded(port, dependency, self.breakers)


def _secret(reference: str | None) -> Callable[..., str | None]:
    from ragdrop.stores.aws.stored_secrets import STORED

    return partial(STORED.read, reference)
