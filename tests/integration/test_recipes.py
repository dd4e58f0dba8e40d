"""The recipes of docs/recipes.md for other programs, as they stand there, with a real address and key put in."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import boto3
import httpx
import pytest
from botocore.config import Config

from localstack.home import Home
from localstack.processes import choose_port
from localstack.services import CREDENTIALS, REGION, emulator
from ragdrop.api.apis import query_api
from tests.agent_world import eager_world, key_of
from tests.e2e.documented import ROOT, block_under
from tests.served import handled_by, served
from tests.world import World

PAGE = ROOT / "docs/recipes.md"
PEERS = Path(os.environ.get("RAGDROP_PEERS", ROOT / ".local/env"))
PUMP = "# Pump\n\nThe code of the pump is QX-5521. See [[fan]]."
ANSWER = "The code of the pump is QX-5521."
PRELUDE = "import os\nAPI, KEY = os.environ['API'], os.environ['KEY']\n"


@pytest.fixture
def world() -> World:
    world = eager_world()
    world.put("team/notes/pump room.md", PUMP)
    world.chat.reply = ANSWER
    return world


@pytest.fixture
def url(world: World) -> Iterator[str]:
    with served(query_api(world.app)) as found:
        yield found


def printed(command: list[str], url: str, world: World, **more: str) -> str:
    """What a program prints that finds the API and a reader's key in its environment."""
    home = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    known = {**home, "API": url, "KEY": key_of(world, "reader"), "NO_PROXY": "*", **more}
    done = subprocess.run(command, env=known, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def recipe(heading: str, language: str) -> str:
    """The first block of a recipe."""
    return block_under(PAGE, f"## {heading}", language).text


def test_openais_client_answers_with_the_files_that_it_cites(world: World, url: str) -> None:
    script = PRELUDE + recipe("16. Any program with OpenAI's client", "python")

    assert printed([sys.executable, "-c", script], url, world).splitlines() == [ANSWER, "pump room.md"]


def test_notes_of_obsidian_are_pushed_and_the_answer_links_back_into_them(
    world: World, url: str, tmp_path: Path
) -> None:
    notes = {"Machines/pump & valve.md": PUMP, "fan.md": "# Fan\n\nThe fan is green.", ".obsidian/app.json": "{}"}
    for name, text in notes.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text, "utf-8")
    known = {"RAGDROP_API_URL": url, "RAGDROP_API_KEY": key_of(world), "PYTHONPATH": os.environ.get("PYTHONPATH", "")}
    command = [sys.executable, "-m", "ragdrop_cli", "push", str(tmp_path), "--vault", "notes", "--wait"]
    printed(command, url, world, **known)

    script = PRELUDE + recipe("15. Obsidian", "python")
    answer, *links = printed([sys.executable, "-c", script], url, world, **known).splitlines()

    assert answer == ANSWER
    assert links == ["obsidian://open?vault=Notes&file=Machines%2Fpump%20%26%20valve"]
    found = world.search("fan", vaults=("notes",), min_relevance=0.0)
    assert {each.key.path for each in found.documents} == {name for name in notes if not name.startswith(".")}


def test_the_request_of_the_n8n_workflow_is_answered(world: World, url: str) -> None:
    workflow = json.loads(recipe("17. n8n", "json"))
    [node] = [each["parameters"] for each in workflow["nodes"] if each["type"] == "n8n-nodes-base.httpRequest"]
    headers = {each["name"]: each["value"] for each in node["headerParameters"]["parameters"]}
    headers = {name: value.replace("rd_YOUR_KEY", key_of(world, "reader")) for name, value in headers.items()}
    address = url + node["url"].partition("/STAGE")[2]

    reply = httpx.request(
        node["method"], address, json=json.loads(node["jsonBody"]), headers=headers, trust_env=False, timeout=30
    )

    assert (reply.status_code, reply.json()["answer"]) == (200, ANSWER)
    assert set(workflow["connections"]) <= {each["name"] for each in workflow["nodes"]}


@pytest.mark.long
@pytest.mark.parametrize(
    ("heading", "peer"),
    [("18. LangChain", "langchain"), ("19. LlamaIndex", "llama_index"), ("20. Haystack", "haystack")],
)
def test_a_framework_asks_by_its_own_chat_model(world: World, url: str, heading: str, peer: str) -> None:
    python = PEERS / f"peer-{peer}/bin/python"
    assert python.exists(), f"make .local/env/peer-{peer}/.ready makes its environment"

    assert printed([str(python), "-c", PRELUDE + recipe(heading, "python")], url, world).strip() == ANSWER


def test_an_answer_goes_to_a_webhook_with_links_to_its_evidence(world: World, url: str) -> None:
    posted: list[dict[str, Any]] = []

    class Webhook(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            posted.append(json.loads(self.rfile.read(int(self.headers["content-length"]))))
            self.send_response(200)
            self.send_header("content-length", "2")
            self.end_headers()
            self.wfile.write(b"ok")

        def log_message(self, *_: object) -> None:
            return

    with handled_by(Webhook) as webhook:
        command = ["bash", "-c", "set -o pipefail\n" + recipe("21. Slack, by an incoming webhook", "sh")]
        printed(command, url, world, SLACK_WEBHOOK=webhook)

    [message] = posted
    answer, link = message["text"].splitlines()
    assert answer == ANSWER
    assert link.startswith(f"<{url}/app#/documents/team/notes/pump%20room.md?version=")
    assert link.endswith("|notes/pump room.md>")


@pytest.mark.long
def test_a_folder_is_synced_into_the_vaults_place_of_the_bucket(tmp_path: Path) -> None:
    aws = PEERS / "awscli/bin/aws"
    assert aws.exists(), "make .local/env/awscli/.ready installs it"
    home, port = Home(tmp_path, "recipes"), choose_port()
    service = emulator(home, port)
    for folder in ("state", "objects", "tmp"):
        (home.emulator / folder).mkdir(parents=True, exist_ok=True)
    notes = tmp_path / "notes"
    (notes / "pumps").mkdir(parents=True)
    (notes / "pumps/pump.md").write_text(PUMP, "utf-8")
    (notes / ".hidden").write_text("no", "utf-8")
    endpoint = f"http://127.0.0.1:{port}"
    known = {**CREDENTIALS, "AWS_ENDPOINT_URL": endpoint, "AWS_DEFAULT_REGION": REGION, "BUCKET": "documents"}
    known |= {"PATH": f"{aws.parent}:{os.environ['PATH']}", "HOME": str(tmp_path)}
    s3 = boto3.client(
        "s3",
        endpoint_url=endpoint,
        region_name=REGION,
        aws_access_key_id="test",
        aws_secret_access_key="test",
        config=Config(proxies={}),
    )
    with subprocess.Popen(service.command, env={**os.environ, **service.environment}) as running:
        try:
            until = time.monotonic() + 60
            while not _answers(service.health):
                assert time.monotonic() < until, "the emulator did not start"
                time.sleep(0.2)
            s3.create_bucket(Bucket="documents")
            found = [_synced(s3, tmp_path, known)]
            (notes / "pumps/pump.md").unlink()
            (notes / "fan.md").write_text("# Fan", "utf-8")
            found.append(_synced(s3, tmp_path, known))
        finally:
            running.terminate()
            running.wait(20)

    assert found == [["acme/team/pumps/pump.md"], ["acme/team/fan.md"]]


def _answers(address: str) -> bool:
    try:
        return httpx.get(address, trust_env=False, timeout=2).status_code == 200
    except httpx.HTTPError:
        return False


def _synced(s3: Any, folder: Path, known: dict[str, str]) -> list[str]:
    command = recipe("22. A folder every night, by `aws s3 sync`", "sh")
    done = subprocess.run(
        ["bash", "-c", command], env=known, cwd=folder, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    return [each["Key"] for each in s3.list_objects_v2(Bucket="documents").get("Contents", ())]
