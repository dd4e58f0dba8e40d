"""Puts, overwrites, deletions and searches together on the live stack, a minute on the bucket index."""

from __future__ import annotations

import pytest

from tests.integration.commands import Tenant
from tests.soak import SoakDocument, soak
from tests.stacks import LocalStack

pytestmark = pytest.mark.long

MINUTES = 1.0


def test_nothing_stale_is_answered_while_documents_change_and_in_the_end_all_agree(stack: LocalStack) -> None:
    tenant = Tenant.created(stack, "soak")
    place = SoakDocument(stack.api_url, tenant.key, tenant.name, stack.bucket, stack.client("s3"), "soak")

    found = soak(place, stack.client("sqs"), stack.environment["QUEUE_URL"], minutes=MINUTES)

    assert found["problems"] == []
    assert found["drained_s"] is not None
    assert found["counts"]["overwritten"] > 0
    assert found["counts"]["deleted"] > 0
    assert found["counts"]["searches"] > 10
