"""Spans of questions by OpenTelemetry's conventions for generative AI, compared with the list of their attributes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, cast

import pytest
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.semconv._incubating.attributes import gen_ai_attributes

from ragdrop.domain.answers import Answer, Question
from ragdrop.domain.deadlines import Deadline
from ragdrop.domain.models import ModelCall
from ragdrop.domain.retrieval import Query
from ragdrop.errors import GenerationError
from ragdrop.ports.model_services import Completion
from ragdrop.resilience.timing import note_call, noted_calls
from ragdrop.resilience.traced_models import PROVIDERS, ModelEndpoint, TracedChatModel, TracedEmbedder
from ragdrop.stores.aws.monitoring import OpenTelemetryTracer
from testing.models import HashingEmbedder, ScriptedChatModel
from tests.contract.test_tracer import SPANS
from tests.world import World

CONVENTIONS: dict[str, Any] = json.loads(Path(__file__).with_name("genai_conventions.json").read_text("utf-8"))
SECRET = "QX-5521"
KNOWN = {value for value in vars(gen_ai_attributes).values() if isinstance(value, str)}
SINCE_THE_PACKAGE = {"gen_ai.prompt.version"}


@pytest.fixture
def world() -> World:
    """A world with spans, a pump, and models at endpoints with names."""
    SPANS.clear()
    urls = {"EMBEDDING_URL": "http://127.0.0.1:11434/v1", "CHAT_URL": "https://api.mistral.ai/v1"}
    world = World(settings={**urls, "TRACING": "true"})
    world.put("team/pump.md", f"The pump's code is {SECRET}.")
    world.chat.reply = f"The pump's code is {SECRET}. [1]"
    return world


def ask(world: World) -> Answer:
    return world.app.generate.ask(
        Question(Query("pump code", vaults=("team",), limit=3)), world.caller, Deadline.after(9)
    )


def span_of(operation: str) -> ReadableSpan:
    found = [span for span in SPANS.get_finished_spans() if fields(span).get("gen_ai.operation.name") == operation]
    assert len(found) == 1, [span.name for span in SPANS.get_finished_spans()]
    return found[0]


def fields(span: ReadableSpan) -> dict[str, Any]:
    return dict(span.attributes or {})


def test_the_list_names_attributes_of_the_published_package_alone() -> None:
    listed = {
        name
        for operation in ("chat", "embeddings", "retrieval")
        for level in ("required", "conditional", "recommended", "opt_in")
        for name in CONVENTIONS[operation][level]
        if name.startswith("gen_ai.")
    }

    assert listed - KNOWN - SINCE_THE_PACKAGE == set()


@pytest.mark.parametrize("operation", ["chat", "embeddings", "retrieval"])
def test_a_span_has_what_the_conventions_require_and_recommend_and_nothing_that_they_do_not_know(
    world: World, operation: str
) -> None:
    ask(world)

    span, levels = span_of(operation), CONVENTIONS[operation]
    has = fields(span)
    expected = {*levels["required"]}
    expected |= {name for name, what in levels["conditional"].items() if what == "set"}
    expected |= {name for name, what in levels["recommended"].items() if what == "set"}
    expected |= {"server.port"} if "server.address" in expected else set()
    unreported = {"gen_ai.usage.input_tokens"} if operation == "embeddings" else set()  # the model of tests has none
    assert expected - set(has) - unreported == set()
    assert set(has) - {*levels["required"], *levels["conditional"], *levels["recommended"]} == set()
    assert span.kind.name == levels["kind"]
    assert span.name == levels["name"].replace("{", "{0[").replace("}", "]}").format(has)


def test_a_chat_span_has_what_langfuse_documents_as_a_generations_model_and_usage(world: World) -> None:
    ask(world)

    names = {
        f"gen_ai.{each}" for each in ("request.model", "response.model", "usage.input_tokens", "usage.output_tokens")
    }
    assert names <= {*fields(span_of("chat"))}


def test_the_operations_and_providers_are_among_the_well_known_ones_or_our_own(world: World) -> None:
    ask(world)

    operations = {str(fields(span).get("gen_ai.operation.name")) for span in SPANS.get_finished_spans()} - {"None"}
    assert operations <= {each.value for each in gen_ai_attributes.GenAiOperationNameValues}
    providers = {each.value for each in gen_ai_attributes.GenAiProviderNameValues}
    assert {*PROVIDERS.values()} - providers <= {"moonshot_ai"}
    assert ModelEndpoint.of("http://127.0.0.1:11434/v1") == ModelEndpoint("openai", "127.0.0.1", 11_434)


def test_a_trace_is_a_tree_whose_root_names_the_receipt(world: World) -> None:
    answer = ask(world)

    spans = {span.context.span_id: span for span in SPANS.get_finished_spans() if span.context is not None}
    names = {span.name: spans[span.parent.span_id].name if span.parent else None for span in spans.values()}
    assert names["invoke_workflow ask"] is None
    assert names["retrieval team"] == "invoke_workflow ask"
    assert names["ragdrop.embed"] == "retrieval team"
    assert names["embeddings hashing"] == "ragdrop.embed"
    assert names[span_of("chat").name] == "ragdrop.generate"
    assert names["ragdrop.check"] == "invoke_workflow ask"
    assert fields(span_of("invoke_workflow"))["ragdrop.receipt.id"] == answer.id


def test_a_streamed_answer_has_the_same_tree_and_the_time_to_its_first_piece(world: World) -> None:
    events = list(world.app.generate.ask.stream(Question(Query("pump code")), world.caller, Deadline.after(9)))

    chat = fields(span_of("chat"))
    assert chat["gen_ai.request.stream"] is True
    assert chat["gen_ai.response.time_to_first_chunk"] >= 0
    spans = {span.context.span_id: span for span in SPANS.get_finished_spans() if span.context is not None}
    parents = {span.name: spans[span.parent.span_id].name for span in spans.values() if span.parent}
    assert parents["ragdrop.check"] == "invoke_workflow ask"
    assert fields(span_of("invoke_workflow"))["ragdrop.receipt.id"] == cast("Answer", events[-1]).id


def test_no_span_has_a_word_of_question_document_or_answer(world: World) -> None:
    ask(world)

    said = json.dumps([[span.name, fields(span)] for span in SPANS.get_finished_spans()])
    assert "retrieval team" in said
    assert SECRET not in said
    assert "pump" not in said
    assert all(not span.events for span in SPANS.get_finished_spans())


def test_an_error_is_named_by_its_type(world: World) -> None:
    world.chat.fail_with = GenerationError("what the document says", service="chat")

    with pytest.raises(GenerationError):
        ask(world)

    assert fields(span_of("chat"))["error.type"] == "GenerationError"
    assert fields(span_of("invoke_workflow"))["error.type"] == "GenerationError"


def test_tokens_of_an_embedding_are_those_that_its_own_call_noted() -> None:
    class Counting(HashingEmbedder):
        def query(self, *given: Any) -> Any:
            note_call(ModelCall("hashing", 7, kind="embedding"))
            return super().query(*given)

    SPANS.clear()
    embedder = TracedEmbedder(Counting(), OpenTelemetryTracer(), ModelEndpoint("openai"))
    with noted_calls() as calls:
        note_call(ModelCall("hashing", 5, kind="embedding"))
        embedder.query("words", World().app.ports.settings.seed_index().space, Deadline.after(1))

    assert len(calls) == 2
    assert fields(span_of("embeddings"))["gen_ai.usage.input_tokens"] == 7


def test_a_listener_who_leaves_ends_the_span_and_the_model() -> None:
    SPANS.clear()
    chat = TracedChatModel(ScriptedChatModel(reply="One. Two."), OpenTelemetryTracer(), ModelEndpoint("x"), default="m")
    pieces = chat.stream([], max_tokens=9, deadline=Deadline.after(1))
    assert not isinstance(next(iter(pieces)), Completion)
    pieces.close()  # type: ignore[attr-defined]

    assert fields(span_of("chat"))["error.type"] == "GeneratorExit"
