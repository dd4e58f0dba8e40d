"""Every block of commands and every Python example of README and docs is run as it stands, in a clone of its own."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from tests.e2e.documented import SHELLS, Block, blocks
from tests.e2e.newcomer import Newcomer

PUMP = "# Pump\n\nThe code of the pump is QX-5521. The spare key is in the cellar.\n"
QUESTIONS = [{"question": "What is the code of the pump?", "document": "team/notes/pump.md", "text": "QX-5521"}]
EXAMPLE_ANSWER = "0123456789abcdef0123456789abcdef"  # how an id is written in examples, and
EXAMPLE_KEY = "0123456789ab"  # that of a key
ELSEWHERE = ("ragdrop connect ",)  # examples that the commands' own help gives, but that need AWS: tested by themselves
RUN = [block for block in blocks(*SHELLS) if not (block.reason or block.text.startswith(ELSEWHERE))]
PYTHON = [block for block in blocks("python") if not block.reason]


@pytest.fixture(scope="module")
def reader(newcomer: Newcomer) -> Iterator[Newcomer]:
    """Somebody whose stack runs, with what the examples speak of: a tenant acme, a vault team, a file of questions."""
    newcomer.types("make up").worked()
    for name in ("notes/pump.md", "pump.md"):
        path = newcomer.clone / "examples" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(PUMP, encoding="utf-8")
    lines = "".join(json.dumps(question) + "\n" for question in QUESTIONS)
    (newcomer.clone / "questions.jsonl").write_text(lines, encoding="utf-8")
    newcomer.types(".venv/bin/ragdrop tenant create acme --if-missing").worked()
    key = json.loads(newcomer.types(".venv/bin/ragdrop key create acme --role admin --json").worked())["api_key"]
    newcomer.types(
        ".venv/bin/ragdrop push localstack/sample-vault --vault team --wait",
        RAGDROP_API_URL=newcomer.stack["api_url"],
        RAGDROP_API_KEY=key,
    ).worked()  # what there is to calibrate, to sweep and to reindex
    yield newcomer
    newcomer.types("rm -rf examples notes questions.jsonl")


@pytest.fixture
def given(reader: Newcomer) -> dict[str, str]:
    """What the examples take as given: the API, a key, the documents of the vault team, an answer that was given."""
    bin_folder = str(reader.clone / ".venv/bin")
    reader.types(
        f"{bin_folder}/ragdrop push examples --vault team --wait && rm -rf notes && cp -r examples/notes notes"
    ).worked()
    asked = reader.types(f"{bin_folder}/ragdrop ask 'What is the code of the pump?' --vault team --json").worked()
    shown = reader.types(f"{bin_folder}/ragdrop show team/pump.md --json").worked()
    made = reader.types(f"{bin_folder}/ragdrop key create acme --role reader --json").worked()
    stack = reader.stack
    return {
        "PATH": f"{bin_folder}:{reader.clone / '.local/env/sam/bin'}:/usr/local/bin:/usr/bin:/bin",
        "API": stack["api_url"],
        "KEY": stack["api_key"],
        "ANSWER": json.loads(asked)["answer_id"],
        "VERSION": json.loads(shown)["version_id"],
        "A_KEY": json.loads(made)["key_id"],
    }


@pytest.mark.parametrize("block", RUN, ids=str)
def test_a_block_of_commands_runs_as_it_is_written(reader: Newcomer, given: dict[str, str], block: Block) -> None:
    lines = block.text.replace(EXAMPLE_ANSWER, given["ANSWER"]).replace(EXAMPLE_KEY, given["A_KEY"])
    typed = reader.types(lines, **given)
    if "make down" in block.text:
        reader.types("make up").worked()

    typed.worked()


@pytest.mark.parametrize("block", PYTHON, ids=str)
def test_a_python_example_runs_as_it_is_written(reader: Newcomer, given: dict[str, str], block: Block) -> None:
    prelude = "import os\nAPI, KEY = os.environ['API'], os.environ['KEY']\n"

    reader.types(prelude + block.text, program=f"{reader.clone}/.venv/bin/python", **given).worked()
