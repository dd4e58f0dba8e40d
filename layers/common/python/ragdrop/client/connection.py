"""One connection pool of the client: sends a request, tries again where that is safe, reads the reply."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Mapping

import httpx

from ragdrop.client.replies import Reply, error_of, unreachable
from ragdrop.client.routes import checked_key, checked_url, is_loopback

TRIES = 3
RETRY_BASE_S = 0.1
NEVER_SENT = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout)
CUT_OFF = (httpx.ReadError, httpx.WriteError, httpx.RemoteProtocolError)


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

        A request that never left is tried 3 times; one that was cut off only if it is *repeatable*; a time-out never.

        Raises:
            RagdropError: The API refused or failed, or what answered is not ragdrop's API.
            DependencyError: Nothing answered.
        """
        url = self.api_url + route
        request = self._http.build_request(method, url, params=params or None, content=content, headers=headers)
        for tried in range(1, TRIES + 1):
            try:
                response = self._http.send(request)
            except httpx.RequestError as exc:
                again = isinstance(exc, NEVER_SENT) or (repeatable and isinstance(exc, CUT_OFF))
                if not again or tried == TRIES:
                    raise unreachable(self.api_url, exc) from exc
                delay_s = RETRY_BASE_S * 2 ** (tried - 1)
                self._sleep(delay_s * random.uniform(1.0, 1.5))  # noqa: S311 -- spreads retries, guards nothing
            else:
                return _read(response)
        raise AssertionError("the last try returns or raises")


def _read(response: httpx.Response) -> Reply:
    try:
        response.raise_for_status()
    except httpx.HTTPStatusError as exc:
        raise error_of(exc.response) from exc
    return Reply.parse(response)
