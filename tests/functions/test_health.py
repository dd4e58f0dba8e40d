"""`GET /health`: whether the service can answer, for anyone; how each dependency is, for whoever has a key."""

from __future__ import annotations

from typing import Any

import pytest

from ragdrop import __version__
from ragdrop.errors import DatabaseError, GenerationError
from testing.memory_services import MemoryModelList
from tests.functions.conftest import Deployment


@pytest.fixture
def healthy(deployment: Deployment) -> Deployment:
    app = deployment.handlers["query"].app
    app.ports.embedding_models, app.ports.chat_models = MemoryModelList("hashing"), MemoryModelList("scripted")
    return deployment


def health(deployment: Deployment, *, key: bool = True, **params: str) -> tuple[int, Any]:
    event = deployment.event("search", httpMethod="GET", path="/health", body=None)
    event |= {"queryStringParameters": params, "multiValueQueryStringParameters": {k: [v] for k, v in params.items()}}
    if not key:
        for headers in (event["headers"], event["multiValueHeaders"]):
            headers.pop("x-api-key", None)
    return deployment.call("query", event)


def test_without_a_key_health_is_three_words(healthy: Deployment) -> None:
    status, body = health(healthy, key=False)

    assert status == 200
    request_id = body.pop("request_id")
    assert request_id
    assert body == {"healthy": True, "status": "healthy", "version": __version__}


def test_with_a_key_every_dependency_is_reported(healthy: Deployment) -> None:
    healthy.put_object("demo/team/a.md", "alpha")

    status, body = health(healthy)

    assert (status, body["status"], body["indexed_documents"]) == (200, "healthy", 1)
    assert set(body["dependencies"]) == {"index", "embedding", "chat", "registry", "object_store"}
    assert set(body["dependencies"]["index"]) == {"status", "latency_ms", "circuit_breaker_open", "detail"}
    assert body["latency_ms"] > 0


def test_a_model_that_is_away_leaves_the_service_degraded(healthy: Deployment) -> None:
    healthy.handlers["query"].app.ports.chat_models.fail_with = GenerationError("away", service="chat")

    status, body = health(healthy)

    assert (status, body["healthy"], body["status"]) == (200, False, "degraded")
    assert body["dependencies"]["chat"]["status"] == "unavailable"


def test_where_no_level_can_answer_it_is_503_even_without_a_look_at_keys(healthy: Deployment) -> None:
    def away(*_: object) -> None:
        raise DatabaseError("away", service="registry")

    healthy.handlers["query"].app.operate.health_probes["registry"] = away

    assert health(healthy, key=False)[0] == 503
    status, body = health(healthy)
    assert (status, body["status"], body["indexed_documents"]) == (503, "unavailable", None)


def test_deep_asks_the_models_themselves_but_only_for_whoever_has_a_key(healthy: Deployment) -> None:
    health(healthy, key=False, deep="1")
    assert (healthy.embedder.calls, len(healthy.chat.asked)) == (0, 0)

    health(healthy, deep="1")
    assert (healthy.embedder.calls, len(healthy.chat.asked)) == (1, 1)


def test_a_wrong_key_is_refused(healthy: Deployment) -> None:
    event = healthy.event("search", httpMethod="GET", path="/health", body=None)
    for headers, value in ((event["headers"], "rd_no"), (event["multiValueHeaders"], ["rd_no"])):
        headers["x-api-key"] = value

    assert healthy.call("query", event)[0] == 401
