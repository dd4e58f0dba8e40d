"""Clients of Bedrock's knowledge bases as they are, in processes without ragdrop: boto3, and frameworks over it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from ragdrop.api.apis import query_api
from testing.memory_services import WordReader
from tests.agent_world import EagerBucket, eager_world, key_of
from tests.e2e.documented import ROOT, block_under
from tests.served import served
from tests.world import World

EXAMPLE = block_under(ROOT / "docs/bedrock-drop-in.md", "## An example", "python")
CASES = Path(__file__).with_name("bedrock_cases.py")
PUT = """
import os, urllib.request
API, KEY = os.environ["API"], os.environ["KEY"]
headers = {"x-api-key": KEY, "content-type": "text/markdown"}
body = b"# Pump\\n\\nThe code of the pump is QX-5521."
urllib.request.urlopen(urllib.request.Request(API + "/documents/team/pump.md", body, headers, method="PUT")).close()
"""
RETRIEVED = {
    "langchain": """
from langchain_aws.retrievers import AmazonKnowledgeBasesRetriever
filter = {"equals": {"key": "owner", "value": "ann"}}
search = {"vectorSearchConfiguration": {"numberOfResults": 4, "filter": filter}}
found = AmazonKnowledgeBasesRetriever(knowledge_base_id="EVERYTHING", retrieval_config=search).invoke("pump code")
shown = [each.metadata["source_metadata"]["path"] for each in found]
""",
    "llama_index": """
from llama_index.retrievers.bedrock import AmazonKnowledgeBasesRetriever
search = {"vectorSearchConfiguration": {"numberOfResults": 1, "overrideSearchType": "HYBRID"}}
found = AmazonKnowledgeBasesRetriever(knowledge_base_id="EVERYTHING", retrieval_config=search).retrieve("pump code")
shown = [each.metadata["sourceMetadata"]["path"] for each in found]
""",
    "haystack": """
from haystack_integrations.components.retrievers.amazon_bedrock import AmazonBedrockKnowledgeBaseRetriever
retriever = AmazonBedrockKnowledgeBaseRetriever(knowledge_base_id="EVERYTHING", number_of_results=1)
shown = [each.meta["source"].rpartition("/")[2] for each in retriever.run("pump code")["documents"]]
""",
}
RERANKED = {
    "langchain": """
from langchain_aws.document_compressors.rerank import BedrockRerank
from langchain_core.documents import Document
model = BedrockRerank(model_arn="arn:aws:bedrock:us-east-1::foundation-model/cohere.rerank-v3-5:0")
shown = [each.page_content for each in model.compress_documents([Document(each) for each in TEXTS], "red pump")]
""",
    "haystack": """
from haystack import Document
from haystack_integrations.components.rankers.amazon_bedrock import AmazonBedrockRanker
model = AmazonBedrockRanker(model="cohere.rerank-v3-5:0")
ranked = model.run(query="red pump", documents=[Document(content=each) for each in TEXTS])
shown = [each.content for each in ranked["documents"]]
""",
}


def output(python: str | Path, script: str, url: str, key: str, **more: str) -> str:
    """What a script prints, in a process whose AWS settings alone name ragdrop."""
    aws = {
        "AWS_ENDPOINT_URL_BEDROCK_AGENT_RUNTIME": url,
        "AWS_ACCESS_KEY_ID": "ragdrop",
        "AWS_SECRET_ACCESS_KEY": "ragdrop",
        "AWS_SESSION_TOKEN": key,
        "AWS_DEFAULT_REGION": "us-east-1",
    }
    environment = {
        **aws,
        "API": url,
        "KEY": key,
        "PATH": os.environ["PATH"],
        "HOME": os.environ.get("HOME", "/"),
        **more,
    }
    done = subprocess.run(
        [python, "-c", script], env=environment, capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_a_script_with_boto3_alone_puts_a_file_retrieves_asks_and_streams() -> None:
    world = eager_world()
    world.chat.reply = "The code of the pump is QX-5521. [1]"

    with served(query_api(world.app)) as url:
        found, answered, streamed = output(sys.executable, PUT + EXAMPLE.text, url, key_of(world)).splitlines()

    assert found.endswith("s3://documents/acme/team/pump.md")
    assert answered == "The code of the pump is QX-5521. [1] 1"
    assert streamed == "The code of the pump is QX-5521. [1]"


def test_sixty_requests_of_boto3_over_all_operations_get_what_the_services_model_allows() -> None:
    documents = EagerBucket("documents")
    world = World(documents=documents, reader=WordReader())
    documents.world = world
    world.chat.reply = "The code of the pump is QX-5521. [1]"

    with served(query_api(world.app)) as url:
        shown = json.loads(output(sys.executable, CASES.read_text("utf-8"), url, key_of(world), PYTHONPATH=str(ROOT)))

    assert shown["wrong"] == []
    assert set(shown["cases"]) == {"retrieve", "retrieve_and_generate", "retrieve_and_generate_stream", "rerank"}
    assert sum(shown["cases"].values()) == 60
    assert shown["imported"] == []


@pytest.mark.long
@pytest.mark.parametrize(
    ("script", "expected"),
    [
        *((script, ["pump.md"]) for script in RETRIEVED.values()),
        *((script, ["The pump is red.", "A green valve."]) for script in RERANKED.values()),
    ],
    ids=[*(f"{name} retrieves" for name in RETRIEVED), *(f"{name} reranks" for name in RERANKED)],
)
def test_a_framework_asks_as_it_asks_bedrock(script: str, expected: list[str]) -> None:
    world = World(reader=WordReader())
    world.put("team/pump.md", "---\nowner: ann\n---\n# Pump\n\nThe pump's code is QX-5521.")
    world.put("team/fan.md", "# Fan\n\nThe fan is green.")
    python = Path(os.environ.get("RAGDROP_PEERS", ROOT / ".local/env"), "bedrock-clients/bin/python")
    texts = 'import json\nTEXTS = ["A green valve.", "The pump is red."]\n'

    with served(query_api(world.app)) as url:
        shown = output(python, f"{texts}{script}print(json.dumps(shown))", url, key_of(world, "reader"))

    assert json.loads(shown.splitlines()[-1]) == expected
