"""Tokens of an identity provider over HTTP, beside ragdrop's keys."""

from __future__ import annotations

from typing import Any

import pytest

from ragdrop.domain.tenants import Caller, RateLimits
from testing.memory_services import MemoryTokens
from tests.functions.conftest import Deployment

READER, NOBODYS, CLOSED = "e30.e30.reader", "e30.e30.nobodys", "e30.e30.closed"


@pytest.fixture
def issued(deployment: Deployment) -> Deployment:
    """A deployment that believes some tokens."""
    app = deployment.handlers["query"].app
    app.operate.operator.create_tenant("closed")
    app.operate.operator.set_enabled("closed", enabled=False)
    app.ports.tokens = MemoryTokens(
        {
            READER: Caller("demo", "reader", ("handbook",), credential="jwt-1"),
            NOBODYS: Caller("nobody", "admin"),
            CLOSED: Caller("closed", "admin"),
        }
    )
    return deployment


def asked(deployment: Deployment, token: str, method: str = "GET", path: str = "/documents") -> tuple[int, Any]:
    event = deployment.event("search", path=path, httpMethod=method, body=None)
    for headers, wrap in ((event["headers"], str), (event["multiValueHeaders"], lambda value: [value])):
        del headers["x-api-key"]
        headers["Authorization"] = wrap(f"Bearer {token}")
    return deployment.call("query", event)


def test_a_token_opens_what_its_claims_say_and_no_more(issued: Deployment) -> None:
    issued.put_object("demo/handbook/pump.md", "# Pump")
    issued.put_object("demo/secret/plan.md", "# Plan")

    status, body = asked(issued, READER)

    assert status == 200
    assert [each["vault"] for each in body["documents"]] == ["handbook"]
    assert asked(issued, READER, "GET", "/documents/secret/plan.md")[0] == 404
    assert asked(issued, READER, "DELETE", "/documents/handbook/pump.md")[0] == 403


def test_an_unknown_token_is_401_and_a_token_of_no_open_tenant_is_403(issued: Deployment) -> None:
    assert (asked(issued, "e30.e30.made-up")[0], asked(issued, "e30.e30.made-up")[1]["error"]["code"]) == (
        401,
        "UNAUTHENTICATED",
    )
    unknown, closed = asked(issued, NOBODYS), asked(issued, CLOSED)
    assert [unknown[0], closed[0]] == [403, 403]
    assert unknown[1]["error"]["message"] == closed[1]["error"]["message"]


def test_requests_by_token_are_limited_like_those_by_key(issued: Deployment) -> None:
    issued.handlers["query"].app.operate.operator.set_rates("demo", RateLimits(key_per_minute=1))

    assert 429 in [asked(issued, READER)[0] for _ in range(3)]


def test_without_an_issuer_a_token_is_an_unknown_key(deployment: Deployment) -> None:
    assert asked(deployment, READER)[0] == 401
