"""`ragdrop history` and `ragdrop watch`."""

from __future__ import annotations

import json
from typing import Any

import httpx
import pytest

from tests.unit.cli.world import CommandLine

VERSION = {
    "version_id": "v2",
    "modified_at": "2026-01-02T00:00:00.000Z",
    "size_bytes": 9,
    "status": "live",
    "revision": 2,
    "written_by": "sync",
    "change_id": "c2",
    "added": ["It is blue."],
    "removed": ["It is red."],
    "cut": False,
}


def change(number: int) -> dict[str, Any]:
    """A change as the API gives it."""
    return {
        "id": f"c{number}",
        "at": f"2026-01-0{number}T00:00:00.000Z",
        "vault": "team",
        "path": f"{number}.md",
        "kind": "activated",
        "written_by": None,
    }


def test_versions_are_shown_with_what_they_changed(ragdrop: CommandLine) -> None:
    body = {"versions": [VERSION], "cursor": None, "request_id": "r"}
    ragdrop.api.routes["GET", "/documents/team/pump.md/history"] = lambda _request: httpx.Response(200, json=body)

    result = ragdrop.run("history", "team/pump.md", "--changes")

    assert result.exit_code == 0, result.output
    assert "live\t2026-01-02T00:00:00.000Z\tsync\t9\tv2\tc2" in result.output
    assert "- It is red." in result.output
    assert "+ It is blue." in result.output


def test_the_changes_of_a_vault_are_shown_the_newest_first_with_the_key_that_made_them(ragdrop: CommandLine) -> None:
    newest = change(2) | {"written_by": "nightly sync"}
    body = {"changes": [newest, change(1)], "cursor": "c1", "more": True, "request_id": "r"}
    ragdrop.api.routes["GET", "/changes"] = lambda _request: httpx.Response(200, json=body)

    result = ragdrop.run("history", "team", "--limit", "2")

    assert result.exit_code == 0, result.output
    assert ragdrop.api.requests[-1].url.params["order"] == "newest"
    assert result.output.index("team/2.md by nightly sync") < result.output.index("team/1.md")
    assert "there are older changes" in result.output


def test_watch_prints_what_happens_from_now_on(ragdrop: CommandLine) -> None:
    pages = [([change(1)], "c1"), ([], "c1"), ([change(2)], "c2")]
    asked: list[str | None] = []

    def answer(request: httpx.Request) -> httpx.Response:
        if not pages:
            raise KeyboardInterrupt
        asked.append(request.url.params.get("cursor"))
        changes, cursor = pages.pop(0)
        return httpx.Response(200, json={"changes": changes, "cursor": cursor, "more": False, "request_id": "r"})

    ragdrop.api.routes["GET", "/changes"] = answer

    result = ragdrop.run("watch", "team")

    assert asked == [None, "c1", "c1"]
    assert "team/2.md" in result.output
    assert "team/1.md" not in result.output
    assert ragdrop.slept_s


@pytest.mark.parametrize("arguments", [("history", "team/"), ("watch",)])
def test_a_place_that_is_none_is_refused(ragdrop: CommandLine, arguments: tuple[str, ...]) -> None:
    assert ragdrop.run(*arguments).exit_code == 2


@pytest.mark.parametrize(
    ("typed", "sent"),
    [
        ("yesterday", "2026-01-30T00:00:00+01:00"),
        ("2h ago", "2026-01-31T10:00:00+01:00"),
        ("2026-01-29", "2026-01-29T00:00:00+01:00"),
        ("2026-01-29T10:00:00Z", "2026-01-29T10:00:00Z"),
    ],
)
def test_since_is_understood_as_people_write_it(ragdrop: CommandLine, typed: str, sent: str) -> None:
    body = {"changes": [], "cursor": "", "more": False, "request_id": "r"}
    ragdrop.api.routes["GET", "/changes"] = lambda _request: httpx.Response(200, json=body)

    ragdrop.run("history", "team", "--since", typed)

    assert ragdrop.api.requests[-1].url.params["since"] == sent


def restoring(ragdrop: CommandLine) -> None:
    """An API that puts one document back."""
    step = {"vault": "team", "path": "a.md", "action": "restore", "version_id": "v1", "new_version_id": "v3"}
    part = {"steps": [step], "total": 1, "deletions": 0, "cursor": None, "request_id": "r"}
    ragdrop.api.routes["POST", "/vaults/team/rollback"] = lambda _request: httpx.Response(200, json=part)
    ragdrop.api.documents["team/a.md"] = {"path": "a.md", "status": "pending", "version_id": "v3", "polls": 0}


def test_rollback_waits_until_what_it_put_back_answers(ragdrop: CommandLine) -> None:
    restoring(ragdrop)
    ragdrop.api.polls_needed = 2

    result = ragdrop.run("rollback", "team", "--to", "1h ago", "--wait")

    assert result.exit_code == 0, result.output
    assert json.loads(ragdrop.api.requests[0].content)["to"] == "2026-01-31T11:00:00+01:00"
    polls = [request for request in ragdrop.api.requests if request.url.path == "/prod/documents/team/a.md"]
    assert [request.url.params["version"] for request in polls] == ["v3"] * 3


def test_rollback_ends_with_1_where_what_it_put_back_failed(ragdrop: CommandLine) -> None:
    restoring(ragdrop)
    ragdrop.api.failing["team/a.md"] = {"code": "EMPTY_DOCUMENT", "message": "there is no text in it"}

    result = ragdrop.run("rollback", "team", "--to", "1h ago", "--wait")

    assert result.exit_code == 1
    assert "a.md\tEMPTY_DOCUMENT\tthere is no text in it" in result.stderr
