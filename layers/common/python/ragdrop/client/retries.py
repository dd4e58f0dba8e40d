"""Rules of the client's retries: which requests, and after which delay."""

from __future__ import annotations

import json
import math
import random
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

import httpx

TRIES = 3
BASE_S = 0.1
LONGEST_PAUSE_S = 30.0  # whoever is told to wait longer is told so, instead of hanging
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
    if asked_pause_s(response, datetime.now(UTC)) > LONGEST_PAUSE_S:
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


def asked_pause_s(response: httpx.Response, now: datetime) -> float:
    """Seconds that the response's `Retry-After` asks for, in either form of RFC 9110, 10.2.3; 0 where there is none.

    >>> asked_pause_s(httpx.Response(503, headers={"retry-after": "5"}), datetime.now(UTC))
    5.0
    >>> now = datetime(2030, 1, 1, tzinfo=UTC)
    >>> asked_pause_s(httpx.Response(503, headers={"retry-after": "Tue, 01 Jan 2030 00:00:07 GMT"}), now)
    7.0
    """
    said = response.headers.get("retry-after", "")
    try:
        wanted_s = float(said)
    except ValueError:
        try:
            moment = parsedate_to_datetime(said)
        except ValueError:
            return 0.0
        wanted_s = (moment.replace(tzinfo=moment.tzinfo or UTC) - now).total_seconds()
    return max(0.0, wanted_s) if math.isfinite(wanted_s) else 0.0


def pause_s(tried: int, response: httpx.Response | None) -> float:
    """Seconds to wait after *tried* tries: 0.1, 0.2, …, half as much again by chance, but as long as *response* asks.

    >>> 0.2 <= pause_s(2, None) <= 0.3
    True
    """
    grown_s = BASE_S * 2.0 ** (tried - 1) * random.uniform(1.0, 1.5)  # noqa: S311 -- spreads retries, guards nothing
    return grown_s if response is None else max(grown_s, asked_pause_s(response, datetime.now(UTC)))
