"""Behind the Lambda Web Adapter the invocation's own deadline holds; elsewhere nobody is believed."""

from __future__ import annotations

import asyncio
from typing import Any, cast

from fastapi import Request

from ragdrop.api.apis import BehindWebAdapter
from ragdrop.api.edge import deadline_of
from ragdrop.api.shapes.fields import base_of

NOW_S = 1_800_000_000.0


def left_s(*headers: bytes, behind: bool = True) -> float:
    """Seconds that a request with these context headers has."""
    found: list[float] = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        found.append(deadline_of(Request(scope)).remaining_s())

    scope = {"type": "http", "headers": [(b"x-amzn-lambda-context", header) for header in headers]}
    served = BehindWebAdapter(app, clock=lambda: NOW_S) if behind else app
    asyncio.run(served(scope, cast("Any", None), cast("Any", None)))
    return round(found[0])


def context(in_s: float) -> bytes:
    return b'{"request_id": "r", "deadline": %d}' % round((NOW_S + in_s) * 1_000)


def test_the_deadline_is_what_the_adapter_says_also_past_the_gateways_29_seconds() -> None:
    assert left_s(context(120.5)) == 120


def test_of_two_deadlines_the_earlier_counts() -> None:
    assert left_s(context(1_000), context(10.5)) == 10


def test_a_header_that_cannot_be_read_changes_nothing() -> None:
    assert [left_s(header) for header in (b"{", b"[]", b'{"deadline": "soon"}', b"{}")] == [28] * 4


def test_without_the_adapter_the_header_is_a_callers_word_and_not_read() -> None:
    assert left_s(context(120.5), behind=False) == 28


def test_links_behind_the_adapter_name_the_stage_of_the_gateway() -> None:
    found: list[str] = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        found.append(base_of(Request(scope)))

    said = b'{"apiId": "a1", "domainName": "api.example", "stage": "prod", "path": "/prod/ask"}'
    headers = [(b"x-amzn-lambda-context", context(10)), (b"x-amzn-request-context", said), (b"host", b"api.example")]
    scope = {"type": "http", "scheme": "https", "path": "/ask", "headers": headers, "query_string": b""}
    asyncio.run(BehindWebAdapter(app, clock=lambda: NOW_S)(scope, None, None))  # type: ignore[arg-type]

    assert found == ["https://api.example/prod"]
