"""What every Receipts does with threads: of an owner, by id, for a while, changed as they are now."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ragdrop.domain.answers import MAX_ANSWERS, Feedback, Receipt, Thread, threads_prefix
from ragdrop.domain.keys import DocumentKey
from ragdrop.ports.answer_services import Receipts
from tests.contract.registry_examples import NOW_S, new_tenant_name

EXPIRES_AT_S = int(NOW_S) + 100


def thread(tenant: str, number: int = 1, owner: str = "k1", **fields: Any) -> Thread:
    made = Thread(
        id=threads_prefix(owner) + f"{number:032x}",
        tenant=tenant,
        owner=owner,
        name="Größe \U0001f600",
        named=False,
        shared=False,
        answers=("a1",),
        created_at="2027-01-15T08:00:00.000Z",
        updated_at=f"2027-01-15T08:00:0{number}.000Z",
        expires_at_s=EXPIRES_AT_S,
    )
    return replace(made, **fields)


def test_a_thread_comes_back_as_it_was_until_its_time_has_passed(receipts: Receipts, tenant: str) -> None:
    given = thread(tenant)
    receipts.put_thread(given)

    assert receipts.thread(tenant, given.id, NOW_S) == given
    assert receipts.thread(tenant, given.id, EXPIRES_AT_S) is None
    assert receipts.thread(new_tenant_name(), given.id, NOW_S) is None
    assert receipts.threads_of(tenant, "k1", EXPIRES_AT_S) == []


def test_an_owner_is_listed_its_own_threads_the_latest_first(receipts: Receipts, tenant: str) -> None:
    for number, owner in ((1, "k1"), (3, "k1"), (2, "k1"), (4, "k2")):
        receipts.put_thread(thread(tenant, number, owner))

    assert [each.id[-1] for each in receipts.threads_of(tenant, "k1", NOW_S)] == ["3", "2", "1"]
    assert receipts.threads_of(new_tenant_name(), "k1", NOW_S) == []


def test_an_answer_is_added_to_the_thread_as_it_is_now(receipts: Receipts, tenant: str) -> None:
    given = thread(tenant)
    receipts.put_thread(given)

    for answer in ("a2", "a3"):  # the second writer knows nothing of the first
        added = receipts.add_to_thread(given, answer, "2027-01-15T09:00:00.000Z", EXPIRES_AT_S + 7)

    expected = replace(
        given, answers=("a1", "a2", "a3"), updated_at="2027-01-15T09:00:00.000Z", expires_at_s=EXPIRES_AT_S + 7
    )
    assert added == receipts.thread(tenant, given.id, NOW_S) == expected


def test_a_full_thread_takes_no_answer(receipts: Receipts, tenant: str) -> None:
    given = thread(tenant, answers=tuple(map(str, range(MAX_ANSWERS))))
    receipts.put_thread(given)

    assert receipts.add_to_thread(given, "one more", given.updated_at, EXPIRES_AT_S) is None
    assert receipts.thread(tenant, given.id, NOW_S) == given


def test_a_thread_is_named_and_shared_apart(receipts: Receipts, tenant: str) -> None:
    given = thread(tenant)
    receipts.put_thread(given)

    assert receipts.change_thread(given, shared=True) == replace(given, shared=True)
    assert receipts.change_thread(given, name="Pumps") == replace(given, shared=True, name="Pumps", named=True)
    assert receipts.change_thread(given, shared=False) == replace(given, name="Pumps", named=True)


def test_a_thread_that_is_gone_is_not_brought_back(receipts: Receipts, tenant: str) -> None:
    given = thread(tenant)
    receipts.put_thread(given)
    receipts.delete_thread(given)
    receipts.delete_thread(given)

    assert receipts.add_to_thread(given, "a2", given.updated_at, EXPIRES_AT_S) is None
    assert receipts.change_thread(given, name="Pumps") is None
    assert receipts.thread(tenant, given.id, NOW_S) is None


def test_the_threads_of_a_tenant_go_with_its_receipts(receipts: Receipts, tenant: str) -> None:
    other = new_tenant_name()
    for name in (tenant, other):
        receipts.put_thread(thread(name))

    assert receipts.forget_all_receipts(tenant) == 0

    assert receipts.threads_of(tenant, "k1", NOW_S) == []
    assert len(receipts.threads_of(other, "k1", NOW_S)) == 1


def test_a_receipt_that_is_deleted_goes_with_its_feedback_and_its_notes(receipts: Receipts, tenant: str) -> None:
    key = DocumentKey(tenant, "team", "a.md")
    given = Receipt("r1", tenant, (), (key,), EXPIRES_AT_S, {"answer": "It runs."}, credential="k1")
    receipts.put_receipt(given)
    assert receipts.receipt(tenant, "r1", NOW_S) == given
    receipts.put_feedback(given, "k1", Feedback("right", "", "2027-01-15T08:00:00Z"))

    receipts.delete_receipt(given)
    receipts.delete_receipt(given)

    assert receipts.receipt(tenant, "r1", NOW_S) is None
    assert receipts.receipts_with_feedback(tenant, after="", limit=5, now_s=NOW_S) == ([], None)
    assert receipts.forget_receipts(key) == 0
