"""What every keeper of replies does."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from ragdrop.ports.shared_state import StoredReplies, StoredReply
from tests.contract.aws_fixtures import ENGINES, stored_replies_engine
from tests.contract.registry_examples import new_tenant_name

NOW_S = 1_800_000_000.0


@pytest.fixture(params=ENGINES)
def kept(request: pytest.FixtureRequest) -> Iterator[StoredReplies]:
    with stored_replies_engine(request.param) as made:
        yield made


def begin(kept: StoredReplies, tenant: str, fingerprint: str = "f", later_s: float = 0) -> StoredReply | None:
    return kept.begin(tenant, "k ü", fingerprint, now_s=NOW_S + later_s, lease_s=60, keep_s=600)


def test_the_first_request_is_to_be_done_and_the_next_finds_its_reply(kept: StoredReplies) -> None:
    tenant = new_tenant_name()

    assert begin(kept, tenant) is None
    assert begin(kept, tenant) == StoredReply("f", None)
    kept.finish(tenant, "k ü", {"status": "pending", "path": "ä"})
    assert begin(kept, tenant, "other", 599) == StoredReply("f", {"status": "pending", "path": "ä"})


def test_what_failed_and_what_is_too_old_may_be_done_again(kept: StoredReplies) -> None:
    tenant = new_tenant_name()
    begin(kept, tenant)
    kept.forget(tenant, "k ü")

    assert begin(kept, tenant, "second") is None
    kept.finish(tenant, "k ü", {})
    assert begin(kept, tenant, "third", 600) is None
    assert begin(kept, tenant, "third", 600) == StoredReply("third", None)


def test_a_request_whose_doer_died_may_be_taken_over_by_the_same_request_alone(kept: StoredReplies) -> None:
    tenant = new_tenant_name()
    begin(kept, tenant)

    assert begin(kept, tenant, "other", 61) == StoredReply("f", None)
    assert begin(kept, tenant, "f", 61) is None


def test_another_tenant_has_keys_of_its_own(kept: StoredReplies) -> None:
    begin(kept, new_tenant_name())

    assert begin(kept, new_tenant_name()) is None
