"""The command `ragdrop threads`."""

from __future__ import annotations

import json
from typing import Any

import httpx
import pytest

from tests.unit.cli.world import CommandLine

THREAD = {"thread_id": "f" * 48, "name": "The\tpump", "answers_total": 2, "shared": True, "updated_at": "2026-11-26"}


def serve(ragdrop: CommandLine, route: str, body: dict[str, Any]) -> None:
    ragdrop.api.routes["GET", route] = lambda _request: httpx.Response(200, json=body)


def test_threads_are_listed_one_a_line(ragdrop: CommandLine) -> None:
    serve(ragdrop, "/threads", {"threads": [THREAD]})

    result = ragdrop.run("threads", "pump")

    assert (result.exit_code, result.stdout.split("\t")[0]) == (0, "f" * 48)
    assert result.stdout.count("\n") == 1
    assert dict(ragdrop.api.requests[0].url.params) == {"q": "pump"}


def test_a_thread_is_printed_as_markdown(ragdrop: CommandLine) -> None:
    serve(ragdrop, f"/threads/{'f' * 48}/markdown", {"markdown": "# The pump\n\nIt is red[^1].\n"})

    assert ragdrop.run("threads", "--markdown", "f" * 48).stdout == "# The pump\n\nIt is red[^1].\n"


@pytest.mark.parametrize("more", [[], ["--markdown", "f" * 48]])
def test_the_reply_of_the_api_comes_as_it_is_with_json(ragdrop: CommandLine, more: list[str]) -> None:
    serve(ragdrop, "/threads", {"threads": []})
    serve(ragdrop, f"/threads/{'f' * 48}/markdown", {"markdown": "x"})

    assert json.loads(ragdrop.run("threads", *more, "--json").stdout) in ({"threads": []}, {"markdown": "x"})
