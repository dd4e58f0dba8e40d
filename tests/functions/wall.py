"""A wall to attack: tenants with planted secrets, the whole HTTP surface, and what an answer may not show."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from mangum import Mangum

from ragdrop.api.apis import query_api
from ragdrop.domain.chunks import CandidateQuery, Candidates, ChunkRange, Hit
from ragdrop.domain.deadlines import Deadline
from ragdrop.domain.tenants import IndexRef
from testing.memory_chunk_index import MemoryChunkIndex
from tests.functions.conftest import LocalContext, rest_event
from tests.world import World

HIDDEN = "Vjqz"  # stands in each planted text and in no attack
VOLATILE = ("request_id", "latency_ms", "timings_ms", "expires_at", "fields", "url", "restorable_until", "answer_id")


class Wall:
    """A world of tenants over one deployment.  `plant` gives a tenant documents full of words that only it may see."""

    def __init__(self, index: Any = None, registry: Any = None) -> None:
        self.world = World("acme", index=index, registry=registry)
        self.world.chat.reply = lambda messages: f"{messages[-1].content} [1]"  # says all that it was shown
        self.keys: dict[str, str] = {}
        self._serve = Mangum(query_api(self.world.app), lifespan="off")

    def plant(self, tenant: str, word: str, count: int = 1, vault: str | None = None) -> None:
        """Give *tenant* documents that are about the pump, with *word* wherever a document can say one."""
        world = self.world
        if world.registry.tenant(tenant) is None:
            world.app.operate.operator.create_tenant(tenant)
        facts = {"title": f"Pump {word}", "doc_type": word, "category": word, "session_id": word, "agent": word}
        front = "\n".join(f"{name}: {value}" for name, value in facts.items())
        paths = []
        for number in range(count):
            text = f"---\n{front}\ntags: [{word}]\npromotion_level: critical\nroom: {word}\n---\n\n# Pump {word}\n\n"
            text += f"The pump stands in room {HIDDEN}{tenant} {number}. See [it](../../acme/home/a.md).\n"
            world.tenant = tenant
            paths.append(f"{vault or word}/{word}/{number}.md")
            world.put(paths[-1], text, ingest=False)
        world.changed(*paths)  # one message, so that an index is refreshed once
        world.tenant = "acme"

    def key(self, tenant: str, *vaults: str) -> str:
        """A writer's key of *tenant*, for *vaults* only where they are given."""
        name = f"{tenant}/{','.join(vaults)}"
        if name not in self.keys:
            self.keys[name] = self.world.app.operate.operator.create_key(tenant, "writer", vaults)[0]
        return self.keys[name]

    def send(self, key: str, method: str, path: str, *, body: Any = None) -> tuple[int, Any]:
        """Status and body of a request, without what differs from one request to the next."""
        headers = {"x-api-key": key, "x-request-id": "r", "host": "api.example", "content-type": "application/json"}
        event = rest_event(method, path, headers, body)
        answer = self._serve(event, LocalContext())  # type: ignore[arg-type]
        return answer["statusCode"], without_volatile(json.loads(answer["body"]))

    def search(self, key: str, **fields: Any) -> Any:
        """The body of a search that shows its candidates."""
        return self.send(key, "POST", "/search", body={"query": "pump room", "debug": True, **fields})[1]


ASKED: tuple[dict[str, Any], ...] = (
    {},
    {"limit": 3},
    {"folders": ["home"]},
    {"prefer_folders": ["x"]},
    {"query": "room red"},
)


def before_and_after_another_tenant_came(wall: Wall) -> tuple[list[Any], list[Any]]:
    """All that `acme` is told of its 8 documents, before and after another tenant adds 200 about the same."""
    for number in range(8):
        wall.world.put(f"home/{number}.md", f"# Pump {number}\n\nThe pump in room {number} is red." + " pump" * number)
    key = wall.key("acme")

    def seen() -> list[Any]:
        wall.world.now_s += 3_600  # no cache of answers or of the tenant's item helps
        return [*(wall.search(key, **fields) for fields in ASKED), wall.send(key, "GET", "/documents")]

    before = seen()
    assert len(before[0]["results"]) > 2
    wall.plant("other", "pump", count=200, vault="home")
    return before, seen()


def without_volatile(value: Any) -> Any:
    """*value* without the fields that differ from one request to the next."""
    if isinstance(value, dict):
        return {name: without_volatile(held) for name, held in value.items() if name not in VOLATILE}
    return [without_volatile(one) for one in value] if isinstance(value, list) else value


class LeakyIndex(MemoryChunkIndex):
    """An index that was built wrong: whoever asks also gets the chunks of tenant `other`."""

    def candidates(self, index: IndexRef, queries: Sequence[CandidateQuery], deadline: Deadline) -> list[Candidates]:
        """What the tenant asked for, and what is not its own."""
        own = super().candidates(index, queries, deadline)
        open_ = [replace(query, filters=replace(query.filters, vaults=(), folders=())) for query in queries]
        theirs = super().candidates(replace(index, tenant="other"), open_, deadline)
        pairs = zip(own, theirs, strict=True)
        return [Candidates([*a.vector, *b.vector], [*a.lexical, *b.lexical]) for a, b in pairs]

    def read(self, index: IndexRef, ranges: Sequence[ChunkRange], deadline: Deadline) -> list[list[Hit]]:
        """The chunks of any tenant's documents."""
        return [
            super(LeakyIndex, self).read(replace(index, tenant=one.key.tenant), [one], deadline)[0] for one in ranges
        ]
