"""`/models/near` and `/models/test`: on a laptop alone, for admins, without a trace of the key."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import pytest
from starlette.testclient import TestClient

from ragdrop.api.apis import query_api
from ragdrop.domain.deadlines import Deadline
from ragdrop.ports.model_services import NearServer
from ragdrop.ports.object_store import PresignedForm
from testing.memory_object_store import MemoryObjectStore
from tests.agent_world import key_of
from tests.world import World

SECRET = "sk-very-secret"
TEST = {"url": "http://127.0.0.1:11434/v1", "model": "mistral", "api_key": SECRET}


@dataclass
class FakeModels:
    """Has one server; notes what is tried."""

    tried: list[tuple[str, str, str | None]] = field(default_factory=list)
    problem: str | None = None

    def near(self, _deadline: Deadline) -> list[NearServer]:
        """One."""
        return [NearServer("Ollama", "http://127.0.0.1:11434/v1", ("mistral",))]

    def attempt(self, url: str, model: str, key: str | None, _deadline: Deadline) -> str | None:
        """Note it."""
        self.tried.append((url, model, key))
        return self.problem


class LaptopBucket(MemoryObjectStore):
    """A bucket of a local emulator."""

    def upload_form(self, *_: object, **__: object) -> PresignedForm:
        """A form of this machine."""
        return PresignedForm("http://127.0.0.1:4566/documents", {})


@pytest.fixture
def models() -> FakeModels:
    return FakeModels()


def client_of(models: FakeModels, bucket: MemoryObjectStore, role: str = "admin") -> TestClient:
    world = World(documents=bucket)
    world.app.operate.tried_models = models
    return TestClient(query_api(world.app), headers={"x-api-key": key_of(world, role)})  # type: ignore[arg-type]


@pytest.fixture
def laptop(models: FakeModels) -> Iterator[TestClient]:
    with client_of(models, LaptopBucket("documents")) as client:
        yield client


def test_servers_of_this_machine_are_listed(laptop: TestClient) -> None:
    reply = laptop.get("/models/near")

    assert reply.status_code == 200
    assert reply.json()["servers"] == [{"name": "Ollama", "url": "http://127.0.0.1:11434/v1", "models": ["mistral"]}]


def test_a_key_is_tried_once_and_not_repeated(
    laptop: TestClient, models: FakeModels, capsys: pytest.CaptureFixture[str]
) -> None:
    models.problem = "the chat service refused: HTTP 401"
    reply = laptop.post("/models/test", json=TEST)
    wrong = laptop.post("/models/test", json={**TEST, "model": ""})
    longer = laptop.post("/models/test", json={**TEST, "api_key": {"a": SECRET}})

    assert models.tried == [("http://127.0.0.1:11434/v1", "mistral", SECRET)]
    assert (reply.json()["works"], reply.json()["problem"]) == (False, "the chat service refused: HTTP 401")
    assert (wrong.status_code, longer.status_code) == (400, 400)
    assert SECRET not in reply.text + wrong.text + longer.text
    assert SECRET not in "".join(capsys.readouterr())


def test_on_aws_nothing_is_looked_for_or_tried(models: FakeModels) -> None:
    with client_of(models, MemoryObjectStore("documents")) as client:
        assert (client.get("/models/near").status_code, client.post("/models/test", json=TEST).status_code) == (
            404,
            404,
        )
    assert models.tried == []


def test_a_writer_may_not(models: FakeModels) -> None:
    with client_of(models, LaptopBucket("documents"), "writer") as client:
        assert (client.get("/models/near").status_code, client.post("/models/test", json=TEST).status_code) == (
            403,
            403,
        )


@pytest.mark.parametrize("url", ["file:///etc/passwd", "http://user:pass@host/v1", "http://a b/v1", "ftp://a"])
def test_an_address_that_is_none_is_refused(laptop: TestClient, models: FakeModels, url: str) -> None:
    assert laptop.post("/models/test", json={**TEST, "url": url}).status_code == 400
    assert models.tried == []
