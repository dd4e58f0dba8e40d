"""Rerank by an endpoint with `POST /rerank`, as Jina, Cohere, vLLM and llama.cpp offer it."""

import math
from collections.abc import Sequence

import httpx

from ragdrop.domain.deadlines import Deadline
from ragdrop.errors import RerankError
from ragdrop.models.http import OpenAiHttp, problem, unreached

SERVICE = "rerank"


class HttpReranker:
    """A Reranker over `{model, query, documents}` -> `results[] {index, relevance_score}`; *model* is sent if given."""

    def __init__(self, http: OpenAiHttp, *, model: str | None) -> None:
        self._http = http
        self._model = {"model": model} if model else {}

    def scores(self, query: str, texts: Sequence[str], deadline: Deadline) -> list[float]:
        if not texts:
            return []
        body = {**self._model, "query": query, "documents": list(texts), "top_n": len(texts)}
        try:
            response = self._http.post("/rerank", body, deadline, stage="rerank")
        except httpx.TransportError as exc:
            raise RerankError(unreached(exc, "the reranker"), service=SERVICE) from exc
        if response.status_code != httpx.codes.OK:
            retryable = response.status_code == httpx.codes.TOO_MANY_REQUESTS or response.is_server_error
            raise RerankError(f"the reranker refused: {problem(response)}", service=SERVICE, retryable=retryable)
        return scores_of(response, len(texts))


def scores_of(response: httpx.Response, count: int) -> list[float]:
    """The scores of `results[] {index, relevance_score}`, in the order of the *count* texts.

    Raises RerankError: a text has no score, or one that is no number.
    """
    try:
        results = response.json()["results"]
        scored = {int(result["index"]): float(result["relevance_score"]) for result in results}
    except (ValueError, KeyError, TypeError) as exc:
        raise _unreadable("the reranker gave an answer that cannot be read") from exc
    if len(results) != count or sorted(scored) != list(range(count)):
        raise _unreadable(f"the reranker scored {len(scored)} of {count} texts")
    if not all(map(math.isfinite, scored.values())):
        raise _unreadable("the reranker gave a score that is no number")
    return [scored[place] for place in range(count)]


def _unreadable(message: str) -> RerankError:
    return RerankError(message, service=SERVICE, reason="unreadable")
