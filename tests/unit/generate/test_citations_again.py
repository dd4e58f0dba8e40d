"""A citation can be checked again later: by key, version, span and hash, whatever has become of its document."""

from __future__ import annotations

import hashlib

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ragdrop.domain.answers import Answer, Question
from ragdrop.domain.deadlines import Deadline
from ragdrop.domain.keys import DocumentKey
from ragdrop.domain.retrieval import Query
from ragdrop.domain.tenants import Caller
from ragdrop.errors import DocumentNotFoundError
from tests.world import World

PATH = "team/pump.md"
WORDS = st.sampled_from(["The pump is red.", "The pump's code is QX-5521.", "Größe: 5 µm 😀.", "# Pump", "", "| a |"])
TEXTS = st.lists(WORDS, min_size=1, max_size=8).map("\n\n".join).filter(str.strip)
CHANGES = st.lists(
    st.one_of(
        st.tuples(st.just("put"), TEXTS),
        st.tuples(st.just("sidecar"), st.sampled_from(['{"title": "A"}', '{"title": "B"}'])),
        st.tuples(st.just("break"), st.just("")),  # an empty file fails, and withdraws what was live
    ),
    max_size=4,
)


def ask(world: World) -> Answer:
    world.chat.reply = "The pump is red. [1] The pump's code is QX-5521. [1][2][3]"
    return world.app.generate.ask(Question(Query("pump code red")), world.caller, Deadline.after(10))


def read(world: World, key: str, version: str, start: int, end: int, caller: Caller | None = None) -> str:
    found = DocumentKey.parse(key)
    return world.app.documents.document_service.text(
        caller or world.caller, found, start=start, end=end, version_id=version
    )


def change(world: World, kind: str, text: str) -> None:
    world.now_s += 1
    world.put(f"{PATH}.metadata.json" if kind == "sidecar" else PATH, text)


@settings(max_examples=30, suppress_health_check=list(HealthCheck))
@given(texts=st.lists(TEXTS, min_size=1, max_size=3), changes=CHANGES)
def test_every_citation_and_chunk_of_an_answer_can_be_read_again_after_any_changes(
    texts: list[str], changes: list[tuple[str, str]]
) -> None:
    world = World()
    for text in texts:
        change(world, "put", text)
    world.put("team/other.md", texts[0])
    answer = ask(world)
    assert answer.id is not None
    receipt = world.app.generate.store_receipts.read(world.caller, answer.id, Deadline.after(10)).body

    for kind, text in changes:
        change(world, kind, text)

    for citation in answer.citations:
        facts = citation.hit.facts
        said = read(world, citation.hit.key.s3_key, facts.version_id, citation.start, citation.end)
        assert said == citation.quote
    assert receipt["retrieved"]
    chunks = {chunk["chunk_id"]: chunk for chunk in receipt["retrieved"]}
    for cited in receipt["citations"]:
        assert chunks[cited["chunk_id"]]["chunk_hash"] == cited["chunk_hash"]
    for chunk in chunks.values():
        text = read(world, chunk["key"], chunk["version_id"], chunk["start"], chunk["end"])
        assert hashlib.sha256(text.encode()).hexdigest() == chunk["chunk_hash"]


def test_the_text_of_a_replaced_version_is_that_versions_and_not_the_live_one(world: World) -> None:
    first = world.put(PATH, "The pump is red.")
    second = world.put(PATH, "The pump is blue.")
    key = world.key(PATH).s3_key

    assert read(world, key, first, 12, 15) == "red"
    assert read(world, key, second, 12, 16) == "blue"


def test_a_version_that_never_was_is_not_found(world: World) -> None:
    world.put(PATH, "The pump is red.")

    with pytest.raises(DocumentNotFoundError):
        read(world, world.key(PATH).s3_key, "none", 0, 5)


def test_no_version_of_a_deleted_document_is_read(world: World) -> None:
    version = world.put(PATH, "The pump is red.")
    world.put(PATH, "The pump is blue.")
    world.delete(PATH)

    with pytest.raises(DocumentNotFoundError):
        read(world, world.key(PATH).s3_key, version, 0, 5)


def test_no_version_is_read_by_a_key_of_other_vaults(world: World) -> None:
    version = world.put(PATH, "The pump is red.")
    world.put(PATH, "The pump is blue.")

    with pytest.raises(DocumentNotFoundError):
        read(world, world.key(PATH).s3_key, version, 0, 5, Caller("acme", "reader", ("hr",)))


def test_a_version_whose_thirty_days_have_passed_is_gone(world: World) -> None:
    version = world.put(PATH, "The pump is red.")
    world.put(PATH, "The pump is blue.")
    [first, _] = [entry.key for entry in world.state.entries("revisions/") if entry.key.endswith("/manifest.json")]

    world.state.delete_prefix(first.removesuffix("manifest.json"))  # as the sweep does

    with pytest.raises(DocumentNotFoundError):
        read(world, world.key(PATH).s3_key, version, 0, 5)
