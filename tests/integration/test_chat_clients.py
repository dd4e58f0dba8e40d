"""Clients made for other services, on a running stack: OpenAI's own, and one that reads what Amazon Bedrock gives."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import httpx
import openai
import pytest

from tests.integration.commands import Tenant, within
from tests.stacks import LocalStack

TEXT = "# Pump\n\nThe code of the pump is QX-5521. It stands in the cellar.\n"
QUESTION = "What is the code of the pump?"


@pytest.fixture(scope="module")
def tenant(stack: LocalStack) -> Tenant:
    tenant = Tenant.created(stack, "chat")
    tenant.put("team/pump.md", TEXT)
    within(60, lambda: any(each["status"] == "indexed" for each in tenant.listed("team")))
    return tenant


@pytest.fixture
def client(tenant: Tenant) -> Iterator[openai.OpenAI]:
    url = f"{tenant.stack.api_url}/v1"
    with openai.OpenAI(base_url=url, api_key=tenant.key, max_retries=0, timeout=30) as client:
        yield client


def asked() -> dict[str, Any]:
    return {"model": "vault:team", "messages": [{"role": "user", "content": QUESTION}]}


def test_the_openai_client_gets_a_cited_answer_whole_and_streamed(client: openai.OpenAI) -> None:
    message = client.chat.completions.create(**asked()).choices[0].message
    chunks = list(client.chat.completions.create(**asked(), stream=True))

    assert "QX-5521" in message.content
    assert "".join(chunk.choices[0].delta.content or "" for chunk in chunks) == message.content
    assert chunks[-1].choices[0].finish_reason == "stop"
    cited = message.annotations[0].url_citation
    assert cited.title == "Pump"
    start, end = map(int, cited.url.rpartition("#char=")[2].split(","))
    assert "QX-5521" in TEXT[start:end]


def test_the_openai_client_lists_the_vaults_and_learns_of_a_model_that_there_is_not(client: openai.OpenAI) -> None:
    assert [model.id for model in client.models.list()] == ["default", "vault:team"]
    with pytest.raises(openai.NotFoundError):
        client.chat.completions.create(**{**asked(), "model": "gpt-4o"})


def test_what_is_not_post_is_refused_by_ragdrop_itself(tenant: Tenant) -> None:
    for route in ("/ask", "/v1/chat/completions"):
        reply = httpx.get(tenant.stack.api_url + route, headers={"x-api-key": tenant.key}, timeout=30, trust_env=False)

        assert (reply.status_code, reply.json()["error"]["code"]) == (405, "METHOD_NOT_ALLOWED")


def read_as_bedrock(reply: dict[str, Any], answer: str) -> list[tuple[str, str, str]]:
    """What a reader of RetrieveAndGenerate takes from its citations: the part of the answer, source and its text."""
    return [
        (
            answer[part["span"]["start"] : part["span"]["end"]],
            reference["location"]["s3Location"]["uri"],
            reference["content"]["text"],
        )
        for citation in reply["citations"]
        for part in [citation["generatedResponsePart"]["textResponsePart"]]
        for reference in citation["retrievedReferences"]
        if part["text"] == answer[part["span"]["start"] : part["span"]["end"]]
    ]


def test_a_reader_of_bedrocks_citations_finds_the_sentence_its_object_and_the_evidence(tenant: Tenant) -> None:
    headers = {"x-api-key": tenant.key}
    url = f"{tenant.stack.api_url}/ask"
    reply = httpx.post(url, json={"query": QUESTION}, headers=headers, timeout=30, trust_env=False).json()

    said, uri, evidence = read_as_bedrock(reply["bedrock"], reply["answer"])[0]

    assert "QX-5521" in said
    assert uri == f"s3://{tenant.stack.bucket}/{tenant.name}/team/pump.md"
    assert evidence in TEXT
