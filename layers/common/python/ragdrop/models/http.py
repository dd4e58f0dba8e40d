"""HTTP to OpenAI-compatible endpoints: one client, retries within the deadline, keys that may rotate."""

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

import httpx

from ragdrop.domain.deadlines import REQUEST_ID, Deadline
from ragdrop.errors import DependencyError, EmbeddingServiceError, GenerationError, ModelNotFoundError
from ragdrop.resilience.breakers import Retries

OLLAMA_PORT = 11434  # an endpoint there is Ollama
RETRYABLE = frozenset({408, 409, 425, 429, 500, 502, 503, 504})


class OpenAiHttp:
    """JSON over HTTP to one endpoint.

    Args:
        url: The base, such as `http://127.0.0.1:11434/v1`; `/v1` is added if the URL has no path.
        api_key: Returns the bearer token or None; called for each request, so it caches what it reads.
        renewed_key: Reads the token again, after the endpoint answered 401; None = *api_key* always has the latest.
        timeout_s: The longest time of one attempt.
        client: For tests; else one with keep-alive is made at the first request.
        retries: Shared with other calls of the same dependency.
        sign: Returns the headers that sign a request, by method, address and body; each try is signed.
    """

    def __init__(
        self,
        url: str,
        *,
        api_key: Callable[[], str | None],
        renewed_key: Callable[[], str | None] | None = None,
        timeout_s: float,
        client: httpx.Client | None = None,
        retries: Retries | None = None,
        sign: Callable[[str, str, bytes], dict[str, str]] | None = None,
    ) -> None:
        base = httpx.URL(url)
        self.url = str(base.copy_with(path="/v1") if base.path in {"", "/"} else base).rstrip("/")
        self._api_key = api_key
        self._renewed_key = renewed_key or api_key
        self._timeout_s = timeout_s
        self._client = client
        self._retries = retries or Retries()
        self._sign = sign
        self._connecting = threading.Lock()

    def post(self, path: str, body: dict[str, Any], deadline: Deadline, *, stage: str) -> httpx.Response:
        """The last response, whatever its status; connection errors and RETRYABLE statuses are tried again.

        A 401 is tried again once, if the key was rotated meanwhile.

        Raises:
            httpx.TransportError: The endpoint could not be reached, or was too slow.
            DeadlineError: No time was left to try.
        """
        return self._send(path, body, deadline, stage=stage, stream=False)

    def get(self, path: str, deadline: Deadline, *, stage: str) -> httpx.Response:
        """The response to one GET, whatever its status; never tried again, but with a key that was rotated.

        Raises:
            httpx.TransportError: The endpoint could not be reached, or was too slow.
            DeadlineError: No time was left to try.
        """
        timeout_s = deadline.timeout_s(self._timeout_s, stage=stage)
        client, key = self._connected(), self._api_key()
        response = client.get(f"{self.url}{path}", timeout=timeout_s, headers=_headers(key))
        if (renewed := self._rotated(response, key)) is None:
            return response
        return client.get(f"{self.url}{path}", timeout=timeout_s, headers=_headers(renewed))

    @contextmanager
    def stream(
        self, path: str, body: dict[str, Any], deadline: Deadline, *, limit: Deadline, stage: str
    ) -> Iterator[httpx.Response]:
        """The same, as soon as its headers arrive, by *deadline*; *limit* cuts the body off.

        Nothing is tried again after the headers.  Leaving the block closes the connection.
        """
        response = self._send(path, body, deadline, stage=stage, stream=True)
        cutoff = threading.Timer(max(0.0, limit.remaining_s()), _cut, [response])
        cutoff.daemon = True
        cutoff.start()
        try:
            yield response
        finally:
            cutoff.cancel()
            response.close()

    def _send(self, path: str, body: dict[str, Any], deadline: Deadline, *, stage: str, stream: bool) -> httpx.Response:
        client = self._connected()
        self._retries.begin()
        attempt, key, renewed = 1, self._api_key(), None
        while True:
            timeout_s = deadline.timeout_s(self._timeout_s, stage=stage)
            timeout = httpx.Timeout(timeout_s, connect=min(timeout_s, 5.0))
            try:
                request = client.build_request(
                    "POST", f"{self.url}{path}", json=body, timeout=timeout, headers=_headers(key)
                )
                self._signed(request)
                response = client.send(request, stream=stream)
            except httpx.TransportError as exc:
                if _used_its_time(exc) or not self._retries.again(attempt, deadline):
                    raise
            else:
                if renewed is None and (renewed := self._rotated(response, key)) is not None:
                    key = renewed
                    response.close()
                    continue
                later = response.headers.get("retry-after")
                if response.status_code not in RETRYABLE or not self._retries.again(attempt, deadline, later):
                    return response
                response.close()
            attempt += 1

    def _signed(self, request: httpx.Request) -> None:
        if self._sign is not None:
            try:
                request.headers.update(self._sign(request.method, str(request.url), request.content))
            except DependencyError as exc:
                raise httpx.ConnectError(exc.message, request=request) from exc

    def _connected(self) -> httpx.Client:
        with self._connecting:
            if self._client is None:
                self._client = httpx.Client()
            return self._client

    def _rotated(self, response: httpx.Response, key: str | None) -> str | None:
        """The key that took the place of *key*, where the endpoint refused that one and there is another."""
        if response.status_code != httpx.codes.UNAUTHORIZED:
            return None
        renewed = self._renewed_key()
        return None if renewed == key else renewed


def _headers(key: str | None) -> dict[str, str]:
    """The bearer token, and the id of the request that is served, for the endpoint's log."""
    request_id = REQUEST_ID.get()
    named = {"x-request-id": request_id} if request_id else {}
    return {**named, "authorization": f"Bearer {key}"} if key else named


def _used_its_time(exc: httpx.TransportError) -> bool:
    """Whether the endpoint was reached and took too long: it may still be at work, and another call doubles that."""
    return isinstance(exc, httpx.TimeoutException) and not isinstance(exc, httpx.ConnectTimeout | httpx.PoolTimeout)


def _cut(response: httpx.Response) -> None:
    """End a response that another thread still reads: its next read fails.  One that came whole has no connection."""
    if "network_stream" not in response.extensions:
        return
    connection = response.extensions["network_stream"].get_extra_info("socket")
    with suppress(OSError):  # it has just ended
        connection.shutdown(socket.SHUT_RDWR)


def problem(response: httpx.Response) -> str:
    """The message of an error response, short: the protocol's `error.message` if there is one."""
    try:
        error = response.json()["error"]
        return str(error["message"] if isinstance(error, dict) else error)[:300]
    except (ValueError, KeyError, TypeError):
        return f"HTTP {response.status_code}"


def unreached(exc: httpx.TransportError, service: str) -> str:
    """The message of a call that *service* did not answer."""
    is_late = isinstance(exc, httpx.TimeoutException)
    return f"{service} did not answer in time" if is_late else f"{service} could not be reached"


def missing_model(response: httpx.Response, model: str, *, service: str, setting: str) -> ModelNotFoundError:
    """The error of an endpoint without *model*; *setting* names models.  Callers see it, so it has no address."""
    is_ollama = response.request.url.port == OLLAMA_PORT
    listed = f"set {setting} to a model that GET /models of the {service} endpoint lists"
    return ModelNotFoundError(
        f"the {service} endpoint does not have the model {model!r}: {problem(response)}",
        service=service,
        retryable=False,
        model=model,
        install=f"ollama pull {model}" if is_ollama else listed,
    )


LISTS_NONE = frozenset({httpx.codes.NOT_FOUND, httpx.codes.METHOD_NOT_ALLOWED, httpx.codes.NOT_IMPLEMENTED})
ERRORS: dict[str, type[DependencyError]] = {"embedding": EmbeddingServiceError, "chat": GenerationError}


class OpenAiModelList:
    """A ModelList over one endpoint; *service*, `embedding` or `chat`, decides its errors."""

    def __init__(self, http: OpenAiHttp, *, service: str) -> None:
        self._http = http
        self._service = service

    def models(self, deadline: Deadline) -> frozenset[str] | None:
        error = ERRORS[self._service]
        try:
            response = self._http.get("/models", deadline, stage=self._service)
        except httpx.TransportError as exc:
            raise error(unreached(exc, f"the {self._service} service"), service=self._service) from exc
        if response.status_code in LISTS_NONE:
            return None
        if response.status_code != httpx.codes.OK:
            message = f"the {self._service} service answered {response.status_code}"
            raise error(message, service=self._service, status=response.status_code)
        try:
            return frozenset(str(each["id"]) for each in response.json()["data"])
        except (ValueError, KeyError, TypeError):
            return None
