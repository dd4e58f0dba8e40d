"""Numbers that the code and the template must have in common."""

from __future__ import annotations

import re
from pathlib import Path

from ragdrop.ingest.reconcile import MERGE_S
from ragdrop.ingest.reconcile_rules import LEASE_S, MAX_RECEIVES

TEMPLATE = (Path(__file__).parents[2] / "template.yaml").read_text("utf-8")


def test_a_claims_lease_is_the_queues_visibility_timeout() -> None:
    assert re.findall(r"VisibilityTimeout: (\d+)", TEMPLATE) == 2 * [str(LEASE_S)]  # of changes, and of bulk work


def test_the_last_receive_is_the_one_before_the_dead_letter_queue() -> None:
    assert re.findall(r"maxReceiveCount: (\d+)", TEMPLATE) == 2 * [str(MAX_RECEIVES)]


def test_the_largest_merge_has_twice_its_time_after_a_batch_that_took_half_of_the_functions() -> None:
    [timeout_s] = re.findall(r"Timeout: (\d+)  # seconds, for documents and the largest merge", TEMPLATE)

    assert int(timeout_s) >= 2 * MERGE_S
    assert int(timeout_s) * 6 + 60 == LEASE_S  # AWS's rule, with the longest batch window
