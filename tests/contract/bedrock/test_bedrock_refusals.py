"""What Amazon Bedrock refuses, withholds or breaks off: each has its error, which says what to do."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import closing
from typing import Any
from urllib.parse import unquote

import botocore.session
import httpx
import pytest
from botocore.exceptions import ClientError, EventStreamError
from botocore.parsers import create_parser
from botocore.validate import ParamValidator

from ragdrop.domain.deadlines import Deadline
from ragdrop.domain.models import EmbeddingSpace
from ragdrop.errors import (
    CONTEXT_LENGTH,
    GUARDRAIL,
    THROTTLED,
    DeadlineError,
    DependencyError,
    EmbeddingServiceError,
    GenerationError,
    ModelAccessError,
    ModelNotFoundError,
    RerankError,
)
from ragdrop.models.bedrock import BedrockModelList, BedrockReranker, invoke_path
from ragdrop.models.converse import BedrockChatModel, ConverseChatModel
from ragdrop.models.http import OpenAiHttp
from ragdrop.ports.model_services import ModelStanding
from ragdrop.stores.aws.clients import SignedEndpoint
from ragdrop.stores.aws.deployment import BedrockCatalogue
from tests.bedrock_server import AVAILABLE, SAID, BedrockServer, event_bytes
from tests.contract.bedrock.bedrock_calls import (
    BOTH_ROUTES,
    CLAUDE,
    COHERE,
    GPT,
    MESSAGES,
    MODEL,
    NOVA,
    TITAN,
    Bedrock,
    embedder_of,
    http_of,
    soon,
    streamed,
    whole,
    whole_of,
)

REGION = "eu-west-2"


# What is refused

NO_ACCESS = "You don't have access to the model with the specified model ID."
NOT_BY_ROLE = (
    "User: arn:aws:sts::123456789012:assumed-role/x is not authorized to perform: bedrock:InvokeModel on resource: "
    "arn:aws:bedrock:eu-west-1::foundation-model/m because no identity-based policy allows the action"
)
ON_DEMAND = (
    "Invocation of model ID m with on-demand throughput isn\u2019t supported. Retry your request with the ID or ARN of "
    "an inference profile that contains this model."
)
FORM = "Model use case details have not been submitted for this account. Fill out the Anthropic use case details form."
REFUSALS: dict[str, tuple[str, str, type[DependencyError] | None, str | None, str]] = {
    # exception, its message, class (None: that of the service), reason, what the message says to do
    "throttled": ("ThrottlingException", "Too many requests", None, THROTTLED, "Service Quotas"),
    "quota": ("ServiceQuotaExceededException", "quota", None, THROTTLED, "Service Quotas"),
    "no access": ("AccessDeniedException", NO_ACCESS, ModelAccessError, "access", "Model catalog"),
    "role": ("AccessDeniedException", NOT_BY_ROLE, ModelAccessError, "role", "deploy"),
    "form": ("ResourceNotFoundException", FORM, ModelAccessError, "access", "Model catalog"),
    "id": ("ValidationException", "The provided model identifier is invalid.", ModelNotFoundError, "region", "REGION"),
    "profile": ("ValidationException", ON_DEMAND, ModelNotFoundError, "region", "REGION"),
    "gone": ("ResourceNotFoundException", "reached the end of its life", ModelNotFoundError, "region", "REGION"),
    "not ready": ("ModelNotReadyException", "not ready", None, None, "ModelNotReadyException"),
    "slow": ("ModelTimeoutException", "timed out", None, None, "ModelTimeoutException"),
    "model": ("ModelErrorException", "failed", None, None, "ModelErrorException"),
    "down": ("ServiceUnavailableException", "down", None, None, "ServiceUnavailableException"),
    "broken": ("InternalServerException", "broken", None, None, "InternalServerException"),
}
WILL_RECOVER = {"throttled", "quota", "not ready", "slow", "model", "down", "broken"}


@pytest.mark.parametrize("kind", REFUSALS)
@BOTH_ROUTES
def test_each_refusal_of_a_chat_model_has_its_error_that_says_what_to_do(
    server: BedrockServer, chat: BedrockChatModel, kind: str, model: str
) -> None:
    name, message, error, reason, fix = REFUSALS[kind]
    server.behave(model, error=name, message=message)

    for call in (whole, streamed):
        with pytest.raises(error or GenerationError) as raised:
            call(chat, model)
        assert type(raised.value) is (error or GenerationError)
        assert raised.value.details.get("reason") == reason
        assert fix in raised.value.message
        assert "123456789012" not in raised.value.message
        assert raised.value.retryable == (kind in WILL_RECOVER)


@pytest.mark.parametrize("kind", REFUSALS)
def test_each_refusal_of_an_embedding_model_and_of_a_reranker_has_its_error(
    server: BedrockServer, http: OpenAiHttp, kind: str
) -> None:
    name, message, error, reason, fix = REFUSALS[kind]
    for model in (TITAN, "cohere.rerank-v3-5:0"):
        server.behave(model, error=name, message=message)

    with pytest.raises(error or EmbeddingServiceError, match=fix) as embedding:
        embedder_of(http, TITAN).query("x", EmbeddingSpace(TITAN, 256), soon())
    with pytest.raises(RerankError, match=fix) as reranking:
        BedrockReranker(http, model=None).scores("x", ["y"], soon())

    assert embedding.value.details.get("reason") == reranking.value.details.get("reason") == reason


@pytest.mark.parametrize("kind", REFUSALS)
def test_boto3_knows_each_of_these_exceptions_by_the_same_name(server: BedrockServer, by_boto3: Any, kind: str) -> None:
    name = REFUSALS[kind][0]
    server.behave(TITAN, error=name)

    with pytest.raises(ClientError) as raised:
        by_boto3.invoke_model(modelId=TITAN, body="{}")
    assert raised.value.response["Error"]["Code"] == name
    assert name in {each.name for each in MODEL.operation_model("InvokeModel").error_shapes}


def test_a_throttled_call_is_tried_again_and_then_says_429_for_the_throttle_metric(
    server: BedrockServer, chat: BedrockChatModel
) -> None:
    server.behave(NOVA, error="ThrottlingException")

    with pytest.raises(GenerationError) as raised:
        whole(chat, NOVA)
    assert raised.value.details["status"] == 429
    assert len(server.requests) == 2


@BOTH_ROUTES
def test_a_prompt_that_is_too_long_is_reported_as_such(
    server: BedrockServer, chat: BedrockChatModel, model: str
) -> None:
    server.behave(model, error="ValidationException", message="Input is too long for requested model.")

    with pytest.raises(GenerationError) as raised:
        whole(chat, model)
    assert raised.value.details["reason"] == CONTEXT_LENGTH


@pytest.mark.parametrize(("model", "stop"), [(CLAUDE, "guardrail_intervened"), (GPT, "guardrail")])
def test_a_guardrail_that_intervened_is_an_error_and_no_other_model_is_asked(
    server: BedrockServer, running: Bedrock, model: str, stop: str
) -> None:
    server.behave(model, stop=stop)
    in_order = running.chat(model, NOVA)

    for call in (whole, streamed):
        with pytest.raises(GenerationError, match="guardrail") as raised:
            call(in_order)
        assert (raised.value.details["reason"], raised.value.retryable) == (GUARDRAIL, False)
    assert NOVA not in str(server.requests)


@pytest.mark.parametrize("route", [CLAUDE, GPT])
def test_another_model_answers_by_its_own_route_if_the_first_is_throttled(
    server: BedrockServer, running: Bedrock, route: str
) -> None:
    server.behave(route, error="ThrottlingException")
    other = GPT if route == CLAUDE else CLAUDE
    in_order = running.chat(route, other)

    assert whole(in_order).model == whole_of(streamed(in_order)).model == other


# What breaks off


@pytest.mark.parametrize(
    ("exception", "reason"),
    [
        ("throttlingException", THROTTLED),
        ("modelStreamErrorException", None),
        ("internalServerException", None),
        ("serviceUnavailableException", None),
    ],
)
def test_an_exception_within_a_stream_is_an_error_as_it_is_for_boto3(
    server: BedrockServer, chat: BedrockChatModel, by_boto3: Any, exception: str, reason: str | None
) -> None:
    server.behave(CLAUDE, breaks=exception)

    with pytest.raises(EventStreamError, match=exception):
        list(by_boto3.converse_stream(modelId=CLAUDE, messages=[])["stream"])
    with pytest.raises(GenerationError) as raised:
        streamed(chat, CLAUDE)
    assert raised.value.details.get("reason") == reason
    assert raised.value.retryable


def test_a_stream_without_its_end_is_broken_off(server: BedrockServer, chat: BedrockChatModel) -> None:
    server.behave(CLAUDE, ends=True)

    with pytest.raises(GenerationError, match="broke off"):
        streamed(chat, CLAUDE)


def converse_over(answer: Callable[[httpx.Request], httpx.Response]) -> ConverseChatModel:
    client = httpx.Client(transport=httpx.MockTransport(answer))
    return ConverseChatModel(http_of(SignedEndpoint("http://x", lambda *_: {}), client), models=[NOVA])


@pytest.mark.parametrize("body", [b"{not json", b'{"output": {}}', b"[]"])
def test_a_reply_of_another_shape_is_unreadable(body: bytes) -> None:
    model = converse_over(lambda _request: httpx.Response(200, content=body))

    with pytest.raises(GenerationError, match="cannot be read"):
        model.complete(MESSAGES, max_tokens=5, deadline=soon())
    with pytest.raises(GenerationError, match=r"cannot be read|broke off"):
        list(model.stream(MESSAGES, max_tokens=5, deadline=soon()))


def test_a_message_whose_checksum_is_wrong_is_unreadable() -> None:
    damaged = event_bytes("event", "messageStart", {"role": "assistant"})[:-1] + b"x"
    model = converse_over(lambda _request: httpx.Response(200, content=damaged))

    with pytest.raises(GenerationError, match="cannot be read"):
        list(model.stream(MESSAGES, max_tokens=5, deadline=soon()))


def test_a_model_that_does_not_answer_in_time_is_an_error_of_the_deadline() -> None:
    def late(_request: httpx.Request) -> httpx.Response:
        raise httpx.ReadTimeout("late")

    model = converse_over(late)

    with pytest.raises(DeadlineError):
        model.complete(MESSAGES, max_tokens=5, deadline=Deadline.after(0.2))


def test_who_stops_listening_closes_the_stream(chat: BedrockChatModel) -> None:
    stream = chat.stream(MESSAGES, max_tokens=50, deadline=soon(), model=CLAUDE)
    with closing(stream):  # type: ignore[type-var]
        assert next(stream)


def test_credentials_that_cannot_be_renewed_are_a_service_that_is_not_reached(
    server: BedrockServer, running: Bedrock
) -> None:
    def expired(*_: object) -> dict[str, str]:
        raise DependencyError("there were no AWS credentials to call bedrock-runtime with", service="bedrock-runtime")

    http = http_of(SignedEndpoint(server.url, expired), running.client)
    with pytest.raises(EmbeddingServiceError, match="could not be reached"):
        embedder_of(http, TITAN).query("x", EmbeddingSpace(TITAN, 256), soon())
    with pytest.raises(GenerationError, match="could not be reached"):
        ConverseChatModel(http, models=[NOVA]).complete(MESSAGES, max_tokens=5, deadline=soon())
    assert server.requests == []


# Whether it is there, and what the account has


def test_an_endpoint_that_answers_is_there_and_lists_nothing(http: OpenAiHttp) -> None:
    BedrockModelList(http, service="chat").models(soon())


def test_an_endpoint_that_does_not_answer_is_an_error_of_its_service(running: Bedrock) -> None:
    models = BedrockModelList(
        http_of(SignedEndpoint("http://127.0.0.1:9", lambda *_: {}), running.client), service="embedding"
    )

    with pytest.raises(EmbeddingServiceError, match="could not be reached"):
        models.models(soon())


APPLICATION = "arn:aws:bedrock:eu-west-1:123456789012:application-inference-profile/a1b2c3d4e5f6"


class Catalogue:
    """The control plane as ragdrop asks it: requests and replies are checked by AWS's model of the service."""

    def __init__(self, **lacks: dict[str, Any] | None) -> None:
        self.lacks = lacks
        self.model = botocore.session.get_session().get_service_model("bedrock")

    def get_inference_profile(self, **params: Any) -> dict[str, Any]:
        reply: dict[str, Any] = {"inferenceProfileId": CLAUDE, "status": "ACTIVE", "type": "SYSTEM_DEFINED"}
        if params["inferenceProfileIdentifier"] == APPLICATION:
            model = {"modelArn": "arn:aws:bedrock:eu-west-1::foundation-model/meta.llama3-1-8b-instruct-v1:0"}
            reply |= {"inferenceProfileId": "a1b2c3d4e5f6", "type": "APPLICATION", "models": [model]}
        return self._answer("GetInferenceProfile", params, reply)

    def get_foundation_model_availability(self, **params: Any) -> dict[str, Any]:
        lacks = self.lacks.get(params["modelId"].partition(".")[0], {})
        if lacks is None:
            raise ClientError({"Error": {"Code": "ValidationException"}}, "GetFoundationModelAvailability")
        reply = {"modelId": params["modelId"], **AVAILABLE, **lacks}
        return self._answer("GetFoundationModelAvailability", params, reply)

    def _answer(self, operation: str, params: dict[str, Any], reply: dict[str, Any]) -> dict[str, Any]:
        shape = self.model.operation_model(operation)
        assert not ParamValidator().validate(params, shape.input_shape).has_errors()
        given = {"headers": {}, "body": json.dumps(reply).encode(), "status_code": 200}
        read = create_parser("rest-json").parse(given, shape.output_shape)
        assert {**read, "ResponseMetadata": 0} == {**reply, "ResponseMetadata": 0}
        return reply


def test_the_catalogue_says_what_the_account_has_of_models_and_of_profiles() -> None:
    bedrock = Catalogue(
        anthropic={"regionAvailability": "NOT_AVAILABLE"},
        meta={"authorizationStatus": "NOT_AUTHORIZED", "agreementAvailability": {"status": "PENDING"}},
        cohere=None,
    )
    asked: list[tuple[str, str]] = []

    def made(service: str, region: str) -> Any:
        asked.append((service, region))
        return bedrock

    named = [("", CLAUDE), ("eu-west-1", TITAN), ("", "meta.llama3-1-8b-instruct-v1:0"), ("", COHERE)]
    found = BedrockCatalogue(named, made).standings()

    assert asked == [("bedrock", region) for region, _ in named]
    assert found == {
        CLAUDE: ModelStanding(in_region=True),  # its profile leads to regions that have it
        TITAN: ModelStanding(in_region=True),
        "meta.llama3-1-8b-instruct-v1:0": ModelStanding(
            in_region=True, missing=("authorizationStatus is NOT_AUTHORIZED", "agreementAvailability is PENDING")
        ),
        COHERE: ModelStanding(in_region=False),
    }


def test_of_an_application_profile_the_catalogue_is_asked_for_the_model_behind_it() -> None:
    bedrock = Catalogue(meta={"authorizationStatus": "NOT_AUTHORIZED"})

    [found] = BedrockCatalogue([("", APPLICATION)], lambda *_: bedrock).standings().values()

    assert found == ModelStanding(in_region=True, missing=("authorizationStatus is NOT_AUTHORIZED",))


def test_an_application_profile_is_called_by_its_arn_through_converse(
    server: BedrockServer, chat: BedrockChatModel
) -> None:
    assert whole(chat, APPLICATION).text == SAID
    assert whole_of(streamed(chat, APPLICATION)).text == SAID
    assert [unquote(path) for path, _, _ in server.requests] == [
        f"/model/{APPLICATION}/converse",
        f"/model/{APPLICATION}/converse-stream",
    ]


def test_a_catalogue_that_may_not_be_read_is_an_error_that_names_it() -> None:
    class Refusing(Catalogue):
        def get_foundation_model_availability(self, **params: Any) -> dict[str, Any]:
            raise ClientError({"Error": {"Code": "AccessDeniedException"}}, "GetFoundationModelAvailability")

    with pytest.raises(DependencyError, match="catalogue"):
        BedrockCatalogue([("", TITAN)], lambda *_: Refusing()).standings()


def test_a_path_has_an_arn_as_one_part() -> None:
    arn = "arn:aws:bedrock:eu-west-1:123456789012:inference-profile/eu.amazon.nova-micro-v1:0"

    assert invoke_path(arn, "converse").count("/") == 2


def test_the_endpoint_is_the_one_of_the_environments_variable(server: BedrockServer, running: Bedrock) -> None:
    assert running.endpoint.url == server.url
