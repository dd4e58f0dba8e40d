"""LlamaIndex over OpenSearch: sentence splitter, vector store index, its default and its hybrid mode."""

from __future__ import annotations

from llama_index.core import Document, StorageContext, VectorStoreIndex
from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.node_parser import SentenceSplitter
from llama_index.core.vector_stores.types import VectorStoreQueryMode
from llama_index.embeddings.openai_like import OpenAILikeEmbedding
from llama_index.vector_stores.opensearch import OpensearchVectorClient, OpensearchVectorStore
from opensearchpy import OpenSearch

from benchmarks.peers.serving import CANDIDATES, Peer, ServedDocument, best_documents, serve

CHUNK_TOKENS, OVERLAP_TOKENS = 240, 24  # the model's window is 256
METHOD = {
    "name": "hnsw",
    "space_type": "cosinesimil",
    "engine": "lucene",
    "parameters": {"m": 16, "ef_construction": 100},
}
SETTINGS = {"index": {"knn": True, "knn.algo_param.ef_search": 256}}
WEIGHTS = {"vector": None, "hybrid": (0.3, 0.7), "hybrid-60": (0.4, 0.6)}
"""By configuration the weights of words and vector in the search pipeline; the first pair is of the documentation."""
EMBED_AT_ONCE = 100


class LlamaIndex(Peer):
    """The index over a vector store, with the splitter and the retriever of the documentation."""

    distributions = ("llama-index-core", "llama-index-vector-stores-opensearch", "llama-index-embeddings-openai-like")

    def open(self, place: ServedDocument) -> str:
        """Connect; make the search pipeline where one is wanted."""
        self._client = OpenSearch(place.opensearch_url)
        self._index_name = place.index
        weights = WEIGHTS[place.configuration]
        self._pipeline = None if weights is None else f"{place.index}-pipeline"
        if weights is not None:
            self._put_pipeline(weights)
        self.client = OpensearchVectorClient(
            place.opensearch_url,
            place.index,
            place.dimension,
            method=METHOD,
            settings=SETTINGS,
            search_pipeline=self._pipeline,
            excluded_source_fields=["embedding"],
        )
        self.embeddings = OpenAILikeEmbedding(
            model_name=place.embedding_model,
            api_base=place.embedding_url,
            api_key="none",
            embed_batch_size=EMBED_AT_ONCE,
        )
        self.store = OpensearchVectorStore(self.client)
        self.splitter = SentenceSplitter(chunk_size=CHUNK_TOKENS, chunk_overlap=OVERLAP_TOKENS)
        self.index = VectorStoreIndex.from_vector_store(self.store, embed_model=self.embeddings)
        told = "default mode"
        self._mode = VectorStoreQueryMode.DEFAULT
        if weights is not None:
            self._mode = VectorStoreQueryMode.HYBRID
            told = f"hybrid mode, min-max, weights {weights[0]} words and {weights[1]} vector"
        return (
            f"SentenceSplitter {CHUNK_TOKENS} tokens with {OVERLAP_TOKENS} of overlap; "
            f"OpensearchVectorStore without vectors in answers, Lucene HNSW m 16, ef_construction 100, ef_search 256, "
            f"cosine; {told}"
        )

    def add(self, documents: list[dict[str, str]]) -> int:
        """Split, embed and store."""
        made = [
            Document(
                text=each["text"],  # its heading is the title, so the title is not embedded once more
                id_=each["id"],
                metadata={"title": each["title"]},
                excluded_embed_metadata_keys=["title"],
            )
            for each in documents
        ]
        nodes = self.splitter.get_nodes_from_documents(made)
        VectorStoreIndex(
            nodes,
            storage_context=StorageContext.from_defaults(vector_store=self.store),
            embed_model=self.embeddings,
        )
        return len(nodes)

    def search(self, query: str, limit: int) -> list[str]:
        """The index's retriever."""
        found = self.retriever(CANDIDATES * limit).retrieve(query)
        return best_documents([each.node.ref_doc_id or "" for each in found], limit)

    def retriever(self, chunks: int) -> BaseRetriever:
        """What gives at most *chunks* nodes for a question."""
        return self.index.as_retriever(similarity_top_k=chunks, vector_store_query_mode=self._mode)

    def close(self) -> None:
        """Remove the index and its pipeline."""
        self._client.indices.delete(index=self._index_name, ignore_unavailable=True)
        if self._pipeline is not None:
            self._client.transport.perform_request("DELETE", f"/_search/pipeline/{self._pipeline}")
        self.client.close()
        self._client.close()

    def _put_pipeline(self, weights: tuple[float, float]) -> None:
        combination = {"technique": "arithmetic_mean", "parameters": {"weights": list(weights)}}
        processor = {"normalization": {"technique": "min_max"}, "combination": combination}
        body = {"phase_results_processors": [{"normalization-processor": processor}]}
        self._client.transport.perform_request("PUT", f"/_search/pipeline/{self._pipeline}", body=body)


if __name__ == "__main__":
    serve(LlamaIndex())
