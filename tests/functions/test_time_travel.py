"""Time travel on the command line, over the real routes: write, ask, overwrite, ask as of then, diff, roll back."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import httpx
import pytest
from starlette.testclient import TestClient
from typer.testing import CliRunner, Result

from ragdrop.api.apis import query_api
from ragdrop.client import RagdropClient
from ragdrop.domain.deadlines import rfc3339
from ragdrop_cli.main import build
from ragdrop_cli.session import Session
from tests.world import World


class Desk:
    """The command line at the API of a world, whose events are handled as soon as a command is done."""

    def __init__(self, world: World, folder: Path) -> None:
        self.world = world
        self.folder = folder
        self.secret, _ = world.app.operate.operator.create_key(world.tenant, "admin", label="desk")
        self._api = TestClient(query_api(world.app), base_url="http://api.example")

    def answer(self, request: httpx.Request) -> httpx.Response:
        """One request, by the real routes."""
        target = request.url.raw_path.decode()
        found = self._api.request(request.method, target, content=request.read(), headers=dict(request.headers))
        headers = {name: value for name, value in found.headers.items() if name != "content-encoding"}  # it is decoded
        return httpx.Response(found.status_code, headers=headers, content=found.content)

    def client(self, url: str, key: str) -> RagdropClient:
        """The Python client over it."""
        return RagdropClient(url, key, transport=httpx.MockTransport(self.answer))

    def run(self, *arguments: str) -> Result:
        """A command; then the messages that it caused."""
        environ = {"RAGDROP_API_URL": "http://api.example", "RAGDROP_API_KEY": self.secret}
        session = Session(environ=environ, folder=self.folder, connect=self.client, sleep=lambda _s: None)
        return CliRunner(env={"COLUMNS": "200", "NO_COLOR": "1"}).invoke(build(), list(arguments), obj=session)

    def json(self, *arguments: str) -> Any:
        """What a command prints as JSON."""
        result = self.run(*arguments, "--json")
        return json.loads(result.stdout)

    def moment(self) -> str:
        """The time now; then a minute passes."""
        now = rfc3339(self.world.now_s, precision="milliseconds")
        self.world.now_s += 60.0
        return now


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    world = World()
    world.chat.reply = repeats_what_it_reads
    return Desk(world, tmp_path)


def repeats_what_it_reads(messages: Any) -> str:
    """The sentence about the pump, with its marker."""
    text = messages[-1].content
    line = next((line for line in text.splitlines() if line.startswith("The pump")), "Nothing is known.")
    return f"{line} [1]"


def test_an_answer_as_of_then_names_the_version_of_then(desk: Desk) -> None:
    first = desk.world.put("team/pump.md", "The pump is red.")
    then = desk.moment()
    desk.world.put("team/pump.md", "The pump is blue.")

    now = desk.json("ask", "What is the pump?")
    past = desk.json("ask", "What is the pump?", "--as-of", then)

    assert (now["answer"], past["answer"]) == ("The pump is blue. [1]", "The pump is red. [1]")
    assert past["citations"][0]["version_id"] == first
    assert "red" in desk.run("search", "pump", "--as-of", then).stdout


def test_diff_names_the_document_whose_change_explains_the_answer(desk: Desk) -> None:
    desk.world.put("team/pump.md", "The pump is red.")
    desk.world.put("team/tap.md", "A tap is a valve.")
    answer = desk.json("ask", "What is the pump?")
    desk.moment()
    desk.world.put("team/tap.md", "A tap is an old valve.")
    desk.world.put("team/pump.md", "The pump is blue.")

    result = desk.run("diff", answer["answer_id"])
    found = desk.json("diff", answer["answer_id"])

    assert result.exit_code == 1, result.output
    assert "-The pump is red. [1]" in result.stdout
    assert "+The pump is blue. [1]" in result.stdout
    assert [each["path"] for each in found["explained_by"]] == ["pump.md"]
    assert found["explained_by"][0]["removed"] == ["The pump is red."]


def test_diff_of_an_answer_that_still_holds_ends_with_0(desk: Desk) -> None:
    desk.world.put("team/pump.md", "The pump is red.")
    answer = desk.json("ask", "What is the pump?")
    desk.moment()
    desk.world.put("team/other.md", "Nothing of it.")

    result = desk.run("diff", answer["answer_id"])

    assert (result.exit_code, "The same answer." in result.stdout) == (0, True), result.output


def test_a_moment_before_the_retention_ends_the_command_with_its_reason(desk: Desk) -> None:
    desk.world.put("team/pump.md", "The pump is red.")

    result = desk.run("ask", "What is the pump?", "--as-of", "2020-01-01T00:00:00Z")

    assert result.exit_code == 1
    assert "30 days" in result.output


def test_the_first_version_comes_back_without_one_embedding(desk: Desk) -> None:
    desk.world.put("team/pump.md", "The pump is red.")
    then = desk.moment()
    desk.world.put("team/pump.md", "The pump is blue.")
    desk.world.put("team/new.md", "Nothing of it.")
    before = desk.world.embedder.calls

    plan = desk.run("rollback", "team", "--to", then, "--dry-run")
    refused = desk.run("rollback", "team", "--to", then)
    done = desk.json("rollback", "team", "--to", then, "--yes")
    for step in done["steps"]:
        desk.world.changed(f"{step['vault']}/{step['path']}")

    assert "nothing was done" in plan.stdout
    assert refused.exit_code == 2
    assert done["counts"] == {"restore": 1, "delete": 1, "done": 0, "lost": 0}
    assert desk.world.embedder.calls == before
    assert desk.json("ask", "What is the pump?")["answer"] == "The pump is red. [1]"
    assert desk.json("history", "team/pump.md")["versions"][0]["written_by"] == "desk"


def handled(desk: Desk, *paths: str) -> None:
    """Let ingest hear of documents, as the bucket's events would."""
    for path in paths:
        desk.world.changed(path)


def test_a_stage_is_tried_promoted_and_no_answer_is_half_of_it(desk: Desk) -> None:
    desk.world.put("team/pump.md", "The pump is red.")
    (desk.folder / "notes").mkdir()
    (desk.folder / "notes/pump.md").write_text("The pump is blue.")
    questions = desk.folder / "questions.jsonl"
    questions.write_text('{"question": "What is the pump?", "text": "pump is red"}\n')

    pushed = desk.run("push", str(desk.folder / "notes"), "--vault", "team", "--stage", "spring")
    handled(desk, "team/pump.md")
    listed = desk.json("stages", "team")
    live, staged = (desk.json("ask", "What is the pump?", *more)["answer"] for more in ((), ("--stage", "spring")))
    judged = desk.run("eval", str(questions), "--vault", "team", "--stage", "spring", "--gate", "0.9")
    promoted = desk.run("promote", "team", "spring")

    assert pushed.exit_code == 0, pushed.output
    assert [(each["name"], each["waiting"]) for each in listed["stages"]] == [("spring", ["pump.md"])]
    assert (live, staged) == ("The pump is red. [1]", "The pump is blue. [1]")
    assert judged.exit_code == 1
    assert "worse" in judged.output
    assert "1 documents of stage spring are live" in promoted.output
    assert desk.json("ask", "What is the pump now?")["answer"] == "The pump is blue. [1]"


def test_a_discarded_stage_leaves_what_is_live(desk: Desk) -> None:
    desk.world.put("team/pump.md", "The pump is red.")
    desk.world.put("team/pump.md", "The pump is blue.", {"ragdrop-stage": "spring"})

    assert "1 documents" in desk.run("discard", "team", "spring").output
    handled(desk, "team/pump.md")
    assert desk.json("ask", "What is the pump?")["answer"] == "The pump is red. [1]"
    assert desk.run("promote", "team", "spring").exit_code == 1


def test_a_change_that_breaks_golden_questions_is_refused_and_says_which(desk: Desk) -> None:
    desk.world.put("team/pump.md", "The pump is red.")
    golden = {"golden_questions": [{"question": "What is the pump?", "text": "pump is red"}]}
    desk.world.put("team/.ragdrop.json", json.dumps(golden))
    desk.world.put("team/pump.md", "The pump is blue.")

    refused = desk.run("promote", "team", "waiting")

    assert refused.exit_code == 1
    assert "What is the pump?" in refused.output
    assert desk.json("ask", "What is the pump?")["answer"] == "The pump is red. [1]"
