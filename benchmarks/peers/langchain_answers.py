"""LangChain's answers: its guide to citations in RAG, by structured output with a quote for each source."""

from __future__ import annotations

from typing import Any

from langchain_core.prompts import ChatPromptTemplate
from langchain_openai import ChatOpenAI
from pydantic import BaseModel, Field

from benchmarks.peers.langchain_peer import LangChain
from benchmarks.peers.serving import SOURCES, ServedDocument, serve

SYSTEM = (
    "Answer the user's question from the snippets alone and cite them. If none of them answers it, just say "
    "that you do not know.\n\nHere are the snippets:\n\n{context}"
)
PROMPT = ChatPromptTemplate.from_messages(
    [
        ("system", SYSTEM),
        ("human", "{question}"),
    ]
)


class LangChainCitation(BaseModel):
    """A source that justifies the answer."""

    source_id: int = Field(description="The integer ID of a SPECIFIC source which justifies the answer.")
    quote: str = Field(description="The VERBATIM quote from the specified source that justifies the answer.")


class QuotedAnswer(BaseModel):
    """Answer the user question based only on the given sources, and cite the sources used."""

    answer: str = Field(description="The answer to the user question, which is based only on the given sources.")
    citations: list[LangChainCitation] = Field(description="Citations from the given sources that justify the answer.")


class LangChainAnswers(LangChain):
    """The store's search, a prompt and a model that fills a form."""

    def open(self, place: ServedDocument) -> str:
        """The same store, and the chain."""
        told = super().open(place)
        model = ChatOpenAI(model=place.chat_model, base_url=place.chat_url, api_key="none", max_retries=0)
        self._chain = PROMPT | model.with_structured_output(QuotedAnswer)
        return f"with_structured_output of an answer with quoted sources; {told}"

    def answer(self, question: str) -> dict[str, Any]:
        """The filled form; numbers that name no source are left out."""
        found = self.store.similarity_search(question, k=SOURCES, **self.search_options(question))
        context = "\n\n".join(f"Source ID: {at}\nSnippet: {each.page_content}" for at, each in enumerate(found))
        given = self._chain.invoke({"question": question, "context": context})
        cited = [each for each in given.citations if 0 <= each.source_id < len(found)]
        citations = [{"id": found[each.source_id].metadata["id"], "quote": each.quote} for each in cited]
        return {"answer": given.answer, "citations": citations}


if __name__ == "__main__":
    serve(LangChainAnswers())
