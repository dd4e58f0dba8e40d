"""Limits of requests over HTTP."""

from __future__ import annotations

from ragdrop.domain.tenants import RateLimits
from tests.functions.conftest import Deployment, LocalContext


def test_what_is_over_the_limit_is_429_with_the_time_to_wait(deployment: Deployment) -> None:
    deployment.handlers["query"].app.operate.operator.set_rates("demo", RateLimits(key_per_minute=1))
    event = deployment.event("search", path="/documents", httpMethod="GET", body=None)

    # three, as a new minute may begin between two of them
    answers = [deployment.handlers["query"].handler(event, LocalContext()) for _ in range(3)]

    assert answers[0]["statusCode"] == 200
    refused = next(answer for answer in answers if answer["statusCode"] == 429)
    assert '"code":"RATE_LIMITED"' in refused["body"]
    assert 1 <= int(refused["headers"]["retry-after"]) <= 60


def test_a_limit_holds_over_all_functions(deployment: Deployment) -> None:
    deployment.put_object("demo/handbook/pump.md", "# Pump\n\nThe pump's code is QX-5521.")
    deployment.handlers["query"].app.operate.operator.set_rates("demo", RateLimits(per_minute=1))

    asked = ("query", "generate", "generate")
    statuses = [deployment.post(function, {"query": "pump"})[0] for function in asked]

    assert statuses[0] == 200
    assert 429 in statuses[1:]
