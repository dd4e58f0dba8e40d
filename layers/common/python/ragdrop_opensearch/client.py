"""The HTTP client of OpenSearch: keep-alive, verified TLS, time-outs from the deadline, quiet logs, retries."""

from __future__ import annotations

import logging
from collections.abc import Collection, Mapping
from threading import local
from typing import Any, TypeAlias
from urllib.parse import unquote, urlsplit

import opensearchpy
import opensearchpy.serializer
import pydantic_core
import urllib3
from opensearchpy.connection import Urllib3HttpConnection

from ragdrop.domain.deadlines import Deadline
from ragdrop.errors import ConfigurationError
from ragdrop.ports.breakers import RetryPolicy
from ragdrop_opensearch.auth import Credentials, region_of, signer
from ragdrop_opensearch.errors import is_busy, translated

CONNECT_TIMEOUT_S = 2.0
POOL_SIZE = 10
Json: TypeAlias = Any
"""A decoded JSON answer, whose shape the caller knows."""
logger = logging.getLogger(__name__)
_refused = local()  # what the last error response of a thread said of coming back; the library's errors leave it out


class QuietConnection(Urllib3HttpConnection):  # type: ignore[misc,unused-ignore]
    """A connection that never logs a body (bodies are documents and questions) and gives up connecting early."""

    def perform_request(
        self,
        method: str,
        url: str,
        params: Mapping[str, Any] | None = None,
        body: bytes | None = None,
        timeout: float | None = None,
        ignore: Collection[int] = (),
        headers: Mapping[str, str] | None = None,
    ) -> Json:
        """One request; *timeout* seconds for all of it."""
        limits = urllib3.Timeout(total=timeout, connect=min(CONNECT_TIMEOUT_S, timeout or CONNECT_TIMEOUT_S))
        return super().perform_request(method, url, params, body, limits, ignore, headers)  # type: ignore[arg-type]

    def get_response_headers(self, response: Any) -> Any:
        """The headers of an error response: the library asks for them just before it raises."""
        headers = super().get_response_headers(response)
        _refused.retry_after = headers.get("retry-after")
        return headers

    def log_request_success(
        self,
        method: str,
        full_url: str,  # noqa: ARG002 the signature is the library's
        path: str,
        body: object,  # noqa: ARG002
        status_code: int,
        response: str,  # noqa: ARG002
        duration: float,
    ) -> None:
        """Log what was called, not what was sent."""
        logger.debug("%s %s: %s in %.0f ms", method, path.partition("?")[0], status_code, duration * 1000)

    def log_request_fail(
        self,
        method: str,
        full_url: str,  # noqa: ARG002 the signature is the library's
        path: str,
        body: object,  # noqa: ARG002
        duration: float,
        status_code: int | None = None,
        response: str | None = None,  # noqa: ARG002
        exception: BaseException | None = None,
    ) -> None:
        """Log what failed, not what was sent."""
        kind = type(exception).__name__ if exception else status_code
        logger.info("%s %s: %s in %.0f ms", method, path.partition("?")[0], kind, duration * 1000)


def connect(
    url: str,
    password: str | None = None,
    *,
    sigv4_region: str | None = None,
    credentials: Credentials | None = None,
    connection_class: type[Urllib3HttpConnection] = QuietConnection,
) -> opensearchpy.OpenSearch:
    """The client of the server at *url* (`http(s)://[user[:password]@]host[:port][/prefix]`); nothing is sent yet.

    Args:
        url: Where the server is.
        password: The user's password, in place of one in the URL.
        sigv4_region: Sign requests for this region although the host has another name than AWS gave it.
        credentials: What to sign with; None takes those of the execution environment.
        connection_class: For tests that count or change requests.

    Raises:
        ConfigurationError: The URL cannot be used, or it names OpenSearch Serverless.
    """
    parts = urlsplit(url)
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise ConfigurationError("INDEX_URL is not of the form http(s)://[user@]host[:port]")
    secure = parts.scheme == "https"
    region = sigv4_region or region_of(parts.hostname)
    auth: Any = None
    if parts.username:
        secret = password if password is not None else unquote(parts.password or "")
        auth = (unquote(parts.username), secret)
    elif region:
        auth = signer(region, credentials)
    return opensearchpy.OpenSearch(
        [{"host": parts.hostname, "port": parts.port or (443 if secure else 80), "url_prefix": parts.path.strip("/")}],
        http_auth=auth,
        use_ssl=secure,
        connection_class=connection_class,
        pool_maxsize=POOL_SIZE,
        serializer=FastJson(),
        max_retries=0,  # `Caller` retries, with a pause and within the deadline
        verify_certs=True,
    )


class FastJson(opensearchpy.serializer.JSONSerializer):
    """Reads answers with the parser that pydantic brings anyway: twice as fast as the standard library's."""

    def loads(self, s: str) -> Any:
        """The value of a JSON text."""
        try:
            return pydantic_core.from_json(s)
        except ValueError as exc:
            raise opensearchpy.SerializationError(s[:0], exc) from exc  # the text itself is not told


class RepeatableCalls:
    """Sends calls that may be repeated without harm, again where the server was busy or gone; safe between threads.

    Every call of ragdrop is one: chunks are written under their own ids, and deleting twice deletes once.  Without
    *retries* each call is tried once.
    """

    def __init__(self, client: opensearchpy.OpenSearch, *, retries: RetryPolicy | None = None) -> None:
        self._client = client
        self._retries = retries

    def call(
        self,
        method: str,
        path: str,
        *,
        deadline: Deadline,
        cap_s: float,
        stage: str,
        body: Mapping[str, Any] | bytes | None = None,
        params: Mapping[str, str] | None = None,
    ) -> Json:
        """The decoded answer of one call.

        Raises:
            DatabaseError: The server did not answer, or refused.
            DeadlineError: No time was left.
        """
        try:
            return self.raw(method, path, deadline=deadline, cap_s=cap_s, stage=stage, body=body, params=params)
        except opensearchpy.OpenSearchException as exc:
            raise translated(exc, stage) from exc

    def raw(
        self,
        method: str,
        path: str,
        *,
        deadline: Deadline,
        cap_s: float,
        stage: str,
        body: Mapping[str, Any] | bytes | None = None,
        params: Mapping[str, str] | None = None,
    ) -> Json:
        """As `call`, with the client library's own errors, for callers that tell them apart."""
        headers = {"content-type": "application/x-ndjson"} if isinstance(body, bytes) else None
        attempt = 1
        if self._retries is not None:
            self._retries.begin()
        while True:
            timeout_s = deadline.timeout_s(cap_s, stage=stage)
            _refused.retry_after = None
            try:
                return self._client.transport.perform_request(
                    method, path, params=dict(params or {}), body=body, headers=headers, timeout=timeout_s
                )
            except opensearchpy.OpenSearchException as exc:
                if not is_busy(exc) or not self._try_again(attempt, deadline, _refused.retry_after):
                    raise
            attempt += 1

    def pause(self, attempt: int, deadline: Deadline) -> bool:
        """Wait before what was refused within an answer is sent again; False where there is no further try."""
        return self._try_again(attempt, deadline)

    def _try_again(self, attempt: int, deadline: Deadline, retry_after: str | None = None) -> bool:
        return self._retries is not None and self._retries.again(attempt, deadline, retry_after)
