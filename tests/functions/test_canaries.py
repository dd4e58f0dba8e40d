"""Canaries over HTTP: golden questions of vaults, run after changes; a drop is shown, and never told by mistake."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, cast

import pytest
from starlette.testclient import TestClient

from ragdrop.api.apis import query_api
from ragdrop.domain.bounded_cache import BoundedCache
from ragdrop.domain.deadlines import Deadline
from ragdrop.domain.retrieval import Query, Retrieval
from ragdrop.domain.tenants import Caller, Role
from ragdrop.errors import EmbeddingServiceError
from ragdrop.operate.golden_questions import DUE_S, MAX_QUESTIONS
from ragdrop.query.cache import Searching
from tests.world import World

DOWN = EmbeddingServiceError("down", service="embedding")
WORDS = [
    *("anvil", "basil", "cedar", "delta", "ember", "fjord", "grove", "heron", "ivory", "jetty"),
    *("karst", "lemon", "mango", "nylon", "otter", "plume", "quartz", "raven", "sable", "tulip"),
]


class Counted:
    """A search that is counted."""

    def __init__(self, search: Searching) -> None:
        self.count = 0
        self._search = search

    def __call__(self, query: Query, caller: Caller, deadline: Deadline) -> Retrieval:
        """Search."""
        self.count += 1
        return self._search(query, caller, deadline)


class Shop:
    """A world of twenty documents, each with a golden question, and its API."""

    def __init__(self, client: TestClient, world: World) -> None:
        self.client = client
        self.world = world
        self.vectors = world.app.query.uncached_search._query_vectors
        self.counted = Counted(world.app.query.uncached_search)
        cast("Any", world.app.query).uncached_search = self.counted
        for number, word in enumerate(WORDS):
            world.put(f"team/{word}.md", f"# {word}\n\nThe code of {word} is QX-{number:02}.")
        self.ask([{"question": f"code of {word}", "text": f"QX-{at:02}"} for at, word in enumerate(WORDS)])

    def ask(self, questions: list[dict[str, str]], vault: str = "team", gate: float = 0.9) -> None:
        """Let a vault have golden questions."""
        self.world.put(f"{vault}/.ragdrop.json", json.dumps({"golden_questions": questions, "golden_gate": gate}))
        assert self.world.head(f"{vault}/.ragdrop.json").error is None
        self.world.app.tenants.directory.forget(self.world.tenant)

    def send(self, method: str, path: str, role: Role = "writer", vaults: tuple[str, ...] = ()) -> Any:
        """The body of a response, which has status 200."""
        key, _ = self.world.app.operate.operator.create_key(self.world.tenant, role, vaults)
        response = self.client.request(method, path, headers={"x-api-key": key})
        assert response.status_code == 200, response.text
        return response.json()

    def run(self) -> Any:
        """Ask the golden questions of the vault now."""
        return self.send("POST", "/canaries/team")

    def sweep(self) -> None:
        """The schedule's run."""
        self.world.app.operate.sweep_tenants(Deadline.after(600))

    def drops(self) -> list[float]:
        """What the metric was told, in order."""
        return [value for name, value, _ in self.world.metrics.seen if name == "GoldenDrops"]

    @property
    def searches(self) -> int:
        """How often a golden question was asked of the index."""
        return self.counted.count

    def forget_vectors(self) -> None:
        """Let every question be embedded again."""
        cast("Any", self.vectors)._cached_vectors = BoundedCache(size=0)

    def lose(self, *words: str) -> None:
        """Delete documents: their questions are not answered any more."""
        for word in words:
            self.world.delete(f"team/{word}.md")


@pytest.fixture
def shop() -> Iterator[Shop]:
    world = World()
    with TestClient(query_api(world.app)) as client:
        yield Shop(client, world)


def test_a_run_says_which_questions_are_answered(shop: Shop) -> None:
    shop.lose("otter")

    run = shop.run()

    assert (run["questions"], run["answered"], run["dropped"], run["not_measured"]) == (20, 19, [], None)
    missed = [each for each in run["outcomes"] if not each["answered"]]
    assert missed == [{"question": "code of otter", "expected": "QX-14", "answered": False, "dropped": False}]


def test_a_question_that_is_not_answered_any_more_is_a_drop_until_it_is_answered_again(shop: Shop) -> None:
    shop.run()
    shop.lose("otter", "raven")

    assert shop.run()["dropped"] == shop.run()["dropped"] == ["code of otter", "code of raven"]
    shop.world.put("team/otter.md", "# otter\n\nThe code of otter is QX-14.")
    shop.send("POST", "/stages/team/waiting/promote")
    assert shop.run()["dropped"] == ["code of raven"]
    assert shop.drops() == [0, 2, 2, 1]


def test_a_drop_is_shown_by_health_and_stats(shop: Shop) -> None:
    shop.run()
    shop.lose("otter")
    shop.run()

    for path in ("/health", "/stats"):
        (told,) = shop.send("GET", path)["canaries"]
        assert (told["vault"], told["questions"], told["answered"]) == ("team", 20, 19)
        assert told["dropped"] == ["code of otter"]
        assert told["measured_at"] == "2027-01-15T08:00:00Z"
    assert shop.send("GET", "/health")["status"] == "healthy"


def test_an_embedding_service_that_is_down_is_no_drop(shop: Shop) -> None:
    before = shop.run()
    shop.world.embedder.fail_with = DOWN
    shop.forget_vectors()

    run = shop.run()

    assert (run["not_measured"], run["dropped"]) == ("EMBEDDING_SERVICE_ERROR", [])
    assert (run["answered"], run["measured_at"]) == (before["answered"], before["measured_at"])
    assert sum(shop.drops()) == 0


def test_what_was_never_measured_is_neither_answered_nor_dropped(shop: Shop) -> None:
    shop.world.embedder.fail_with = DOWN

    run = shop.run()

    assert (run["answered"], run["measured_at"], run["dropped"]) == (0, None, [])
    assert {each["answered"] for each in run["outcomes"]} == {None}


def test_the_schedule_asks_at_once_and_again_after_six_hours(shop: Shop) -> None:
    shop.sweep()
    asked = shop.searches
    shop.sweep()
    unchanged = shop.searches
    shop.world.now_s += DUE_S
    shop.sweep()

    assert (asked, unchanged, shop.searches) == (20, 20, 40)


@pytest.mark.parametrize("change", ["release", "index", "settings"])
def test_the_schedule_asks_at_once_after_a_deployment_another_index_and_other_settings(shop: Shop, change: str) -> None:
    shop.sweep()
    if change == "release":
        shop.world.app.operate.golden_runs.release = "another"
    elif change == "index":
        tenant = shop.world.registry.tenant(shop.world.tenant)
        assert tenant is not None
        other = replace(tenant.active, name="another-v1-hashing-64-2")
        shop.world.registry.move_indexes(tenant, active=other, building=None, previous=tenant.active)
    else:
        shop.ask([{"question": "code of otter", "text": "QX-14"}])

    shop.sweep()

    assert shop.searches == (21 if change == "settings" else 40)


def test_the_schedule_reports_a_standing_drop_every_hour(shop: Shop) -> None:
    shop.sweep()
    shop.lose("otter")
    shop.world.now_s += DUE_S
    shop.sweep()
    shop.sweep()

    assert shop.drops() == [0, 1, 1]


def test_a_tenant_without_golden_questions_costs_nothing() -> None:
    world = World()
    world.put("team/a.md", "alpha")
    calls = len(world.registry.calls)
    tenant = world.registry.tenant(world.tenant)
    assert tenant is not None

    world.app.operate.golden_runs.run_due(tenant, Deadline.after(60))

    assert world.registry.calls[calls:] == ["tenant"]
    assert world.metrics.total("GoldenDrops") == 0
    assert world.app.operate.golden_runs.last(world.caller) == []


def test_a_run_of_the_schedule_asks_at_most_two_hundred_questions_and_the_next_one_continues(shop: Shop) -> None:
    many = [{"question": f"code of {word} {turn}", "text": "QX"} for turn in range(2) for word in WORDS]
    for number in range(5):
        shop.ask(many, vault=f"side{number}")

    shop.sweep()
    first = shop.searches
    shop.sweep()

    assert (first, shop.searches) == (MAX_QUESTIONS, 5 * 40 + 20)


def test_a_key_sees_and_asks_its_own_vaults_alone(shop: Shop) -> None:
    shop.run()

    assert shop.send("GET", "/canaries", vaults=("side",))["canaries"] == []
    assert "canaries" not in shop.send("GET", "/health", vaults=("side",))
    assert [each["vault"] for each in shop.send("GET", "/canaries", role="reader")["canaries"]] == ["team"]


def test_a_deleted_tenant_leaves_no_run_behind(shop: Shop) -> None:
    shop.run()
    assert shop.world.registry.golden_runs(shop.world.tenant) != {}

    shop.world.registry.forget_tenant(shop.world.tenant)

    assert shop.world.registry.golden_runs(shop.world.tenant) == {}
