"""Citations and abstention beside the frameworks, with one chat model for all.

    python -m benchmarks.peers_answers [--write] [--quick]

First the model says true sentences and planted faults, and names a passage for each: how many leave each pipeline as
cited.  Then it is the laptop's extractive answerer: how many questions of SQuAD 2.0 without an answer get one.
"""

from __future__ import annotations

import json
import re
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from platform import python_version
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from benchmarks import records
from benchmarks.citations import SEED, passages
from benchmarks.collections import Collection, CollectionDocument, load_squad, needed_data
from benchmarks.embeddings import LocalEmbeddings, embedding_server, in_thread
from benchmarks.peers.process import NAMES, running, shared_node
from benchmarks.pipeline import Pushed, pushed, soon
from ragdrop.domain.answers import Question
from ragdrop.domain.retrieval import Query
from ragdrop.models.extraction import Similarity, pick_quotes
from ragdrop.models.sources import ShownSource, Task, read_task
from testing.models import ScriptedChatModel
from tests.groundcheck.planted_faults import PerturbedCase, false_cases, true_cases

_LANGCHAIN = re.compile(r"Source ID: (\d+)\nSnippet: (.*?)(?=\n\nSource ID: |\Z)", re.DOTALL)
_LLAMA_INDEX = re.compile(r"Source (\d+):\n(.*?)(?=\n+Source \d+:\n|\n------)", re.DOTALL)
_HAYSTACK = re.compile(r"^\[(\d+)\] (.*?)(?=^\[\d+\] |^Question: )", re.DOTALL | re.MULTILINE)
_TURN = "Now it's your turn."
DO_NOT_KNOW = "I do not know."
Claim = tuple[str, int]
"""A sentence and the number of the source that it names."""
Mind = Callable[[Task], Sequence[Claim]]
OWN = "ragdrop"
Outcomes = dict[str, tuple[int, int]]
"""By sort of sentence or question: how many left as cited, or were answered, of how many."""
COLUMNS = {
    "faults": "false sentences that leave as cited",
    "true": "true sentences that do",
    "answerable": "questions answered",
    "unanswerable": "that the corpus only seems to answer",
    "out of the corpus": "that it has nothing about",
}
NAME = "peers_answers"
FAULTS, TRUE, ASKED = 140, 60, 100  # sentences of each sort; questions of each sort
QUICK_SHARE = 10
PEERS = ("langchain", "llama_index", "haystack")  # txtai's RAG needs its pipeline packages: torch and transformers
CONFIGURATION = "hybrid"
MAX_QUERY = 1_000
Ask = Callable[[str], tuple[str, int]]
"""Asks a system; its answer, and how many of its citations stand."""


def read_prompt(messages: list[str]) -> Task | None:
    r"""What the messages ask, whichever of the systems wrote them; None where they have no sources.

    >>> task = read_prompt(["Documents:\n[1] The pump is red.\n[2] The valve is blue.\nQuestion: Which colour?\n"])
    >>> task.question, [source.text for source in task.sources]
    ('Which colour?', ['The pump is red.', 'The valve is blue.'])
    """
    last = messages[-1]
    own = read_task(last)
    if own is not None:
        return own
    if _TURN in last:
        body = last.partition(_TURN)[2]
        return _task(body.rpartition("Query: ")[2].partition("\nAnswer:")[0], _LLAMA_INDEX.findall(body))
    if last.startswith("Documents:"):
        return _task(last.rpartition("Question: ")[2].partition("\nAnswer:")[0], _HAYSTACK.findall(last))
    return _task(last, _LANGCHAIN.findall(messages[0]))


def _task(question: str, found: list[tuple[str, str]]) -> Task | None:
    sources = tuple(ShownSource(int(number), "", "", text.strip()) for number, text in found)
    return Task(question.strip(), sources) if sources else None


def extractive(similarity: Similarity) -> Mind:
    """The laptop's answerer: quoted sentences, or nothing where none answers well enough."""
    return lambda task: [(quote.text, quote.number) for quote in pick_quotes(task, similarity)]


def claiming(sentence: str, passage: str) -> Mind:
    """A model that says *sentence* and names the source that holds *passage*.

    Where none does it names the first that does not hold the sentence itself: naming one that does would be right.
    """

    def say(task: Task) -> list[Claim]:
        passages = {source.number: " ".join(source.text.split()) for source in task.sources}
        required, said = " ".join(passage.split())[:60], " ".join(sentence.split())
        holding = [number for number, present in passages.items() if required in present]
        others = [number for number, present in passages.items() if said not in present]
        return [(sentence, (holding or others or list(passages))[0])]

    return say


class AnsweringModel:
    """Speaks the OpenAI protocol; `mind` decides what it says, and may be changed between questions."""

    def __init__(self) -> None:
        self.mind: Mind = lambda _: []
        self.app = Starlette(routes=[Route("/v1/chat/completions", self._complete, methods=["POST"])])

    def text(self, messages: list[str]) -> str:
        """The reply with markers, as a prompt without a schema wants it; empty where it does not know."""
        task = read_prompt(messages)
        claims = self.mind(task) if task else []
        return "\n".join(f"{_stopped(said)[:-1]} [{number}]{_stopped(said)[-1]}" for said, number in claims)

    async def _complete(self, request: Request) -> JSONResponse:
        asked = await request.json()
        messages = [_content(message["content"]) for message in asked["messages"]]
        message: dict[str, Any] = {"role": "assistant", "content": self.text(messages) or DO_NOT_KNOW}
        if "tools" in asked or "response_format" in asked:
            task = read_prompt(messages)
            claims = self.mind(task) if task else []
            filled = {
                "answer": " ".join(said for said, _ in claims) or DO_NOT_KNOW,
                "citations": [{"source_id": number, "quote": said} for said, number in claims],
            }
            message["content"] = json.dumps(filled)
            if "tools" in asked:
                call = {"name": asked["tools"][0]["function"]["name"], "arguments": json.dumps(filled)}
                message |= {"content": None, "tool_calls": [{"id": "c1", "type": "function", "function": call}]}
        reason = "tool_calls" if "tool_calls" in message else "stop"
        return JSONResponse(
            {
                "id": "chatcmpl-1",
                "object": "chat.completion",
                "created": int(time.time()),
                "model": asked["model"],
                "choices": [{"index": 0, "message": message, "finish_reason": reason}],
                "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2},
            }
        )


def _stopped(said: str) -> str:
    said = said.strip()
    return said if said[-1:] in ".!?" else f"{said}."


def _content(content: object) -> str:
    if isinstance(content, list):
        return "".join(str(part.get("text", "")) for part in content)
    return str(content or "")


def answers_table(found: Mapping[str, Any]) -> str:
    lines = [f"| | {' | '.join(COLUMNS.values())} |", "|---|" + "---|" * len(COLUMNS)]
    for name, each in found["systems"].items():
        cells = (each["outcomes"][column] for column in COLUMNS)
        lines.append(f"| {name} | {' | '.join(f'{count} of {total}' for count, total in cells)} |")
    return "\n".join([*lines, "", *(f"- {name}: {each['settings']}." for name, each in found["systems"].items())])


def said_as_cited(ask: Ask, model: AnsweringModel, cases: Sequence[PerturbedCase]) -> int:
    count = 0
    for case in cases:
        model.mind = claiming(case.sentence, case.passage)
        _, citations = ask(case.sentence[:MAX_QUERY])
        count += citations > 0
    return count


def answered(ask: Ask, questions: Sequence[str]) -> int:
    replies = (ask(question)[0].strip() for question in questions)
    return sum(reply not in {"", DO_NOT_KNOW} for reply in replies)


@contextmanager
def ragdrop(
    texts: Sequence[str], model: LocalEmbeddings, chat: AnsweringModel, *, anyway: bool = False
) -> Iterator[Ask]:
    """The whole of POST /ask over the bucket index with the reader; settings at their defaults.

    Each question is answered *anyway* where the chat model is to be asked in every case.
    """
    with pushed(_collection(texts), model) as place:
        place.app.ports.reader = model.reader
        place.app.ports.chat = ScriptedChatModel(lambda messages: _own_reply(chat, messages[-1].content))
        yield lambda question: _asked(place, question, anyway=anyway)


def _own_reply(chat: AnsweringModel, prompt: str) -> str:
    return chat.text([prompt]) or "INSUFFICIENT_INFORMATION"


def _asked(place: Pushed, question: str, *, anyway: bool) -> tuple[str, int]:
    query = Query(question, min_relevance=0.0 if anyway else None)
    given = place.app.generate.ask(Question(query, answer_anyway=anyway), place.caller, soon())
    standing = sum(citation.status == "verified" for citation in given.citations)
    return ("" if given.abstain_reason else given.text), standing


@contextmanager
def framework(
    name: str, texts: Sequence[str], place: Mapping[str, Any], label: str
) -> Iterator[tuple[Ask, dict[str, Any]]]:
    """A framework that indexed *texts*, and what it reported of itself."""
    with running(name, label=label, **place) as contender:
        reported = contender.switch(CONFIGURATION)
        documents = [{"id": f"{at:03}", "title": f"{at:03}", "text": text} for at, text in enumerate(texts)]
        contender.peer.ask("add", documents=documents)

        def ask(question: str) -> tuple[str, int]:
            given = contender.peer.ask("answer", question=question)
            return given["answer"], len(given["citations"])

        yield ask, reported


def _collection(texts: Sequence[str]) -> Collection:
    return Collection(
        "answers", [CollectionDocument(f"{at:03}", "", text) for at, text in enumerate(texts)], {}, {}, {}
    )


def main() -> int:
    options = records.parser(__doc__, quick=f"one in {QUICK_SHARE} of the sentences and questions").parse_args()
    data = needed_data("peers_answers")
    share = QUICK_SHARE if options.quick else 1
    present = passages(data)
    faults, true = false_cases(present, FAULTS // share, SEED), true_cases(present, TRUE // share, SEED + 1)
    squad = load_squad(data / "squad2")
    some = ASKED // share
    questions = {
        "answerable": [each for each in squad if each.answers][:some],
        "unanswerable": [each for each in squad if not each.answers][:some],
    }
    indexed = list(dict.fromkeys(each.context for group in questions.values() for each in group))
    elsewhere = [each for each in squad if each.answers and each.context not in set(indexed)][:some]
    asked = {name: [each.question for each in group] for name, group in questions.items()}
    asked["out of the corpus"] = [each.question for each in elsewhere]
    cited_texts = list(dict.fromkeys(case.passage for case in [*faults, *true]))
    chat = AnsweringModel()

    with LocalEmbeddings() as model, in_thread(chat.app) as chat_url:

        def outcomes(sentences: Ask, asking: Ask) -> Outcomes:
            found = {
                "faults": (said_as_cited(sentences, chat, faults), len(faults)),
                "true": (said_as_cited(sentences, chat, true), len(true)),
            }
            chat.mind = extractive(model.similarity)
            return found | {name: (answered(asking, group), len(group)) for name, group in asked.items()}

        systems: dict[str, Any] = {}
        with ragdrop(cited_texts, model, chat, anyway=True) as sentences, ragdrop(indexed, model, chat) as asking:
            reported = (
                "POST /ask with its defaults and the reader (sentences: answered anyway), bucket index; "
                "counted is what is `verified`"
            )
            systems[OWN] = {"outcomes": outcomes(sentences, asking), "settings": reported}
        versions = {"python": python_version()}
        with shared_node() as node, embedding_server() as embedding_url:
            place = {"opensearch_url": node, "embedding_url": embedding_url}
            place |= {"chat_url": chat_url, "chat_model": "one-for-all"}
            for name in PEERS:
                with (
                    framework(name, cited_texts, place, "sentences") as (sentences, opened),
                    framework(name, indexed, place, "questions") as (asking, _),
                ):
                    systems[NAMES[name]] = {"outcomes": outcomes(sentences, asking), "settings": opened["settings"]}
                    versions |= opened["versions"]
    results = {"systems": systems, "paragraphs": len(indexed), "passages": len(cited_texts)}
    if options.write:
        records.keep(NAME, results, versions, quick=options.quick)
    print(answers_table(results))
    return 0


if __name__ == "__main__":
    sys.exit(main())
