"""Amazon Bedrock as the contract suites call it: a server of its shapes, our adapters over it, and boto3."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from typing import Any

import boto3
import botocore.session
import httpx
import pytest
from botocore.config import Config

from ragdrop.domain.deadlines import Deadline
from ragdrop.models.bedrock import BedrockEmbedder, refusals_of
from ragdrop.models.chat import OpenAiChatModel
from ragdrop.models.converse import BedrockChatModel, ConverseChatModel
from ragdrop.models.http import OpenAiHttp
from ragdrop.ports.model_services import Completion, Message
from ragdrop.resilience.breakers import Retries, RetryRules
from ragdrop.stores.aws.clients import SignedEndpoint, signed_endpoint
from tests.bedrock_server import BedrockServer, bedrock_server

MODEL = botocore.session.get_session().get_service_model("bedrock-runtime")
CLAUDE, NOVA, GPT = "eu.anthropic.claude-haiku-4-5-20251001-v1:0", "amazon.nova-micro-v1:0", "openai.gpt-oss-20b-1:0"
TITAN, COHERE, COHERE_V4 = "amazon.titan-embed-text-v2:0", "cohere.embed-english-v3", "us.cohere.embed-v4:0"
MESSAGES = [Message("system", "Be true."), Message("user", "Is it so?")]
BOTH_ROUTES = pytest.mark.parametrize("model", [CLAUDE, GPT], ids=["converse", "openai"])


@dataclass(frozen=True)
class Bedrock:
    """A server, where it is, a client of ours and one of AWS's."""

    server: BedrockServer
    endpoint: SignedEndpoint
    client: httpx.Client
    boto3: Any

    @property
    def http(self) -> OpenAiHttp:
        """Calls of InvokeModel and Converse."""
        return http_of(self.endpoint, self.client)

    def chat(self, *models: str) -> BedrockChatModel:
        """The chat model over both routes."""
        route = http_of(self.endpoint, self.client, "/openai/v1")
        openai = OpenAiChatModel(route, models=[GPT], thinks=True, refusal=refusals_of("chat"))
        return BedrockChatModel(openai, ConverseChatModel(self.http, models=[CLAUDE]), models=models or (CLAUDE, GPT))


@contextmanager
def bedrock_in(region: str) -> Iterator[Bedrock]:
    """A server with the credentials that it checks; no other in the process has its *region*, as clients are cached."""
    once = Config(retries={"total_max_attempts": 1})
    with bedrock_server() as server, pytest.MonkeyPatch.context() as environ, httpx.Client() as client:
        environ.setenv("AWS_ACCESS_KEY_ID", "AKEXAMPLE")
        environ.setenv("AWS_SECRET_ACCESS_KEY", "not/a+real=secret")
        environ.delenv("AWS_SESSION_TOKEN", raising=False)
        environ.setenv("AWS_ENDPOINT_URL_BEDROCK_RUNTIME", f"{server.url}/")
        with closing(boto3.client("bedrock-runtime", region_name=region, config=once)) as theirs:
            yield Bedrock(server, signed_endpoint("bedrock-runtime", region), client, theirs)


def http_of(endpoint: SignedEndpoint, client: httpx.Client, path: str = "/model") -> OpenAiHttp:
    return OpenAiHttp(
        f"{endpoint.url}{path}",
        api_key=lambda: None,
        timeout_s=5,
        client=client,
        retries=Retries(RetryRules(attempts=2), sleep=lambda _: None),
        sign=endpoint.sign,
    )


def soon() -> Deadline:
    return Deadline.after(5)


def whole(chat: BedrockChatModel, model: str | None = None) -> Completion:
    return chat.complete(MESSAGES, max_tokens=50, deadline=soon(), model=model)


def streamed(chat: BedrockChatModel, model: str | None = None) -> list[str | Completion]:
    return list(chat.stream(MESSAGES, max_tokens=50, deadline=soon(), model=model))


def whole_of(pieces: list[str | Completion]) -> Completion:
    assert isinstance(pieces[-1], Completion)
    return pieces[-1]


def embedder_of(http: OpenAiHttp, model: str, batch_size: int = 96) -> BedrockEmbedder:
    return BedrockEmbedder(http, model=model, batch_size=batch_size, concurrency=2)
