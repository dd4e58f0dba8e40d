"""Adapters whose class or connection depends on several settings: the chunk index and the model services."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from ragdrop.config import TEXTRACT, Settings
from ragdrop.errors import ConfigurationError

if TYPE_CHECKING:
    from bucketindex.index import BucketChunkIndex
    from ragdrop.models.http import OpenAiHttp
    from ragdrop.ports import ChatModel, ChunkIndex, Embedder, ObjectStore, Parser, TextRecognizer
    from ragdrop.ports.indexes import ManifestStore
    from ragdrop.ports.model_services import ClaimVerifier, Reranker
    from ragdrop.resilience.retrying import Retries

RERANK_TIMEOUT_S = 10
OCR_TIMEOUT_S = 60  # a page takes a small CPU seconds
SHARE_OF_DISK = 0.8  # of /tmp, for copies of segments
MAX_COPIES_BYTES = 4 << 30  # a laptop's disk is larger than that of a function


def read_tokenizer(state: ObjectStore, name: str) -> bytes:
    """Read the tokenizer that EMBEDDING_TOKENIZER names.

    Raises:
        ConfigurationError: The state bucket does not hold it.
    """
    body = state.get(name)
    if body is None:
        raise ConfigurationError(f"EMBEDDING_TOKENIZER names {name!r}, which the state bucket does not hold")
    return body


def bucket_index(
    state: ObjectStore, manifests: ManifestStore, folder: Path, *, clock: Callable[[], float]
) -> BucketChunkIndex:
    """Make the bucket index, with local copies as large as the disk for temporary files lets them be."""
    from bucketindex.index import BucketChunkIndex

    room = shutil.disk_usage(tempfile.gettempdir()).total * SHARE_OF_DISK
    return BucketChunkIndex(state, manifests, folder, max_bytes=int(min(room, MAX_COPIES_BYTES)), clock=clock)


def opensearch(settings: Settings) -> Callable[[], ChunkIndex] | None:
    """What connects to the OpenSearch of INDEX_URL; None where the bucket index is all there is."""
    if settings.engine == "bucket":
        return None

    def connect() -> ChunkIndex:
        from ragdrop.stores.routed_index import connection_to

        password = _secret(settings.index_password)()
        return connection_to(settings.engine)(settings.index_url, password=password, retries=_retries(settings))

    return connect


def embedding_service(settings: Settings) -> OpenAiHttp:
    """Connect to the embedding service."""
    from ragdrop.models.http import OpenAiHttp

    key = _secret(settings.embedding_api_key)
    timeout_s = settings.embedding_timeout_s
    return OpenAiHttp(settings.embedding_url, api_key=key, timeout_s=timeout_s, retries=_retries(settings))


def chat_service(settings: Settings) -> OpenAiHttp:
    """Connect to the chat service."""
    from ragdrop.models.http import OpenAiHttp

    key = _secret(settings.chat_api_key)
    return OpenAiHttp(settings.chat_url, api_key=key, timeout_s=settings.chat_timeout_s, retries=_retries(settings))


def reranker(settings: Settings) -> Reranker | None:
    """Connect to the reranker, if RERANK_URL names one."""
    from ragdrop.models.http import OpenAiHttp
    from ragdrop.models.reranker import HttpReranker

    if settings.rerank_url is None:
        return None
    key = _secret(settings.rerank_api_key)
    http = OpenAiHttp(settings.rerank_url, api_key=key, timeout_s=RERANK_TIMEOUT_S, retries=_retries(settings))
    return HttpReranker(http, model=settings.rerank_model)


def parser(settings: Settings) -> Parser:
    """Make the parser, with a recogniser of text in pictures if OCR_URL names one."""
    from readers.content import ContentParser
    from readers.isolated_reader import IsolatedReader

    reader, recognizer = IsolatedReader(), text_recognizer(settings)
    if recognizer is None:
        return ContentParser(reader)
    from ragdrop.ingest.parse import DeadlineRecognizer
    from readers.pages.page_recognition import PageRecognition

    return ContentParser(reader, PageRecognition(DeadlineRecognizer(recognizer), reader))


def text_recognizer(settings: Settings) -> TextRecognizer | None:
    """Connect to the service or to Textract, if OCR_URL names one."""
    if settings.ocr_url is None:
        return None
    if settings.ocr_url == TEXTRACT:
        from botocore.exceptions import BotoCoreError, ClientError

        from ragdrop.models.text_recognizers import TextractRecognizer
        from ragdrop.stores.aws.clients import client

        return TextractRecognizer(client("textract"), failures=(BotoCoreError, ClientError))
    from ragdrop.models.http import OpenAiHttp
    from ragdrop.models.text_recognizers import HttpTextRecognizer

    http = OpenAiHttp(settings.ocr_url, api_key=lambda: None, timeout_s=OCR_TIMEOUT_S, retries=_retries(settings))
    return HttpTextRecognizer(http)


def _retries(settings: Settings) -> Retries:
    """Retries of one dependency, with their own budget."""
    from ragdrop.resilience.retrying import Retries, RetryRules

    rules = RetryRules(settings.retry_attempts, settings.retry_base_ms / 1_000, settings.retry_cap_ms / 1_000)
    return Retries(rules)


def _secret(reference: str | None) -> Callable[[], str | None]:
    from ragdrop.stores.aws.clients import read_secret

    return partial(read_secret, reference)


def claim_verifier(settings: Settings, embedder: Embedder, chat: ChatModel) -> ClaimVerifier | None:
    """Make what judges claims that rules leave open, as VERIFIER says; None for `rules`."""
    from ragdrop.models.verifiers import ChatVerifier, SentenceVectorVerifier
    from ragdrop.query.relevance import for_space

    if settings.verifier == "chat":
        return ChatVerifier(chat)
    space = settings.seed_index().space
    return SentenceVectorVerifier(embedder, space, for_space(space).vector) if settings.verifier == "vectors" else None
