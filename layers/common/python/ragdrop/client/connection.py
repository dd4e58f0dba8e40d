"""The client's connection pool: send a request, retry it if that is safe, read the reply."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

import httpx

from ragdrop.client.events import is_event_stream
from ragdrop.client.replies import Reply, error_of, unreachable
from ragdrop.client.retries import NEVER_SENT, TRIES, may_follow_error, may_follow_response, pause_s
from ragdrop.client.routes import checked_key, checked_url, is_loopback


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
