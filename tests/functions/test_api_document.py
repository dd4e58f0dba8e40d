"""The OpenAPI document is whole, and its page needs nothing from elsewhere."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
from starlette.testclient import TestClient

from ragdrop.api.apis import query_api
from ragdrop.api.edge import STATUS
from tests.agent_world import eager_world


@pytest.fixture(scope="module")
def client() -> Iterator[TestClient]:
    with TestClient(query_api(eager_world().app)) as client:
        yield client


@pytest.fixture(scope="module")
def document(client: TestClient) -> dict[str, Any]:
    return dict(client.get("/openapi.json").json())


def operations(document: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            yield f"{method.upper()} {path}", operation


def test_every_field_of_every_schema_is_described(document: dict[str, Any]) -> None:
    bare = [
        f"{name}.{field}"
        for name, schema in document["components"]["schemas"].items()
        for field, held in schema.get("properties", {}).items()
        if not held.get("description")
    ]

    assert bare == []


def test_every_parameter_and_every_operation_is_described(document: dict[str, Any]) -> None:
    for name, operation in operations(document):
        assert operation["summary"], name
        assert operation["description"], name
        bare = [each["name"] for each in operation.get("parameters", []) if not each.get("description")]
        assert bare == [], name


def test_every_operation_documents_its_errors_with_an_example_each(document: dict[str, Any]) -> None:
    for name, operation in operations(document):
        statuses = set(operation["responses"])
        assert {"400", "500", "503", "504"} <= statuses, name
        assert "422" not in statuses or name.endswith("/original/pages/{number}"), name  # that one is the document's
        if operation.get("security"):
            assert {"401", "403", "429"} <= statuses, name
        for status, response in operation["responses"].items():
            if int(status) >= 400 and (name, status) != ("GET /health", "503"):  # that one is health, no error
                for code, example in response["content"]["application/json"]["examples"].items():
                    assert STATUS[code] == int(status), name
                    assert example["value"]["error"]["code"] == code


def test_what_takes_json_shows_an_example(document: dict[str, Any]) -> None:
    for name, operation in operations(document):
        taken = operation.get("requestBody", {}).get("content", {})
        if "application/json" in taken:
            assert taken["application/json"].get("example"), name


def test_every_reply_carries_a_request_id(document: dict[str, Any]) -> None:
    for name, operation in operations(document):
        for response in operation["responses"].values():
            assert "X-Request-Id" in response["headers"], name


def test_the_page_shows_every_route_and_loads_nothing(client: TestClient, document: dict[str, Any]) -> None:
    page = client.get("/docs")

    assert page.headers["content-type"].startswith("text/html")
    for path in document["paths"]:
        assert path in page.text
    assert "<script" not in page.text
    assert re.findall(r'(?:src|href)="(?!#|openapi\.json)', page.text) == []


def test_document_and_page_need_no_key(client: TestClient) -> None:
    assert [client.get(path).status_code for path in ("/openapi.json", "/docs")] == [200, 200]
