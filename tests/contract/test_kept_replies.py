"""What every keeper of replies does."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from ragdrop.ports.shared_state import StoredReplies, StoredReply
from tests.contract.aws_fixtures import ENGINES, stored_replies_engine
from tests.contract.registry_examples import new_tenant_name

NOW_S = 1_800_000_000.0


@pytest.fixture(params=ENGINES)
def stored(request: pytest.FixtureRequest) -> Iterator[StoredReplies]:
    with stored_replies_engine(request.param) as made:
        yield made


def begin(stored: StoredReplies, tenant: str, fingerprint: str = "f", later_s: float = 0) -> StoredReply | None:
    return stored.begin(tenant, "k ü", fingerprint, now_s=NOW_S + later_s, lease_s=60, keep_s=600)


def test_the_first_request_is_to_be_done_and_the_next_finds_its_reply(stored: StoredReplies) -> None:
    tenant = new_tenant_name()

    assert begin(stored, tenant) is None
    assert begin(stored, tenant) == StoredReply("f", None)
    stored.finish(tenant, "k ü", {"status": "pending", "path": "ä"})
    assert begin(stored, tenant, "other", 599) == StoredReply("f", {"status": "pending", "path": "ä"})


def test_what_failed_and_what_is_too_old_may_be_done_again(stored: StoredReplies) -> None:
    tenant = new_tenant_name()
    begin(stored, tenant)
    stored.forget(tenant, "k ü")

    assert begin(stored, tenant, "second") is None
    stored.finish(tenant, "k ü", {})
    assert begin(stored, tenant, "third", 600) is None
    assert begin(stored, tenant, "third", 600) == StoredReply("third", None)


def test_a_request_whose_doer_died_may_be_taken_over_by_the_same_request_alone(stored: StoredReplies) -> None:
    tenant = new_tenant_name()
    begin(stored, tenant)

    assert begin(stored, tenant, "other", 61) == StoredReply("f", None)
    assert begin(stored, tenant, "f", 61) is None


def test_another_tenant_has_its_own_keys(stored: StoredReplies) -> None:
    begin(stored, new_tenant_name())

    assert begin(stored, new_tenant_name()) is None


def test_what_is_in_the_way_can_be_read_without_a_request(stored: StoredReplies) -> None:
    tenant = new_tenant_name()

    assert stored.find(tenant, "k ü", now_s=NOW_S) is None
    begin(stored, tenant)
    stored.finish(tenant, "k ü", {"path": "ä"})
    assert stored.find(tenant, "k ü", now_s=NOW_S + 1) == StoredReply("f", {"path": "ä"})
    assert stored.find(tenant, "k ü", now_s=NOW_S + 601) is None
