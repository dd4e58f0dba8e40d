"""The last steps of ``up``: the tokenizer, a tenant with a key, first calls, probe documents; and ``demo``."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import botocore.exceptions
import httpx

from localstack.deploy import Emulated
from localstack.home import REPOSITORY, SHARED, Home, Progress
from localstack.launch_options import TOKENIZER_KEY
from localstack.processes import POLL_S, LaunchError
from ragdrop.client import RagdropClient
from ragdrop.errors import RagdropError
from ragdrop_cli.doctor import ProbeDocument

RAGDROP = Path(sys.executable).parent / "ragdrop"
FIRST_CALL_TIMEOUT_S = 60
INGEST_TIMEOUT_S = 90  # the first message starts the ingest function, on a machine that may be busy


def upload_tokenizer(home: Home, emulated: Emulated, bucket: str) -> None:
    """Put the local model's tokenizer where ingest looks for it; nothing where it is there already."""
    objects = emulated.client("s3")
    try:
        objects.head_object(Bucket=bucket, Key=TOKENIZER_KEY)
    except botocore.exceptions.ClientError:
        file = home.root / "tokenizer.json"
        command = [str(SHARED / "env/models/bin/python"), "-m", "localstack.models.weights", str(file)]
        subprocess.run(command, cwd=REPOSITORY, check=True, timeout=60)
        objects.put_object(Bucket=bucket, Key=TOKENIZER_KEY, Body=file.read_bytes(), ContentType="application/json")


def make_tenant_and_key(home: Home, stack: Mapping[str, Any]) -> str:
    """The demo tenant's key: the one of last time where the API still takes it, else a new one.

    Raises LaunchError if the API did not answer, or the tenant or the key could not be made.
    """
    if stack["api_key"] and _answer_to_key(stack).status_code == httpx.codes.OK:
        return str(stack["api_key"])
    ragdrop_json(home, ["tenant", "create", stack["tenant"], "--if-missing"])
    made = ragdrop_json(home, ["key", "create", stack["tenant"], "--role", "admin", "--label", "make up"])
    return str(made["api_key"])


def ragdrop_json(home: Home, arguments: list[str], *, folder: Path = REPOSITORY) -> dict[str, Any]:
    """Run the ``ragdrop`` command on *home*'s stack and read the last object it prints; empty where it prints none.

    Raises LaunchError if it failed; the message has what it said.
    """
    printed = ragdrop(home, [*arguments, "--json"], folder=folder)
    lines = printed.strip().splitlines()
    if not lines:
        return {}
    result: dict[str, Any] = json.loads(printed if len(lines) > 1 and lines[0] == "{" else lines[-1])
    return result


def ragdrop(home: Home, arguments: list[str], *, folder: Path = REPOSITORY) -> str:
    """Run the ``ragdrop`` command on *home*'s stack; what it prints.

    Raises LaunchError if it failed; the message has what it said.
    """
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("AWS_", "RAGDROP_"))}
    environment |= {"RAGDROP_STACK": str(home.stack_file), "NO_PROXY": "127.0.0.1,localhost"}
    named: dict[str, Any] = {"cwd": folder, "env": environment, "stdin": subprocess.DEVNULL, "timeout": 300}
    done = subprocess.run([str(RAGDROP), *arguments], capture_output=True, text=True, check=False, **named)
    if done.returncode != 0:
        printed = (done.stderr or done.stdout).strip()[-2000:]
        raise LaunchError(f"ragdrop {' '.join(arguments[:2])} ended with {done.returncode}:\n{printed}")
    return str(done.stdout)


def push(home: Home, folder: Path, *, vault: str) -> None:
    """Push *folder* to *home*'s stack and wait until it is indexed.

    A push continues where it was interrupted, and on a busy machine the first calls of many functions at once may take
    longer than the command waits for one: so it is tried twice.

    Raises LaunchError if it failed twice.
    """
    command = ["push", str(folder), "--vault", vault, "--wait"]
    try:
        ragdrop(home, command)
    except LaunchError:
        ragdrop(home, command)


def _answer_to_key(stack: Mapping[str, Any]) -> httpx.Response:
    """What the API answers to the noted key.  A function that just started may need a while."""
    deadline = time.monotonic() + FIRST_CALL_TIMEOUT_S
    named: dict[str, Any] = {"params": {"limit": 1}, "headers": {"x-api-key": str(stack["api_key"])}}
    while True:
        try:
            return httpx.get(f"{stack['api_url']}/documents", **named, timeout=FIRST_CALL_TIMEOUT_S, trust_env=False)
        except httpx.TransportError as exc:
            if time.monotonic() > deadline:
                raise LaunchError(f"the API did not answer within {FIRST_CALL_TIMEOUT_S} s") from exc
        time.sleep(POLL_S)


def warm_up(stack: Mapping[str, Any]) -> None:
    """Call each function of the API once: its first call pays the imports.

    Raises LaunchError if the API does not take the key that was just made, or does not answer.
    """
    if (answer := _answer_to_key(stack)).status_code != httpx.codes.OK:
        raise LaunchError(f"GET /documents answers {answer.status_code}: {answer.text[:500]}")
    try:  # without a key: refused, after all imports
        httpx.post(f"{stack['api_url']}/ask", json={}, timeout=FIRST_CALL_TIMEOUT_S, trust_env=False)
    except httpx.TransportError as exc:
        raise LaunchError(f"POST /ask did not answer within {FIRST_CALL_TIMEOUT_S} s") from exc


def check_ingest(home: Home, stack: Mapping[str, Any], *, functions: int) -> None:
    """Send documents through S3, the queue and ingest, and delete them again: one for each process of *functions*.

    They are sent at once, so that all processes of a function start here and a first push waits for none.

    Raises LaunchError if one was not indexed; the message says how far it came.
    """
    with ThreadPoolExecutor(functions) as pool:
        list(pool.map(lambda _number: _send_canary(home, stack), range(functions)))


def _send_canary(home: Home, stack: Mapping[str, Any]) -> None:
    with RagdropClient(str(stack["api_url"]), str(stack["api_key"])) as client:
        try:
            verdict = ProbeDocument(client, timeout_s=INGEST_TIMEOUT_S).ingest()
        except RagdropError as exc:
            raise LaunchError(f"the canary document could not be sent: {exc.code}: {exc.message}") from exc
    if verdict.grade != "ok":
        queue_url = stack["environment"]["QUEUE_URL"]
        waiting = Emulated(str(stack["endpoint_url"]), stack["environment"]).waiting(queue_url)
        raise LaunchError(
            f"Ingest does not work: a canary document was put, but {verdict.detail} ({INGEST_TIMEOUT_S} s). {waiting} "
            f"messages wait in the queue. The embedding service is {stack['embedding_url']}, the index "
            f"{stack['index_url']}; the log of the functions is {home.logs / 'emulator.log'}."
        )


VAULT = "handbook"
SAMPLE = REPOSITORY / "localstack/sample-vault"
WEB_PAGE = "The web page is at {api_url}/app\nOpen it signed in with: .venv/bin/ragdrop open"


def lines_of(reply: Mapping[str, Any], read: Callable[[Mapping[str, Any]], str]) -> Iterator[str]:
    """What a newcomer reads of a reply of `POST /ask`: the answer with its evidence, or the closest passages.

    *read* gives the text of the object that a citation names.  Raises LaunchError: a quote does not stand in it.
    """
    yield "No answer" if reply["abstained"] else "Answer"
    yield textwrap.indent(str(reply["answer"]), "  ")
    if reply["closest"]:
        yield "Closest passages; nothing confirms that they answer"
    for passage in reply["closest"]:
        yield f"  {passage['vault']}/{passage['path']} characters {passage['start']}-{passage['end']}"
        yield textwrap.indent(f"“{' '.join(str(passage['quote']).split())}”", "      ")
    citations = [citation for citation in reply["citations"] if citation["quote"]]
    if citations:
        yield "Citations"
    for citation in citations:
        place = f"s3://{citation['bucket']}/{citation['key']}"
        yield f"  [{citation['marker']}] {place} characters {citation['start']}-{citation['end']}"
        yield textwrap.indent(f"“{citation['quote']}”", "      ")
        if read(citation)[citation["start"] : citation["end"]] != str(citation["quote"]):
            raise LaunchError(f"the quote does not stand at that span of {place}")
        yield "      read back from S3: stands there letter for letter"


QUESTIONS = (
    ("How long should on-call wait before promoting the standby database?", "a note answers it"),
    ("What is the salary of somebody on call?", "no note says it"),
    ("What does error CRT-4107 mean?", "asked by a code"),
)
"""What the demo asks, and what each question shows; the first must be answered."""
QUESTION = QUESTIONS[0][0]


def demo(home: Home, stack: Mapping[str, Any], progress: Progress) -> None:
    """Push the sample vault, ask, and print each answer with what stands in S3 at each citation's span.

    Raises LaunchError if the first answer cites nothing, or a quote does not stand in its object.
    """
    with progress.shown(), progress.step("the sample vault, dropped into S3 and indexed"):
        ragdrop(home, ["push", str(SAMPLE), "--vault", VAULT, "--wait"])
    objects = Emulated(stack["endpoint_url"], stack["environment"]).client("s3")

    def read(citation: Mapping[str, Any]) -> str:
        version = {"VersionId": citation["version_id"]} if citation["version_id"] else {}
        body = objects.get_object(Bucket=citation["bucket"], Key=citation["key"], **version)["Body"].read()
        return str(body.decode("utf-8"))

    for number, (question, shows) in enumerate(QUESTIONS):
        reply = ragdrop_json(home, ["ask", question, "--vault", VAULT])
        if number == 0 and not any(citation["quote"] for citation in reply["citations"]):
            raise LaunchError("the answer cites nothing")
        progress.say("")
        progress.say(f"[bold]Question[/]  {question}  [dim]({shows})[/]")
        for line in lines_of(reply, read):
            progress.console.print(line, markup=False)
    progress.say("")
    progress.say(WEB_PAGE.format(**stack))
    progress.say(f"The API is at {stack['api_url']}")
    progress.say(f"Its key and all other addresses are in {home.published_file}")
    progress.say('Ask more with: .venv/bin/ragdrop ask "…"')
    progress.say("Stop it with: make down")
