"""Replies of the API as received, and the errors in their bodies."""

from __future__ import annotations

import json
from typing import Any

import httpx

from ragdrop.errors import CallerError, DependencyError, RagdropError

API_SERVICE = "api"
RESTARTING = frozenset({502, 503, 504})  # a gateway's own words for "what is behind me did not answer"


def _classes_by_code() -> dict[str, type[RagdropError]]:
    """The class to raise for a code; a code that two branches share is the caller's over HTTP."""
    found: dict[str, type[RagdropError]] = {}
    for branch in (CallerError, DependencyError):
        for kind in branch.__subclasses__():
            found.setdefault(kind.code, kind)
    return found


CLASSES_BY_CODE = _classes_by_code()


class Reply(dict[str, Any]):
    """The JSON object that the API sent, and in `raw` its bytes as received."""

    def __init__(self, fields: dict[str, Any], *, raw: bytes) -> None:
        super().__init__(fields)
        self.raw = raw

    @classmethod
    def parse(cls, response: httpx.Response) -> Reply:
        """Read a 2xx response. Raises RagdropError: the body is not a JSON object, so this is not ragdrop's API."""
        fields = _object(response.content)
        if fields is None:
            raise RagdropError(
                f"{response.request.url} answered {response.status_code} with a body that is no JSON object",
                status=response.status_code,
            )
        return cls(fields, raw=response.content)


def unreachable(api_url: str, cause: httpx.RequestError) -> DependencyError:
    """The error for a request that got no response."""
    said = "did not answer in time" if isinstance(cause, httpx.TimeoutException) else "could not be reached"
    if isinstance(cause, httpx.ConnectTimeout):
        said = "could not be reached in time"
    message = f"{api_url} {said} ({type(cause).__name__}); on a laptop `make up` starts it"
    return DependencyError(message, service=API_SERVICE, url=api_url)


def error_of(response: httpx.Response) -> RagdropError:
    """The error that a response with a status outside 200-299 stands for."""
    return error_in(_object(response.content) or {}, {"status": response.status_code}) or _foreign(response)


def error_in(body: dict[str, Any], more: dict[str, Any]) -> RagdropError | None:
    """The error that *body* reports, *more* added to its details; None where it is not ragdrop's error body."""
    said = body.get("error")
    if not isinstance(said, dict) or not isinstance(said.get("code"), str):
        return None
    details = said.get("details")
    known: dict[str, Any] = {**more, **(details if isinstance(details, dict) else {})}
    known.setdefault("request_id", said.get("request_id"))
    message = str(said.get("message", ""))
    kind = CLASSES_BY_CODE.get(said["code"])
    error: RagdropError
    if kind is None:
        error = RagdropError(message)
        known.setdefault("code", said["code"])
    elif issubclass(kind, DependencyError):
        retryable = known.setdefault("retryable", True) is not False
        error = kind(message, service=str(known.setdefault("service", API_SERVICE)), retryable=retryable)
    else:
        error = kind(message)
    error.details = known  # not through the constructor: a detail may have the name of one of its arguments
    return error


def _foreign(response: httpx.Response) -> RagdropError:
    status = response.status_code
    message = f"{response.request.url.copy_with(query=None)} answered {status} without ragdrop's error body"
    if status in RESTARTING:
        return DependencyError(message, service=API_SERVICE, status=status)
    return RagdropError(message, status=status)


def _object(content: bytes) -> dict[str, Any] | None:
    try:
        parsed = json.loads(content)
    except ValueError:
        return None
    return parsed if isinstance(parsed, dict) else None
