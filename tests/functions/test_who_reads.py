"""Every route, every tool: who lacks the group gets the status of docs/access.md, and no word of the document."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from pages.permissions import CALLERS, MAY, RULED
from pages.permissions import Ruled as Row
from ragdrop.api.mcp.tools import TOOLS
from tests.functions.access import spelled_routes
from tests.functions.conftest import EXAMPLE_BUCKET, deployed
from tests.functions.ruled import HIDDEN, RULES, Ruled

GOLDEN = [{"question": "What is the pay?", "document": "hr/pay.md"}, {"question": "Which pump?", "text": HIDDEN}]


@pytest.fixture(scope="module")
def ruled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ruled]:
    with pytest.MonkeyPatch.context() as environ, deployed(tmp_path_factory.mktemp("reads"), environ) as made:
        found = Ruled(made)
        made.chat.reply = lambda messages: f"{messages[-1].content} [1]"  # says all that it was shown
        body = f"---\naccess: [hr]\n---\n# Pump {HIDDEN}\n\nThe pump of spring, {HIDDEN}.".encode()
        metadata = {"ragdrop-stage": "spring"}
        made.s3.put_object(Bucket=EXAMPLE_BUCKET, Key=f"demo/team/{HIDDEN}.md", Body=body, Metadata=metadata)
        made.reconcile(f"demo/team/{HIDDEN}.md")
        found.rule(RULES, golden_questions=GOLDEN)
        _, asked = found.send("admin", "POST", "/ask", {"query": "pump secret"})
        found.answer = asked["answer_id"]
        found.thread = found.send("admin", "POST", "/threads", {"answer_id": found.answer})[1]["thread_id"]
        found.send("admin", "PATCH", f"/threads/{found.thread}", {"shared": True})
        found.send("reader of `hr`", "POST", f"/answers/{found.answer}/feedback", {"kind": "right"})
        found.send("writer of `hr`", "POST", "/canaries/team")
        yield found


def test_every_route_and_every_tool_has_a_row_and_nothing_else(ruled: Ruled) -> None:
    named = {row.body["params"]["name"] for row in RULED if row.route == "POST /mcp" and "name" in row.body["params"]}

    assert {row.route for row in RULED} == spelled_routes(ruled.deployment)
    assert named == set(TOOLS)


@pytest.mark.parametrize("row", RULED, ids=[f"{row.route} {row.aim}" for row in RULED])
def test_who_lacks_the_group_gets_the_status_of_the_table_and_no_word(ruled: Ruled, row: Row) -> None:
    seen: dict[str, int] = {}
    told: set[str] = set()
    for who in CALLERS:
        if row.route.startswith("DELETE"):
            ruled.deployment.put_object("demo/team/hr/gone.md", "It goes.")
        headers = {"X-Ragdrop-Groups": "hr"} if who == "delegate for `hr`" else None
        path, given = (_named(text, ruled) for text in (row.path, json.dumps(row.body)))
        seen[who], body = ruled.send(who, row.route.partition(" ")[0], path, json.loads(given), headers)
        named = "hr/pay" in json.dumps(_without_links(body)) and "hr/pay" not in json.dumps([row.path, row.body])
        told |= {who} if HIDDEN in json.dumps(body) or named else set()

    assert seen == row.expected
    assert told <= set(MAY)
    assert told == set(MAY) or not row.shows


def _named(text: str, ruled: Ruled) -> str:
    return text.replace("{answer}", ruled.answer).replace("{thread}", ruled.thread)


def _without_links(body: object) -> object:
    """A body without the links and the text of the open document that names a hidden one."""
    if isinstance(body, dict):
        return {
            name: _without_links(each)
            for name, each in body.items()
            if name not in {"links", "broken_links", "text", "content", "context", "answer", "quote"}
        }
    if isinstance(body, list):
        return [_without_links(each) for each in body]
    return body
