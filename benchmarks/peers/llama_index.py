"""LlamaIndex over OpenSearch: sentence splitter, vector store index, ingestion pipeline and CitationQueryEngine."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated, Any

from llama_index.core import Document, SimpleDirectoryReader, StorageContext, VectorStoreIndex
from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.node_parser import SentenceSplitter
from llama_index.core.vector_stores.types import VectorStoreQueryMode
from llama_index.embeddings.openai_like import OpenAILikeEmbedding
from llama_index.vector_stores.opensearch import OpensearchVectorClient, OpensearchVectorStore
from opensearchpy import OpenSearch

from benchmarks.peers.serving import CANDIDATES, SOURCES, Peer, PeerPlace, best_documents, serve

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
_MARKER = re.compile(r"\[(\d+)\]")


class LlamaIndex(Peer):
    """The index of the documentation; a pipeline of files or an engine of answers on top, where the place asks."""

    distributions = ("llama-index-core", "llama-index-vector-stores-opensearch", "llama-index-embeddings-openai-like")

    def open(self, place: PeerPlace) -> str:
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
        mode = "default mode"
        self._mode = VectorStoreQueryMode.DEFAULT
        if weights is not None:
            self._mode = VectorStoreQueryMode.HYBRID
            mode = f"hybrid mode, min-max, weights {weights[0]} words and {weights[1]} vector"
        settings = (
            f"SentenceSplitter {CHUNK_TOKENS} tokens with {OVERLAP_TOKENS} of overlap; "
            f"OpensearchVectorStore without vectors in answers, Lucene HNSW m 16, ef_construction 100, ef_search 256, "
            f"cosine; {mode}"
        )
        if place.folder:
            return self._open_files()
        return self._open_engine(place, settings) if place.chat_url else settings

    def _open_files(self) -> str:
        from llama_index.core.ingestion import DocstoreStrategy, IngestionPipeline
        from llama_index.core.storage.docstore import SimpleDocumentStore

        self._pipeline_of_files = IngestionPipeline(
            transformations=[self.splitter, self.embeddings],
            vector_store=self.store,
            docstore=SimpleDocumentStore(),
            docstore_strategy=DocstoreStrategy.UPSERTS_AND_DELETE,
        )
        return "IngestionPipeline with a docstore, UPSERTS_AND_DELETE"

    def _open_engine(self, place: PeerPlace, settings: str) -> str:
        from llama_index.core.query_engine import CitationQueryEngine
        from llama_index.llms.openai_like import OpenAILike

        model = OpenAILike(
            model=place.chat_model, api_base=place.chat_url, api_key="none", is_chat_model=True, max_retries=0
        )
        self._engine = CitationQueryEngine.from_args(self.index, llm=model, retriever=self._retriever(SOURCES))
        return f"CitationQueryEngine; {settings}"

    def add(self, documents: list[dict[str, str]]) -> int:
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
            nodes, storage_context=StorageContext.from_defaults(vector_store=self.store), embed_model=self.embeddings
        )
        return len(nodes)

    def search(self, query: str, limit: int) -> list[str]:
        found = self._retriever(CANDIDATES * limit).retrieve(query)
        return best_documents([each.node.ref_doc_id or "" for each in found], limit)

    def sync(self, folder: Path) -> int:
        self._folder = folder
        read = SimpleDirectoryReader(str(folder), recursive=True, filename_as_id=True).load_data()
        return len(self._pipeline_of_files.run(documents=read))

    def hits(self, query: str, limit: int) -> list[dict[str, str]]:
        return [
            {
                "id": Path(each.node.metadata["file_path"]).relative_to(self._folder).as_posix(),
                "text": each.node.get_content(),
            }
            for each in self._retriever(limit).retrieve(query)
        ]

    def answer(self, question: str) -> dict[str, Any]:
        """The engine's text; its markers are the places of its source nodes."""
        given = self._engine.query(question)
        text, nodes = str(given), given.source_nodes
        numbers = dict.fromkeys(int(number) for number in _MARKER.findall(text))
        citations = [{"id": nodes[number - 1].node.metadata["title"]} for number in numbers if 0 < number <= len(nodes)]
        return {"answer": text, "citations": citations}

    def served(self) -> tuple[Any, str]:
        """A plain function as route, which FastAPI calls in a thread: the retriever waits for the node."""
        from fastapi import Body, FastAPI

        api = FastAPI()

        def search(query: Any, limit: Any) -> list[dict[str, Any]]:
            found = self._retriever(CANDIDATES * limit).retrieve(query)
            best = {each.node.ref_doc_id: each for each in reversed(found)}
            ranked = sorted(best.values(), key=lambda each: -(each.score or 0.0))[:limit]
            return [
                {"id": each.node.ref_doc_id, "text": each.node.get_content(), "score": each.score} for each in ranked
            ]

        search.__annotations__ |= {"query": Annotated[str, Body()], "limit": Annotated[int, Body()]}
        api.post("/search")(search)
        return api, "/search"

    def close(self) -> None:
        self._client.indices.delete(index=self._index_name, ignore_unavailable=True)
        if self._pipeline is not None:
            self._client.transport.perform_request("DELETE", f"/_search/pipeline/{self._pipeline}")
        self.client.close()
        self._client.close()

    def _retriever(self, chunks: int) -> BaseRetriever:
        return self.index.as_retriever(similarity_top_k=chunks, vector_store_query_mode=self._mode)

    def _put_pipeline(self, weights: tuple[float, float]) -> None:
        combination = {"technique": "arithmetic_mean", "parameters": {"weights": list(weights)}}
        processor = {"normalization": {"technique": "min_max"}, "combination": combination}
        body = {"phase_results_processors": [{"normalization-processor": processor}]}
        self._client.transport.perform_request("PUT", f"/_search/pipeline/{self._pipeline}", body=body)


if __name__ == "__main__":
    serve(LlamaIndex())
