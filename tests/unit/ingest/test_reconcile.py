"""Ingest: whatever S3 and SQS do, the registry ends up telling the truth about the bucket."""

from __future__ import annotations

from typing import Any

import pytest

from ragdrop.domain.documents import Status
from ragdrop.domain.history import STAGE
from ragdrop.errors import EmbeddingServiceError
from ragdrop.ingest.reconcile_rules import LEASE_S
from ragdrop.ports.message_queue import Change
from tests.faults.crashes import Crash
from tests.world import World, error_of

LONG = "\n\n".join(f"Paragraph {n}: the quick brown fox jumps over the lazy dog near gate {n}." for n in range(200))


def nothing_happens(*_: object) -> None:
    """A step that a worker which died did not come to."""


OUTAGE = EmbeddingServiceError("down", service="embedding")


def begin_and_die(world: World) -> None:
    """Put a document whose first worker claims it and is cut off: its lease stays."""
    world.put("team/pump.md", "Text.", ingest=False)
    world.embedder.fail_with = OUTAGE
    world.registry.give_back = nothing_happens
    world.changed("team/pump.md", message_id="first")
    world.embedder.fail_with = None


def test_a_dropped_file_is_found(world: World) -> None:
    world.put("team/pump.md", "# Pump\n\nThe pump's code is QX-5521.")

    assert "QX-5521" in world.texts("pump code")[0]
    assert world.head("team/pump.md").status is Status.INDEXED


def test_an_overwritten_file_answers_with_its_new_text_alone(world: World) -> None:
    world.put("team/pump.md", "The pump's code is QX-5521.")
    world.put("team/pump.md", "The pump's code is ZZ-9000.")

    assert world.texts("pump code") == ["The pump's code is ZZ-9000."]
    assert world.chunk_count() == 1


def test_reingesting_a_shorter_document_removes_its_stale_chunks(world: World) -> None:
    world.put("team/fox.md", LONG)
    assert world.chunk_count() > 1

    world.put("team/fox.md", "Only one line is left.")

    assert world.chunk_count() == 1


def test_a_deleted_document_is_never_returned_even_while_its_chunks_are_still_indexed(world: World) -> None:
    world.put("team/pump.md", "The pump's code is QX-5521.")

    world.app.documents.document_service.delete(world.caller, world.key("team/pump.md"))

    assert world.texts("pump code") == []
    assert world.chunk_count() == 1  # the chunk is still there: the registry hid it


def test_the_event_of_a_delete_removes_the_chunks(world: World) -> None:
    world.put("team/pump.md", "The pump's code is QX-5521.")
    world.delete("team/pump.md")

    assert world.head("team/pump.md").status is Status.DELETED
    assert world.chunk_count() == 0


def test_an_event_whose_name_says_deleted_restores_a_document_that_is_there(world: World) -> None:
    world.put("team/pump.md", "The pump's code is QX-5521.")
    world.delete("team/pump.md")
    world.documents.put(world.key("team/pump.md").s3_key, b"The pump is back.", media_type="text/plain")

    world.changed("team/pump.md")

    assert world.texts("pump") == ["The pump is back."]


def test_a_duplicate_of_an_event_indexes_nothing_again(world: World) -> None:
    world.put("team/pump.md", "The pump's code is QX-5521.")
    revision, embedded = world.head("team/pump.md").revision, world.embedder.texts_embedded

    world.changed("team/pump.md")

    assert world.head("team/pump.md").revision == revision
    assert world.embedder.texts_embedded == embedded


def test_an_older_event_that_arrives_late_changes_nothing(world: World) -> None:
    world.put("team/pump.md", "New text.", ingest=False)
    key = world.key("team/pump.md").s3_key
    world.deliver(world.message(Change(key, "0B")))
    before = world.head("team/pump.md")

    world.deliver(world.message(Change(key, "0A")))

    assert world.head("team/pump.md") == before


def test_a_message_leaves_a_key_alone_that_another_message_is_at_work_on(world: World) -> None:
    begin_and_die(world)

    assert world.changed("team/pump.md", message_id="second") == []
    assert world.head("team/pump.md").message_id == "first"
    assert world.texts("text") == []


def test_a_lease_that_ran_out_lets_another_message_take_over(world: World) -> None:
    begin_and_die(world)
    world.now_s += LEASE_S + 1

    world.changed("team/pump.md", message_id="second")

    assert world.texts("text") == ["Text."]


def test_a_version_that_waits_is_asked_for_by_who_finishes_the_one_below_it(world: World) -> None:
    begin_and_die(world)
    world.now_s += LEASE_S + 1
    world.put("team/pump.md", "Other text.", {STAGE: "spring"}, ingest=False)

    assert world.changed("team/pump.md", message_id="second") == []

    assert world.texts("text") == ["Text."]
    [key] = world.queue.sent
    world.deliver(world.message(Change(key)))
    assert world.head("team/pump.md").status is Status.STAGED


def test_a_version_that_waits_comes_in_though_the_one_below_it_cannot_be_read(world: World) -> None:
    def die(*_: object, **__: object) -> None:
        raise Crash

    world.put("team/pump.md", b"", ingest=False)
    get, world.documents.get = world.documents.get, die
    with pytest.raises(Crash):
        world.changed("team/pump.md", message_id="first")
    world.documents.get = get
    world.now_s += LEASE_S + 1
    world.put("team/pump.md", "Other text.", {STAGE: "spring"}, ingest=False)

    assert world.changed("team/pump.md", message_id="second") == []

    assert world.head("team/pump.md").status is Status.STAGED


@pytest.mark.parametrize("read", ["registry", "documents"])
def test_a_late_message_of_a_delete_leaves_a_document_that_came_back_while_it_was_read(world: World, read: str) -> None:
    world.put("team/pump.md", "Text.")
    world.delete("team/pump.md")
    port = getattr(world, read)
    head = port.head

    def come_back(*args: Any, **named: Any) -> Any:
        port.head = head
        world.put("team/pump.md", "It is back.")
        return head(*args, **named)

    port.head = come_back

    world.deliver(world.message(Change(world.key("team/pump.md").s3_key)))

    assert world.texts("back") == ["It is back."]


def test_the_same_message_takes_its_own_claim_over(world: World) -> None:
    begin_and_die(world)

    world.changed("team/pump.md", message_id="first", receives=2)

    assert world.texts("text") == ["Text."]


def test_a_dependency_failure_gives_the_message_back_with_its_own_visibility(world: World) -> None:
    world.put("team/pump.md", "Text.", ingest=False)
    world.embedder.fail_with = OUTAGE

    failed = world.changed("team/pump.md", message_id="m", receives=2)

    assert [delivery.message_id for delivery in failed] == ["m"]
    [(receipt, delay_s)] = world.queue.delays
    assert receipt == "receipt-m"
    assert 120 <= delay_s <= 144  # 30 x 4, plus up to 20 %


def test_a_failed_attempt_gives_the_lease_back(world: World) -> None:
    world.put("team/pump.md", "Text.", ingest=False)
    world.embedder.fail_with = OUTAGE
    world.changed("team/pump.md", message_id="first")
    world.embedder.fail_with = None

    world.changed("team/pump.md", message_id="second")

    assert world.texts("text") == ["Text."]


def test_the_fifth_receive_says_why_and_keeps_the_live_revision(world: World) -> None:
    world.put("team/pump.md", "Old text.")
    world.put("team/pump.md", "New text.", ingest=False)
    world.embedder.fail_with = OUTAGE
    world.changed("team/pump.md", receives=5)
    world.embedder.fail_with = None

    head = world.head("team/pump.md")
    assert head.status is Status.FAILED
    assert head.error is not None
    assert (head.error.code, head.error.attempts) == ("EMBEDDING_SERVICE_ERROR", 5)
    assert world.texts("text") == ["Old text."]


def test_a_document_that_can_never_succeed_is_recorded_and_acknowledged(world: World) -> None:
    failed = world.changed("team/empty.md") if world.put("team/empty.md", "  \n", ingest=False) else None

    assert failed == []
    head = world.head("team/empty.md")
    assert head.status is Status.FAILED
    assert head.error is not None
    assert head.error.code == "EMPTY_DOCUMENT"


def test_a_replacement_that_fails_for_good_withdraws_the_live_revision(world: World) -> None:
    world.put("team/pump.md", "Old text.")
    world.put("team/pump.md", b"\x1f\x8b\x08 not a format that is read")

    assert world.texts("text") == []
    assert error_of(world.head("team/pump.md")) == "UNSUPPORTED_MEDIA_TYPE"
    assert world.chunk_count() == 0


def test_a_prefix_that_is_no_tenant_is_acknowledged_and_not_indexed(world: World) -> None:
    world.documents.put("nobody/team/a.md", b"Text.", media_type="text/plain")

    assert world.deliver(world.message(Change("nobody/team/a.md"))) == []
    assert world.index.calls == []


def test_no_record_is_begun_with_under_twenty_seconds_left(world: World) -> None:
    world.put("team/pump.md", "Text.", ingest=False)
    message = world.message(Change(world.key("team/pump.md").s3_key))

    assert world.deliver(message, left_s=19.0) == [message]
    assert world.registry.head(world.key("team/pump.md")) is None


def test_an_object_that_changes_between_look_and_claim_is_rechecked(world: World) -> None:
    world.put("team/pump.md", "First.", ingest=False)
    claim = world.registry.claim

    def claim_after_an_overwrite(*args: object) -> object:
        world.registry.claim = claim
        claimed = claim(*args)
        world.put("team/pump.md", "Second.", ingest=False)
        return claimed

    world.registry.claim = claim_after_an_overwrite
    world.changed("team/pump.md")

    assert world.texts("first second") == ["Second."]


def test_a_delete_while_a_revision_is_being_written_makes_it_lose_its_flip(world: World) -> None:
    world.put("team/pump.md", "Text.", ingest=False)
    refresh = world.index.refresh

    def delete_first(*args: object) -> None:
        world.app.documents.document_service.delete(world.caller, world.key("team/pump.md"))
        refresh(*args)

    world.index.refresh = delete_first
    world.changed("team/pump.md")

    assert world.texts("text") == []
    assert world.head("team/pump.md").status is Status.DELETED
    assert world.chunk_count() == 0


def test_a_worker_that_dies_between_flip_and_clean_up_leaves_nothing_behind_when_its_message_returns(
    world: World,
) -> None:
    world.put("team/fox.md", LONG)
    world.put("team/fox.md", "Short.", ingest=False)
    remove = world.index.remove

    def die(*_: object, **__: object) -> int:
        raise Crash

    world.index.remove = die
    message = world.message(world.change("team/fox.md"))
    with pytest.raises(Crash):
        world.deliver(message)
    world.index.remove = remove
    assert world.chunk_count() > 1

    world.deliver(message)

    assert world.chunk_count() == 1


def test_the_counters_of_the_tenant_follow_what_is_live(world: World) -> None:
    world.put("team/a.md", "One.")
    world.put("team/b.md", "Two.")
    world.put("team/b.md", "Three.")
    world.delete("team/a.md")

    tenant = world.registry.tenant("acme")
    assert tenant is not None
    assert (tenant.documents, tenant.chunks, tenant.vaults) == (1, 1, ("team",))


@pytest.mark.parametrize(("stage", "step"), [(None, "activate"), ("autumn", "put_in_stage")])
def test_a_vault_is_known_before_its_first_document_answers_or_waits(
    world: World, stage: str | None, step: str
) -> None:
    write, known = getattr(world.registry, step), []

    def seen(*given: Any) -> Any:
        known.append(world.registry.tenant("acme").vaults)
        return write(*given)

    setattr(world.registry, step, seen)
    world.put("team/a.md", "The pump is red.", {STAGE: stage} if stage else None)

    assert known == [("team",)]
