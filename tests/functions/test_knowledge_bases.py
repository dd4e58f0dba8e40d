"""Bedrock's knowledge bases: boto3's own client, unmodified, over the served API; replies checked by its model."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import httpx
import pytest
from botocore.exceptions import ClientError, EventStreamError
from fastapi import Request

from ragdrop.api.apis import query_api
from ragdrop.api.edge import GivenSecret, create_api
from ragdrop.api.knowledge_bases import KnowledgeBases, retrieve_router
from ragdrop.api.shapes.knowledge_base_shapes import EVERYTHING
from ragdrop.domain.tenants import Caller
from ragdrop.errors import ConflictError, DatabaseError, GenerationError, RateLimitedError
from testing.memory_services import WordReader
from tests.agent_world import eager_world, key_of
from tests.botocore_shapes import Replies, event_problems
from tests.functions.agent_runtime import MODEL, OPS, REPLY, TEAM, URI, agent_runtime, filled_world, names, retrieve
from tests.functions.conftest import Deployment, LocalContext
from tests.served import served
from tests.world import World

QUESTION = "What is the pump's code?"


@pytest.fixture(scope="module")
def world() -> World:
    return filled_world()


@pytest.fixture(scope="module")
def url(world: World) -> Iterator[str]:
    with served(query_api(world.app)) as found:
        yield found


@pytest.fixture(scope="module")
def client(world: World, url: str) -> Iterator[Any]:
    with agent_runtime(url, key_of(world, "reader")) as found:
        yield found


def asked(text: str = QUESTION, base: str = TEAM, session: str | None = None, **more: Any) -> dict[str, Any]:
    knowledge = {"knowledgeBaseId": base, "modelArn": MODEL, **more}
    configuration = {"type": "KNOWLEDGE_BASE", "knowledgeBaseConfiguration": knowledge}
    named = {"sessionId": session} if session else {}
    return {"input": {"text": text}, "retrieveAndGenerateConfiguration": configuration, **named}


def sources(*texts: str) -> list[Any]:
    return [
        {"type": "INLINE", "inlineDocumentSource": {"type": "TEXT", "textDocument": {"text": text}}} for text in texts
    ]


def rerank(client: Any, question: str, found: list[Any], **more: Any) -> Any:
    configuration = {"modelConfiguration": {"modelArn": MODEL}, **more}
    return client.rerank(
        queries=[{"type": "TEXT", "textQuery": {"text": question}}],
        sources=found,
        rerankingConfiguration={"type": "BEDROCK_RERANKING_MODEL", "bedrockRerankingConfiguration": configuration},
    )


def refused(caught: pytest.ExceptionInfo[ClientError]) -> tuple[str, int]:
    """The name of the error and the status."""
    response = caught.value.response
    return response["Error"]["Code"], response["ResponseMetadata"]["HTTPStatusCode"]


def test_a_passage_has_text_place_metadata_and_score(client: Any) -> None:
    replies = Replies(client)

    [best, *_] = retrieve(client, text=QUESTION)["retrievalResults"]

    assert best["content"]["type"] == "TEXT"
    assert "QX-5521" in best["content"]["text"]
    assert best["location"] == {"type": "S3", "s3Location": {"uri": f"{URI}/team/pumps/pump.md"}}
    assert best["metadata"]["x-amz-bedrock-kb-source-uri"] == f"{URI}/team/pumps/pump.md"
    assert (best["metadata"]["owner"], best["metadata"]["tags"]) == ("ann", ["red", "wet"])
    assert 0 < best["score"] <= 1
    assert replies.problems() == []


@pytest.mark.parametrize(
    ("base", "expected"),
    [
        (TEAM, ["fan.md", "pump.md"]),
        (OPS, ["pump.md"]),
        (f"arn:aws:bedrock:us-east-1:123456789012:knowledge-base/{OPS}", ["pump.md"]),
        (f"arn:aws-us-gov:bedrock:us-gov-west-1:123456789012:knowledge-base/{OPS}", ["pump.md"]),
    ],
)
def test_a_knowledge_base_is_a_vault_by_its_id_or_its_arn(client: Any, base: str, expected: list[str]) -> None:
    assert names(retrieve(client, base)) == expected


def test_one_id_names_every_vault_of_the_key(world: World, url: str, client: Any) -> None:
    def vaults(of: Any) -> set[str]:
        return {each["metadata"]["vault"] for each in retrieve(of, EVERYTHING)["retrievalResults"]}

    assert vaults(client) == {"team", "ops"}
    with agent_runtime(url, key_of(world, "reader", "ops")) as limited:
        assert vaults(limited) == {"ops"}


def test_a_number_of_results_is_a_page_and_its_token_leads_to_the_next(client: Any) -> None:
    pages = [
        {**page, "names": names(page)}
        for page in client.get_paginator("retrieve").paginate(
            knowledgeBaseId=TEAM,
            retrievalQuery={"text": "code"},
            retrievalConfiguration={"vectorSearchConfiguration": {"numberOfResults": 1}},
        )
    ]

    assert [len(page["retrievalResults"]) for page in pages] == [1, 1]
    assert sorted(name for page in pages for name in page["names"]) == ["fan.md", "pump.md"]
    assert pages[0]["nextToken"]


@pytest.mark.parametrize(
    ("search", "ignored"),
    [
        ({"overrideSearchType": "HYBRID"}, None),
        ({"overrideSearchType": "SEMANTIC"}, "retrievalConfiguration.vectorSearchConfiguration.overrideSearchType"),
    ],
)
def test_what_is_ignored_is_named_in_a_header(client: Any, search: Any, ignored: str | None) -> None:
    headers = retrieve(client, **search)["ResponseMetadata"]["HTTPHeaders"]

    assert headers.get("x-ragdrop-ignored") == ignored


def test_a_managed_search_is_a_search(client: Any) -> None:
    search = {
        "filter": {"equals": {"key": "owner", "value": "bob"}},
        "numberOfResults": 3,
        "rerankingModelType": "NONE",
    }
    found = client.retrieve(
        knowledgeBaseId=TEAM,
        retrievalQuery={"type": "TEXT", "text": "code"},
        retrievalConfiguration={"managedSearchConfiguration": search},
    )

    assert names(found) == ["fan.md"]


@pytest.mark.parametrize(
    ("more", "says"),
    [
        ({"guardrailConfiguration": {"guardrailId": "a", "guardrailVersion": "1"}}, "guardrailConfiguration"),
        ({"userContext": {"userId": "ann"}}, "userContext"),
        (
            {"retrievalQuery": {"type": "IMAGE", "image": {"format": "png", "inlineContent": b"x"}}},
            "retrievalQuery.type",
        ),
        ({"retrievalQuery": {"text": " "}}, "query"),
        ({"retrievalQuery": {"text": "x" * 1_001}}, "query"),
        ({"nextToken": "another"}, "nextToken"),
        (
            {
                "retrievalConfiguration": {
                    "vectorSearchConfiguration": {
                        "implicitFilterConfiguration": {
                            "modelArn": MODEL,
                            "metadataAttributes": [{"key": "a", "type": "STRING", "description": "b"}],
                        }
                    }
                }
            },
            "implicitFilterConfiguration",
        ),
    ],
    ids=str,
)
def test_what_would_change_the_answer_is_refused_and_not_ignored(client: Any, more: Any, says: str) -> None:
    with pytest.raises(client.exceptions.ValidationException) as caught:
        client.retrieve(**{"knowledgeBaseId": TEAM, "retrievalQuery": {"text": "code"}, **more})

    assert says in str(caught.value)


def test_an_answer_has_text_session_and_citations_with_spans(client: Any) -> None:
    replies = Replies(client)

    answer = client.retrieve_and_generate(**asked())

    text = answer["output"]["text"]
    [citation] = answer["citations"]
    part = citation["generatedResponsePart"]["textResponsePart"]
    [reference] = citation["retrievedReferences"]
    assert text == REPLY
    assert text[part["span"]["start"] : part["span"]["end"]] == part["text"] == "The pump's code is QX-5521."
    assert reference["location"]["s3Location"]["uri"] == f"{URI}/team/pumps/pump.md"
    assert reference["content"]["text"] == "The pump's code is QX-5521."
    assert replies.problems() == []


def test_a_session_continues_the_conversation(world: World, client: Any) -> None:
    first = client.retrieve_and_generate(**asked())
    second = client.retrieve_and_generate(**asked("And when was it built?", session=first["sessionId"]))

    before = len(world.chat.asked)
    client.retrieve_and_generate(**asked("And why?", session=second["sessionId"]))

    said = " ".join(message.content for messages in world.chat.asked[before:] for message in messages)
    assert QUESTION in said, "the first question of the session"
    assert said.count(REPLY) >= 2, "both answers"


def test_a_session_that_there_is_not_is_refused(client: Any) -> None:
    with pytest.raises(client.exceptions.ValidationException, match="there is no session"):
        client.retrieve_and_generate(**asked(session="never-made"))


def test_a_filter_and_a_number_of_results_hold_for_an_answer_too(world: World, client: Any) -> None:
    search = {
        "vectorSearchConfiguration": {"numberOfResults": 1, "filter": {"equals": {"key": "owner", "value": "bob"}}}
    }
    replies = Replies(client)

    answer = client.retrieve_and_generate(**asked("Which code is there?", retrievalConfiguration=search))

    assert "QX-5521" not in str(world.chat.asked[-1])
    assert answer["citations"] == []
    assert replies.problems() == []


def test_a_question_that_nothing_answers_gives_a_text_without_citations(client: Any) -> None:
    search = {"vectorSearchConfiguration": {"filter": {"equals": {"key": "owner", "value": "nobody"}}}}

    answer = client.retrieve_and_generate(**asked(retrievalConfiguration=search))

    assert answer["output"]["text"]
    assert answer["citations"] == []


def test_settings_of_the_model_are_ignored_and_named(client: Any) -> None:
    generation = {
        "promptTemplate": {"textPromptTemplate": "$search_results$"},
        "inferenceConfig": {"textInferenceConfig": {"temperature": 0.5, "maxTokens": 100}},
    }
    answer = client.retrieve_and_generate(**asked(generationConfiguration=generation))

    place = "retrieveAndGenerateConfiguration.knowledgeBaseConfiguration"
    assert answer["ResponseMetadata"]["HTTPHeaders"]["x-ragdrop-ignored"].split(", ") == [
        f"{place}.modelArn",
        f"{place}.generationConfiguration.promptTemplate",
        f"{place}.generationConfiguration.inferenceConfig",
    ]


def test_external_sources_are_refused(client: Any) -> None:
    document = {"contentType": "text/plain", "data": b"x", "identifier": "a"}
    source = {"sourceType": "BYTE_CONTENT", "byteContent": document}
    external = {"modelArn": MODEL, "sources": [source]}
    configuration = {"type": "EXTERNAL_SOURCES", "externalSourcesConfiguration": external}

    with pytest.raises(client.exceptions.ValidationException, match="KNOWLEDGE_BASE"):
        client.retrieve_and_generate(input={"text": "x"}, retrieveAndGenerateConfiguration=configuration)


def test_a_stream_gives_text_then_citations_and_names_its_session(client: Any) -> None:
    reply = client.retrieve_and_generate_stream(**asked())
    events = list(reply["stream"])

    text = "".join(event["output"]["text"] for event in events if "output" in event)
    [cited] = [event["citation"] for event in events if "citation" in event]
    part = cited["generatedResponsePart"]["textResponsePart"]
    assert text == REPLY
    assert text[part["span"]["start"] : part["span"]["end"]] == "The pump's code is QX-5521."
    assert cited["citation"]["retrievedReferences"] == cited["retrievedReferences"]
    again = client.retrieve_and_generate(**asked("And when was it built?", session=reply["sessionId"]))
    assert again["output"]["text"]


def test_every_message_of_a_stream_is_one_of_the_services_model(client: Any) -> None:
    with closing(client.retrieve_and_generate_stream(**asked())["stream"]) as stream:
        raw = stream._raw_stream.read()  # unparsed

    assert len(raw) > 100
    assert event_problems(client, raw) == []


def test_a_stream_that_fails_before_its_first_word_is_an_error_like_any_other(world: World, client: Any) -> None:
    world.chat.fail_with = GenerationError("the chat model did not answer", service="chat")
    try:
        with pytest.raises(client.exceptions.DependencyFailedException):
            client.retrieve_and_generate_stream(**asked("What is the code of the fan?"))
    finally:
        world.chat.fail_with = None


@pytest.mark.parametrize(
    ("left", "kind"), [("", "AccessDeniedException"), ("rd_that_nobody_made", "AccessDeniedException")]
)
@pytest.mark.parametrize("operation", ["retrieve", "retrieve_and_generate", "retrieve_and_generate_stream", "rerank"])
def test_a_key_that_there_is_not_is_denied_by_every_operation(url: str, left: str, kind: str, operation: str) -> None:
    with agent_runtime(url, left) as client, pytest.raises(ClientError) as caught:
        call(client, operation)

    assert refused(caught) == (kind, 401)


def call(client: Any, operation: str, base: str = TEAM) -> Any:
    """Any operation, with what it needs."""
    if operation == "retrieve":
        return retrieve(client, base)
    if operation == "rerank":
        return rerank(client, "code", sources("The code."))
    return getattr(client, operation)(**asked(base=base))


@pytest.mark.parametrize("operation", ["retrieve", "retrieve_and_generate", "retrieve_and_generate_stream"])
def test_a_knowledge_base_that_a_key_does_not_see_is_not_found(world: World, url: str, operation: str) -> None:
    with agent_runtime(url, key_of(world, "reader", "ops")) as client:
        for base in (TEAM, "AAAAAAAAAA"):
            with pytest.raises(client.exceptions.ResourceNotFoundException):
                call(client, operation, base)


@pytest.mark.parametrize(
    ("error", "name"),
    [
        (RateLimitedError("too many requests", retry_after_s=7), "ThrottlingException"),
        (ConflictError("twice"), "ConflictException"),
        (DatabaseError("the index did not answer", service="index"), "DependencyFailedException"),
        (RuntimeError("nobody foresaw this"), "InternalServerException"),
    ],
)
def test_an_error_has_the_name_that_bedrock_gives_it(world: World, error: Exception, name: str) -> None:
    def fail(*_args: object) -> Any:
        raise error

    async def caller(_request: Request, _secret: GivenSecret) -> Caller:
        return world.caller

    bases = KnowledgeBases(world.app.tenants.directory, "documents")
    api = create_api([retrieve_router(lambda: fail, fail, bases, caller)])
    with served(api) as url, agent_runtime(url, "none") as client, pytest.raises(ClientError) as caught:
        retrieve(client)

    assert caught.value.response["Error"]["Code"] == name
    assert type(caught.value).__name__ == name
    assert caught.value.response["Error"]["Message"]


@pytest.fixture(scope="module")
def reading() -> Iterator[Any]:
    world = World(reader=WordReader())
    world.put("team/words.md", "# Words\n\nWhat is the pump code of the old mill? Nobody knows.")
    world.put("team/answer.md", "# Answer\n\nThe miller opens the old pump by 4711.")
    with served(query_api(world.app)) as url, agent_runtime(url, key_of(world, "reader")) as found:
        yield found


def test_texts_are_ordered_by_how_relevant_they_are(reading: Any) -> None:
    replies = Replies(reading)

    found = rerank(reading, "red pump", sources("A green valve.", "The pump is red."))["results"]

    assert [each["index"] for each in found] == [1, 0]
    assert found[0]["relevanceScore"] >= found[1]["relevanceScore"]
    assert replies.problems() == []


def test_as_many_results_are_given_as_are_asked_for(reading: Any) -> None:
    found = rerank(reading, "red pump", sources("A", "The red pump", "C"), numberOfResults=1)["results"]

    assert [each["index"] for each in found] == [1]


def test_json_is_read_as_text(reading: Any) -> None:
    document = {"type": "JSON", "jsonDocument": {"said": "the red pump"}}
    found = rerank(reading, "red pump", [*sources("valve"), {"type": "INLINE", "inlineDocumentSource": document}])

    assert found["results"][0]["index"] == 1


def test_a_question_that_the_reader_does_not_read_is_refused(reading: Any) -> None:
    with pytest.raises(reading.exceptions.ValidationException, match="English"):
        rerank(reading, "Wo ist die rote Pumpe, und wie viel Wasser passt hinein?", sources("Die Pumpe ist rot."))


@pytest.mark.parametrize("left", [1, 2])
def test_retrieved_passages_are_reranked_and_the_best_are_left(reading: Any, left: int) -> None:
    reranking = {
        "type": "BEDROCK_RERANKING_MODEL",
        "bedrockRerankingConfiguration": {
            "modelConfiguration": {"modelArn": "arn:aws:bedrock:us-east-1::foundation-model/cohere.rerank-v3-5:0"},
            "numberOfRerankedResults": left,
        },
    }
    replies = Replies(reading)

    found = retrieve(reading, text="old pump", numberOfResults=10, rerankingConfiguration=reranking)

    assert len(found["retrievalResults"]) == left
    assert replies.problems() == []


def test_without_a_model_that_reranks_there_is_none_to_be_found() -> None:
    world = World()
    with (
        served(query_api(world.app)) as url,
        agent_runtime(url, key_of(world, "reader")) as client,
        pytest.raises(client.exceptions.ResourceNotFoundException, match="READER_URL"),
    ):
        rerank(client, "red pump", sources("a"))


def test_a_stream_that_fails_on_the_way_ends_with_an_exception_of_the_model(world: World, client: Any) -> None:
    world.chat.break_after = 2
    try:
        stream = client.retrieve_and_generate_stream(**asked("What is the code of a pump?"))["stream"]
        with closing(stream), pytest.raises(EventStreamError) as caught:
            list(stream)
    finally:
        world.chat.break_after = None

    assert caught.value.response["Error"]["Code"] == "dependencyFailedException"


def test_a_vault_is_listed_with_the_id_that_names_it(client: Any, world: World, url: str) -> None:
    headers = {"x-api-key": key_of(world, "reader")}
    listed = httpx.get(f"{url}/vaults", headers=headers, trust_env=False).json()["vaults"]

    ids = {vault["name"]: vault["knowledge_base_id"] for vault in listed}
    assert ids == {"team": TEAM, "ops": OPS}
    assert {each["metadata"]["vault"] for each in retrieve(client, ids["ops"])["retrievalResults"]} == {"ops"}


def test_a_key_in_a_header_counts_before_credentials_of_aws(world: World, url: str) -> None:
    key = key_of(world, "reader")
    with agent_runtime(url, "a-session-of-aws") as client:
        client.meta.events.register(
            "before-sign.bedrock-agent-runtime", lambda request, **_: request.headers.add_header("x-api-key", key)
        )

        assert names(retrieve(client)) == ["fan.md", "pump.md"]


def test_a_function_behind_the_gateway_gives_the_messages_of_a_stream_as_bytes(
    deployment: Deployment, client: Any
) -> None:
    deployment.put_object("demo/team/pump.md", "# Pump\n\nThe pump's code is QX-5521.")
    deployment.chat.reply = REPLY
    event = deployment.event("ask", path="/retrieveAndGenerateStream", body=json.dumps(asked()))

    response = deployment.handlers["generate"].handler(event, LocalContext())

    raw = base64.b64decode(response["body"])
    assert (response["statusCode"], response["isBase64Encoded"]) == (200, True)
    assert event_problems(client, raw) == []
    assert b"QX-5521" in raw


def test_an_answer_to_a_question_with_a_filter_stands_on_what_passes_it_alone() -> None:
    world = eager_world()
    world.put("team/ann.md", "---\nowner: ann\n---\n# Pump\n\nAnn's pump is red. See [[bob]].")
    world.put("team/bob.md", "---\nowner: bob\npromotion_level: critical\n---\n# Bob\n\nBob's pump is green.")
    only = {"vectorSearchConfiguration": {"filter": {"equals": {"key": "owner", "value": "ann"}}}}

    with served(query_api(world.app)) as url, agent_runtime(url, key_of(world, "reader")) as client:
        client.retrieve_and_generate(**asked("Which pump is red?", retrievalConfiguration=only))

    shown = " ".join(message.content for message in world.chat.asked[-1])
    assert "red" in shown
    assert "green" not in shown
