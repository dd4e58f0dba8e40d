"""The past and staged changes on a real stack: as of a moment, rollback without embedding, promotion at one moment."""

from __future__ import annotations

import json
import threading
import time
from datetime import UTC, datetime
from pathlib import Path

import httpx
import pytest

from tests.integration.commands import WHOLE, Tenant, within
from tests.integration.stub_embeddings import StubEmbeddings
from tests.stacks import LocalStack

pytestmark = pytest.mark.long

SETTLED_S = 120.0
STAGED, USERS = (200, 5) if WHOLE else (20, 3)
Found = dict[str, str]


def now() -> str:
    """This moment, as a request names it."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def found(tenant: Tenant, query: str, vault: str, **fields: object) -> Found:
    """Texts by path."""
    body = {"query": query, "vaults": [vault], "limit": 20, "min_relevance": 0, **fields}
    headers = {"x-api-key": tenant.key}
    answer = httpx.post(f"{tenant.stack.api_url}/search", json=body, headers=headers, timeout=30, trust_env=False)
    assert answer.status_code == 200, answer.text
    return {each["path"]: each["text"] for each in answer.json()["results"]}


@pytest.fixture
def tenant(counted_stack: LocalStack) -> Tenant:
    return Tenant.created(counted_stack, "past")


def test_what_was_said_before_a_change_is_found_as_of_then_and_comes_back_without_embedding(
    tenant: Tenant, embeddings: StubEmbeddings
) -> None:
    first = tenant.put("team/pump.md", "The pump is painted red.")
    within(SETTLED_S, lambda: len(tenant.listed("team", "indexed")) == 1)
    within(SETTLED_S, lambda: "red" in str(found(tenant, f"pump painted {time.time()}", "team")))
    time.sleep(1)
    then = now()
    time.sleep(1)
    tenant.put("team/pump.md", "The pump is painted blue.")
    within(SETTLED_S, lambda: "blue" in str(found(tenant, f"pump painted {time.time()}", "team")))

    assert "red" in str(found(tenant, "pump painted 2", "team", as_of=then))
    history = tenant.get("/documents/team/pump.md/history")["versions"]
    assert [each["status"] for each in history] == ["live", "replaced"]
    assert history[1]["version_id"] == first

    embedded, began = embeddings.texts, time.monotonic()
    done = tenant.ragdrop("rollback", "team", "--to", then, "--yes", "--json")
    assert done.returncode == 0, done.stderr
    within(SETTLED_S, lambda: tenant.get("/documents/team/pump.md")["status"] == "indexed")
    within(SETTLED_S, lambda: len(tenant.get("/documents/team/pump.md/history")["versions"]) == 3)
    print(f"rolled back in {time.monotonic() - began:.1f} s")
    assert embeddings.texts == embedded
    assert "red" in str(found(tenant, "pump painted 3", "team"))


class Asking(threading.Thread):
    """A user who asks for planted pairs again and again: both halves must be of one time."""

    def __init__(self, tenant: Tenant, number: int) -> None:
        super().__init__()
        self._tenant = tenant
        self._number = number
        self.ended = threading.Event()
        self.seen: set[str] = set()
        self.mixed: list[Found] = []

    def run(self) -> None:
        """Ask until told to end."""
        asked = 0
        while not self.ended.is_set():
            asked += 1
            texts = found(self._tenant, f"marzipan pair {self._number} {asked}", "pairs", limit=4)
            times = {"new" if "new" in text else "old" for text in texts.values()}
            self.seen |= times
            if len(times) > 1:
                self.mixed.append(texts)


def test_a_promotion_is_seen_whole_or_not_at_all(tenant: Tenant, tmp_path: Path) -> None:
    for number in range(STAGED):
        (tmp_path / f"{number:03}.md").write_text(f"Marzipan pair {number % 7}: this half is old.")
    assert tenant.ragdrop("push", str(tmp_path), "--vault", "pairs", "--wait", timeout_s=600).returncode == 0
    for number in range(STAGED):
        (tmp_path / f"{number:03}.md").write_text(f"Marzipan pair {number % 7}: this half is new.")
    pushed = tenant.ragdrop("push", str(tmp_path), "--vault", "pairs", "--stage", "spring", timeout_s=600)
    assert pushed.returncode == 0, pushed.stderr
    within(SETTLED_S * 4, lambda: _waiting(tenant) == STAGED, every_s=1)

    users = [Asking(tenant, number) for number in range(USERS)]
    for user in users:
        user.start()
    time.sleep(5)
    promoted = tenant.ragdrop("promote", "pairs", "spring", "--json")
    time.sleep(15)
    for user in users:
        user.ended.set()
        user.join()

    assert promoted.returncode == 0, promoted.stderr
    assert [user.mixed for user in users] == [[]] * USERS
    assert all(user.seen == {"old", "new"} for user in users)


def _waiting(tenant: Tenant) -> int:
    done = tenant.ragdrop("stages", "pairs", "--json")
    stages = json.loads(done.stdout)["stages"] if done.returncode == 0 else []
    return sum(each["total"] - each["pending"] for each in stages if each["name"] == "spring")
