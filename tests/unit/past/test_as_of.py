"""Answers as of a moment: what the documents said then, by the same search and the same checks."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bucketindex.index import BucketChunkIndex
from ragdrop.domain.answers import Question
from ragdrop.domain.chunks import Vector
from ragdrop.domain.deadlines import Deadline, rfc3339
from ragdrop.domain.documents import Head, Heads, Status
from ragdrop.domain.models import Curve, EmbeddingSpace
from ragdrop.domain.retrieval import Query
from ragdrop.domain.tenants import Caller
from ragdrop.errors import InvalidParamsError
from ragdrop.past.as_of import CHANGED, Differences, PastView, PastViews
from ragdrop.ports.registry import Claim
from testing.memory_chunk_index import MemoryChunkIndex
from testing.memory_manifests import MemoryManifests
from testing.memory_object_store import MemoryObjectStore
from testing.models import HashingEmbedder
from tests.world import DIMENSION, World

MakeWorld = Callable[..., World]


@pytest.fixture(params=["memory", "bucket"])
def world(request: pytest.FixtureRequest, tmp_path: Path) -> World:
    return made(request.param, tmp_path)


def made(kind: str, folder: Path, **parts: Any) -> World:
    """A world over one kind of index."""
    state, manifests = MemoryObjectStore("state"), MemoryManifests()
    index: Any = MemoryChunkIndex()
    if kind == "bucket":
        index = BucketChunkIndex(state, manifests, folder, max_bytes=1 << 30, merge_above=1)
    return World(state=state, manifests=manifests, index=index, **parts)


def tick(world: World, seconds: float = 10.0) -> str:
    """The time now; then time passes."""
    now = rfc3339(world.now_s, precision="milliseconds")
    world.now_s += seconds
    return now


def said(world: World, text: str, moment: str | None = None, **fields: Any) -> dict[str, str]:
    """What a search finds: the text of each document by path."""
    found = world.search(text, as_of=moment, **fields)
    return {document.key.vault_path: document.text for document in [*found.critical, *found.documents]}


def test_a_replaced_document_says_what_it_said_then(world: World) -> None:
    first = world.put("team/pump.md", "The pump is red.")
    then = tick(world)
    second = world.put("team/pump.md", "The pump is blue.")

    assert said(world, "pump") == {"team/pump.md": "The pump is blue."}
    assert said(world, "pump", then) == {"team/pump.md": "The pump is red."}
    assert world.search("pump", as_of=then).documents[0].facts.version_id == first
    assert world.search("pump").documents[0].facts.version_id == second


def test_a_document_that_came_later_was_not_there_then(world: World) -> None:
    world.put("team/pump.md", "The pump is red.")
    then = tick(world)
    world.put("team/other.md", "The pump is green.")

    assert said(world, "pump", then) == {"team/pump.md": "The pump is red."}
    assert len(said(world, "pump")) == 2


class EmbedderOfASlowQuestion(HashingEmbedder):
    """Lets something happen while the vector of a question is made."""

    meanwhile: Callable[[], object] | None = None

    def query(self, text: str, space: EmbeddingSpace, deadline: Deadline) -> Vector:
        meanwhile, self.meanwhile = self.meanwhile, None
        if meanwhile is not None:
            meanwhile()
        return super().query(text, space, deadline)


def test_an_answer_says_that_a_document_was_deleted_while_it_was_made(tmp_path: Path) -> None:
    embedder = EmbedderOfASlowQuestion(DIMENSION)
    world = made("bucket", tmp_path, embedder=embedder)
    world.put("team/pump.md", "The pump is red.")
    then = tick(world)
    embedder.meanwhile = lambda: world.delete("team/pump.md")

    found = world.search("a slow pump", as_of=then)

    assert (found.warnings, found.degraded) == ([CHANGED], True)
    assert said(world, "pump", then) == {"team/pump.md": "The pump is red."}


def test_a_deleted_document_still_answers_for_the_time_when_it_was_there(world: World) -> None:
    world.put("team/pump.md", "The pump is red.")
    then = tick(world)
    world.delete("team/pump.md")
    later = tick(world)

    assert said(world, "pump", then) == {"team/pump.md": "The pump is red."}
    assert said(world, "pump", later) == {}
    assert said(world, "pump") == {}


def test_every_moment_of_a_long_history_says_what_was_true_then(world: World) -> None:
    moments = {}
    for number in range(5):
        world.put("team/pump.md", f"The pump holds {number} litres.")
        moments[tick(world)] = f"The pump holds {number} litres."
    world.delete("team/pump.md")
    moments[tick(world)] = ""
    world.put("team/pump.md", "The pump is back.")
    moments[tick(world)] = "The pump is back."

    for moment, text in moments.items():
        assert said(world, "pump", moment).get("team/pump.md", "") == text


def test_a_change_after_the_view_was_made_is_seen_by_the_next_question(world: World) -> None:
    world.put("team/pump.md", "The pump is red.")
    world.put("team/tap.md", "The tap is old.")
    then = tick(world)
    world.put("team/pump.md", "The pump is blue.")
    assert said(world, "pump tap", then)["team/tap.md"] == "The tap is old."
    tick(world)

    world.put("team/tap.md", "The tap is new.")
    world.delete("team/pump.md")

    assert said(world, "pump tap", then) == {"team/pump.md": "The pump is red.", "team/tap.md": "The tap is old."}


def test_a_purge_removes_a_document_from_every_past(world: World) -> None:
    world.put("team/pump.md", "The pump is red.")
    then = tick(world)
    world.put("team/pump.md", "The pump is blue.")
    assert said(world, "pump", then)

    world.app.documents.purge_documents(world.caller, world.key("team/pump.md"), Deadline.after(10))

    assert said(world, "pump", then) == {}
    assert world.registry.changes(world.tenant, "team", after="", limit=10) == []
    assert [name for name in world.state.keys() if name.startswith(("revisions/", "texts/"))] == []  # noqa: SIM118


def test_filters_and_promotion_are_those_of_then(world: World) -> None:
    world.put("team/pump.md", "---\npromotion_level: critical\ncategory: old\n---\nThe pump is red.")
    then = tick(world)
    world.put("team/pump.md", "---\ncategory: new\n---\nThe pump is red.")

    assert [document.key.path for document in world.search("pump", as_of=then).critical] == ["pump.md"]
    assert world.search("pump").critical == []
    assert said(world, "pump", then, categories=("old",), include_critical=False)
    assert said(world, "pump", then, categories=("new",), include_critical=False) == {}


def test_links_lead_to_what_was_there_then(world: World) -> None:
    world.put("team/book.md", "# Book\n\nThe pump is mentioned in [[Guide]].")
    world.put("team/guide.md", "# Guide\n\nTurn the red wheel.")
    then = tick(world)
    world.put("team/guide.md", "# Guide\n\nTurn the blue wheel.")
    now = world.search("book", limit=1)
    past = world.search("book", limit=1, as_of=then)

    assert "blue" in "".join(document.text for document in [*now.linked, *now.documents])
    assert "red wheel" in "".join(document.text for document in [*past.linked, *past.documents])
    assert "blue wheel" not in "".join(document.text for document in [*past.linked, *past.documents])


def test_a_vault_out_of_the_keys_scope_is_in_no_past(world: World) -> None:
    world.put("team/pump.md", "The pump is red.")
    world.put("side/pump.md", "The pump is grey.")
    then = tick(world)
    world.put("team/pump.md", "The pump is blue.")
    scoped = Caller(world.tenant, "reader", ("side",))

    found = world.app.query.search(Query("pump", as_of=then), scoped, Deadline.after(10))

    assert [document.key.vault for document in found.documents] == ["side"]


def test_a_tenant_sees_nothing_of_anothers_past(world: World) -> None:
    world.put("team/pump.md", "The pump is red.")
    then = tick(world)
    world.put("team/pump.md", "The pump is blue.")
    world.app.operate.operator.create_tenant("other")

    found = world.app.query.search(Query("pump", as_of=then), Caller("other", "admin"), Deadline.after(10))

    assert found.documents == []


def test_an_answer_cites_the_version_of_then_and_is_checked_by_it(world: World) -> None:
    first = world.put("team/pump.md", "The pump is red.")
    then = tick(world)
    world.put("team/pump.md", "The pump is blue.")
    world.chat.reply = "The pump is red. [1]"

    answer = world.app.generate.ask(Question(Query("What is the pump?", as_of=then)), world.caller, Deadline.after(10))

    assert answer.text == "The pump is red. [1]"
    assert [citation.hit.facts.version_id for citation in answer.citations] == [first]
    receipt = world.app.generate.store_receipts.read(world.caller, answer.id or "", Deadline.after(10))
    assert receipt.body["request"]["as_of"] == then


@pytest.mark.parametrize(
    ("moment", "words"),
    [
        ("2026-01-01T00:00:00Z", "30 days"),
        ("2030-01-01T00:00:00Z", "future"),
        ("2027-01-10", "RFC 3339"),
        ("yesterday", "RFC 3339"),
        ("2027-01-15T08:00:00", "RFC 3339"),
    ],
)
def test_what_is_no_moment_within_the_retention_is_refused(world: World, moment: str, words: str) -> None:
    world.put("team/pump.md", "The pump is red.")

    with pytest.raises(InvalidParamsError, match=words) as caught:
        world.search("pump", as_of=moment)
    assert caught.value.details["field"] == "as_of"


def test_too_many_documents_that_differ_are_refused_with_the_limit(tmp_path: Path) -> None:
    world = made("memory", tmp_path)
    then = tick(world)
    for number in range(3):
        world.put(f"team/{number}.md", "The pump is red.")
    again = tick(world)
    for number in range(3):
        world.put(f"team/{number}.md", "The pump is blue.")
    views = PastViews(
        registry=world.registry,
        index=world.index,
        revisions=world.app.ports.revisions,
        directory=world.app.tenants.directory,
        clock=lambda: world.now_s,
        max_differing=2,
    )

    assert views.of(then, world.caller, Deadline.after(10)).differences.lost == 0
    with pytest.raises(InvalidParamsError, match="at most 2 documents can be looked back over"):
        views.of(again, world.caller, Deadline.after(10))


def test_a_search_without_a_moment_asks_nothing_more(tmp_path: Path) -> None:
    world = made("memory", tmp_path)
    world.put("team/pump.md", "The pump is red.")
    world.search("pump")
    world.registry.calls.clear()
    world.state.calls.clear()

    world.search("red pump")

    assert world.registry.calls == ["change_counts"]
    assert world.state.calls == []


def test_a_second_question_about_a_moment_reads_no_text_again(tmp_path: Path) -> None:
    world = made("memory", tmp_path)
    world.put("team/pump.md", "The pump is red.")
    then = tick(world)
    world.put("team/pump.md", "The pump is blue.")
    world.search("pump", as_of=then)
    world.state.calls.clear()

    world.search("the pump", as_of=then)

    assert world.state.calls == []


def test_scores_of_then_are_on_the_scale_of_now(tmp_path: Path) -> None:
    world = made("bucket", tmp_path, settings={"MIN_RELEVANCE": "0.7"})
    world.calibrate(Curve(0.3, 0.05))
    for number in range(6):
        world.put(f"team/{number}.md", f"Nothing about water, page {number}.")
    world.put("team/pump.md", "The code of the pump is QX-5521.")
    before = world.search("pump code QX-5521")
    then = tick(world)
    world.put("team/pump.md", "The pump was sold.")

    past = world.search("pump code QX-5521", as_of=then)

    assert [document.key.path for document in past.documents] == ["pump.md"]
    assert past.documents[0].score == pytest.approx(before.documents[0].score, abs=0.01)


@pytest.mark.parametrize("stage", [None, "spring"])
def test_a_document_that_came_back_while_a_search_ran_and_is_claimed_again_was_not_there_then(
    tmp_path: Path, stage: str | None
) -> None:
    embedder = EmbedderOfASlowQuestion(DIMENSION)
    world = made("memory", tmp_path, embedder=embedder)
    key = world.key("team/pump.md")
    world.put("team/pump.md", "The pump is red.")
    world.delete("team/pump.md")
    if stage is not None:
        world.put("team/pump.md", "The pump is blue.", {"ragdrop-stage": stage})
    tick(world)
    then = tick(world)

    def comes_back() -> None:
        if stage is None:
            world.put("team/pump.md", "The pump is blue.")
        else:
            world.registry.activate(world.registry.detail(key, world.head("team/pump.md").revision), world.now_s)
        claim = Claim("v9", None, "m9", world.now_s + 60.0, None, now_s=world.now_s)
        assert world.registry.claim(key, world.head("team/pump.md"), claim) is not None

    embedder.meanwhile = comes_back

    found = world.search("a slow pump", as_of=then)

    assert ([each.text for each in found.documents], found.degraded) == ([], True)


def test_a_document_that_came_later_in_a_vault_that_nobody_knew_was_not_there_then(world: World) -> None:
    head = Head(world.key("team/a.md"), Status.PENDING, 2_001, live_revision=2_000)  # replaced by now
    view = PastView(world.registry, world.index, Differences(until_ms=1_999))

    assert view.viewed(Heads({head.key: head}), Deadline.after(10)) == Heads({}, frozenset({head.key}))
