"""Haystack's answers: prompt builder, chat generator and AnswerBuilder, which reads markers by a pattern."""

from __future__ import annotations

from typing import Any

from haystack.components.builders import AnswerBuilder, ChatPromptBuilder
from haystack.components.generators.chat import OpenAIChatGenerator
from haystack.dataclasses import ChatMessage
from haystack.utils import Secret

from benchmarks.peers.haystack_peer import Haystack
from benchmarks.peers.serving import SOURCES, ServedDocument, serve

TEMPLATE = """Documents:
{% for document in documents %}[{{ loop.index }}] {{ document.content }}
{% endfor %}Question: {{ question }}
Answer:"""
SYSTEM = (
    "Answer from the documents alone and name them by their number in square brackets. If they do not hold the "
    "answer, say that you do not know."
)


class HaystackAnswers(Haystack):
    """The hybrid retriever before a prompt, a generator and the builder of answers."""

    def open(self, place: ServedDocument) -> str:
        """The same store, and the components."""
        told = super().open(place)
        self._prompts = ChatPromptBuilder(
            template=[ChatMessage.from_system(SYSTEM), ChatMessage.from_user(TEMPLATE)], required_variables="*"
        )
        self._generator = OpenAIChatGenerator(
            api_key=Secret.from_token("none"), model=place.chat_model, api_base_url=place.chat_url, max_retries=0
        )
        self._answers = AnswerBuilder(reference_pattern=r"\[(\d+)\]")
        return f"ChatPromptBuilder, OpenAIChatGenerator, AnswerBuilder with a reference_pattern; {told}"

    def answer(self, question: str) -> dict[str, Any]:
        """What the builder makes of the reply: its text, and the documents that are referred to."""
        found = self.retrieve(question, SOURCES)[:SOURCES]
        prompt = self._prompts.run(documents=found, question=question)["prompt"]
        replies = self._generator.run(messages=prompt)["replies"]
        given = self._answers.run(query=question, replies=replies, documents=found)["answers"][0]
        return {"answer": given.data, "citations": [{"id": each.meta["id"]} for each in given.documents]}


if __name__ == "__main__":
    serve(HaystackAnswers())
