"""ETags of documents: what is known is not sent again, and nobody writes over what they have not seen."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from starlette.testclient import TestClient

from ragdrop.api.apis import query_api
from tests.agent_world import eager_world, key_of

PATH = "/documents/team/pump.md"


@pytest.fixture
def client() -> Iterator[TestClient]:
    world = eager_world()
    world.put("team/pump.md", "# Pump\n\nThe pump's code is QX-5521.")
    with TestClient(query_api(world.app), headers={"x-api-key": key_of(world, "admin")}) as client:
        yield client


@pytest.mark.parametrize("query", ["", "?content=1", "?span=0-6"])
def test_what_the_caller_knows_is_not_sent_again(client: TestClient, query: str) -> None:
    etag = client.get(PATH + query).headers["etag"]

    for known in (etag, f'"other", {etag}', f"W/{etag}", "*"):
        again = client.get(PATH + query, headers={"if-none-match": known})
        assert (again.status_code, again.content, again.headers["etag"]) == (304, b"", etag)
    assert client.get(PATH + query, headers={"if-none-match": '"other"'}).status_code == 200


def test_a_new_version_has_a_new_etag(client: TestClient) -> None:
    before = client.get(PATH).headers["etag"]
    client.put(PATH, content="# Pump\n\nThe code is new.")

    assert client.get(PATH, headers={"if-none-match": before}).status_code == 200


def test_a_write_onto_the_version_that_was_read_succeeds_and_the_next_one_with_it_does_not(client: TestClient) -> None:
    read = client.get(PATH).headers["etag"]

    first = client.put(PATH, content="one", headers={"if-match": read})
    second = client.put(PATH, content="two", headers={"if-match": read})
    third = client.put(PATH, content="three", headers={"if-match": first.headers["etag"]})

    assert (first.status_code, second.status_code, third.status_code) == (202, 412, 202)
    assert second.json()["error"]["code"] == "PRECONDITION_FAILED"
    assert second.json()["error"]["details"]["field"] == "If-Match"
    assert client.get(f"{PATH}?content=1").json()["text"] == "three"


def test_a_write_that_must_be_the_first_is_refused_where_there_is_one(client: TestClient) -> None:
    first = {"if-none-match": "*"}

    assert client.put(PATH, content="x", headers=first).status_code == 412
    assert client.put("/documents/team/new.md", content="x", headers=first).status_code == 202
    assert client.put("/documents/team/other.md", content="x", headers={"if-match": "*"}).status_code == 412


def test_a_delete_of_another_version_than_the_one_that_was_read_is_refused(client: TestClient) -> None:
    read = client.get(PATH).headers["etag"]
    client.put(PATH, content="new")

    assert client.delete(PATH, headers={"if-match": read}).status_code == 412
    assert client.delete(PATH, headers={"if-match": client.get(PATH).headers["etag"]}).status_code == 200


@pytest.mark.parametrize("method", ["GET", "PUT"])
def test_a_header_that_is_no_list_of_etags_is_refused(client: TestClient, method: str) -> None:
    response = client.request(method, PATH, headers={"if-none-match": "abc"})

    assert (response.status_code, response.json()["error"]["details"]["field"]) == (400, "If-None-Match")
