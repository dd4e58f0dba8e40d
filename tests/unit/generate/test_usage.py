"""Usage: what a reply, its receipt and the figures say that models did is what the models saw."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import httpx
import pytest

from ragdrop.domain.answers import Answer, Question
from ragdrop.domain.deadlines import Deadline
from ragdrop.domain.models import ModelCall
from ragdrop.domain.retrieval import Query
from ragdrop.models.embedder import OpenAiEmbedder
from ragdrop.models.http import OpenAiHttp
from ragdrop.ports.model_services import Message, Reading
from testing.models import word_vector
from tests.functions.asking import Asking
from tests.world import DIMENSION, World

TOKENS_A_TEXT = 9
OPEN_SENTENCE = "High water forced the crossing to shut. [1]"


@dataclass
class CountingModels:
    """A reader, an embedding endpoint and a chat model that count what they are asked."""

    pairs: int = 0
    embedded: int = 0
    chats: list[tuple[int, int]] = field(default_factory=list)

    def read(self, pairs: Sequence[tuple[str, str]], deadline: Deadline) -> list[Reading]:
        self.pairs += len(pairs)
        return [Reading(0.9, 0.9, 0.9, 0.0, (0, 3)) for _ in pairs]

    def embed(self, request: httpx.Request) -> httpx.Response:
        texts = json.loads(request.content)["input"]
        self.embedded += TOKENS_A_TEXT * len(texts)
        data = [{"index": n, "embedding": list(word_vector(text, DIMENSION))} for n, text in enumerate(texts)]
        return httpx.Response(200, json={"data": data, "usage": {"prompt_tokens": TOKENS_A_TEXT * len(texts)}})

    def reply(self, messages: Sequence[Message]) -> str:
        said = self._said(messages)
        self.chats.append((len(str(messages)) // 4, len(said) // 4))
        return said

    @staticmethod
    def _said(messages: Sequence[Message]) -> str:
        system = messages[0].content
        if "compare claims" in system:
            claims = json.loads(messages[1].content)
            return json.dumps({"claims": [{"n": each["n"], "status": "supported", "passage": 1} for each in claims]})
        if "rewrite the last question" in system:
            return "Why was the bridge closed?"
        return OPEN_SENTENCE if "<source-" in messages[-1].content else '["team/roads"]'


@pytest.fixture
def models() -> CountingModels:
    return CountingModels()


def counted(models: CountingModels, **settings: str) -> World:
    """A world of *models* with a document; what they did for it is forgotten."""
    client = httpx.Client(transport=httpx.MockTransport(models.embed))
    http = OpenAiHttp("http://embedding.example", api_key=lambda: None, timeout_s=5, client=client)
    world = World(settings={"VERIFIER": "chat", **settings}, embedder=OpenAiEmbedder(http), reader=models)
    world.put("team/roads/bridge.md", "# Bridge\n\nThe bridge was closed because the river had risen.")
    world.chat.reply = models.reply
    models.pairs, models.embedded, models.chats = 0, 0, []
    return world


def used(models: CountingModels) -> dict[str, int]:
    return {
        "prompt_tokens": sum(read for read, _ in models.chats),
        "completion_tokens": sum(written for _, written in models.chats),
        "embedding_tokens": models.embedded,
        "reader_pairs": models.pairs,
    }


def without_time(usage: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in usage.items() if name != "reader_ms"}


@pytest.mark.parametrize("stream", [False, True])
def test_a_reply_and_its_receipt_name_every_call_that_the_models_saw(models: CountingModels, *, stream: bool) -> None:
    world = counted(models)
    asking = Asking(world=world)
    fields: dict[str, Any] = {"history": [{"question": "Where is the bridge?"}], "rank_folders": True}

    body = (
        asking.stream("Why was it closed?", **fields)[-1][1] if stream else asking.ask("Why was it closed?", **fields)
    )

    assert len(models.chats) == 4  # it condensed, ranked folders, answered and verified
    assert models.pairs > 0
    assert without_time(body["usage"]) == used(models)
    assert body["usage"]["reader_ms"] > 0
    receipt = world.receipts.receipt(world.tenant, body["answer_id"], world.now_s)
    assert receipt is not None
    assert receipt.body["usage"] == body["usage"]


def test_what_was_read_and_embedded_before_is_not_counted_again(models: CountingModels) -> None:
    world = counted(models)
    first, second = (ask(world, "Why was the bridge closed?") for _ in range(2))

    assert (first.reader_pairs, first.embedding_tokens) == (models.pairs, models.embedded)
    assert (second.reader_pairs, second.reader_ms, second.embedding_tokens) == (0, 0.0, 0)


def test_a_call_whose_reply_could_not_be_used_counts_too(models: CountingModels) -> None:
    world = counted(models)
    written = models.reply
    world.chat.reply = lambda messages: "no JSON" if "compare claims" in messages[0].content else written(messages)

    answer = ask(world, "Why was the bridge closed?")

    assert len(world.chat.asked) == 2
    assert answer.prompt_tokens == sum(len(str(messages)) // 4 for messages in world.chat.asked)


def test_stats_and_costs_add_up_what_the_models_did(models: CountingModels) -> None:
    world = counted(models, CHAT_PRICES='{"scripted": [2.0, 10.0], "hashing": [1.0, 0.0]}')
    answer = ask(world, "Why was the bridge closed?")

    found = world.app.operate.read_stats(world.caller, "24h")
    lines = {each.name: each for each in world.app.operate.read_costs(world.caller, "24h", found)}

    figures = found.queries
    assert (figures.embedding_tokens, figures.reader_pairs) == (models.embedded, models.pairs)
    assert (lines["embedding tokens"].count, lines["pairs read"].count) == (models.embedded, models.pairs)
    read, written = used(models)["prompt_tokens"], used(models)["completion_tokens"]
    assert answer.cost == pytest.approx((2 * read + 10 * written + models.embedded) / 1_000_000, abs=1e-6)
    assert lines["chat tokens"].usd == answer.cost


def test_metrics_have_the_time_of_the_reader(models: CountingModels) -> None:
    world = counted(models)
    ask(world, "Why was the bridge closed?")

    assert world.metrics.total("ReaderPairs") == models.pairs
    assert world.metrics.total("ReaderTime") > 0
    assert world.metrics.total("EmbeddingTokens") == models.embedded


def test_a_check_of_a_foreign_answer_counts_in_the_figures_of_the_tenant(models: CountingModels) -> None:
    world = counted(models)
    observe = world.app.query.observe_queries

    observe.note_calls(world.caller, [ModelCall("m", 7, 2), ModelCall("r", kind="reader", pairs=3, ms=4.0)])

    figures = world.app.operate.read_stats(world.caller, "24h").queries
    assert (figures.prompt_tokens, figures.completion_tokens, figures.reader_pairs, figures.reader_ms) == (7, 2, 3, 4)


def ask(world: World, text: str) -> Answer:
    return world.app.generate.ask(Question(Query(text)), world.caller, Deadline.after(10))
