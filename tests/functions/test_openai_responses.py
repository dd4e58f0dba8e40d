"""`/v1/responses` and `/v1/vector_stores`: OpenAI's own Python client asks, searches and puts files."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import httpx2
import openai
import pytest

from ragdrop.api.apis import query_api
from ragdrop.api.shapes.knowledge_base_shapes import knowledge_base_id
from ragdrop.api.shapes.openai_shapes import file_id
from ragdrop.errors import GenerationError
from tests.agent_world import eager_world, key_of
from tests.functions.conftest import Deployment
from tests.functions.openai_wire import openai_client, post_chat
from tests.functions.test_openai_protocol import REPLY, TEXT, OpenAI, body_of
from tests.served import served

QUESTION = "What is the pump's code?"
SEEN = "The pump's code is QX-5521."


@pytest.fixture
def client(deployment: Deployment) -> Iterator[OpenAI]:
    deployment.put_object("demo/handbook/pump.md", f"---\nowner: ann\ntags: [machines]\n---\n{TEXT}")
    deployment.put_object("demo/runbooks/plants.md", "# Plants\n\nWater the plants on Monday.")
    deployment.chat.reply = REPLY
    with openai_client(deployment) as client:
        yield client


def test_a_response_cites_the_file_behind_each_sentence(client: OpenAI) -> None:
    response = client.responses.create(model="default", input=QUESTION)

    assert (response.status, response.output_text, response.error) == ("completed", REPLY, None)
    [message] = response.output
    [cited] = message.content[0].annotations
    assert (cited.type, cited.filename, cited.file_id) == ("file_citation", "pump.md", file_id("pump.md"))
    assert response.output_text[: cited.index].endswith(SEEN)
    assert cited.model_extra["vector_store_id"] == "handbook"
    assert response.usage.total_tokens == response.usage.input_tokens + response.usage.output_tokens > 0
    assert response.model_extra["citations"][0]["quote"] == SEEN


def test_the_events_of_a_response_come_in_the_order_of_the_protocol_and_end_with_the_whole(client: OpenAI) -> None:
    events = list(client.responses.create(model="default", input=QUESTION, stream=True))

    kinds = [event.type.removeprefix("response.") for event in events]
    assert [event.sequence_number for event in events] == list(range(len(events)))
    assert list(dict.fromkeys(kinds)) == [
        "created",
        "in_progress",
        "output_item.added",
        "content_part.added",
        "output_text.delta",
        "output_text.annotation.added",
        "output_text.done",
        "content_part.done",
        "output_item.done",
        "completed",
    ]
    assert "".join(event.delta for event in events if event.type == "response.output_text.delta") == REPLY
    assert events[-1].response.output_text == REPLY
    assert events[0].response.id == events[-1].response.id


def test_the_clients_own_accumulator_of_events_makes_the_same_response(client: OpenAI) -> None:
    with client.responses.stream(model="default", input=QUESTION) as stream:
        stream.until_done()
        response = stream.get_final_response()

    assert response.output_text == REPLY
    assert response.output[0].content[0].annotations[0].filename == "pump.md"


def test_a_response_that_was_cut_off_is_incomplete_and_says_why(client: OpenAI, deployment: Deployment) -> None:
    deployment.chat.finish_reason = "length"

    response = client.responses.create(model="default", input=QUESTION)
    *_, last = client.responses.create(model="default", input=QUESTION, stream=True)

    assert last.type == "response.incomplete"
    for each in (response, last.response):
        assert (each.status, each.output[0].status) == ("incomplete", "incomplete")
        assert each.incomplete_details.reason == "max_output_tokens"


def test_a_response_repeats_the_clients_metadata(client: OpenAI) -> None:
    reply = client.responses.with_raw_response.create(model="default", input=QUESTION, metadata={"run": "7"})

    assert reply.parse().metadata == {"run": "7"}
    assert "x-ragdrop-ignored" not in reply.headers


def test_a_response_is_followed_up_by_its_id(client: OpenAI, deployment: Deployment) -> None:
    first = client.responses.create(model="default", input=QUESTION)
    deployment.chat.reply = lambda messages: QUESTION if "conversation" in messages[0].content else REPLY

    second = client.responses.create(model="default", input="And its colour?", previous_response_id=first.id)

    condensing = deployment.chat.asked[-2][-1].content
    assert [turn["content"] for turn in json.loads(condensing)] == [QUESTION, REPLY, "And its colour?"]
    assert second.previous_response_id == first.id
    _, receipt = deployment.send("GET", f"/answers/{second.id.removeprefix('resp_')}")
    assert receipt["request"]["session"] == first.id.removeprefix("resp_")


def test_a_response_that_follows_up_nothing_known_is_refused(client: OpenAI) -> None:
    with pytest.raises(openai.BadRequestError) as caught:
        client.responses.create(model="default", input=QUESTION, previous_response_id="resp_none")

    assert (body_of(caught)["param"], body_of(caught)["type"]) == ("previous_response_id", "invalid_request_error")


def test_the_items_of_an_input_are_a_conversation(client: OpenAI, deployment: Deployment) -> None:
    deployment.chat.reply = lambda messages: QUESTION if "conversation" in messages[0].content else REPLY
    items = [
        {"role": "system", "content": "You are a pirate."},
        {"role": "user", "content": [{"type": "input_text", "text": "Tell me of the pump."}]},
        {"type": "file_search_call", "id": "fs_1", "status": "completed", "queries": []},
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "It is red."}]},
        {"role": "user", "content": "And its code?"},
    ]

    client.responses.create(model="default", input=items)

    condensing = deployment.chat.asked[-2][-1].content
    assert [turn["content"] for turn in json.loads(condensing)] == [
        "Tell me of the pump.",
        "It is red.",
        "And its code?",
    ]


@pytest.mark.parametrize("store", ["runbooks", knowledge_base_id("runbooks")])
def test_the_vector_stores_of_file_search_are_the_vaults_that_are_asked(client: OpenAI, store: str) -> None:
    tool = {"type": "file_search", "vector_store_ids": [store]}

    response = client.responses.create(model="default", input="When are plants watered?", tools=[tool])

    assert {source["vault"] for source in response.model_extra["ragdrop"]["sources"]} == {"runbooks"}


def test_the_filters_of_file_search_limit_what_an_answer_stands_on(client: OpenAI) -> None:
    for owner, abstained in (("ann", False), ("bob", True)):
        filters = {"type": "and", "filters": [{"type": "eq", "key": "owner", "value": owner}]}
        tool = {"type": "file_search", "vector_store_ids": ["handbook"], "filters": filters}

        response = client.responses.create(model="default", input=QUESTION, tools=[tool])

        assert response.model_extra["ragdrop"]["abstained"] is abstained


def test_what_a_response_ignores_is_named_in_a_header(client: OpenAI) -> None:
    search = {"type": "file_search", "vector_store_ids": ["handbook"], "max_num_results": 3}

    raw = client.responses.with_raw_response.create(
        model="default",
        input=QUESTION,
        instructions="Be a pirate.",
        temperature=0.2,
        tools=[search, {"type": "web_search"}],
    )

    assert raw.headers["x-ragdrop-ignored"] == "instructions, temperature, tools.max_num_results, tools.web_search"
    assert raw.parse().output_text == REPLY


def test_what_chat_completions_and_embeddings_ignore_is_named_too(client: OpenAI) -> None:
    asked = {"model": "default", "messages": [{"role": "user", "content": QUESTION}]}

    chat = client.chat.completions.with_raw_response.create(**asked, temperature=1.5, user="me")
    vectors = client.embeddings.with_raw_response.create(model="default", input="pump", user="me")

    assert chat.headers["x-ragdrop-ignored"] == "temperature, user"
    assert vectors.headers["x-ragdrop-ignored"] == "user"


def test_a_response_of_an_unknown_model_or_vector_store_is_not_found(client: OpenAI) -> None:
    unknown = {"type": "file_search", "vector_store_ids": ["nowhere"]}
    for param, asked in (("model", {"model": "gpt-5"}), ("vector_store_ids", {"model": "default", "tools": [unknown]})):
        with pytest.raises(openai.NotFoundError) as caught:
            client.responses.create(input=QUESTION, **asked)

        assert (body_of(caught)["type"], body_of(caught)["param"]) == ("not_found_error", param)


def test_an_input_without_a_question_is_refused(deployment: Deployment) -> None:
    for given in ("", [], [{"role": "system", "content": "Be brief."}], 5):
        status, text = post_chat(deployment, path="/v1/responses", model="default", input=given)

        assert (status, json.loads(text)["error"]["param"]) == (400, "input")


def test_two_file_searches_with_filters_are_refused(client: OpenAI) -> None:
    filters = {"type": "eq", "key": "owner", "value": "ann"}
    tool = {"type": "file_search", "vector_store_ids": ["handbook"], "filters": filters}

    with pytest.raises(openai.BadRequestError, match="several file_search tools"):
        client.responses.create(model="default", input=QUESTION, tools=[tool, tool])


def test_an_error_after_the_first_word_of_a_response_is_its_last_event(client: OpenAI, deployment: Deployment) -> None:
    deployment.chat.break_after = 3

    events = list(client.responses.create(model="default", input="pump code", stream=True))

    assert (events[-1].type, events[-1].code) == ("error", "GENERATION_ERROR")
    assert events[-2].type == "response.output_text.delta"


def test_an_error_before_the_first_word_of_a_response_has_a_status(client: OpenAI, deployment: Deployment) -> None:
    deployment.chat.fail_with = GenerationError("down", service="chat", reason="unreachable")

    for stream in (False, True):
        with pytest.raises(openai.InternalServerError) as caught:
            client.responses.create(model="default", input=QUESTION, stream=stream)
        assert caught.value.status_code == 503


def test_a_vector_store_is_searched_by_the_name_or_id_of_its_vault(client: OpenAI) -> None:
    for store in ("handbook", knowledge_base_id("handbook")):
        [found, *_] = client.vector_stores.search(store, query=QUESTION)

        assert (found.filename, found.file_id) == ("pump.md", file_id("pump.md"))
        assert "QX-5521" in found.content[0].text
        assert 0 < found.score <= 1
        assert found.attributes["owner"] == "ann"
        assert found.attributes["vault"] == "handbook"


def test_a_search_of_a_vector_store_takes_several_queries_filters_and_a_threshold(client: OpenAI) -> None:
    def found(**more: Any) -> list[str]:
        asked = {"query": ["pump", "code"], "max_num_results": 3, **more}
        return [each.filename for each in client.vector_stores.search("handbook", **asked)]

    tag = {"type": "eq", "key": "tags", "value": "machines"}
    assert found(filters=tag) == ["pump.md"]
    assert found(filters={"type": "or", "filters": [tag, {**tag, "value": "plants"}]}) == ["pump.md"]
    assert found(filters={"type": "ne", "key": "owner", "value": "ann"}) == []
    assert found(ranking_options={"score_threshold": 1.0}) == []


def test_a_filter_that_does_not_map_is_refused(client: OpenAI) -> None:
    with pytest.raises(openai.BadRequestError) as caught:
        client.vector_stores.search("handbook", query="pump", filters={"type": "gt", "key": "owner", "value": 5})

    assert body_of(caught)["param"] == "filter"


def test_a_vector_store_that_there_is_not_is_not_found(client: OpenAI) -> None:
    with pytest.raises(openai.NotFoundError) as caught:
        client.vector_stores.search("nowhere", query="pump")

    assert (body_of(caught)["code"], body_of(caught)["param"]) == ("NOT_FOUND", "vector_store_id")


def test_a_file_is_uploaded_put_into_a_vector_store_and_found(client: OpenAI, deployment: Deployment) -> None:
    body = b"# Fan\n\nThe code of the fan is LK-9017."
    given = client.files.create(file=("fan.md", body, "text/markdown"), purpose="assistants")
    deployment.reconcile("demo/files/fan.md")
    waits = deployment.post("query", {"query": "code of the fan", "min_relevance": 0})[1]["results"]

    put = client.vector_stores.files.create("handbook", file_id=given.id, attributes={"owner": "bob", "year": 2026})
    before = client.vector_stores.files.retrieve(given.id, vector_store_id="handbook")
    deployment.reconcile("demo/handbook/fan.md")
    after = client.vector_stores.files.retrieve(given.id, vector_store_id="handbook")
    owned = {"type": "eq", "key": "owner", "value": "bob"}
    found = client.vector_stores.search("handbook", query="code of the fan", filters=owned)

    assert (given.bytes, given.filename, given.status) == (len(body), "fan.md", "uploaded")
    assert "fan.md" not in {each["path"] for each in waits}, "a file that is in no vector store is not found"
    assert (put.id, put.status, before.status) == (given.id, "in_progress", "in_progress")
    assert (after.status, after.last_error, after.usage_bytes) == ("completed", None, len(body))
    assert after.attributes["owner"] == "bob"
    assert [each.filename for each in found] == ["fan.md"]


def test_the_clients_own_upload_puts_a_file_into_a_new_vault_and_waits_until_it_is_found() -> None:
    world = eager_world()
    with served(query_api(world.app)) as url, httpx2.Client(trust_env=False) as http:
        client: OpenAI = openai.OpenAI(api_key=key_of(world), base_url=f"{url}/v1", http_client=http, max_retries=0)
        put = client.vector_stores.files.upload_and_poll(
            vector_store_id="machines",
            file=("fan.md", b"# Fan\n\nThe code of the fan is LK-9017."),
            poll_interval_ms=20,
        )
        found = list(client.vector_stores.search("machines", query="code of the fan"))

    assert (put.status, put.vector_store_id) == ("completed", "machines")
    assert [each.filename for each in found] == ["fan.md"]


def test_a_file_that_holds_nothing_fails_in_words(client: OpenAI, deployment: Deployment) -> None:
    given = client.files.create(file=("empty.md", b"\n", "text/markdown"), purpose="assistants")
    client.vector_stores.files.create("handbook", file_id=given.id)
    deployment.reconcile("demo/handbook/empty.md")

    failed = client.vector_stores.files.retrieve(given.id, vector_store_id="handbook")

    assert failed.status == "failed"
    assert failed.last_error.message.startswith("EMPTY_DOCUMENT")


def test_a_file_that_was_never_uploaded_is_not_put_into_a_vector_store(client: OpenAI) -> None:
    with pytest.raises(openai.NotFoundError):
        client.vector_stores.files.create("handbook", file_id=file_id("nowhere.md"))
    for no_id in ("file-%%", "fan.md"):
        with pytest.raises(openai.BadRequestError) as caught:
            client.vector_stores.files.create("handbook", file_id=no_id)
        assert body_of(caught)["param"] == "file_id"


def test_parts_of_a_form_and_a_chunking_strategy_are_ignored_and_named(client: OpenAI) -> None:
    given = client.files.with_raw_response.create(
        file=("fan.md", b"The fan.", "text/markdown"),
        purpose="assistants",
        expires_after={"anchor": "created_at", "seconds": 3_600},
    )
    put = client.vector_stores.files.with_raw_response.create(
        "handbook", file_id=given.parse().id, chunking_strategy={"type": "auto"}
    )

    assert given.headers["x-ragdrop-ignored"] == "expires_after"
    assert put.headers["x-ragdrop-ignored"] == "chunking_strategy"


def test_a_name_that_dotnet_escapes_is_the_files_name(deployment: Deployment) -> None:
    named = "filename=\"=?utf-8?B?R3LDtsOfZS5tZA==?=\"; filename*=utf-8''Gr%C3%B6%C3%9Fe.md"
    parts = [('name="purpose"', "assistants"), (f"name=file; {named}", "The fan.")]
    form = "".join(f"--B\r\ncontent-disposition: form-data; {head}\r\n\r\n{body}\r\n" for head, body in parts) + "--B--"
    event = deployment.event("ask", path="/v1/files", body=form)
    event["multiValueHeaders"]["content-type"] = ["multipart/form-data; boundary=B"]

    status, body = deployment.routed(event)

    assert (status, json.loads(body)["filename"]) == (200, "Größe.md")


def test_a_file_over_the_limit_is_refused_with_the_limit(client: OpenAI) -> None:
    with pytest.raises(openai.APIStatusError) as caught:
        client.files.create(file=("big.txt", b"a" * (4 * 1024 * 1024 + 1), "text/plain"), purpose="assistants")

    assert (caught.value.status_code, body_of(caught)["code"]) == (413, "DOCUMENT_TOO_LARGE")


def test_vector_stores_are_listed_by_name_in_pages_that_the_client_turns(client: OpenAI) -> None:
    stores = list(client.vector_stores.list(limit=1))

    assert [(each.id, each.name, each.status) for each in stores] == [
        ("handbook", "handbook", "completed"),
        ("runbooks", "runbooks", "completed"),
    ]
    assert client.vector_stores.list(limit=1).has_more
    assert not client.vector_stores.list(after="handbook").has_more


def test_a_vector_store_counts_its_files(client: OpenAI, deployment: Deployment) -> None:
    deployment.put_object("demo/handbook/empty.md", "\n")

    for store in ("handbook", knowledge_base_id("handbook")):
        found = client.vector_stores.retrieve(store)

        assert (found.id, found.last_active_at > 0) == ("handbook", True)
        counts = found.file_counts
        assert (counts.completed, counts.failed, counts.in_progress, counts.total) == (1, 1, 0, 2)
    with pytest.raises(openai.NotFoundError):
        client.vector_stores.retrieve("nowhere")


def test_files_of_a_vector_store_are_listed_by_path_and_status(client: OpenAI, deployment: Deployment) -> None:
    deployment.put_object("demo/handbook/fan.md", "# Fan")
    deployment.put_object("demo/handbook/empty.md", "\n")

    def listed(**asked: Any) -> list[str]:
        return [each.id for each in client.vector_stores.files.list("handbook", **asked)]

    empty, fan, pump = map(file_id, ("empty.md", "fan.md", "pump.md"))
    assert listed() == listed(limit=1) == [empty, fan, pump]
    assert listed(filter="completed", limit=1) == [fan, pump]
    assert listed(filter="failed", after=empty) == listed(filter="cancelled") == []
    assert client.vector_stores.files.list("handbook", filter="failed").data[0].last_error is not None


def test_the_order_of_a_list_is_ignored_and_named(client: OpenAI) -> None:
    raw = client.vector_stores.with_raw_response.list(order="asc", before="runbooks")

    assert raw.headers["x-ragdrop-ignored"] == "order, before"
