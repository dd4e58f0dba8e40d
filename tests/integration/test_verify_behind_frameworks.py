"""The examples of docs/verify.md, as they stand there, behind LangChain and LlamaIndex in environments of their own."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from ragdrop.api.apis import ask_first_api
from tests.agent_world import eager_world, key_of
from tests.e2e.documented import ROOT, block_under
from tests.served import served

PAGE = ROOT / "docs/verify.md"
BEHIND = {
    "langchain": """
from langchain_core.documents import Document
from langchain_core.runnables import RunnableLambda
answered = RunnableLambda(lambda question: {"answer": ANSWER, "context": [Document(text) for text in TEXTS]})
told = (answered | checked).invoke("?")["sentences"]
""",
    "llama_index": """
from llama_index.core.base.response.schema import Response
from llama_index.core.schema import NodeWithScore, TextNode
told = checked(Response(ANSWER, source_nodes=[NodeWithScore(node=TextNode(text=text)) for text in TEXTS]))
""",
}
PRELUDE = """
import json, os
API, KEY = os.environ["API"], os.environ["KEY"]
ANSWER = "The pump is red. It holds 9 litres [2]."
TEXTS = ["The pump is red.", "It holds 7 litres."]
"""


@pytest.mark.long
@pytest.mark.parametrize(("framework", "heading"), [("langchain", "## LangChain"), ("llama_index", "## LlamaIndex")])
def test_the_example_checks_what_the_framework_answered(framework: str, heading: str) -> None:
    world = eager_world()
    python = Path(os.environ.get("RAGDROP_PEERS", ROOT / ".local/env"), f"peer-{framework}/bin/python")
    script = PRELUDE + block_under(PAGE, heading, "python").text + BEHIND[framework] + "print(json.dumps(told))"

    with served(ask_first_api(world.app)) as url:
        done = subprocess.run(
            [python, "-c", script],
            env={"API": url, "KEY": key_of(world), "PATH": os.environ["PATH"]},
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )

    assert done.returncode == 0, done.stderr
    assert [each["status"] for each in json.loads(done.stdout)] == ["verified", "contradicted"]
