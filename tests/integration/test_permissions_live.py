"""Permissions on the live stack: three groups, rules by folder, file, metadata and tag, which change meanwhile."""

from __future__ import annotations

import json
import time
from collections.abc import Set
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from threading import Event
from typing import Any

import httpx
import pytest

from tests.integration.commands import PATIENCE_S, Tenant, operate
from tests.stacks import LocalStack

GROUPS = ("hr", "eng", "board")
USERS: dict[str, tuple[str, ...]] = {
    "ann": ("hr",),
    "bo": ("eng",),
    "cy": ("board",),
    "dee": ("hr", "board"),
    "eve": (),
}
CHANGES = 20  # of the rule; each is followed by two answers of each user
MOVE = frozenset({"eng", "hr"})  # the groups of a tag
WITHIN_S = 60.0
STEP_S = 0.1


@dataclass(frozen=True)
class Office:
    """Vault `office` of a tenant on the stack, and a key of each user."""

    tenant: Tenant
    keys: dict[str, str]

    def put(self, path: str, body: str, **metadata: str) -> dict[str, Any]:
        """Put a file with S3 and wait until ingest has reconciled it; its record."""
        stack, name = self.tenant.stack, f"{self.tenant.name}/office/{path}"
        put = stack.client("s3").put_object(Bucket=stack.bucket, Key=name, Body=body.encode(), Metadata=metadata)
        end = time.monotonic() + WITHIN_S
        while time.monotonic() < end:
            found = self.send(self.tenant.key, "GET", f"/documents/office/{path}").json()
            if found.get("version_id") == put["VersionId"] and found["status"] != "pending":
                return dict(found)
            time.sleep(STEP_S)
        raise AssertionError(f"{path} was not reconciled within {WITHIN_S} s")

    def tag(self, path: str, *groups: str) -> None:
        """Tag a file with these groups and wait until its record says so.

        AWS reports a changed tag; the emulator does not, so a retry asks ingest to look.
        """
        stack, name = self.tenant.stack, f"{self.tenant.name}/office/{path}"
        tags = [{"Key": "ragdrop-access", "Value": " ".join(groups)}]
        stack.client("s3").put_object_tagging(Bucket=stack.bucket, Key=name, Tagging={"TagSet": tags})
        assert self.send(self.tenant.key, "POST", f"/documents/office/{path}/retry").status_code == 202
        expected = [{"groups": sorted(groups), "by": "tag"}]
        end = time.monotonic() + WITHIN_S
        while self.send(self.tenant.key, "GET", f"/documents/office/{path}").json()["access"] != expected:
            assert time.monotonic() < end, f"the tag of {path} did not count within {WITHIN_S} s"
            time.sleep(STEP_S)

    def rule(self, *groups: str) -> None:
        """Let these groups read folder `pay`, and nobody else."""
        rules = [{"path": "pay/**", "groups": list(groups)}]
        assert self.put(".ragdrop.json", json.dumps({"access": rules}))["status"] == "indexed"

    def send(self, key: str, method: str, path: str, body: Any = None) -> httpx.Response:
        address = f"{self.tenant.stack.api_url}{path}"
        return httpx.request(
            method, address, headers={"x-api-key": key}, json=body, timeout=PATIENCE_S, trust_env=False
        )

    def paths(self, user: str) -> set[str]:
        """What a search of *user* shows."""
        asked = {"query": "What does the plan say?", "limit": 20, "min_relevance": 0, "vaults": ["office"]}
        reply = self.send(self.keys[user], "POST", "/search", asked)
        assert reply.status_code == 200, reply.text
        groups = (each for each in reply.json().values() if isinstance(each, list))
        return {each["path"] for group in groups for each in group if isinstance(each, dict) and "path" in each}


@pytest.fixture(scope="module")
def office(stack: LocalStack) -> Office:
    tenant = Tenant.created(stack, "office")
    keys = {}
    for user, groups in USERS.items():
        options = [part for group in groups for part in ("--group", group)]
        made = operate(stack, "key", "create", tenant.name, "--role", "reader", *options, "--json")
        keys[user] = json.loads(made)["api_key"]
    found = Office(tenant, keys)
    found.rule("hr")
    found.put("open.md", "# Plan\n\nThe plan of all.")
    found.put("pay/plan.md", "# Plan\n\nThe plan of the pay.")
    found.put("build.md", "---\naccess: [eng, board]\n---\n# Plan\n\nThe plan of the build.")
    found.put("buy.txt", "The plan to buy.", access="board")
    found.put("move.txt", "The plan to move.")
    found.tag("move.txt", *MOVE)
    return found


def readable(user: str, pay: Set[str], move: Set[str] = MOVE) -> set[str]:
    """The paths that *user* may read while *pay* are the groups of folder `pay`, and *move* those of a tag."""
    groups = set(USERS[user])
    needed: dict[str, Set[str] | None] = {"open.md": None, "pay/plan.md": pay, "move.txt": move}
    needed |= {"build.md": {"eng", "board"}, "buy.txt": {"board"}}
    return {path for path, need in needed.items() if need is None or need & groups}


def test_each_group_finds_what_rules_files_metadata_and_tags_let_it_read(office: Office) -> None:
    assert {user: office.paths(user) for user in USERS} == {user: readable(user, {"hr"}) for user in USERS}
    hidden = office.send(office.keys["eve"], "GET", "/documents/office/pay/plan.md")
    missing = office.send(office.keys["eve"], "GET", "/documents/office/pay/none.md")
    assert (hidden.status_code, hidden.json()["error"]["code"]) == (404, missing.json()["error"]["code"])


def test_the_next_answer_obeys_a_tag_that_changed_and_indexes_nothing(office: Office) -> None:
    before = office.send(office.tenant.key, "GET", "/documents/office/move.txt").json()

    for move in ({"board"}, {"eng"}, MOVE):
        office.tag("move.txt", *move)
        assert {user: office.paths(user) for user in USERS} == {user: readable(user, {"hr"}, move) for user in USERS}

    after = office.send(office.tenant.key, "GET", "/documents/office/move.txt").json()
    assert (after["revision"], after["indexed_at"]) == (before["revision"], before["indexed_at"])


def test_the_next_answer_obeys_a_rule_that_changed_while_five_users_ask(office: Office) -> None:
    before = office.send(office.tenant.key, "GET", "/documents/office/pay/plan.md").json()["indexed_at"]
    stop = Event()

    def ask_on(user: str) -> int:
        asked = 0
        while not stop.is_set():
            assert office.paths(user) - {"pay/plan.md"} == readable(user, set())
            asked += 1
        return asked

    checked = 0
    with ThreadPoolExecutor(2 * len(USERS)) as pool:
        asking = [pool.submit(ask_on, user) for user in USERS]
        try:
            for number in range(CHANGES):
                pay = GROUPS[number % len(GROUPS)]
                office.rule(pay)
                answers = list(pool.map(office.paths, [*USERS, *USERS]))
                assert answers == [readable(user, {pay}) for user in (*USERS, *USERS)]
                checked += len(answers)
        finally:
            stop.set()
        assert min(each.result() for each in asking) > 0

    assert checked == 200
    assert office.send(office.tenant.key, "GET", "/documents/office/pay/plan.md").json()["indexed_at"] == before
