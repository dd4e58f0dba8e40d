"""Carry requests of the OpenAI protocol to a Lambda function, in place of a network: the clients stay as they are."""

from __future__ import annotations

import json
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
from botocore.exceptions import BotoCoreError, ClientError, ConnectTimeoutError, NoCredentialsError, ReadTimeoutError

from ragdrop.domain.deadlines import REQUEST_ID, Deadline
from ragdrop.errors import ConfigurationError, DatabaseError
from ragdrop.models.http import OpenAiHttp, problem, unreached
from ragdrop.ports.indexes import SHARD_PATH

BASE_URL = "http://models.function/v1"
"""The base of the addresses that the clients ask; no name leads there."""
MAX_PAYLOAD_BYTES = 6 * 1_024 * 1_024  # Lambda's limit of a synchronous call, for the event and for its answer
MAX_CALLS, MAX_SHARDS = 16, 128  # at once
TOO_LARGE, TOO_MANY, FAILED, UNAVAILABLE, TOO_SLOW, REFUSED = 413, 429, 502, 503, 504, 424
_THROTTLED = frozenset({"TooManyRequestsException", "EC2ThrottledException", "ThrottlingException"})
_TOO_LARGE = frozenset({"RequestTooLargeException", "RequestEntityTooLargeException"})
_SAID_BY_LAMBDA = ("Runtime.", "Sandbox.", "Extension.", "Function.")
"""How error types begin whose messages are Lambda's own: what the code of a function raises may quote a document."""


class FunctionTransport(httpx.BaseTransport):
    """Invoke a function that answers as `ServedModels`: an event for each request, a response for each answer.

    What Lambda refuses becomes a response with a status and an error body, so that clients try again or give up as they
    do with any endpoint; what it does not answer becomes an error of httpx.

    Args:
        function: Name, alias included, such as `ragdrop-models:live`.
        client: A low-level client of Lambda, which makes one attempt a call.
        calls: At once.
    """

    def __init__(self, function: str, client: Any, *, calls: int = MAX_CALLS) -> None:
        self._function = function
        self._client = client
        self._calls = ThreadPoolExecutor(calls, thread_name_prefix="function-calls")

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """Wait for the answer as long as the request's timeout allows; the SDK's own cannot be set for each call.

        Raises:
            httpx.TransportError: Lambda could not be reached, or did not answer in time.
            ConfigurationError: There is no such function, or there are no credentials.
        """
        body = json.loads(request.content) if request.content else None
        event = {"path": request.url.path.removeprefix("/v1"), "body": body, "request_id": REQUEST_ID.get()}
        payload = json.dumps(event, ensure_ascii=False, separators=(",", ":")).encode(errors="replace")
        if len(payload) > MAX_PAYLOAD_BYTES:
            return _response(TOO_LARGE, f"the request has {len(payload)} bytes, and Lambda takes {MAX_PAYLOAD_BYTES}")
        call = self._calls.submit(self._invoke, payload)
        try:
            return call.result(request.extensions.get("timeout", {}).get("read"))
        except TimeoutError as exc:
            call.cancel()
            raise httpx.ReadTimeout(f"{self._function} did not answer in time", request=request) from exc
        except (ReadTimeoutError, ConnectTimeoutError) as exc:
            late = httpx.ConnectTimeout if isinstance(exc, ConnectTimeoutError) else httpx.ReadTimeout
            raise late(f"Lambda did not answer ({type(exc).__name__})", request=request) from exc
        except NoCredentialsError as exc:
            raise ConfigurationError(f"there are no AWS credentials to invoke {self._function}") from exc
        except BotoCoreError as exc:
            raise httpx.ConnectError(f"Lambda did not answer ({type(exc).__name__})", request=request) from exc

    def _invoke(self, payload: bytes) -> httpx.Response:
        try:
            answer = self._client.invoke(FunctionName=self._function, Payload=payload)
            content = answer["Payload"].read()
        except ClientError as exc:
            return self._refusal(exc)
        if kind := answer.get("FunctionError"):
            return _failure(self._function, kind, content)
        try:
            found = json.loads(content)
            return httpx.Response(int(found["status"]), json=found["body"])
        except (ValueError, KeyError, TypeError):
            return _response(FAILED, f"function {self._function} gave an answer that cannot be read")

    def _refusal(self, exc: ClientError) -> httpx.Response:
        code = str(exc.response.get("Error", {}).get("Code", ""))
        status = int(exc.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0))
        if code == "ResourceNotFoundException":
            raise ConfigurationError(
                f"function {self._function} does not exist: deploy the stack again, or name an endpoint"
            ) from exc
        if code in _THROTTLED:
            return _response(TOO_MANY, f"Lambda runs as many functions as it may ({code}): ask AWS for more")
        if code in _TOO_LARGE:
            return _response(TOO_LARGE, f"Lambda does not take a request of this size ({code})")
        retryable = status >= httpx.codes.INTERNAL_SERVER_ERROR or not status
        what = "could not run" if retryable else "may not be invoked by this function's role, or cannot run"
        return _response(UNAVAILABLE if retryable else REFUSED, f"function {self._function} {what} ({code or status})")


class ShardFunction:
    """Asks a function for its part of a search, as `bucketindex.shards.AskShard`.

    Raises:
        DatabaseError: It could not be reached, was too slow, or failed.
        DeadlineError: No time was left.
    """

    def __init__(self, http: OpenAiHttp) -> None:
        self._http = http

    def __call__(self, request: Mapping[str, Any], deadline: Deadline) -> Mapping[str, Any]:
        try:
            response = self._http.post(SHARD_PATH, dict(request), deadline, stage="index")
        except httpx.TransportError as exc:
            raise DatabaseError(unreached(exc, "a shard of the index"), service="index") from exc
        if response.status_code != httpx.codes.OK:
            raise DatabaseError(f"a shard of the index failed: {problem(response)}", service="index")
        found: Mapping[str, Any] = response.json()
        return found


def _failure(function: str, kind: str, content: bytes) -> httpx.Response:
    """The response of a function that ended with an error, which its payload describes."""
    try:
        error = json.loads(content)
        name, message = str(error.get("errorType") or kind), str(error.get("errorMessage", ""))
    except (ValueError, AttributeError):
        name, message = kind, ""
    is_late = name == "Sandbox.Timedout" or "Task timed out" in message
    status = TOO_SLOW if is_late else TOO_LARGE if name == "Function.ResponseSizeTooLarge" else FAILED
    said = f": {message[:200]}" if message and name.startswith(_SAID_BY_LAMBDA) else ""
    return _response(status, f"function {function} failed with {name}{said}")


def _response(status: int, message: str) -> httpx.Response:
    return httpx.Response(status, json={"error": {"message": message}})
