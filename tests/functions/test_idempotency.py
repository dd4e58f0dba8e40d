"""`Idempotency-Key`: a write that is sent twice is done once."""

from __future__ import annotations

import pytest
from starlette.testclient import TestClient

from ragdrop.api.apis import query_api
from ragdrop.errors import DatabaseError, ObjectStoreError
from tests.agent_world import EagerBucket, eager_world, key_of
from tests.world import World

PATH = "/documents/team/pump.md"
KEY = {"idempotency-key": "8f1c-1"}


@pytest.fixture
def world() -> World:
    return eager_world()


def sent(world: World, method: str, content: str = "", key: str = "", **headers: str) -> tuple[int, dict[str, object]]:
    """Status and body; `replay` says whether the reply was kept."""
    with TestClient(query_api(world.app), headers={"x-api-key": key or key_of(world, "admin")}) as client:
        response = client.request(method, PATH, content=content, headers={**KEY, **headers})
    return response.status_code, {**response.json(), "replay": response.headers.get("idempotent-replay")}


def puts(world: World) -> int:
    assert isinstance(world.documents, EagerBucket)
    return world.documents.calls.count("put")


def test_a_put_that_is_sent_twice_writes_one_version(world: World) -> None:
    first, again = sent(world, "PUT", "one"), sent(world, "PUT", "one")

    assert (first[0], again[0], puts(world)) == (202, 202, 1)
    assert (first[1]["version_id"], first[1]["replay"]) == (again[1]["version_id"], None)
    assert again[1]["replay"] == "true"
    assert first[1]["request_id"] != again[1]["request_id"]


@pytest.mark.parametrize("change", [{"content": "two"}, {"content": "one", "x-amz-meta-agent": "other"}])
def test_the_same_key_with_another_request_is_a_conflict(world: World, change: dict[str, str]) -> None:
    sent(world, "PUT", "one")

    status, body = sent(world, "PUT", **change)

    assert (status, body["error"]["code"], puts(world)) == (409, "CONFLICT", 1)  # type: ignore[index]


def test_a_delete_that_is_sent_twice_gives_its_receipt_again(world: World) -> None:
    world.put("team/pump.md", "one")

    first, again = sent(world, "DELETE"), sent(world, "DELETE")

    assert (first[0], again[0]) == (200, 200)
    assert {**again[1], "request_id": 0, "replay": 0} == {**first[1], "request_id": 0, "replay": 0}


def test_a_write_that_failed_is_done_when_it_is_sent_again(world: World) -> None:
    world.documents.fail_with = ObjectStoreError("down", service="object_store")
    failed = sent(world, "PUT", "one")
    world.documents.fail_with = None

    assert (failed[0], sent(world, "PUT", "one")[0]) == (503, 202)


def test_a_write_that_is_still_under_way_is_a_conflict_until_its_doer_must_be_dead(world: World) -> None:
    sent(world, "PUT", "one")
    world.stored_replies.finish(world.tenant, KEY["idempotency-key"], None)  # type: ignore[arg-type]  # as if it had died

    assert sent(world, "PUT", "one")[0] == 409
    world.now_s += 61
    assert sent(world, "PUT", "one")[0] == 202


def test_a_key_of_another_tenant_is_another_key(world: World) -> None:
    world.app.operate.operator.create_tenant("rival")
    rival, _ = world.app.operate.operator.create_key("rival", "writer")
    sent(world, "PUT", "one")

    assert sent(world, "PUT", "other", key=rival)[0] == 202


def test_nothing_is_written_where_keys_cannot_be_looked_up(world: World) -> None:
    world.stored_replies.fail_with = DatabaseError("down", service="telemetry")

    status, body = sent(world, "PUT", "one")

    assert (status, body["error"]["code"], puts(world)) == (503, "DATABASE_ERROR", 0)  # type: ignore[index]
