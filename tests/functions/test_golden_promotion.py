"""A staged change that breaks golden questions is refused and says which, over HTTP."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from starlette.testclient import TestClient

from ragdrop.api.apis import query_api
from ragdrop.domain.documents import Status
from ragdrop.errors import EmbeddingServiceError
from tests.world import World

NUMBERS = range(20)
BROKEN = (3, 8, 15)
THINGS = ("anvil", "basil", "cedar", "delta", "ember", "fjord", "grove", "heron", "ivory", "jetty")
NAMES = [f"{colour} {thing}" for colour in ("red", "blue") for thing in THINGS]


class Vault:
    """A vault of twenty documents, of which each answers one golden question, and its API."""

    def __init__(self, world: World, client: TestClient) -> None:
        self.world = world
        self._client = client
        self._key, _ = world.app.operate.operator.create_key(world.tenant, "writer")
        for number in NUMBERS:
            self.put(number, f"QX-{number:02}")
        golden = [{"question": f"code of the {NAMES[each]}", "text": f"QX-{each:02}"} for each in NUMBERS]
        world.put("team/.ragdrop.json", json.dumps({"golden_questions": golden}))
        assert world.head("team/.ragdrop.json").error is None
        world.app.tenants.directory.forget(world.tenant)

    def put(self, number: int, code: str) -> None:
        """A version of a document."""
        self.world.put(f"team/{number}.md", f"# {NAMES[number]}\n\nThe code of the {NAMES[number]} is {code}.")

    def send(self, method: str, route: str) -> tuple[int, Any]:
        """Status and body of a request about what waits in the vault."""
        reply = self._client.request(method, f"/stages/team/waiting/{route}", headers={"x-api-key": self._key})
        return reply.status_code, reply.json()


@pytest.fixture
def vault() -> Iterator[Vault]:
    world = World()
    with TestClient(query_api(world.app)) as client:
        yield Vault(world, client)


def test_a_staged_change_that_breaks_3_of_20_golden_questions_is_refused_and_says_which(vault: Vault) -> None:
    for number in NUMBERS:
        vault.put(number, "unknown" if number in BROKEN else f"QX-{number:02}, as it was")

    status, body = vault.send("POST", "promote")

    error = body["error"]
    assert (status, error["code"]) == (409, "CONFLICT")
    assert error["message"].startswith("3 of 20 golden questions of vault team are not answered with stage waiting: ")
    broken = [f"code of the {NAMES[number]}" for number in BROKEN]
    assert [each["question"] for each in error["details"]["failed"]] == broken
    assert [each["expected"] for each in error["details"]["failed"]] == ["QX-03", "QX-08", "QX-15"]
    assert {each["live"] for each in error["details"]["failed"]} == {True}
    assert all(name in error["message"] for name in broken)


def test_what_was_refused_still_waits_and_is_promoted_once_it_is_mended(vault: Vault) -> None:
    for number in BROKEN:
        vault.put(number, "unknown")
    assert vault.send("POST", "promote")[0] == 409
    assert vault.world.head("team/3.md").status is Status.STAGED

    for number in BROKEN:
        vault.put(number, f"QX-{number:02} and no other")
    status, body = vault.send("POST", "promote")

    assert (status, body["total"], len(body["checks"])) == (200, 3, 20)
    assert all(each["live"] and each["staged"] for each in body["checks"])


def test_a_check_says_the_same_and_promotes_nothing(vault: Vault) -> None:
    for number in BROKEN:
        vault.put(number, "unknown")

    status, body = vault.send("GET", "check")

    worse = [each["question"] for each in body["checks"] if each["live"] and not each["staged"]]
    assert (status, worse) == (200, [f"code of the {NAMES[number]}" for number in BROKEN])
    assert vault.world.head("team/3.md").status is Status.STAGED


def test_while_questions_cannot_be_asked_nothing_is_promoted_and_nothing_is_called_broken(vault: Vault) -> None:
    vault.put(3, "QX-03, as it was")
    vault.world.embedder.fail_with = EmbeddingServiceError("down", service="embedding")

    status, body = vault.send("POST", "promote")

    assert (status, body["error"]["code"]) == (503, "EMBEDDING_SERVICE_ERROR")


def test_a_vault_can_begin_with_golden_questions_and_a_stage() -> None:
    world = World()
    world.put("new/.ragdrop.json", json.dumps({"golden_questions": [{"question": "pump code", "document": "a.md"}]}))
    world.app.tenants.directory.forget(world.tenant)
    world.put("new/a.md", "The pump's code is QX-5521.")
    key, _ = world.app.operate.operator.create_key(world.tenant, "writer")

    with TestClient(query_api(world.app)) as client:
        reply = client.post("/stages/new/waiting/promote", headers={"x-api-key": key})

    assert (reply.status_code, reply.json().get("total")) == (200, 1), reply.text
