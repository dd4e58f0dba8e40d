"""Every cell of the table: what a head and an object make of each other."""

from __future__ import annotations

import pytest

from ragdrop.domain.deadlines import rfc3339
from ragdrop.domain.documents import Head, Status
from ragdrop.domain.keys import DocumentKey
from ragdrop.ingest.reconcile_rules import ACTIONS, Action, HeadState, ObjectState, head_state, object_state

KEY = DocumentKey("acme", "team", "pump.md")
NOW_S = 1_000.0
OF_HEAD = ("v1", "s1")
BUCKET = {ObjectState.GONE: None, ObjectState.SAME: OF_HEAD, ObjectState.OTHER: ("v2", "s1")}


def head(status: Status, *, message: str = "this", stage: str | None = None, updated_s: float = NOW_S) -> Head:
    live = OF_HEAD if status is Status.INDEXED else (None, None)
    return Head(
        KEY,
        status,
        7,
        7 if status is Status.INDEXED else None,
        version_id="v1",
        sidecar_version_id="s1",
        live_version_id=live[0],
        live_sidecar_version_id=live[1],
        lease_until_s=NOW_S + 60,
        message_id=message,
        stage=stage,
        updated_at=rfc3339(updated_s, precision="milliseconds"),
    )


PROMOTED = {"team/summer": NOW_S}
HEADS = {
    HeadState.NONE: None,
    HeadState.DELETED: head(Status.DELETED),
    HeadState.FAILED: head(Status.FAILED),
    HeadState.PENDING: head(Status.PENDING),
    HeadState.LEASED: head(Status.PENDING, message="another"),
    HeadState.STAGED: head(Status.STAGED, stage="spring"),
    HeadState.PROMOTED: head(Status.STAGED, stage="summer"),
    HeadState.INDEXED: head(Status.INDEXED),
}


def action(found: Head | None, versions: tuple[str, str | None] | None, *, now_s: float = NOW_S) -> Action:
    state = head_state(found, promoted=PROMOTED, message_id="this", now_s=now_s)
    return ACTIONS[state][object_state(found, versions)]


@pytest.mark.parametrize("state", HeadState)
def test_each_head_has_the_state_that_it_is_named_by(state: HeadState) -> None:
    assert head_state(HEADS[state], promoted=PROMOTED, message_id="this", now_s=NOW_S) is state


def test_what_joins_a_stage_of_the_same_name_after_a_promotion_waits() -> None:
    later = head(Status.STAGED, stage="summer", updated_s=NOW_S + 0.001)
    assert head_state(later, promoted=PROMOTED, message_id="this", now_s=NOW_S + 1) is HeadState.STAGED


@pytest.mark.parametrize("state", HeadState)
def test_what_is_gone_is_removed_whatever_the_head_says(state: HeadState) -> None:
    assert action(HEADS[state], None) is Action.REMOVE


@pytest.mark.parametrize("state", [state for state in HeadState if state is not HeadState.PROMOTED])
def test_another_version_is_claimed(state: HeadState) -> None:
    assert action(HEADS[state], BUCKET[ObjectState.OTHER]) is Action.CLAIM


@pytest.mark.parametrize(
    ("state", "expected"),
    [
        (HeadState.DELETED, Action.CLAIM),
        (HeadState.FAILED, Action.CLAIM),
        (HeadState.PENDING, Action.CONTINUE),
        (HeadState.LEASED, Action.TAKE_OVER),
        (HeadState.STAGED, Action.LEAVE),
        (HeadState.INDEXED, Action.LEAVE),
    ],
)
def test_the_version_of_the_head(state: HeadState, expected: Action) -> None:
    assert action(HEADS[state], OF_HEAD) is expected


@pytest.mark.parametrize("place", [ObjectState.SAME, ObjectState.OTHER])
def test_a_promoted_document_goes_live_before_another_version_is_claimed(place: ObjectState) -> None:
    assert action(HEADS[HeadState.PROMOTED], BUCKET[place]) is Action.GO_LIVE


def test_a_lease_that_is_over_is_nobodys() -> None:
    assert action(HEADS[HeadState.LEASED], OF_HEAD, now_s=NOW_S + 61) is Action.CONTINUE


def test_a_sidecar_that_changed_is_another_version() -> None:
    assert action(HEADS[HeadState.INDEXED], ("v1", "s2")) is Action.CLAIM


def test_every_head_meets_every_object() -> None:
    assert {state: set(cells) for state, cells in ACTIONS.items()} == {state: set(ObjectState) for state in HeadState}
