"""Whatever a chat model does with its citations, no sentence that claims something leaves without a status."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

import pytest

from groundcheck import ClaimStatus
from ragdrop.models.chat import OpenAiChatModel
from ragdrop.models.http import OpenAiHttp
from ragdrop.resilience.breakers import Retries
from tests.chat_server import ChatServer, chat_server
from tests.functions.asking import Asking
from tests.world import World

PAGE = Path(__file__).parents[2] / "docs/evidence/quality.md"
BEGIN, END = (
    "<!-- sentence statuses: written by tests/functions/test_sentence_statuses.py -->",
    "<!-- end of statuses -->",
)
SOURCES = {
    "team/pump.md": "# Pump\n\nThe pump is red. It holds 7 litres. Kelly built it in March 1998.",
    "team/valve.md": "# Valve\n\nThe valve is not blue. It must never be opened under pressure.",
}
CASES = {
    "never cites, and is right": "The pump is red. It holds 7 litres.",
    "never cites, and is wrong": "The pump works fine. It holds 70 litres.",
    "cites the wrong source": "Kelly built the pump in March 1998 [{valve}].",
    "cites a source that says the opposite": "The valve is blue [{valve}].",
    "cites a source that does not exist": "The pump is red [99].",
    "cites some sentences": "The pump is red [{pump}]. It never fails. It holds 7 litres.",
    "greets and leads in": "Hello! Here is what I found:\n\n- The pump is red [{pump}].\n- It holds 70 litres.",
}
POLICIES = ("mark", "drop", "abstain")


@pytest.fixture(scope="module")
def server() -> Iterator[ChatServer]:
    with chat_server() as running:
        yield running


def asked(server: ChatServer, said: str, policy: str, *, stream: bool) -> dict[str, Any]:
    """The answer to a question whose model says *said*, in which `{pump}` and `{valve}` are their numbers."""
    http = OpenAiHttp(server.url, api_key=lambda: None, timeout_s=10, retries=Retries(), client=server.client)
    asking = Asking(OpenAiChatModel(http, models=["m"]), world=World(settings={"CITATION_POLICY": policy}))
    for path, text in SOURCES.items():
        asking.world.put(path, text)
    found = asking.world.search("pump valve", min_relevance=0)
    numbers = {document.key.path.removesuffix(".md"): place for place, document in enumerate(found.documents, 1)}
    server.behave("m", text=said.format(**numbers))
    fields = {"min_relevance": 0, "debug": True}
    if not stream:
        return asking.ask("pump valve", **fields)
    events = asking.stream("pump valve", **fields)
    done = events[-1][1]
    if not done["abstained"]:
        assert "".join(data["text"] for name, data in events if name == "token").strip() == done["answer"]
    assert [data for name, data in events if name == "citation"] == done["citations"] or done["abstained"]
    assert [data for name, data in events if name == "sentence"] == done["sentences"] or done["abstained"]
    return done


def reported(answer: dict[str, Any]) -> str:
    """What became of the sentences, in a few words."""
    if answer["abstained"]:
        return "abstains"
    claims = answer["debug"]["claims"]
    return ", ".join("attributed" if claim["attributed"] else claim["status"].replace("_", " ") for claim in claims)


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
def test_no_sentence_that_claims_something_leaves_without_a_status(
    server: ChatServer, case: str, policy: str, stream: bool
) -> None:
    answer = asked(server, CASES[case], policy, stream=stream)

    if answer["abstained"]:
        assert policy != "mark"
        return
    covered: set[int] = set()
    for claim in answer["debug"]["claims"]:
        assert claim["status"] in get_args(ClaimStatus)
        covered |= set(range(claim["start"], claim["end"]))
    assert all(place in covered for place, letter in enumerate(answer["answer"]) if letter.isalpha())
    unsupported = [
        claim["text"] for claim in answer["debug"]["claims"] if claim["status"] in {"unsupported", "contradicted"}
    ]
    assert [each["text"] for each in answer["unsupported"]] == unsupported
    assert policy == "mark" or unsupported == []


def test_the_page_shows_what_becomes_of_each_case(server: ChatServer) -> None:
    rows = ["| the model | `mark` | `drop` | `abstain` |", "|---|---|---|---|"]
    for case, said in CASES.items():
        rows.append(f"| {case} | {' | '.join(reported(asked(server, said, p, stream=False)) for p in POLICIES)} |")
    table = "\n".join(rows)
    page = PAGE.read_text("utf-8")
    start, end = page.index(BEGIN) + len(BEGIN), page.index(END)
    if os.environ.get("RAGDROP_REWRITE_GOLDEN") == "1":
        PAGE.write_text(f"{page[:start]}\n{table}\n{page[end:]}", "utf-8")
        return

    assert page[start:end].strip() == table
