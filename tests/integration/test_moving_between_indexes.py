"""A tenant moves from the bucket index to OpenSearch and back while it is asked: no failure, no mixed answer."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

import httpx
import pytest

from tests.integration.commands import WHOLE, Tenant, run, within
from tests.stacks import LocalStack

pytestmark = pytest.mark.long

DOCUMENTS = 5_000 if WHOLE else 300
SETTLED_S = 3_600.0 if WHOLE else 600.0
COMMAND_S = 1_800.0 if WHOLE else 240.0


class Asking:
    """Asks for planted documents, again and again, until it is stopped."""

    def __init__(self, tenant: Tenant) -> None:
        self.tenant = tenant
        self.asked = 0
        self.problems: list[str] = []
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run)

    def during(self, work: Callable[[], object]) -> None:
        """Ask while *work* goes on."""
        self._thread.start()
        try:
            work()
        finally:
            self._stop.set()
            self._thread.join()

    def _run(self) -> None:
        with httpx.Client(trust_env=False, timeout=60) as client:
            while not self._stop.is_set():
                number = self.asked * 7 % DOCUMENTS
                body = {"query": f"marzipan-{number}", "vaults": ["moved"], "limit": 20, "min_relevance": 0}
                headers = {"x-api-key": self.tenant.key}
                answer = client.post(f"{self.tenant.stack.api_url}/search", json=body, headers=headers)
                self.asked += 1
                if answer.status_code != 200 or answer.json()["degraded"]:
                    self.problems.append(f"{number}: {answer.status_code} {answer.text[:300]}")
                    continue
                texts = [chunk["text"] for found in answer.json()["results"] for chunk in found["chunks"]]
                right = [text for text in texts if f"marzipan-{number}." in text]
                if len(right) != 1:
                    self.problems.append(f"{number}: found {len(right)} times")


@pytest.fixture
def tenant(opensearch_stack: LocalStack) -> Tenant:
    made = Tenant.created(opensearch_stack, "moved")
    for number in range(DOCUMENTS):
        made.put(f"moved/{number:04}.md", f"# Number {number}\n\nThe word of this one is marzipan-{number}.")
    within(SETTLED_S, lambda: made.get("/health")["indexed_documents"] == DOCUMENTS, every_s=2)
    return made


def test_a_tenant_moves_there_and_back_under_questions(tenant: Tenant, tmp_path: Path) -> None:
    asking = Asking(tenant)

    def move() -> None:
        for kind in ("bucket", "opensearch"):
            for options in (["--to", kind], ["--rollback"], ["--rollback"], ["--drop-old"]):  # a second one undoes it
                done = run(tenant.stack, "reindex", "--tenant", tenant.name, *options, timeout_s=COMMAND_S)
                assert done.returncode == 0, f"{options}\n{done.stdout}\n{done.stderr}"

    asking.during(move)

    assert asking.problems == []
    assert asking.asked > 20
