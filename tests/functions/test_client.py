"""The Python client against a transport that answers in memory."""

from __future__ import annotations

import ast
import json
from pathlib import Path

import httpx
import pytest

import ragdrop.client
import ragdrop.client.connection
import ragdrop.client.events
import ragdrop.client.replies
import ragdrop.client.routes
from ragdrop.client import RagdropClient
from ragdrop.errors import (
    ConfigurationError,
    ConflictError,
    DatabaseError,
    DependencyError,
    DocumentNotFoundError,
    InvalidParamsError,
    ModelNotFoundError,
    PayloadTooLargeError,
    RagdropError,
    RateLimitedError,
)
from tests.functions.wire import Wire, ok, refused

MODULES = (
    ragdrop.client,
    ragdrop.client.connection,
    ragdrop.client.events,
    ragdrop.client.replies,
    ragdrop.client.routes,
)


def raised_by(answer: httpx.Response) -> RagdropError:
    with Wire(*[answer] * 3).client() as client, pytest.raises(RagdropError) as caught:
        client.search("pump")
    return caught.value


def test_search_posts_the_query_with_the_given_fields_and_the_key() -> None:
    wire = Wire(ok(results=[]))

    with wire.client() as client:
        reply = client.search("pump", vaults=["team"], limit=None)

    request = wire.requests[0]
    assert (request.method, str(request.url)) == ("POST", "http://api.example/prod/search")
    assert json.loads(request.content) == {"query": "pump", "vaults": ["team"]}
    assert request.headers["x-api-key"] == "rd_key"
    assert reply == {"results": []}


def test_search_fast_asks_for_the_fast_mode_whatever_else_is_given() -> None:
    wire = Wire(ok(results=[]))

    with wire.client() as client:
        client.search_fast("pump", vaults=["team"])

    assert json.loads(wire.requests[0].content) == {"query": "pump", "vaults": ["team"], "mode": "fast"}


def test_a_reply_keeps_the_bytes_as_received() -> None:
    body = b'{"score": 0.50}\n'

    with Wire(httpx.Response(200, content=body)).client() as client:
        assert client.ask("Which?").raw == body


def test_each_segment_of_a_path_is_encoded() -> None:
    wire = Wire(ok(), ok(), ok())

    with wire.client() as client:
        client.put_document("team", "a b/ü?#%41.md", b"x", {"Doc_Type": "a b"}, media_type="text/markdown")
        client.get_document("team", "a b/ü?#%41.md", version="v/1")
        client.delete_document("team", "a b/ü?#%41.md")

    route = b"/prod/documents/team/a%20b/%C3%BC%3F%23%2541.md"
    assert [request.url.raw_path.partition(b"?")[0] for request in wire.requests] == [route] * 3
    assert wire.requests[0].headers["x-amz-meta-doc_type"] == "a b"
    assert wire.requests[0].headers["content-type"] == "text/markdown"
    assert wire.requests[0].content == b"x"
    assert wire.requests[1].url.params["version"] == "v/1"


@pytest.mark.parametrize("path", ["", "a//b", "../a", "a/./b", "a/", "bad\udcff.md"])
def test_a_path_that_no_url_carries_is_refused_before_anything_is_sent(path: str) -> None:
    wire = Wire()

    with wire.client() as client, pytest.raises(InvalidParamsError):
        client.get_document("team", path)

    assert wire.requests == []


@pytest.mark.parametrize("metadata", [{"title": "pümp"}, {"title": "a\nb"}, {"a b": "c"}, {"": "c"}])
def test_metadata_that_no_header_carries_is_refused_before_anything_is_sent(metadata: dict[str, str]) -> None:
    wire = Wire()

    with wire.client() as client, pytest.raises(InvalidParamsError):
        client.put_document("team", "a.md", b"x", metadata)

    assert wire.requests == []


def test_a_body_over_4_mib_is_refused_before_it_is_sent() -> None:
    with Wire().client() as client, pytest.raises(PayloadTooLargeError) as caught:
        client.put_document("team", "a.txt", b"x" * (4 * 1024 * 1024 + 1))

    assert caught.value.details["limit_bytes"] == 4 * 1024 * 1024


def test_a_status_url_of_another_host_leads_to_the_own_api() -> None:
    wire = Wire(ok(status="indexed"))

    with wire.client() as client:
        client.status("https://evil.example/stage/documents/team/a%20b.md?version=v1")

    assert str(wire.requests[0].url) == "http://api.example/prod/documents/team/a%20b.md?version=v1"


def test_documents_asks_for_page_after_page_with_the_same_filters() -> None:
    wire = Wire(ok(documents=[1], cursor="c1"), ok(documents=[2], cursor=None))

    with wire.client() as client:
        pages = list(client.documents(vault="team", status="failed"))

    assert [page["documents"] for page in pages] == [[1], [2]]
    assert [dict(request.url.params) for request in wire.requests] == [
        {"vault": "team", "status": "failed"},
        {"vault": "team", "status": "failed", "cursor": "c1"},
    ]


@pytest.mark.parametrize(
    ("status", "code", "kind"),
    [
        (400, "INVALID_PARAMS", InvalidParamsError),
        (404, "DOCUMENT_NOT_FOUND", DocumentNotFoundError),
        (409, "CONFLICT", ConflictError),
        (413, "DOCUMENT_TOO_LARGE", PayloadTooLargeError),
        (429, "RATE_LIMITED", RateLimitedError),
        (502, "MODEL_NOT_FOUND", ModelNotFoundError),
        (503, "DATABASE_ERROR", DatabaseError),
    ],
)
def test_an_error_body_becomes_the_class_of_its_code(status: int, code: str, kind: type[RagdropError]) -> None:
    error = raised_by(refused(status, code, field="query"))

    assert type(error) is kind
    assert error.message == "because"
    assert error.details["field"] == "query"
    assert (error.details["status"], error.details["request_id"]) == (status, "r-1")


def test_details_may_have_any_name() -> None:
    error = raised_by(refused(503, "DATABASE_ERROR", message="m", self="s", service="registry", retryable=False))

    assert isinstance(error, DependencyError)
    assert (error.service, error.retryable) == ("registry", False)
    assert (error.details["message"], error.details["self"]) == ("m", "s")


def test_an_unknown_code_is_stored() -> None:
    error = raised_by(refused(418, "TEAPOT"))

    assert type(error) is RagdropError
    assert error.details["code"] == "TEAPOT"


@pytest.mark.parametrize("body", [b"<html>", b'{"message": "Forbidden"}', b"[]", b""])
def test_an_error_without_ragdrops_body_reports_status_and_address(body: bytes) -> None:
    error = raised_by(httpx.Response(403, content=body))

    assert error.details["status"] == 403
    assert "http://api.example/prod/search answered 403" in error.message


def test_a_gateways_502_is_a_dependency_that_failed() -> None:
    assert isinstance(raised_by(httpx.Response(502, content=b"<html>")), DependencyError)


@pytest.mark.parametrize("body", [b"<html>", b"[]"])
def test_a_success_that_is_no_json_object_is_an_error(body: bytes) -> None:
    assert "no JSON object" in raised_by(httpx.Response(200, content=body)).message


@pytest.mark.parametrize("url", ["", "api.example", "ftp://api.example", "http://", "http://[::1"])
def test_an_address_that_is_none_is_a_configuration_error(url: str) -> None:
    with pytest.raises(ConfigurationError):
        RagdropClient(url, "rd_key")


@pytest.mark.parametrize("key", ["", "rd_secret\n", "rd_sécret"])
def test_a_key_that_no_header_carries_is_refused_without_being_shown(key: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        RagdropClient("http://api.example", key)

    assert "cret" not in caught.value.message


def test_the_client_imports_nothing_but_httpx_and_its_own_few_modules() -> None:
    outside = set()
    for module in MODULES:
        for node in ast.walk(ast.parse(Path(str(module.__file__)).read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] == "ragdrop":
                outside.add(node.module)

    assert outside == {"ragdrop.errors", *(module.__name__ for module in MODULES[1:])}


def test_a_receipt_and_the_text_of_a_citation_are_asked_for_by_id_version_and_span() -> None:
    wire = Wire(ok(answer="yes"), ok(text="red"))
    with wire.client() as client:
        client.answer("a/1")
        client.get_document("team", "a.md", "v1", span=(12, 15))

    assert [request.url.raw_path.decode() for request in wire.requests] == [
        "/prod/answers/a%2F1",
        "/prod/documents/team/a.md?version=v1&span=12-15",
    ]
