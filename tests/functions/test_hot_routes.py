"""Good requests to /search skip FastAPI's solving of dependencies: what is answered must not tell which way it came."""

from __future__ import annotations

import json
from typing import Any

import pytest
from starlette.testclient import TestClient

from ragdrop.api.apis import query_api
from ragdrop.api.edge import HotRoute
from tests.world import World

GOOD = {"query": "pump code", "limit": 3}


class Both:
    """A world's API, asked both ways: *plainly* as clients do, *slowly* with a content type that only FastAPI takes."""

    def __init__(self) -> None:
        self.world = World()
        self.world.put("team/pump.md", "# Pump\n\nThe pump's code is QX-5521.")
        key, _ = self.world.app.operate.operator.create_key(self.world.tenant, "reader")
        self._headers = {"x-api-key": key, "x-request-id": "r1"}
        self.api = query_api(self.world.app)
        self._client = TestClient(self.api)
        self.plainly(json.dumps(GOOD))  # so that both ways find the cached answer

    def document(self) -> Any:
        return self._client.get("/openapi.json").json()

    def plainly(self, body: str, **headers: str) -> tuple[int, Any, dict[str, str]]:
        return self._sent(body, {"content-type": "application/json", **headers})

    def slowly(self, body: str, **headers: str) -> tuple[int, Any, dict[str, str]]:
        return self._sent(body, {"content-type": "application/vnd.any+json", **headers})

    def _sent(self, body: str, headers: dict[str, str]) -> tuple[int, Any, dict[str, str]]:
        response = self._client.post("/search", content=body.encode(), headers={**self._headers, **headers})
        found = response.json()
        for times in ("latency_ms", "timings_ms"):
            found.pop(times, None)
        return response.status_code, found, {k: v for k, v in response.headers.items() if k != "content-length"}


@pytest.fixture(scope="module")
def both() -> Both:
    return Both()


def test_a_good_request_has_the_same_answer_and_headers_on_both_ways(both: Both) -> None:
    status, found, headers = both.plainly(json.dumps(GOOD))

    assert (status, len(found["results"])) == (200, 1)
    assert (status, found, headers) == both.slowly(json.dumps(GOOD))


@pytest.mark.parametrize(
    "body",
    [
        "",
        "null",
        "[]",
        "{",
        '{"query": "pump", "limit": "3"}',
        '{"query": ""}',
        '{"query": "pump", "limt": 3}',
        '{"query": "pump", "exclude": {"tag": ["a"]}}',
        '{"query": "pump", "date_from": "2026-02-01", "date_to": "2026-01-01"}',
        '{"query": "pump", "vaults": ["nowhere"]}',
        "[" * 100_000,
    ],
)
def test_a_bad_request_has_the_same_error_on_both_ways(both: Both, body: str) -> None:
    status, found, headers = both.plainly(body)

    assert status == 400
    assert (status, found, headers) == both.slowly(body)


def test_a_bad_key_is_refused_before_a_bad_body_on_both_ways(both: Both) -> None:
    for body in (json.dumps(GOOD), '{"limit": 3}'):
        assert both.plainly(body, **{"x-api-key": "rd_x"}) == both.slowly(body, **{"x-api-key": "rd_x"})
        assert both.plainly(body, **{"x-api-key": "rd_x"})[0] == 401


def test_every_field_that_the_document_requires_or_bounds_is_refused_without_it(both: Both) -> None:
    schema = both.document()["components"]["schemas"]["SearchRequest"]

    assert schema["additionalProperties"] is False
    for name in schema["required"]:
        status, found, _ = both.plainly(json.dumps({key: value for key, value in GOOD.items() if key != name}))
        assert (status, found["error"]["details"]["field"]) == (400, name)
    bounded = {
        name: each["maximum"] + 1
        for name, field in schema["properties"].items()
        for each in [field, *field.get("anyOf", [])]
        if "maximum" in each
    }
    assert bounded
    for name, value in bounded.items():
        status, found, _ = both.plainly(json.dumps({**GOOD, name: value}))
        assert (status, found["error"]["details"]["field"]) == (400, name)


def test_search_and_ask_are_the_hot_routes() -> None:
    api = query_api(World().app)
    hot: Any = next(each.kwargs["routes"] for each in api.user_middleware if "routes" in each.kwargs)

    assert set(hot) == {("POST", "/search"), ("POST", "/ask")}
    assert all(isinstance(answer.__self__, HotRoute) for answer in hot.values())
