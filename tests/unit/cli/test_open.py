"""`ragdrop open`: a link that signs a browser in."""

from __future__ import annotations

import json

import httpx
import pytest

from tests.unit.cli.world import CommandLine

LINK = {"request_id": "r", "code": "c0de", "expires_at": "2026-01-01T00:01:00+00:00"}


@pytest.fixture
def linked(ragdrop: CommandLine) -> CommandLine:
    ragdrop.api.routes["POST", "/app/links"] = lambda _request: httpx.Response(201, json=LINK)
    return ragdrop


def test_the_browser_gets_a_link_with_a_code_and_no_key(linked: CommandLine) -> None:
    found = linked.run("open")

    [url] = linked.opened
    assert found.exit_code == 0
    assert url.endswith("/app#/sign-in/c0de")
    assert linked.key not in url + found.stdout


def test_print_starts_no_browser(linked: CommandLine) -> None:
    found = linked.run("open", "--print")

    assert linked.opened == []
    assert found.stdout.strip().endswith("/app#/sign-in/c0de")


def test_a_program_gets_the_link_as_json(linked: CommandLine) -> None:
    body = json.loads(linked.run("open", "--json").stdout)

    assert body["url"].endswith("/app#/sign-in/c0de")
    assert body["expires_at"] == LINK["expires_at"]


def test_without_a_browser_the_link_is_printed(linked: CommandLine) -> None:
    linked.browser_starts = False

    found = linked.run("open")

    assert "/app#/sign-in/c0de" in found.stdout
    assert "no browser" in found.stderr
