"""Requests of the client: send, retry where that is safe, read the reply; post files straight into the bucket."""

import json
import math
import random
import re
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from pathlib import Path
from typing import Any

import httpx

from ragdrop.client.events import is_event_stream
from ragdrop.client.replies import Reply, error_of, unreachable
from ragdrop.client.routes import checked_key, checked_url, document_route, is_loopback
from ragdrop.errors import ObjectStoreError, PayloadTooLargeError, RagdropError

TRIES = 3
BASE_S = 0.1
LONGEST_PAUSE_S = 30.0  # a caller who must wait longer gets the error instead of hanging
IDEMPOTENT = frozenset({"GET", "PUT", "DELETE"})
OF_A_GATEWAY = frozenset({500, 502, 504})
SAID_BY_A_GATEWAY = frozenset(
    {"", "INTERNAL_ERROR", "TIMEOUT"}
)  # by the template's own bodies, or by none of ragdrop's
NEVER_SENT = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout)
CUT_OFF = (httpx.ReadError, httpx.WriteError, httpx.RemoteProtocolError)


def may_follow_error(method: str, error: httpx.RequestError, *, repeatable: bool) -> bool:
    """Whether a request that got no response is sent again.

    Args:
        method: GET, PUT and DELETE do the same twice as once: a time-out is no reason to give up.
        error: What happened instead of a response.
        repeatable: The same is said of this request, but whoever waits for it does not wait three times as long.

    >>> may_follow_error("POST", httpx.ConnectError(""), repeatable=False)
    True
    >>> may_follow_error("POST", httpx.ReadTimeout(""), repeatable=True)
    False
    """
    if isinstance(error, NEVER_SENT):
        return True
    if method in IDEMPOTENT:
        return isinstance(error, (*CUT_OFF, httpx.TimeoutException))
    return repeatable and isinstance(error, CUT_OFF)


def may_follow_response(method: str, response: httpx.Response, *, repeatable: bool) -> bool:
    """Whether a request that was answered 429 or 5xx is sent again: not if the body says that it cannot help.

    Of another *repeatable* one, what a gateway says of a function: 500 is what Lambda answers where there is no room,
    502 where the function broke, 504 where it did not answer in time.

    >>> may_follow_response("GET", httpx.Response(503), repeatable=False)
    True
    >>> [may_follow_response("POST", httpx.Response(status), repeatable=True) for status in (500, 503)]
    [True, False]
    >>> refused = httpx.Response(503, json={"error": {"details": {"retryable": False}}})
    >>> may_follow_response("GET", refused, repeatable=False)
    False
    """
    passing = response.is_server_error or response.status_code == httpx.codes.TOO_MANY_REQUESTS
    if method not in IDEMPOTENT:
        passing = repeatable and response.status_code in OF_A_GATEWAY and _code(response) in SAID_BY_A_GATEWAY
    if not passing:
        return False
    if requested_pause_s(response, datetime.now(UTC)) > LONGEST_PAUSE_S:
        return False
    try:
        return json.loads(response.content)["error"]["details"]["retryable"] is not False
    except (ValueError, LookupError, TypeError):
        return True  # a gateway's own words


def _code(response: httpx.Response) -> str:
    """The code of ragdrop's own error body; empty where it is another."""
    try:
        return str(json.loads(response.content)["error"]["code"])
    except (ValueError, LookupError, TypeError):
        return ""


def requested_pause_s(response: httpx.Response, now: datetime) -> float:
    """Seconds that the response's `Retry-After` asks for, in either form of RFC 9110, 10.2.3; 0 where there is none.

    >>> requested_pause_s(httpx.Response(503, headers={"retry-after": "5"}), datetime.now(UTC))
    5.0
    >>> now = datetime(2030, 1, 1, tzinfo=UTC)
    >>> requested_pause_s(httpx.Response(503, headers={"retry-after": "Tue, 01 Jan 2030 00:00:07 GMT"}), now)
    7.0
    """
    said = response.headers.get("retry-after", "")
    try:
        asked_s = float(said)
    except ValueError:
        try:
            moment = parsedate_to_datetime(said)
        except ValueError:
            return 0.0
        asked_s = (moment.replace(tzinfo=moment.tzinfo or UTC) - now).total_seconds()
    return max(0.0, asked_s) if math.isfinite(asked_s) else 0.0


def pause_s(tried: int, response: httpx.Response | None) -> float:
    """Seconds to wait after *tried* tries: 0.1, 0.2, …, half as much again by chance, but as long as *response* asks.

    >>> 0.2 <= pause_s(2, None) <= 0.3
    True
    """
    grown_s = BASE_S * 2.0 ** (tried - 1) * random.uniform(1.0, 1.5)  # noqa: S311 -- spreads retries, guards nothing
    return grown_s if response is None else max(grown_s, requested_pause_s(response, datetime.now(UTC)))


class Connection:
    """The API at one URL with one key; safe to share between threads."""

    def __init__(
        self,
        api_url: str,
        api_key: str,
        *,
        timeout_s: float,
        transport: httpx.BaseTransport | None = None,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self.api_url = checked_url(api_url)
        self._sleep = sleep
        self._http = httpx.Client(
            headers={"x-api-key": checked_key(api_key), "accept": "application/json"},
            timeout=timeout_s,
            transport=transport,
            trust_env=not is_loopback(self.api_url),  # a proxy cannot reach this machine's own addresses
        )

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def send(
        self,
        method: str,
        route: str,
        *,
        params: Mapping[str, str] | None = None,
        content: bytes | None = None,
        headers: Mapping[str, str] | None = None,
        repeatable: bool = False,
    ) -> Reply:
        """Send a request and read the JSON object that answers it.

        It is tried 3 times at most: again where it never left; where GET, PUT or DELETE got no answer in time, was cut
        off, or got 429 or 5xx (`Retry-After` is honoured); where any other *repeatable* request was cut off, or got
        500, 502 or 504.

        Raises:
            RagdropError: The API refused or failed, or what answered is not ragdrop's API.
            DependencyError: Nothing answered.
        """
        url = self.api_url + route
        request = self._http.build_request(method, url, params=params or None, content=content, headers=headers)
        for tried in range(1, TRIES + 1):
            response = None
            try:
                response = self._http.send(request)
            except httpx.RequestError as exc:
                if tried == TRIES or not may_follow_error(method, exc, repeatable=repeatable):
                    raise unreachable(self.api_url, exc) from exc
            else:
                if tried == TRIES or not may_follow_response(method, response, repeatable=repeatable):
                    return _read(response)
            self._sleep(pause_s(tried, response))
        raise AssertionError("the last try returns or raises")

    @contextmanager
    def stream(self, route: str, *, content: bytes, headers: Mapping[str, str]) -> Iterator[httpx.Response]:
        """POST *content*; the response as soon as its headers are there, closed with the block.

        It is tried again, 3 times in all, only where it never left.

        Raises:
            RagdropError: The API refused or failed.
            DependencyError: Nothing answered, or the connection broke while the response was read.
        """
        request = self._http.build_request("POST", self.api_url + route, content=content, headers=headers)
        try:
            response = self._begin(request)
            try:
                if not response.is_success or not is_event_stream(response):
                    response.read()
                if not response.is_success:
                    raise error_of(response)
                yield response
            finally:
                response.close()
        except httpx.RequestError as exc:
            raise unreachable(self.api_url, exc) from exc

    def _begin(self, request: httpx.Request) -> httpx.Response:
        for tried in range(1, TRIES):
            try:
                return self._http.send(request, stream=True)
            except NEVER_SENT:
                self._sleep(pause_s(tried, None))
        return self._http.send(request, stream=True)


def _read(response: httpx.Response) -> Reply:
    try:
        response.raise_for_status()
    except httpx.HTTPStatusError as exc:
        raise error_of(exc.response) from exc
    return Reply.parse(response)


SERVICE = "object_store"
WRITE_TIMEOUT_S = 60.0  # of one write to the socket, not of the whole file
_CODE = re.compile(r"<Code>([A-Za-z]{1,60})</Code>")


class FormPost:
    """Posts files with forms of `POST /uploads`; the API's key is never sent along."""

    def __init__(
        self,
        *,
        timeout_s: float,
        transport: httpx.BaseTransport | None = None,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._timeout = httpx.Timeout(timeout_s, write=WRITE_TIMEOUT_S)
        self._transport = transport
        self._sleep = sleep

    def __call__(self, form: Mapping[str, Any], file: Path, *, media_type: str) -> Reply:
        """Post *file*, read as it is sent; tried 3 times where the connection failed or S3 answered 5xx.

        Returns:
            What `PUT` would have replied: `vault, path, key, version_id, status, status_url`.

        Raises:
            OSError: The file cannot be read.
            PayloadTooLargeError: It is larger than the form allows; nothing was sent.
            ObjectStoreError: S3 could not be reached, or failed.
            RagdropError: S3 refused the form; `details` have its `code` and `status`.
        """
        size, limit = file.stat().st_size, int(form["max_bytes"])
        if size > limit:
            message = f"{form['path']} has {size:,} bytes; a document has at most {limit:,}"
            raise PayloadTooLargeError(message, limit_bytes=limit, size_bytes=size)
        url = str(form["url"])
        trust_env = not is_loopback(url)  # a proxy cannot reach this machine's own addresses
        with httpx.Client(timeout=self._timeout, transport=self._transport, trust_env=trust_env) as http:
            for tried in range(1, TRIES + 1):
                response = self._post(http, form, file, media_type, last=tried == TRIES)
                if response is not None:
                    return _reply(form, response)
                self._sleep(pause_s(tried, None))
        raise AssertionError("the last try returns or raises")

    def _post(
        self, http: httpx.Client, form: Mapping[str, Any], file: Path, media_type: str, *, last: bool
    ) -> httpx.Response | None:
        """One try; None where another one may help."""
        try:
            with file.open("rb") as stream:
                part = {"file": (file.name, stream, media_type)}
                response = http.post(str(form["url"]), data=dict(form["fields"]), files=part)
        except httpx.RequestError as exc:
            if not last and isinstance(exc, (*NEVER_SENT, *CUT_OFF, httpx.TimeoutException)):
                return None
            message = f"the document bucket could not be reached ({type(exc).__name__})"
            raise ObjectStoreError(message, service=SERVICE) from exc
        if response.is_success:
            return response
        if response.is_server_error and not last:
            return None
        raise _refusal(response)


def _reply(form: Mapping[str, Any], response: httpx.Response) -> Reply:
    version_id = response.headers.get("x-amz-version-id")
    vault, path = str(form["vault"]), str(form["path"])
    query = f"?version={version_id}" if version_id else ""
    fields = {name: form[name] for name in ("vault", "path", "key")}
    fields |= {"version_id": version_id, "status": "pending", "status_url": document_route(vault, path) + query}
    return Reply(fields, raw=json.dumps(fields, ensure_ascii=False).encode())


def _refusal(response: httpx.Response) -> RagdropError:
    found = _CODE.search(response.text)
    code = found[1] if found else "UPLOAD_REFUSED"
    message = f"the document bucket refused the upload: {code}"
    if response.is_server_error:
        return ObjectStoreError(message, service=SERVICE, status=response.status_code)
    return RagdropError(message, code=code, status=response.status_code)
