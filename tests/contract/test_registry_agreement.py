"""Memory and DynamoDB tell the same story over any sequence of steps."""

from __future__ import annotations

from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ragdrop.domain.documents import Head, Status
from ragdrop.domain.keys import DocumentKey
from ragdrop.ports.registry import Registry
from tests.contract.aws_fixtures import registry_engine
from tests.contract.registry_examples import FAILURE, NOW_S, claim_of, detail_of, new_tenant_name

STEPS = ("claim", "claim", "activate", "activate", "fail", "fail and keep", "tombstone", "give back", "forget", "page")
Step = tuple[str, int, bool]  # what, which document, and whether by what was seen a step earlier


def take(registry: Registry, step: str, key: DocumentKey, seen: Head | None, number: int) -> Any:
    """Do one step; what it gave."""
    now_s = NOW_S + number
    revision = seen.revision if seen else 1
    match step:
        case "claim":
            return registry.claim(key, seen, claim_of(f"v{number}", now_s=now_s, sequencer=f"{number:04X}"))
        case "activate":
            return registry.activate(detail_of(key, revision, title=f"Title {number}", chunk_count=number), now_s)
        case "fail" | "fail and keep":
            return registry.fail(key, revision, FAILURE, keep_live=step == "fail and keep")
        case "tombstone":
            return registry.tombstone(key, seen, None, now_s) if seen else None
        case "give back":
            return registry.give_back(key, revision)
        case "forget":
            return registry.forget(key, revision)
        case _:
            status = list(Status)[number % 4]
            return registry.page(key.tenant, vault=None, prefix="", status=status, cursor=None, limit=2).heads


def test_memory_and_dynamodb_agree_over_any_sequence() -> None:
    steps = st.lists(st.tuples(st.sampled_from(STEPS), st.integers(0, 2), st.booleans()), max_size=30)
    with registry_engine("memory") as memory, registry_engine("aws") as dynamodb:

        @settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
        @given(steps)
        def agree(sequence: list[Step]) -> None:
            tenant = new_tenant_name()
            keys = [DocumentKey(tenant, vault, "a.md") for vault in ("ops", "team", "web")]
            seen: dict[DocumentKey, list[Head | None]] = {key: [None] for key in keys}
            for number, (step, which, stale) in enumerate(sequence):
                key = keys[which]
                known = seen[key][-2 if stale and len(seen[key]) > 1 else -1]
                assert take(memory, step, key, known, number) == take(dynamodb, step, key, known, number)
                head = memory.head(key)
                assert head == dynamodb.head(key)
                seen[key].append(head)
                if known:
                    assert memory.detail(key, known.revision) == dynamodb.detail(key, known.revision)

        agree()
