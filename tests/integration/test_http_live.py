"""What every route has, through the gateway of a running stack: HEAD, OPTIONS, compression, ETags, keys of writes."""

from __future__ import annotations

import httpx
import pytest

from tests.integration.commands import Tenant
from tests.stacks import LocalStack


@pytest.fixture(scope="module")
def tenant(stack: LocalStack) -> Tenant:
    return Tenant.created(stack, "http")


def sent(tenant: Tenant, method: str, route: str, **more: object) -> httpx.Response:
    headers = {"x-api-key": tenant.key, **dict(more.pop("headers", {}))}  # type: ignore[call-overload]
    url = tenant.stack.api_url + route
    return httpx.request(method, url, headers=headers, timeout=60, trust_env=False, **more)  # type: ignore[arg-type]


def test_the_document_and_its_page_are_there_without_a_key_and_compressed(tenant: Tenant) -> None:
    for route in ("/openapi.json", "/docs"):
        response = httpx.get(tenant.stack.api_url + route, timeout=60, trust_env=False)
        assert (response.status_code, response.headers.get("content-encoding")) == (200, "gzip")
        assert "/documents/{vault}/{path}" in response.text


@pytest.mark.parametrize(("route", "allowed"), [("/search", "POST, OPTIONS"), ("/ask", "POST, OPTIONS")])
def test_options_names_the_methods_of_a_path(tenant: Tenant, route: str, allowed: str) -> None:
    response = sent(tenant, "OPTIONS", route)

    assert (response.status_code, response.headers["allow"]) == (204, allowed)


def test_head_is_get_without_its_body(tenant: Tenant) -> None:
    response = sent(tenant, "HEAD", "/documents")

    assert (response.status_code, response.content) == (200, b"")


def test_a_write_is_done_once_and_not_over_what_nobody_saw(tenant: Tenant) -> None:
    key = {"idempotency-key": "live-1"}
    first = sent(tenant, "PUT", "/documents/team/a.md", content="one", headers=key)
    again = sent(tenant, "PUT", "/documents/team/a.md", content="one", headers=key)
    refused = sent(tenant, "PUT", "/documents/team/a.md", content="two", headers={"if-none-match": "*"})
    onto = sent(tenant, "PUT", "/documents/team/a.md", content="two", headers={"if-match": first.headers["etag"]})

    assert (first.status_code, again.status_code) == (202, 202)
    assert first.json()["version_id"] == again.json()["version_id"]
    assert (refused.status_code, onto.status_code) == (412, 202)
