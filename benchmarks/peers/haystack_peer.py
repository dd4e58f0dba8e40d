"""Haystack over OpenSearch: splitter, OpenAI-compatible embedders, document writer, `OpenSearchHybridRetriever`."""

from __future__ import annotations

import os
from dataclasses import replace

os.environ.setdefault("HAYSTACK_TELEMETRY_ENABLED", "False")

from haystack import Document, Pipeline
from haystack.components.embedders import OpenAIDocumentEmbedder, OpenAITextEmbedder
from haystack.components.preprocessors import DocumentSplitter
from haystack.components.writers import DocumentWriter
from haystack.document_stores.types import DuplicatePolicy
from haystack.utils import Secret
from haystack_integrations.components.retrievers.opensearch import (
    OpenSearchEmbeddingRetriever,
    OpenSearchHybridRetriever,
)
from haystack_integrations.document_stores.opensearch import OpenSearchDocumentStore
from opensearchpy import OpenSearch

from benchmarks.peers.serving import CANDIDATES, Peer, ServedDocument, best_documents, in_batches, serve

CHUNK_WORDS, OVERLAP_WORDS = 150, 15  # 200 is the default; 150 words fit into the model's window of 256 tokens
METHOD = {
    "name": "hnsw",
    "space_type": "cosinesimil",
    "engine": "lucene",
    "parameters": {"m": 16, "ef_construction": 100},
}
SETTINGS = {"index.knn": True, "index.knn.algo_param.ef_search": 256}
JOINS = {"vector": "", "hybrid": "reciprocal_rank_fusion", "hybrid-dbsf": "distribution_based_rank_fusion"}
"""By configuration how the lists of words and vectors are joined; the first of the two is the default."""
EMBED_AT_ONCE = 100


class Haystack(Peer):
    """An indexing pipeline, and the hybrid retriever of the integration."""

    distributions = ("haystack-ai", "opensearch-haystack")

    def open(self, place: ServedDocument) -> str:
        """Make the index and both pipelines."""
        self._client = OpenSearch(place.opensearch_url)
        self._index_name = place.index
        self.store = OpenSearchDocumentStore(
            hosts=place.opensearch_url,
            index=place.index,
            embedding_dim=place.dimension,
            method=METHOD,
            settings=SETTINGS,
            http_auth=None,
        )
        service = {
            "api_key": Secret.from_token("none"),
            "api_base_url": place.embedding_url,
            "model": place.embedding_model,
        }
        self.splitter = DocumentSplitter(split_by="word", split_length=CHUNK_WORDS, split_overlap=OVERLAP_WORDS)
        self.document_embedder = OpenAIDocumentEmbedder(**service, batch_size=EMBED_AT_ONCE, progress_bar=False)
        self.text_embedder = OpenAITextEmbedder(**service)
        self._indexing = Pipeline()
        self._indexing.add_component("splitter", self.splitter)
        self._indexing.add_component("embedder", self.document_embedder)
        self._indexing.add_component("writer", DocumentWriter(self.store, policy=DuplicatePolicy.OVERWRITE))
        self._indexing.connect("splitter", "embedder")
        self._indexing.connect("embedder", "writer")
        self._join = JOINS[place.configuration]
        told = "embedding retriever alone"
        if self._join:
            self._retriever = OpenSearchHybridRetriever(self.store, embedder=self.text_embedder, join_mode=self._join)
            told = f"OpenSearchHybridRetriever, joined by {self._join}"
        else:
            self._querying = Pipeline()
            self._querying.add_component("embedder", self.text_embedder)
            self._querying.add_component("retriever", OpenSearchEmbeddingRetriever(document_store=self.store))
            self._querying.connect("embedder.embedding", "retriever.query_embedding")
        return (
            f"DocumentSplitter {CHUNK_WORDS} words with {OVERLAP_WORDS} of overlap; OpenSearchDocumentStore, Lucene "
            f"HNSW m 16, ef_construction 100, ef_search 256, cosine; {told}"
        )

    def add(self, documents: list[dict[str, str]]) -> int:
        """Run the indexing pipeline, and make what it wrote visible."""
        made = [Document(content=each["text"], meta={"id": each["id"], "title": each["title"]}) for each in documents]
        return self.write(made)

    def fill(self, documents: list[dict[str, str]]) -> int:
        """The pipeline's steps without its copies, vectors as lists of JSON, and a wait for each request's refresh."""
        made = [Document(content=each["text"], meta={"id": each["id"], "title": each["title"]}) for each in documents]
        self.document_embedder.warm_up()  # makes its client, which by itself asks for base64
        written = 0
        for batch in in_batches(self.splitter.run(documents=made)["documents"], EMBED_AT_ONCE):
            texts = [each.content or "" for each in batch]
            answer = self.document_embedder.client.embeddings.create(model=self.document_embedder.model, input=texts)
            pieces = [replace(each, embedding=row.embedding) for each, row in zip(batch, answer.data, strict=True)]
            written += self.store.write_documents(pieces, policy=DuplicatePolicy.OVERWRITE, refresh=False)
        self._client.indices.refresh(index=self._index_name)
        return written

    def write(self, documents: list[Document]) -> int:
        """Run the indexing pipeline; the number of chunks written."""
        written: int = self._indexing.run({"splitter": {"documents": documents}})["writer"]["documents_written"]
        self._client.indices.refresh(index=self._index_name)
        return written

    def search(self, query: str, limit: int) -> list[str]:
        """The retriever's documents."""
        found = self.retrieve(query, CANDIDATES * limit)
        return best_documents([each.meta["id"] for each in found], limit)

    def retrieve(self, query: str, wanted: int) -> list[Document]:
        """At most *wanted* chunks, best first."""
        if self._join:
            run = self._retriever.run(query=query, top_k_bm25=wanted, top_k_embedding=wanted)
        else:
            asked = {"embedder": {"text": query}, "retriever": {"top_k": wanted}}
            run = self._querying.run(asked)["retriever"]
        found: list[Document] = run["documents"]
        return found

    def close(self) -> None:
        """Remove the index."""
        self._client.indices.delete(index=self._index_name, ignore_unavailable=True)
        self._client.close()


if __name__ == "__main__":
    serve(Haystack())
