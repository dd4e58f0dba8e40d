"""LangChain over OpenSearch: its splitter, embeddings, vector store, indexing API and guide to citations in RAG."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from langchain_community.vectorstores import OpenSearchVectorSearch
from langchain_core.documents import Document
from langchain_openai import ChatOpenAI, OpenAIEmbeddings
from langchain_text_splitters import RecursiveCharacterTextSplitter
from pydantic import BaseModel, Field

from benchmarks.peers.serving import CANDIDATES, SOURCES, Peer, PeerPlace, best_documents, in_batches, serve

CHUNK_CHARACTERS, OVERLAP_CHARACTERS = 1_000, 200  # as in LangChain's tutorials; about 230 tokens of English
HNSW = {"engine": "lucene", "space_type": "cosinesimil", "m": 16, "ef_construction": 100, "ef_search": 256}
WEIGHTS = {"vector": None, "hybrid": (0.7, 0.3), "hybrid-60": (0.4, 0.6)}
"""By configuration the weights of words and vector in the search pipeline; the first pair is the library's default."""
BULK = 500  # what one call of add_texts takes
SYSTEM = (
    "Answer the user's question from the snippets alone and cite them. If none of them answers it, just say "
    "that you do not know.\n\nHere are the snippets:\n\n{context}"
)


class LangChainCitation(BaseModel):
    """A source that justifies the answer."""

    source_id: int = Field(description="The integer ID of a SPECIFIC source which justifies the answer.")
    quote: str = Field(description="The VERBATIM quote from the specified source that justifies the answer.")


class QuotedAnswer(BaseModel):
    """Answer the user question based only on the given sources, and cite the sources used."""

    answer: str = Field(description="The answer to the user question, which is based only on the given sources.")
    citations: list[LangChainCitation] = Field(description="Citations from the given sources that justify the answer.")


class LangChain(Peer):
    """The vector store of the tutorials; records of a folder or a chain of answers on top, where the place asks."""

    distributions = ("langchain-core", "langchain-community", "langchain-openai", "langchain-text-splitters")

    def open(self, place: PeerPlace) -> str:
        embeddings = OpenAIEmbeddings(
            base_url=place.embedding_url,
            api_key="none",
            model=place.embedding_model,
            check_embedding_ctx_length=False,  # its documentation's advice for servers other than OpenAI's
        )
        self.store = OpenSearchVectorSearch(place.opensearch_url, place.index, embeddings, engine="lucene")
        self.splitter = RecursiveCharacterTextSplitter(
            chunk_size=CHUNK_CHARACTERS, chunk_overlap=OVERLAP_CHARACTERS, add_start_index=True
        )
        weights = WEIGHTS[place.configuration]
        self._search = {"search_type": "approximate_search"}
        mode = "vectors alone"
        if weights is not None:
            pipeline = place.index.replace("-", "_")
            self.store.configure_search_pipelines(pipeline, keyword_weight=weights[0], vector_weight=weights[1])
            self._search = {"search_type": "hybrid_search", "search_pipeline": pipeline}
            mode = f"hybrid search, min-max, weights {weights[0]} words and {weights[1]} vector"
        settings = (
            f"RecursiveCharacterTextSplitter {CHUNK_CHARACTERS} characters with {OVERLAP_CHARACTERS} of overlap; "
            f"OpenSearchVectorSearch, Lucene HNSW m 16, ef_construction 100, ef_search 256, cosine; {mode}"
        )
        if place.folder:
            return self._open_records(place)
        return self._open_chain(place, settings) if place.chat_url else settings

    def _open_records(self, place: PeerPlace) -> str:
        from langchain_classic.indexes import SQLRecordManager  # of the change and ingest benchmarks alone

        url = f"sqlite:///{place.folder}/langchain-records.db"
        self._records = SQLRecordManager(f"opensearch/{place.index}", db_url=url)
        self._records.create_schema()
        return 'index(..., cleanup="full") with SQLRecordManager'

    def _open_chain(self, place: PeerPlace, settings: str) -> str:
        from langchain_core.prompts import ChatPromptTemplate

        model = ChatOpenAI(model=place.chat_model, base_url=place.chat_url, api_key="none", max_retries=0)
        prompt = ChatPromptTemplate.from_messages([("system", SYSTEM), ("human", "{question}")])
        self._chain = prompt | model.with_structured_output(QuotedAnswer)
        return f"with_structured_output of an answer with quoted sources; {settings}"

    def add(self, documents: list[dict[str, str]]) -> int:
        made = [
            Document(page_content=each["text"], metadata={"id": each["id"], "title": each["title"]})
            for each in documents
        ]
        pieces = self.splitter.split_documents(made)
        for batch in in_batches(pieces, BULK):
            self.store.add_texts([piece.page_content for piece in batch], [piece.metadata for piece in batch], **HNSW)
        return len(pieces)

    def search(self, query: str, limit: int) -> list[str]:
        return best_documents([each.metadata["id"] for each in self._found(query, CANDIDATES * limit)], limit)

    def sync(self, folder: Path) -> int:
        """Load the folder, split, and let the indexing API compare; chunks added."""
        from langchain_community.document_loaders import DirectoryLoader, TextLoader
        from langchain_core.indexing import index

        loaded = DirectoryLoader(str(folder), glob="**/*.txt", loader_cls=TextLoader).load()
        for document in loaded:
            document.metadata["id"] = Path(document.metadata["source"]).relative_to(folder).as_posix()
        done = index(
            self.splitter.split_documents(loaded),
            self._records,
            self.store,
            cleanup="full",
            source_id_key="source",
            key_encoder="blake2b",
            upsert_kwargs=HNSW,
        )
        return int(done["num_added"])

    def hits(self, query: str, limit: int) -> list[dict[str, str]]:
        return [{"id": each.metadata["id"], "text": each.page_content} for each in self._found(query, limit)]

    def answer(self, question: str) -> dict[str, Any]:
        """The filled form; numbers that name no source are left out."""
        found = self._found(question, SOURCES)
        context = "\n\n".join(f"Source ID: {at}\nSnippet: {each.page_content}" for at, each in enumerate(found))
        given = self._chain.invoke({"question": question, "context": context})
        cited = [each for each in given.citations if 0 <= each.source_id < len(found)]
        citations = [{"id": found[each.source_id].metadata["id"], "quote": each.quote} for each in cited]
        return {"answer": given.answer, "citations": citations}

    def close(self) -> None:
        if self.store.index_exists():
            self.store.delete_index()
        if "search_pipeline" in self._search:
            self.store.client.transport.perform_request(
                "DELETE", f"/_search/pipeline/{self._search['search_pipeline']}"
            )

    def _found(self, query: str, chunks: int) -> list[Document]:
        options = self._search | ({"query_text": query} if "search_pipeline" in self._search else {})
        found: list[Document] = self.store.similarity_search(query, k=chunks, **options)
        return found


if __name__ == "__main__":
    serve(LangChain())
