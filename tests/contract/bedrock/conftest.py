"""A server in the shapes of Amazon Bedrock, in the REGION of a module, and what calls it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from ragdrop.models.converse import BedrockChatModel
from ragdrop.models.http import OpenAiHttp
from tests.bedrock_server import SAID, BedrockServer
from tests.contract.bedrock.bedrock_calls import Bedrock, bedrock_in


@pytest.fixture(scope="module")
def running(request: pytest.FixtureRequest) -> Iterator[Bedrock]:
    with bedrock_in(request.module.REGION) as made:
        yield made


@pytest.fixture
def server(running: Bedrock) -> BedrockServer:
    made = running.server
    made.requests.clear()
    made.behaviours.clear()
    made.refused, made.said = 0, SAID
    return made


@pytest.fixture
def http(running: Bedrock, server: BedrockServer) -> OpenAiHttp:
    del server
    return running.http


@pytest.fixture
def chat(running: Bedrock, server: BedrockServer) -> BedrockChatModel:
    del server
    return running.chat()


@pytest.fixture
def by_boto3(running: Bedrock) -> Any:
    return running.boto3
