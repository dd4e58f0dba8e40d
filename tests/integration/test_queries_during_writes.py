"""Queries while a document is being replaced: it is found at every moment, as it was or as it is."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from tests.integration.commands import WHOLE, Tenant, operate, within
from tests.stacks import LocalStack

pytestmark = pytest.mark.long

OVERWRITES = 200
CHUNKS = 10_000 if WHOLE else 2_000
SETTLED_S = 240.0


@pytest.fixture(scope="module")
def tenant(counted_stack: LocalStack) -> Tenant:
    """A tenant with the smallest chunks, so that thousands of them are a small file."""
    made = Tenant.created(counted_stack, "queries")
    operate(counted_stack, "reindex", "--tenant", made.name, "--chunk-tokens", "32")
    return made


@contextmanager
def beside(work: Callable[[], None]) -> Iterator[threading.Thread]:
    """*work* goes on beside the block."""
    thread = threading.Thread(target=work)
    thread.start()
    try:
        yield thread
    finally:
        thread.join()


def test_a_document_is_found_all_the_time_while_it_is_overwritten_200_times(tenant: Tenant) -> None:
    def write(number: int) -> None:
        tenant.put("gate/code.md", f"# Gate\n\nThe gate code is Heliotrope-{number}.")

    def overwrite() -> None:
        for number in range(1, OVERWRITES + 1):
            write(number)

    write(0)
    within(SETTLED_S, lambda: tenant.listed("gate", "indexed"))
    seen: list[int] = []

    def look() -> int:
        found = re.findall(r"Heliotrope-(\d+)", tenant.search("gate code Heliotrope", "gate"))
        assert len(found) == 1, f"after {seen[-3:]} a query found {found}"
        seen.append(int(found[0]))
        return seen[-1]

    with beside(overwrite) as writing:
        while writing.is_alive():
            look()
    within(SETTLED_S, lambda: look() == OVERWRITES, every_s=0)

    assert seen == sorted(seen)  # never back to an older one
    assert len(seen) > 20


def test_a_document_is_found_all_the_time_while_thousands_of_chunks_replace_it(tenant: Tenant) -> None:
    fact = "The keeper of the lighthouse is Marzipan."
    filler = "\n\n".join(
        f"Entry {number} of the logbook: wind force {number % 12}, tide mark {number * 7}, "
        f"lamp {number * 13} seen at hour {number % 24}, nothing else to report from post {number}."
        for number in range(CHUNKS)
    )
    old, new = f"# Lighthouse\n\n{fact} He is old.", f"# Lighthouse\n\n{fact} He is new.\n\n{filler}"
    tenant.put("coast/log.txt", old)
    within(SETTLED_S, lambda: tenant.listed("coast", "indexed"))
    version_id = tenant.put("coast/log.txt", new)
    looks = 0

    def replaced() -> bool:
        nonlocal looks
        looks += 1
        found = tenant.search("Who is the keeper of the lighthouse Marzipan?", "coast")
        assert "Marzipan" in found, f"look {looks} did not find the document"
        return any(record["live_version_id"] == version_id for record in tenant.listed("coast", "indexed"))

    within(SETTLED_S, replaced, every_s=0.05)

    [record] = [tenant.get("/documents/coast/log.txt")]
    assert record["chunk_count"] >= CHUNKS
    assert looks > 5
