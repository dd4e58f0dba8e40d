"""What every route has: HEAD and OPTIONS, refused methods, compression, request ids, pages of other origins."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from starlette.testclient import TestClient

from ragdrop.api.apis import query_api
from ragdrop.config import Settings
from ragdrop.errors import ConfigurationError
from tests.agent_world import eager_world, key_of
from tests.world import ENVIRONMENT

ORIGIN = "https://app.example"


@pytest.fixture(scope="module")
def client() -> Iterator[TestClient]:
    """A client with an admin's key, of a service that admits pages of one origin."""
    world = eager_world(CORS_ALLOW_ORIGINS=f"{ORIGIN},http://localhost:3000")
    world.put("team/pump.md", "# Pump\n\n" + "The pump's code is QX-5521. " * 200)
    api = query_api(world.app)
    with TestClient(api, headers={"x-api-key": key_of(world, "admin")}, raise_server_exceptions=False) as client:
        yield client


@pytest.mark.parametrize("path", ["/documents/team/pump.md", "/documents", "/stats", "/openapi.json", "/docs"])
def test_head_is_get_without_its_body(client: TestClient, path: str) -> None:
    got, head = client.get(path), client.head(path)

    assert (head.status_code, head.content) == (200, b"")
    assert head.headers["content-type"] == got.headers["content-type"]


def test_head_of_what_is_not_there_is_404_without_a_body(client: TestClient) -> None:
    head = client.head("/documents/team/nothing.md")

    assert (head.status_code, head.content) == (404, b"")


@pytest.mark.parametrize(
    ("path", "allowed"),
    [
        ("/search", "POST, OPTIONS"),
        ("/ask", "POST, OPTIONS"),
        ("/documents", "GET, HEAD, OPTIONS"),
        ("/documents/team/pump.md", "GET, HEAD, PUT, DELETE, OPTIONS"),
        ("/v1/models", "GET, HEAD, OPTIONS"),
        ("/v1/verify", "POST, OPTIONS"),
        ("/openapi.json", "GET, HEAD, OPTIONS"),
    ],
)
def test_options_and_a_refused_method_name_every_method_of_the_path(
    client: TestClient, path: str, allowed: str
) -> None:
    told, refused = client.options(path), client.patch(path)

    assert (told.status_code, told.content, told.headers["allow"]) == (204, b"", allowed)
    assert (refused.status_code, refused.headers["allow"]) == (405, allowed)
    assert refused.json()["error"]["code"] == "METHOD_NOT_ALLOWED"
    assert refused.json()["error"]["details"]["allowed"] == allowed.split(", ")


@pytest.mark.parametrize("method", ["GET", "POST", "PATCH", "OPTIONS"])
def test_a_path_that_there_is_not_is_404_whatever_the_method(client: TestClient, method: str) -> None:
    response = client.request(method, "/nowhere")

    assert (response.status_code, response.json()["error"]["code"]) == (404, "NOT_FOUND")


def test_a_large_reply_is_compressed_for_who_takes_that_and_a_small_one_never(client: TestClient) -> None:
    asked = {"query": "code of the pump"}
    large = client.post("/search", json=asked, headers={"accept-encoding": "gzip"})
    plain = client.post("/search", json=asked, headers={"accept-encoding": "identity"})
    small = client.post("/search", json={}, headers={"accept-encoding": "gzip"})

    assert large.headers["content-encoding"] == "gzip"
    assert int(large.headers["content-length"]) < int(plain.headers["content-length"])
    assert large.json()["results"] == plain.json()["results"]
    assert "content-encoding" not in plain.headers
    assert "content-encoding" not in small.headers


@pytest.mark.parametrize("accepted", ["gzip;q=0", "br, GZIP; q=0.0, identity", "gzip;q=0,*"])
def test_who_refuses_gzip_gets_plain_text(client: TestClient, accepted: str) -> None:
    reply = client.post("/search", json={"query": "code of the pump"}, headers={"accept-encoding": accepted})

    assert "content-encoding" not in reply.headers
    assert reply.headers["vary"] == "Accept-Encoding"


def test_a_small_weight_of_gzip_is_no_refusal(client: TestClient) -> None:
    reply = client.post("/search", json={"query": "code of the pump"}, headers={"accept-encoding": "gzip;q=0.5"})

    assert reply.headers["content-encoding"] == "gzip"


@pytest.mark.parametrize(
    ("method", "path"), [("GET", "/stats"), ("GET", "/nowhere"), ("PATCH", "/search"), ("OPTIONS", "/search")]
)
def test_every_response_carries_the_request_id_that_it_was_sent(client: TestClient, method: str, path: str) -> None:
    response = client.request(method, path, headers={"x-request-id": "example-1"})

    assert response.headers["x-request-id"] == "example-1"


@pytest.mark.parametrize("given", ["", "x" * 129, "ä", "a\tb"])
def test_a_request_id_that_is_not_plain_is_replaced(client: TestClient, given: str) -> None:
    response = client.get("/stats", headers=[(b"x-request-id", given.encode())])

    assert response.headers["x-request-id"] == response.json()["request_id"] != given


def test_a_slash_behind_a_route_is_no_other_route(client: TestClient) -> None:
    assert client.post("/search/", json={"query": "pump"}).status_code == 200
    for path in ("/v1/models/", "/v1//models", "//v1/models"):
        assert client.get(f"http://testserver{path}").json() == client.get("/v1/models").json()


def test_a_slash_behind_a_document_names_a_folder(client: TestClient) -> None:
    reply = client.put("/documents/team/notes/", content=b"x")

    assert (reply.status_code, reply.json()["error"]["details"]["field"]) == (400, "path")


@pytest.mark.parametrize("path", ["/search", "/v1/verify"])
@pytest.mark.parametrize("kind", ["application/x-www-form-urlencoded", "text/plain", ""])
def test_json_under_another_content_type_is_refused_by_the_name_of_the_header(
    client: TestClient, path: str, kind: str
) -> None:
    reply = client.post(path, content=b'{"query": "pump"}', headers={"content-type": kind})

    error = reply.json()["error"]
    assert (reply.status_code, error["details"]["field"]) == (400, "content-type")
    assert error["message"] == f"content-type: is {kind!r}: send application/json"


def test_what_a_rule_says_of_a_field_is_said_as_it_is(client: TestClient) -> None:
    reply = client.post("/search", json={"query": "pump", "date_from": "31/01/2026"})

    assert reply.json()["error"]["message"].startswith("date_from: a day (2026-01-31) or a time")


def test_a_field_of_several_kinds_is_named_as_the_caller_wrote_it(client: TestClient) -> None:
    reply = client.post("/search", json={"query": "pump", "attributes": {"owner": None}})

    assert reply.json()["error"]["details"]["field"] == "attributes.owner"


@pytest.mark.parametrize("body", [b'{"query": "Gr\xf6\xdfe"}', b"[" * 100_000, b"{"])
def test_a_body_that_is_no_json_is_refused_as_such(client: TestClient, body: bytes) -> None:
    reply = client.post("/search", content=body, headers={"content-type": "application/json"})

    assert reply.status_code == 400
    assert reply.json()["error"]["message"].startswith("body: is not valid JSON")


def test_a_page_of_an_allowed_origin_may_read_replies_and_errors(client: TestClient) -> None:
    for path, status in (("/stats", 200), ("/nowhere", 404)):
        response = client.get(path, headers={"origin": ORIGIN})

        assert (response.status_code, response.headers["access-control-allow-origin"]) == (status, ORIGIN)
        assert "Origin" in response.headers["vary"]
        assert "etag" in response.headers["access-control-expose-headers"]
        assert "access-control-allow-credentials" not in response.headers


def test_a_preflight_of_an_allowed_origin_is_granted_without_a_key(client: TestClient) -> None:
    asked = {
        "origin": "http://localhost:3000",
        "access-control-request-method": "PUT",
        "access-control-request-headers": "x-api-key,content-type",
        "x-api-key": "",
    }

    response = client.options("/documents/team/pump.md", headers=asked)

    assert response.status_code == 204
    assert response.headers["access-control-allow-origin"] == "http://localhost:3000"
    assert response.headers["access-control-allow-methods"] == "GET, HEAD, POST, PUT, PATCH, DELETE"
    assert response.headers["access-control-allow-headers"] == "x-api-key,content-type"


@pytest.mark.parametrize("origin", ["https://evil.example", "http://app.example", "https://app.example.evil", "null"])
def test_a_page_of_another_origin_is_granted_nothing(client: TestClient, origin: str) -> None:
    preflight = {"origin": origin, "access-control-request-method": "POST"}

    for response in (client.options("/search", headers=preflight), client.get("/stats", headers={"origin": origin})):
        assert not [name for name in response.headers if name.startswith("access-control-")]


def test_without_the_setting_no_page_is_granted_anything() -> None:
    with TestClient(query_api(eager_world().app)) as client:
        response = client.get("/nowhere", headers={"origin": ORIGIN})

    assert "access-control-allow-origin" not in response.headers


@pytest.mark.parametrize("value", ["app.example", "https://app.example/", "https://*.example", "ftp://x"])
def test_what_is_no_origin_is_a_wrong_setting(value: str) -> None:
    with pytest.raises(ConfigurationError, match="CORS_ALLOW_ORIGINS"):
        Settings.from_environment({**ENVIRONMENT, "CORS_ALLOW_ORIGINS": value})
