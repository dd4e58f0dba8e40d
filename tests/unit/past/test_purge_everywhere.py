"""A purge: no byte of the document is left in any store, neither of its past nor of a stage."""

from __future__ import annotations

import zlib
from typing import Any

from ragdrop.domain.answers import Question
from ragdrop.domain.deadlines import Deadline, rfc3339
from ragdrop.domain.history import STAGE
from ragdrop.domain.retrieval import Query
from tests.world import World

SECRETS = ("QX-RED", "QX-BLUE", "QX-STAGED", "secretive")


def stored_text(world: World) -> str:
    """All that the stores hold, as text: bodies are unpacked where they are packed."""
    texts = []
    for store in (world.documents, world.state):
        for name, versions in store._versions.items():
            texts.append(name)
            texts += [unpacked(version.body) + repr(version.stored) for version in versions]
    parts: tuple[Any, ...] = (
        world.registry,
        world.index,
        world.receipts,
        world.telemetry,
        world.visited,
        world.stored_replies,
    )
    texts += [repr({name: value for name, value in vars(part).items() if name != "calls"}) for part in parts]
    return "\n".join(texts)


def unpacked(body: bytes) -> str:
    """A body, and what zlib makes of every block in it."""
    found, rest = [body.decode("utf-8", "replace")], body
    while rest[:1] == b"\x78":
        block = zlib.decompressobj()
        found.append(block.decompress(rest).decode("utf-8", "replace"))
        rest = block.unused_data
    return "".join(found)


def test_a_purge_leaves_no_byte_of_any_past_or_stage() -> None:
    world = World()
    world.put("team/keep.md", "The tap is old.")
    world.put("team/secretive.md", "The code is QX-RED.")
    then = rfc3339(world.now_s, precision="milliseconds")
    world.now_s += 60
    world.put("team/secretive.md", "The code is QX-BLUE.")
    world.put("team/secretive.md", "The code is QX-STAGED.", {STAGE: "spring"})
    world.search("code", as_of=then)
    world.search("code", stage="spring")
    world.app.generate.ask(Question(Query("code")), world.caller, Deadline.after(10))
    assert all(secret in stored_text(world) for secret in SECRETS)

    world.app.documents.purge_documents(world.caller, world.key("team/secretive.md"), Deadline.after(10))

    left = stored_text(world)
    assert [secret for secret in SECRETS if secret in left] == []
    assert "The tap is old." in left
    for fields in ({"as_of": then}, {"stage": "spring"}, {}):
        assert [document.key.path for document in world.search("code", **fields).documents] == ["keep.md"]
