"""The models of an endpoint that speaks the OpenAI protocol, by `GET /models`."""

from __future__ import annotations

import httpx

from ragdrop.adapters.openai_http import OpenAiHttp
from ragdrop.domain.deadlines import Deadline
from ragdrop.errors import DependencyError, EmbeddingServiceError, GenerationError

LISTS_NONE = frozenset({httpx.codes.NOT_FOUND, httpx.codes.METHOD_NOT_ALLOWED, httpx.codes.NOT_IMPLEMENTED})
ERRORS: dict[str, type[DependencyError]] = {"embedding": EmbeddingServiceError, "chat": GenerationError}


class OpenAiModelList:
    """A ModelList over one endpoint.

    Args:
        http: The endpoint.
        service: `embedding` or `chat`: whose errors it raises.
    """

    def __init__(self, http: OpenAiHttp, *, service: str) -> None:
        self._http = http
        self._service = service

    def models(self, deadline: Deadline) -> frozenset[str] | None:
        """The ids of its models; an endpoint without that route is there all the same."""
        error = ERRORS[self._service]
        try:
            response = self._http.get("/models", deadline, stage=self._service)
        except httpx.TransportError as exc:
            kind = "did not answer in time" if isinstance(exc, httpx.TimeoutException) else "could not be reached"
            raise error(f"the {self._service} service {kind}", service=self._service) from exc
        if response.status_code in LISTS_NONE:
            return None
        if response.status_code != httpx.codes.OK:
            message = f"the {self._service} service answered {response.status_code}"
            raise error(message, service=self._service, status=response.status_code)
        try:
            return frozenset(str(each["id"]) for each in response.json()["data"])
        except (ValueError, KeyError, TypeError):
            return None
