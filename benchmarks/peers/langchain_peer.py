"""LangChain over OpenSearch: splitter, OpenAI-compatible embeddings, `OpenSearchVectorSearch`, plain and hybrid."""

from __future__ import annotations

from langchain_community.vectorstores import OpenSearchVectorSearch
from langchain_core.documents import Document
from langchain_openai import OpenAIEmbeddings
from langchain_text_splitters import RecursiveCharacterTextSplitter

from benchmarks.peers.serving import CANDIDATES, Peer, ServedDocument, best_documents, in_batches, serve

CHUNK_CHARACTERS, OVERLAP_CHARACTERS = 1_000, 200  # as in LangChain's tutorials; about 230 tokens of English
HNSW = {"engine": "lucene", "space_type": "cosinesimil", "m": 16, "ef_construction": 100, "ef_search": 256}
WEIGHTS = {"vector": None, "hybrid": (0.7, 0.3), "hybrid-60": (0.4, 0.6)}
"""By configuration the weights of words and vector in the search pipeline; the first pair is the library's default."""
BULK = 500  # what one call of add_texts takes


class LangChain(Peer):
    """The vector store with the splitter and the embeddings of the tutorials."""

    distributions = ("langchain-core", "langchain-community", "langchain-openai", "langchain-text-splitters")

    def open(self, place: ServedDocument) -> str:
        """Connect; the index comes with the first documents, its search pipeline now."""
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
        told = "vectors alone"
        if weights is not None:
            pipeline = place.index.replace("-", "_")
            self.store.configure_search_pipelines(pipeline, keyword_weight=weights[0], vector_weight=weights[1])
            self._search = {"search_type": "hybrid_search", "search_pipeline": pipeline}
            told = f"hybrid search, min-max, weights {weights[0]} words and {weights[1]} vector"
        return (
            f"RecursiveCharacterTextSplitter {CHUNK_CHARACTERS} characters with {OVERLAP_CHARACTERS} of overlap; "
            f"OpenSearchVectorSearch, Lucene HNSW m 16, ef_construction 100, ef_search 256, cosine; {told}"
        )

    def add(self, documents: list[dict[str, str]]) -> int:
        """Split and add, in the batches that the store takes."""
        made = [
            Document(page_content=each["text"], metadata={"id": each["id"], "title": each["title"]})
            for each in documents
        ]
        pieces = self.splitter.split_documents(made)
        for batch in in_batches(pieces, BULK):
            self.store.add_texts([piece.page_content for piece in batch], [piece.metadata for piece in batch], **HNSW)
        return len(pieces)

    def search(self, query: str, limit: int) -> list[str]:
        """The store's own search."""
        found = self.store.similarity_search(query, k=CANDIDATES * limit, **self.search_options(query))
        return best_documents([each.metadata["id"] for each in found], limit)

    def search_options(self, query: str) -> dict[str, str]:
        """How the store is searched for *query*."""
        return self._search | ({"query_text": query} if "search_pipeline" in self._search else {})

    def close(self) -> None:
        """Remove the index and its pipeline."""
        if self.store.index_exists():
            self.store.delete_index()
        if "search_pipeline" in self._search:
            self.store.client.transport.perform_request(
                "DELETE", f"/_search/pipeline/{self._search['search_pipeline']}"
            )


if __name__ == "__main__":
    serve(LangChain())
