"""The HTTP client of OpenSearch: authentication, time-outs from the deadline, quiet logs, retries, errors.

Messages of errors have types and numbers, never the text of the server, which may quote documents.
"""

import logging
import re
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from threading import local
from typing import Any, Protocol, TypeAlias
from urllib.parse import unquote, urlsplit

import opensearchpy
import opensearchpy.serializer
import pydantic_core
import urllib3
from opensearchpy.connection import Urllib3HttpConnection

from ragdrop.domain.deadlines import Deadline
from ragdrop.errors import ConfigurationError, DatabaseError
from ragdrop.ports.shared_state import RetryPolicy

CONNECT_TIMEOUT_S = 2.0
POOL_SIZE = 10
Json: TypeAlias = Any
"""A decoded JSON answer, whose shape the caller knows."""
MISSING: Json = object()  # in place of an answer: the index does not exist
logger = logging.getLogger(__name__)
_refused = local()  # Retry-After of a thread's last error response, which errors of the library leave out
AWS_DOMAIN = re.compile(r"\.(?P<region>[a-z0-9-]+)\.es\.amazonaws\.com(?:\.cn)?$")
SERVERLESS = re.compile(r"\.aoss\.amazonaws\.com(?:\.cn)?$")
BUSY_STATUS = frozenset({429, 502, 503, 504})
# A disk over its watermark or a cluster without a leader: the cluster may recover, so trying again can help.
BLOCKED = "cluster_block_exception"
MISSING_INDEX = "index_not_found_exception"
DIMENSION = re.compile(r"dimension mismatch|invalid dimension", re.IGNORECASE)
UNKNOWN_QUERY = re.compile(r"unknown query \[combined_fields\]")


def is_busy(exc: opensearchpy.OpenSearchException) -> bool:
    """Whether the same call may succeed in a moment; one that timed out has used up its time."""
    if isinstance(exc, opensearchpy.ConnectionTimeout | opensearchpy.SSLError) or _is_unreadable(exc):
        return False
    if isinstance(exc, opensearchpy.ConnectionError):
        return True
    return isinstance(exc, opensearchpy.TransportError) and exc.status_code in BUSY_STATUS


def is_unknown_query(exc: opensearchpy.OpenSearchException) -> bool:
    """Whether the server is too old for the combined lexical query; it refuses the whole request then."""
    if not isinstance(exc, opensearchpy.RequestError) or not isinstance(exc.info, Mapping):
        return False
    return UNKNOWN_QUERY.search(causes(exc.info.get("error", {}))) is not None


def ragdrop_error(exc: opensearchpy.OpenSearchException, stage: str) -> DatabaseError | ConfigurationError:
    """The ragdrop error for an error of the client library; *stage* says what was being done."""
    if isinstance(exc, opensearchpy.ImproperlyConfigured):
        return ConfigurationError(f"the client of the index is not configured well: {exc}")
    if isinstance(exc, opensearchpy.ConnectionTimeout):
        return _error(f"the index did not answer in time ({stage})", retryable=True)
    if isinstance(exc, opensearchpy.SSLError):
        return _error(f"the index's certificate was not accepted ({stage})", retryable=False)
    if isinstance(exc, opensearchpy.ConnectionError) and not _is_unreadable(exc):
        return _error(f"the index could not be reached ({stage})", retryable=True)
    if isinstance(exc, opensearchpy.TransportError) and isinstance(exc.status_code, int):
        return of_status(exc.status_code, str(exc.error)[:100] if _is_type(exc.error) else "", stage)
    return _unreadable(stage)


@contextmanager
def readable(stage: str) -> Iterator[None]:
    """Read an answer in the block; raise DatabaseError if it is JSON of an unexpected shape."""
    try:
        yield
    except (LookupError, TypeError, AttributeError, ValueError) as exc:
        raise _unreadable(stage) from exc


def of_status(status: int, kind: str, stage: str) -> DatabaseError:
    """The error for an HTTP status and the server's error type."""
    shown = f"{status} {kind}".strip()
    if kind == BLOCKED:
        return _error(f"the index takes no writes at the moment ({stage}: {shown})", retryable=True, status=status)
    if status in {401, 403}:
        return _error(f"the index refused the credentials ({stage}: {shown})", retryable=False, status=status)
    busy = status in BUSY_STATUS or status >= 500
    return _error(f"the index refused or failed ({stage}: {shown})", retryable=busy, status=status)


def causes(error: Mapping[str, Any]) -> str:
    """Types and reasons of an error object and what caused it, for matching only: reasons may quote documents."""
    found = []
    node: Any = error
    while isinstance(node, Mapping):
        found.append(f"{node.get('type')}: {node.get('reason')}")
        roots = node.get("root_cause") or ()
        found += [f"{root.get('type')}: {root.get('reason')}" for root in roots]
        node = node.get("caused_by")
    return "\n".join(found)


def _is_unreadable(exc: opensearchpy.OpenSearchException) -> bool:
    """Whether an answer came that is no text: the library calls that a connection error."""
    return isinstance(exc, opensearchpy.ConnectionError) and isinstance(exc.info, UnicodeDecodeError)


def _is_type(error: object) -> bool:
    return isinstance(error, str) and re.fullmatch(r"[a-z_]+", error) is not None


def _unreadable(stage: str) -> DatabaseError:
    return _error(f"the index gave an answer that could not be read ({stage})", retryable=True, reason="unreadable")


def _error(message: str, *, retryable: bool, **details: int | str) -> DatabaseError:
    return DatabaseError(message, service="index", retryable=retryable, **details)


Sign = Callable[[str, str, bytes | None], dict[str, str]]


class Credentials(Protocol):
    """Credentials as botocore gives them: the frozen copy is a consistent set, renewed where it was about to expire."""

    def get_frozen_credentials(self) -> object:
        """Access key, secret key and token that belong together."""


def region_of(host: str) -> str | None:
    """The region of an AWS domain; None for any other host.

    Raises:
        ConfigurationError: The host is OpenSearch Serverless, which refuses custom ids and refresh.

    >>> region_of("search-acme-abc.eu-west-1.es.amazonaws.com"), region_of("localhost")
    ('eu-west-1', None)
    """
    if SERVERLESS.search(host):
        raise ConfigurationError(
            f"INDEX_URL: {host} is OpenSearch Serverless, which has neither custom ids nor refresh; use a domain"
        )
    match = AWS_DOMAIN.search(host)
    return match["region"] if match else None


def signer(region: str, credentials: Credentials | None = None) -> Sign:
    """A function that gives the headers of a signed request (Signature Version 4, service `es`).

    The hash of the body is sent as `X-Amz-Content-SHA256` and is part of what is signed.

    Args:
        region: The domain's region.
        credentials: None takes those that botocore finds (a function's role); they renew themselves.
    """
    from botocore.auth import SigV4Auth  # imported here: only AWS domains need it
    from botocore.awsrequest import AWSRequest
    from botocore.exceptions import BotoCoreError
    from botocore.session import get_session

    found = credentials or get_session().get_credentials()
    if found is None:
        raise ConfigurationError("INDEX_URL is an AWS domain, and there are no AWS credentials to sign requests with")

    def sign(method: str, url: str, body: bytes | None) -> dict[str, str]:
        request = AWSRequest(method=method, url=url, data=body or b"")
        try:
            scheme = SigV4Auth(found.get_frozen_credentials(), "es", region)
            request.headers["X-Amz-Content-SHA256"] = scheme.payload(request)
            scheme.add_auth(request)
        except BotoCoreError as exc:
            raise DatabaseError("there were no AWS credentials to ask the index with", service="index") from exc
        return dict(request.headers.items())

    return sign


class QuietConnection(Urllib3HttpConnection):  # type: ignore[misc,unused-ignore]
    """A connection that never logs a body (bodies are documents and questions) and gives up connecting early.

    *timeout* is seconds for a whole request.
    """

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
        kind = type(exception).__name__ if exception else status_code
        logger.info("%s %s: %s in %.0f ms", method, path.partition("?")[0], kind, duration * 1000)


class RotatingPassword:
    """Basic authentication whose password is read for each request, as it may change while a function runs.

    *read* gives the password; with `renew=True` it reads it again from where it is stored.
    """

    def __init__(self, user: str, read: Callable[..., str | None]) -> None:
        self._user, self._read, self._sent = user, read, local()

    def __call__(self, method: str, url: str, body: bytes | None) -> dict[str, str]:
        """The header of one request."""
        del method, url, body
        self._sent.password = self._read()
        return dict(urllib3.make_headers(basic_auth=f"{self._user}:{self._sent.password or ''}"))

    def rotated(self) -> bool:
        """Whether there is another password than the one that this thread sent last, which the index refused."""
        sent: str | None = self._sent.password
        return self._read(renew=True) != sent


def connect(
    url: str,
    password: str | Callable[..., str | None] | None = None,
    *,
    sigv4_region: str | None = None,
    credentials: Credentials | None = None,
    connection_class: type[Urllib3HttpConnection] = QuietConnection,
) -> opensearchpy.OpenSearch:
    """The client of the server at *url* (`http(s)://[user[:password]@]host[:port][/prefix]`); nothing is sent yet.

    Args:
        url: Where the server is.
        password: The user's password, in place of one in the URL; or what reads it (see RotatingPassword).
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
    if parts.username and callable(password):
        auth = RotatingPassword(unquote(parts.username), password)
    elif parts.username:
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
        max_retries=0,  # `RepeatableCalls` retries, with a pause and within the deadline
        verify_certs=True,
    )


class FastJson(opensearchpy.serializer.JSONSerializer):
    """Reads answers with the parser that pydantic brings anyway: twice as fast as the standard library's."""

    def loads(self, s: str) -> Any:
        try:
            return pydantic_core.from_json(s)
        except ValueError as exc:
            raise opensearchpy.SerializationError(s[:0], exc) from exc  # without the text, which may quote documents


class RepeatableCalls:
    """Send calls that may be repeated without harm, again if the server was busy or gone; safe between threads.

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
        stage: str,
        deadline: Deadline,
        cap_s: float,
        *,
        body: Mapping[str, Any] | bytes | None = None,
        params: Mapping[str, str] | None = None,
        may_be_missing: bool = False,
    ) -> Json:
        """The decoded answer of one call; MISSING for an index that *may_be_missing*.

        Args:
            stage: What the call does, for errors.
            cap_s: Seconds it may take at most, if the deadline allows more.

        Raises:
            DatabaseError: The server did not answer, or refused.
            DeadlineError: No time was left.
        """
        try:
            return self.raw(method, path, stage, deadline, cap_s, body=body, params=params)
        except opensearchpy.OpenSearchException as exc:
            if may_be_missing and isinstance(exc, opensearchpy.NotFoundError) and exc.error == MISSING_INDEX:
                return MISSING
            raise ragdrop_error(exc, stage) from exc

    def raw(
        self,
        method: str,
        path: str,
        stage: str,
        deadline: Deadline,
        cap_s: float,
        *,
        body: Mapping[str, Any] | bytes | None = None,
        params: Mapping[str, str] | None = None,
    ) -> Json:
        """As `call`, with the errors of the client library. A password that was rotated is tried once."""
        headers = {"content-type": "application/x-ndjson"} if isinstance(body, bytes) else None
        attempt, renewed = 1, False
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
                if not renewed and self._rotated(exc):
                    renewed = True
                    continue
                if not is_busy(exc) or not self.pause(attempt, deadline, _refused.retry_after):
                    raise
            attempt += 1

    def _rotated(self, exc: opensearchpy.OpenSearchException) -> bool:
        auth = self._client.transport.get_connection().http_auth
        refused = isinstance(exc, opensearchpy.AuthenticationException)
        return refused and isinstance(auth, RotatingPassword) and auth.rotated()

    def pause(self, attempt: int, deadline: Deadline, retry_after: str | None = None) -> bool:
        """Wait before what was refused is sent again; False if there is no further try."""
        return self._retries is not None and self._retries.again(attempt, deadline, retry_after)
