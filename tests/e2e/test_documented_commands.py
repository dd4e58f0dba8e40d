"""Every block of commands and every Python example of README and docs is run as it stands, in a clone of its own."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from ragdrop.client import RagdropClient
from ragdrop.errors import CallerError
from tests.e2e.documented import SHELLS, Block, blocks
from tests.e2e.newcomer import Newcomer, Typed

PUMP = "# Pump\n\nThe code of the pump is QX-5521. The spare key is in the cellar.\n"
TABLE = "office/bike-tours.csv"
QUESTIONS = [{"question": "What is the code of the pump?", "document": "team/notes/pump.md", "text": "QX-5521"}]
EXAMPLE_ANSWER = "0123456789abcdef0123456789abcdef"  # how an id is written in examples, and
EXAMPLE_KEY = "0123456789ab"  # that of a key
# Examples that the commands' own help gives, but that need AWS, never end, or need a past or a stage to work on: they
# are tested by themselves (tests/unit/cli, tests/integration/test_time_travel_live.py).
ELSEWHERE = tuple(
    f"ragdrop {name} " for name in ("connect", "watch", "diff", "rollback", "promote", "discard", "audit", "import-kb")
)
PATIENT = ("ragdrop tenant delete ",)  # waits until no function believes in the tenant any more: over a minute
RUN = [block for block in blocks(*SHELLS) if not (block.reason or block.text.startswith(ELSEWHERE))]
PYTHON = [block for block in blocks("python") if not block.reason]


@pytest.fixture(scope="module")
def reader(newcomer: Newcomer, first_session: list[Typed]) -> Iterator[Newcomer]:
    """Somebody whose stack runs, with what the examples speak of: a tenant acme, a vault team, a file of questions."""
    first_session[0].worked()
    for name in ("notes/pump.md", "pump.md"):
        path = newcomer.clone / "examples" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(PUMP, encoding="utf-8")
    table = newcomer.clone / "examples" / TABLE
    table.parent.mkdir(parents=True, exist_ok=True)
    table.write_bytes((newcomer.clone / "localstack/sample-vault" / TABLE).read_bytes())
    (newcomer.clone / "answer.txt").write_text("The code of the pump is QX-5521.", encoding="utf-8")
    lines = "".join(json.dumps(question) + "\n" for question in QUESTIONS)
    (newcomer.clone / "questions.jsonl").write_text(lines, encoding="utf-8")
    newcomer.types(".venv/bin/ragdrop tenant create acme --if-missing").worked()
    newcomer.types(".venv/bin/ragdrop tenant create old-project --if-missing").worked()  # what an example deletes
    key = json.loads(newcomer.types(".venv/bin/ragdrop key create acme --role admin --json").worked())["api_key"]
    newcomer.types(
        ".venv/bin/ragdrop push localstack/sample-vault --vault team --wait",
        RAGDROP_API_URL=newcomer.stack["api_url"],
        RAGDROP_API_KEY=key,
    ).worked()  # what there is to calibrate, to sweep and to reindex
    yield newcomer
    newcomer.types("rm -rf examples notes questions.jsonl answer.txt facts.md")


@pytest.fixture
def given(reader: Newcomer) -> dict[str, str]:
    """What the examples take as given: the API, a key, the documents of the vault team, an answer that was given."""
    scripts, stack = reader.clone / ".venv/bin", reader.stack
    with RagdropClient(stack["api_url"], stack["api_key"]) as client:
        if not all(is_there(client, path) for path in ("notes/pump.md", "pump.md", TABLE)):
            reader.types(f"{scripts}/ragdrop push examples --vault team --all --wait").worked()
        answer = client.ask("What is the code of the pump?", vaults=["team"])
        version = client.get_document("team", "pump.md")["version_id"]
    reader.types("rm -rf notes && cp -r examples/notes notes").worked()
    return {
        "PATH": f"{scripts}:{reader.clone / '.local/env/sam/bin'}:/usr/local/bin:/usr/bin:/bin",
        "API": stack["api_url"],
        "KEY": stack["api_key"],
        "ANSWER": answer["answer_id"],
        "VERSION": version,
    }


def is_there(client: RagdropClient, path: str) -> bool:
    """Whether a document of the vault team is indexed."""
    try:
        return bool(client.get_document("team", path)["status"] == "indexed")
    except CallerError:
        return False


@pytest.mark.parametrize(
    "block",
    [pytest.param(block, marks=[pytest.mark.long] if block.text.startswith(PATIENT) else []) for block in RUN],
    ids=str,
)
def test_a_block_of_commands_runs_as_it_is_written(reader: Newcomer, given: dict[str, str], block: Block) -> None:
    lines = block.text.replace(EXAMPLE_ANSWER, given["ANSWER"])
    if EXAMPLE_KEY in lines:
        made = reader.types(".venv/bin/ragdrop key create acme --role reader --json").worked()
        lines = lines.replace(EXAMPLE_KEY, json.loads(made)["key_id"])
    typed = reader.types(lines, **given)
    if "make down" in block.text:
        reader.types("make up").worked()

    typed.worked()


@pytest.mark.parametrize("block", PYTHON, ids=str)
def test_a_python_example_runs_as_it_is_written(reader: Newcomer, given: dict[str, str], block: Block) -> None:
    prelude = "import os\nAPI, KEY = os.environ['API'], os.environ['KEY']\n"

    reader.types(prelude + block.text, program=f"{reader.clone}/.venv/bin/python", **given).worked()
