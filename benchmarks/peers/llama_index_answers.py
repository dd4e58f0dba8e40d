"""LlamaIndex's answers: its CitationQueryEngine, which numbers the sources and asks for their numbers."""

from __future__ import annotations

import re
from typing import Any

from llama_index.core.query_engine import CitationQueryEngine
from llama_index.llms.openai_like import OpenAILike

from benchmarks.peers.llama_index_peer import LlamaIndex
from benchmarks.peers.serving import SOURCES, ServedDocument, serve

_MARKER = re.compile(r"\[(\d+)\]")


class LlamaIndexAnswers(LlamaIndex):
    """The retriever behind the engine."""

    def open(self, place: ServedDocument) -> str:
        """The same index, and the engine."""
        told = super().open(place)
        model = OpenAILike(
            model=place.chat_model, api_base=place.chat_url, api_key="none", is_chat_model=True, max_retries=0
        )
        self._engine = CitationQueryEngine.from_args(self.index, llm=model, retriever=self.retriever(SOURCES))
        return f"CitationQueryEngine; {told}"

    def answer(self, question: str) -> dict[str, Any]:
        """The engine's text; its markers are the places of its source nodes."""
        given = self._engine.query(question)
        text, nodes = str(given), given.source_nodes
        numbers = dict.fromkeys(int(number) for number in _MARKER.findall(text))
        citations = [{"id": nodes[number - 1].node.metadata["title"]} for number in numbers if 0 < number <= len(nodes)]
        return {"answer": text, "citations": citations}


if __name__ == "__main__":
    serve(LlamaIndexAnswers())
