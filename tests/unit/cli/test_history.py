"""`ragdrop history` and `ragdrop watch`."""

from __future__ import annotations

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


def test_the_changes_of_a_vault_are_shown_in_order(ragdrop: CommandLine) -> None:
    body = {"changes": [change(1), change(2)], "cursor": "c2", "more": True, "request_id": "r"}
    ragdrop.api.routes["GET", "/changes"] = lambda _request: httpx.Response(200, json=body)

    result = ragdrop.run("history", "team", "--limit", "2")

    assert result.exit_code == 0, result.output
    assert result.output.index("team/1.md") < result.output.index("team/2.md")
    assert "there are more changes" in result.output


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
