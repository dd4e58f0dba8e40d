"""Amazon Bedrock by the function's role: embeddings, reranking, and what its refusals mean.

Requests are those of InvokeModel, over our own HTTP client: the SDK's has no deadline of a single call (ADR 0033).
"""

import re
from collections.abc import Callable, Mapping, Sequence
from urllib.parse import quote

import httpx

from ragdrop.domain.chunks import Vector, vector
from ragdrop.domain.deadlines import Deadline
from ragdrop.domain.models import BEDROCK_RERANKERS, EmbeddingSpace, ModelCall, foundation_model, is_profile
from ragdrop.errors import (
    CONTEXT_LENGTH,
    THROTTLED,
    DependencyError,
    EmbeddingServiceError,
    GenerationError,
    ModelAccessError,
    ModelNotFoundError,
    RerankError,
)
from ragdrop.models.chat import TOO_LONG
from ragdrop.models.embedder import BatchEmbedder, checked_vectors, unreadable_vectors
from ragdrop.models.http import OpenAiHttp, unreached
from ragdrop.models.reranker import scores_of
from ragdrop.resilience.timing import note_call

COHERE_TEXTS = 96  # that Cohere Embed takes in one call; Titan takes one
COHERE_V3_CHARACTERS = 2_048  # of a text; the window that is set for v3 keeps chunks below it
COHERE_V3 = "cohere.embed-english-v3", "cohere.embed-multilingual-v3"
FAILURES: Mapping[str, type[DependencyError]] = {
    "chat": GenerationError,
    "embedding": EmbeddingServiceError,
    "rerank": RerankError,
}
_THROTTLES = {"ThrottlingException", "ServiceQuotaExceededException"}
_LOGIN = re.compile(r"Signature|Token|UnrecognizedClient|Incomplete")
_BY_ROLE = re.compile(r"not authorized to perform")
_NO_ACCESS = re.compile(r"access to the model|use case details|Marketplace|not authorized to (?:access|invoke)", re.I)
_NOT_HERE = re.compile(
    r"model identifier is invalid|on-demand throughput|isn.t supported|not supported in this region|end of its life"
    r"|could not (?:find|resolve)|does not exist|not found",
    re.IGNORECASE,
)
QUOTA = (
    "Amazon Bedrock throttles {model}: ask AWS for more (Service Quotas, Amazon Bedrock), or name a cross-region "
    "inference profile of it"
)


def invoke_path(model: str, operation: str) -> str:
    """The path of an operation on *model*, an id or an ARN, as the SDK encodes it.

    >>> invoke_path("amazon.titan-embed-text-v2:0", "invoke")
    '/amazon.titan-embed-text-v2%3A0/invoke'
    """
    return f"/{quote(model, safe='')}/{operation}"


class BedrockEmbedder(BatchEmbedder):
    """An Embedder over InvokeModel of Titan Text Embeddings V2 and Cohere Embed; *http* ends with `/model`.

    The tokens that Bedrock counted are noted.
    """

    def __init__(self, http: OpenAiHttp, *, model: str, batch_size: int, concurrency: int) -> None:
        texts = min(batch_size, COHERE_TEXTS) if _is_cohere(model) else 1
        super().__init__(batch_size=texts, concurrency=concurrency)
        self._http = http

    def embed(self, texts: list[str], space: EmbeddingSpace, deadline: Deadline, *, asking: bool) -> list[Vector]:
        if not _is_cohere(space.model):  # a tenant's index may be of another model than the batches
            made = [self._call(titan_body(text, space), space, deadline) for text in texts]
            return checked_vectors([_titan_vector(each) for each in made], len(texts), space)
        found: list[Vector] = []
        for at in range(0, len(texts), COHERE_TEXTS):
            reply = self._call(cohere_body(texts[at : at + COHERE_TEXTS], space, asking=asking), space, deadline)
            found += _cohere_vectors(reply)
        return checked_vectors(found, len(texts), space)

    def _call(self, body: dict[str, object], space: EmbeddingSpace, deadline: Deadline) -> httpx.Response:
        try:
            response = self._http.post(invoke_path(space.model, "invoke"), body, deadline, stage="embed")
        except httpx.TransportError as exc:
            raise EmbeddingServiceError(unreached(exc, "Amazon Bedrock"), service="embedding") from exc
        if response.status_code != httpx.codes.OK:
            raise bedrock_refusal(response, space.model, service="embedding")
        tokens = response.headers.get("x-amzn-bedrock-input-token-count", "")
        note_call(ModelCall(space.model, int(tokens) if tokens.isdigit() else None, kind="embedding"))
        return response


def _is_cohere(model: str) -> bool:
    return foundation_model(model).startswith("cohere.")


def titan_body(text: str, space: EmbeddingSpace) -> dict[str, object]:
    """The request of Titan Text Embeddings V2.

    >>> titan_body("Hi.", EmbeddingSpace("amazon.titan-embed-text-v2:0", 256))
    {'inputText': 'Hi.', 'dimensions': 256, 'normalize': True}
    """
    return {"inputText": text, "dimensions": space.dimension, "normalize": True}


def cohere_body(texts: Sequence[str], space: EmbeddingSpace, *, asking: bool) -> dict[str, object]:
    """The request of Cohere Embed v3 and v4 for at most 96 texts; what is too long loses its end.

    >>> cohere_body(["Hi?"], EmbeddingSpace("cohere.embed-v4:0", 256), asking=True)["output_dimension"]
    256
    """
    body: dict[str, object] = {
        "texts": list(texts),
        "input_type": "search_query" if asking else "search_document",
        "embedding_types": ["float"],
        "truncate": "RIGHT",
        "output_dimension": space.dimension,
    }
    if foundation_model(space.model).partition(":")[0] in COHERE_V3:
        del body["output_dimension"]
        body |= {"truncate": "END", "texts": [text[:COHERE_V3_CHARACTERS] for text in texts]}
    return body


def _titan_vector(response: httpx.Response) -> Vector:
    try:
        return vector(response.json()["embedding"])
    except (ValueError, KeyError, TypeError) as exc:
        raise unreadable_vectors() from exc


def _cohere_vectors(response: httpx.Response) -> list[Vector]:
    """The vectors of a reply by type, or of one that has a single type."""
    try:
        embeddings = response.json()["embeddings"]
        return [vector(each) for each in (embeddings["float"] if isinstance(embeddings, dict) else embeddings)]
    except (ValueError, KeyError, TypeError) as exc:
        raise unreadable_vectors() from exc


class BedrockReranker:
    """A Reranker over InvokeModel of Cohere Rerank and Amazon Rerank; *http* ends with `/model`."""

    def __init__(self, http: OpenAiHttp, *, model: str | None) -> None:
        self._http = http
        self._model = model or BEDROCK_RERANKERS[0]

    def scores(self, query: str, texts: Sequence[str], deadline: Deadline) -> list[float]:
        if not texts:
            return []
        body = {"query": query, "documents": list(texts), "top_n": len(texts)}
        if _is_cohere(self._model):
            body["api_version"] = 2
        try:
            response = self._http.post(invoke_path(self._model, "invoke"), body, deadline, stage="rerank")
        except httpx.TransportError as exc:
            raise RerankError(unreached(exc, "Amazon Bedrock"), service="rerank") from exc
        if response.status_code != httpx.codes.OK:
            refused = bedrock_refusal(response, self._model, service="rerank")
            raise RerankError(refused.message, **refused.details) from refused
        return scores_of(response, len(texts))


class BedrockModelList:
    """A ModelList over an endpoint that lists nothing: any answer but a server's error says that it is there."""

    def __init__(self, http: OpenAiHttp, *, service: str) -> None:
        self._http = http
        self._service = service

    def models(self, deadline: Deadline) -> None:
        error = FAILURES[self._service]
        try:
            response = self._http.get("", deadline, stage=self._service)
        except httpx.TransportError as exc:
            raise error(unreached(exc, "Amazon Bedrock"), service=self._service) from exc
        if response.is_server_error:
            status = response.status_code
            raise error(f"Amazon Bedrock answered {status}", service=self._service, status=status)


def error_of_aws(response: httpx.Response) -> tuple[str, str]:
    """Name and message of an error of AWS, as the protocol rest-json and the OpenAI route have them.

    >>> error_of_aws(httpx.Response(400, headers={"x-amzn-errortype": "ValidationException:http://x"}, json={}))
    ('ValidationException', '')
    """
    try:
        body = response.json()
    except ValueError:
        body = {}
    body = body if isinstance(body, dict) else {}
    inner = body.get("error")
    fields = inner if isinstance(inner, dict) else body
    name = response.headers.get("x-amzn-errortype") or fields.get("code") or body.get("__type") or ""
    message = fields.get("message") or body.get("Message") or ""
    return str(name).partition(":")[0].rpartition("#")[2], str(message)


def bedrock_refusal(response: httpx.Response, model: str, *, service: str) -> DependencyError:
    """The error of a reply whose status is not 200; says what to do, and never repeats who was refused.

    Args:
        response: The whole reply.
        model: What was called.
        service: `chat`, `embedding` or `rerank`: decides the class of what is neither access nor a missing model.
    """
    name, message = error_of_aws(response)
    return refused_call(name, message, model, service=service, status=response.status_code)


def refused_call(name: str, message: str, model: str, *, service: str, status: int) -> DependencyError:
    """The error of a call that Bedrock refused by the exception *name*, with the HTTP *status*."""
    error = FAILURES[service]
    if name in _THROTTLES or (status == httpx.codes.TOO_MANY_REQUESTS and name != "ModelNotReadyException"):
        return error(QUOTA.format(model=model), service=service, reason=THROTTLED, status=429)
    if status in {401, 403} and _LOGIN.search(name):
        why = f"Amazon Bedrock refused the credentials ({name})"
        return error(why, service=service, retryable=False, reason="refused", status=status)
    if status in {401, 403} or _NO_ACCESS.search(message):
        return _no_access(message, model, service)
    if status == httpx.codes.NOT_FOUND or (status == httpx.codes.BAD_REQUEST and _NOT_HERE.search(message)):
        return _not_here(model, service)
    if TOO_LONG.search(message) and service == "chat":
        why = "the prompt is longer than the chat model's context: lower MAX_CONTEXT_TOKENS"
        return GenerationError(why, service=service, retryable=False, reason=CONTEXT_LENGTH, status=status)
    why = f"Amazon Bedrock refused: {name or f'HTTP {status}'}"
    retryable = status >= httpx.codes.INTERNAL_SERVER_ERROR or status in {408, 424, 429}
    return error(f"{why}: {message[:300]}" if message else why, service=service, retryable=retryable, status=status)


def _no_access(message: str, model: str, service: str) -> ModelAccessError:
    if _BY_ROLE.search(message) and not _NO_ACCESS.search(message):
        parameter = {"chat": "ChatModels", "embedding": "EmbeddingModel", "rerank": "RerankUrl"}[service]
        fix = f"name the model by the parameter {parameter} and deploy, or allow bedrock:InvokeModel on it"
        why, reason = "the role may not call", "role"
    else:
        fix = "open the model once in Amazon Bedrock's console (Model catalog), as one who may subscribe to it"
        why, reason = "the account has no access to", "access"
    return ModelAccessError(
        f"{why} {model}: {fix}", service=service, retryable=False, reason=reason, model=model, install=fix
    )


def _not_here(model: str, service: str) -> ModelNotFoundError:
    fix = f"set {service.upper()}_URL to bedrock:REGION with a region that has it"
    if not is_profile(model):
        fix += f", or name an inference profile of it, such as us.{model} or global.{model}"
    return ModelNotFoundError(
        f"Amazon Bedrock has no {model} in this region: {fix}",
        service=service,
        retryable=False,
        reason="region",
        model=model,
        install=fix,
    )


def refusals_of(service: str) -> Callable[[httpx.Response, str], DependencyError]:
    """`bedrock_refusal` for one service."""
    return lambda response, model: bedrock_refusal(response, model, service=service)
