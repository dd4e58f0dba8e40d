"""Calls of models as spans, by OpenTelemetry's conventions for generative AI; no span has a word that was sent or said.

The conventions are in development: names and levels are those of open-telemetry/semantic-conventions-genai of 2026-07.
`error.type` is the name of a class of `ragdrop.errors`.
"""

import time
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Any, TypeVar, cast
from urllib.parse import urlsplit

from ragdrop.domain.chunks import Vector
from ragdrop.domain.deadlines import Deadline
from ragdrop.domain.models import EmbeddingSpace
from ragdrop.ports.model_services import ChatModel, Completion, Embedder, Message
from ragdrop.ports.search_services import SpanFields, Tracer
from ragdrop.resilience.timing import calls_so_far

PROVIDERS = {
    "openai.azure.com": "azure.ai.openai",
    "api.anthropic.com": "anthropic",
    "api.cohere.com": "cohere",
    "api.deepseek.com": "deepseek",
    "api.groq.com": "groq",
    "api.mistral.ai": "mistral_ai",
    "api.moonshot.ai": "moonshot_ai",
    "api.perplexity.ai": "perplexity",
    "api.x.ai": "x_ai",
    "generativelanguage.googleapis.com": "gcp.gemini",
}
"""Providers by the end of their endpoints' names.  Others that speak the OpenAI protocol count as `openai`."""
PORTS = {"http": 80, "https": 443}
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class ModelEndpoint:
    """Where models are called: provider, host and port; no host for what is called by the SDK's own endpoints."""

    provider: str
    host: str | None = None
    port: int | None = None

    @classmethod
    def of(cls, url: str) -> "ModelEndpoint":
        """The endpoint that a setting names.

        >>> ModelEndpoint.of("https://api.mistral.ai/v1")
        ModelEndpoint(provider='mistral_ai', host='api.mistral.ai', port=443)
        >>> ModelEndpoint.of("bedrock:eu-west-1").provider, ModelEndpoint.of("lambda:models").provider
        ('aws.bedrock', 'ragdrop')
        """
        scheme = url.partition(":")[0]
        if scheme not in PORTS:
            return cls("aws.bedrock" if scheme == "bedrock" else "ragdrop")
        parts = urlsplit(url)
        host = parts.hostname or ""
        provider = next((name for end, name in PROVIDERS.items() if host.endswith(end)), "openai")
        return cls(provider, host, parts.port or PORTS[scheme])

    def fields(self, operation: str, model: str) -> dict[str, Any]:
        """What each span of *operation* begins with."""
        found: dict[str, Any] = {"gen_ai.operation.name": operation, "gen_ai.provider.name": self.provider}
        found |= {"gen_ai.request.model": model} if model else {}
        return found | ({} if self.host is None else {"server.address": self.host, "server.port": self.port})


class TracedChatModel:
    """A ChatModel, each of whose answers is a span `chat MODEL`.

    Args:
        chat: The model.
        tracer: Takes the spans.
        endpoint: Where it is called.
        default: The model that is asked where none is named.
        stopwatch: Seconds on a monotonic clock.
    """

    def __init__(
        self,
        chat: ChatModel,
        tracer: Tracer,
        endpoint: ModelEndpoint,
        *,
        default: str,
        stopwatch: Callable[[], float] = time.perf_counter,
    ) -> None:
        self._chat = chat
        self._tracer = tracer
        self._endpoint = endpoint
        self._default = default
        self._stopwatch = stopwatch

    def complete(
        self,
        messages: Sequence[Message],
        *,
        max_tokens: int,
        deadline: Deadline,
        model: str | None = None,
        as_json: bool = False,
    ) -> Completion:
        """The whole answer."""
        fields = self._fields(model, max_tokens)
        with self._tracer.span(f"chat {model or self._default}", fields, client=True, leaf=True) as note:
            completion = self._chat.complete(
                messages, max_tokens=max_tokens, deadline=deadline, model=model, as_json=as_json
            )
            note(_answered(completion))
        return completion

    def stream(
        self, messages: Sequence[Message], *, max_tokens: int, deadline: Deadline, model: str | None = None
    ) -> Iterator[str | Completion]:
        """The answer piece by piece; the span ends with the last, or when nobody listens any more."""
        fields = {**self._fields(model, max_tokens), "gen_ai.request.stream": True}
        start_s, waits = self._stopwatch(), True
        with self._tracer.span(f"chat {model or self._default}", fields, client=True, leaf=True) as note:
            pieces = self._chat.stream(messages, max_tokens=max_tokens, deadline=deadline, model=model)
            with closing(cast("Generator[str | Completion]", pieces)):
                for piece in pieces:
                    if waits:
                        note({"gen_ai.response.time_to_first_chunk": round(self._stopwatch() - start_s, 6)})
                        waits = False
                    if isinstance(piece, Completion):
                        note(_answered(piece))
                    yield piece

    def _fields(self, model: str | None, max_tokens: int) -> dict[str, Any]:
        return {**self._endpoint.fields("chat", model or self._default), "gen_ai.request.max_tokens": max_tokens}


class TracedEmbedder:
    """An Embedder, each of whose calls is a span `embeddings MODEL`."""

    def __init__(self, embedder: Embedder, tracer: Tracer, endpoint: ModelEndpoint) -> None:
        self._embedder = embedder
        self._tracer = tracer
        self._endpoint = endpoint

    def query(self, text: str, space: EmbeddingSpace, deadline: Deadline) -> Vector:
        """The vector of a question."""
        return self._traced(space, lambda: self._embedder.query(text, space, deadline))

    def passages(self, texts: Sequence[str], space: EmbeddingSpace, deadline: Deadline) -> list[Vector]:
        """The vectors of passages."""
        return self._traced(space, lambda: self._embedder.passages(texts, space, deadline))

    def _traced(self, space: EmbeddingSpace, embed: Callable[[], T]) -> T:
        fields = self._endpoint.fields("embeddings", space.model)
        fields["gen_ai.embeddings.dimension.count"] = space.dimension
        before = len(calls_so_far())
        with self._tracer.span(f"embeddings {space.model}", fields, client=True, leaf=True) as note:
            found = embed()
            used = [call.prompt_tokens for call in calls_so_far()[before:] if call.kind == "embedding"]
            note({"gen_ai.usage.input_tokens": sum(filter(None, used)) if any(used) else None})
        return found


def traced_model(model: T, tracer: Tracer, url: str, *, default: str) -> T:
    """*model*, a ChatModel or an Embedder, with a span for each call.

    Args:
        model: What is called.
        tracer: Takes the spans.
        url: The setting that names where it is called.
        default: The chat model that is asked where none is named.
    """
    endpoint = ModelEndpoint.of(url)
    if hasattr(model, "complete"):
        return cast("T", TracedChatModel(cast("ChatModel", model), tracer, endpoint, default=default))
    return cast("T", TracedEmbedder(cast("Embedder", model), tracer, endpoint))


def _answered(completion: Completion) -> SpanFields:
    """What a span says of an answer; what the endpoint did not report is left out."""
    return {
        "gen_ai.response.model": completion.model,
        "gen_ai.response.finish_reasons": [completion.finish_reason] if completion.finish_reason else None,
        "gen_ai.usage.input_tokens": completion.prompt_tokens,
        "gen_ai.usage.output_tokens": completion.completion_tokens,
    }
