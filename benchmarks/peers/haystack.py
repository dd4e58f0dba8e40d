"""Haystack over OpenSearch: its indexing pipeline, hybrid retriever, AnswerBuilder, and Hayhooks as its server.

A document's id is a digest of its content and meta, so DuplicatePolicy.OVERWRITE replaces equal chunks alone; the
documentation has no step that removes what a changed or deleted file leaves behind.  The configuration `hybrid` runs
just that; with `hybrid-cleaned` everything of files that changed or went is removed first by `delete_by_filter`.
"""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

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

from benchmarks.peers.serving import CANDIDATES, SOURCES, Peer, PeerPlace, best_documents, in_batches, serve

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
TEMPLATE = """Documents:
{% for document in documents %}[{{ loop.index }}] {{ document.content }}
{% endfor %}Question: {{ question }}
Answer:"""
SYSTEM = (
    "Answer from the documents alone and name them by their number in square brackets. If they do not hold the "
    "answer, say that you do not know."
)
RUNNING: list[Haystack] = []  # what the wrapper finds: Hayhooks makes it of its file's text
WRAPPER = """
import sys
from typing import Any

from hayhooks import BasePipelineWrapper


class PipelineWrapper(BasePipelineWrapper):
    def setup(self) -> None:
        self.haystack = sys.modules["__main__"].RUNNING[0]
        self.pipeline = self.haystack._indexing  # it wants one; what answers is the retriever

    def run_api(self, query: str, limit: int) -> list[dict[str, Any]]:
        return self.haystack.shown(query, limit)
"""


class Haystack(Peer):
    """An indexing pipeline, and the hybrid retriever of the integration."""

    distributions = ("haystack-ai", "opensearch-haystack")

    def open(self, place: PeerPlace) -> str:
        plain, cleans, _ = place.configuration.partition("-cleaned")
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
        self._join = JOINS[plain]
        mode = "embedding retriever alone"
        if self._join:
            self._retriever = OpenSearchHybridRetriever(self.store, embedder=self.text_embedder, join_mode=self._join)
            mode = f"OpenSearchHybridRetriever, joined by {self._join}"
        else:
            self._querying = Pipeline()
            self._querying.add_component("embedder", self.text_embedder)
            self._querying.add_component("retriever", OpenSearchEmbeddingRetriever(document_store=self.store))
            self._querying.connect("embedder.embedding", "retriever.query_embedding")
        settings = (
            f"DocumentSplitter {CHUNK_WORDS} words with {OVERLAP_WORDS} of overlap; OpenSearchDocumentStore, Lucene "
            f"HNSW m 16, ef_construction 100, ef_search 256, cosine; {mode}"
        )
        self._cleans, self._texts = bool(cleans), dict[str, bytes]()
        if cleans:
            return "the same, behind delete_by_filter of each changed or missing path, by our own bookkeeping"
        if place.folder:
            return "DocumentWriter, DuplicatePolicy.OVERWRITE"
        return self._open_answers(place, settings) if place.chat_url else settings

    def _open_answers(self, place: PeerPlace, settings: str) -> str:
        from haystack.components.builders import AnswerBuilder, ChatPromptBuilder
        from haystack.components.generators.chat import OpenAIChatGenerator
        from haystack.dataclasses import ChatMessage

        self._prompts = ChatPromptBuilder(
            template=[ChatMessage.from_system(SYSTEM), ChatMessage.from_user(TEMPLATE)], required_variables="*"
        )
        self._generator = OpenAIChatGenerator(
            api_key=Secret.from_token("none"), model=place.chat_model, api_base_url=place.chat_url, max_retries=0
        )
        self._answers = AnswerBuilder(reference_pattern=r"\[(\d+)\]")
        return f"ChatPromptBuilder, OpenAIChatGenerator, AnswerBuilder with a reference_pattern; {settings}"

    def add(self, documents: list[dict[str, str]]) -> int:
        made = [Document(content=each["text"], meta={"id": each["id"], "title": each["title"]}) for each in documents]
        return self.write(made)

    def fill(self, documents: list[dict[str, str]]) -> int:
        """The pipeline's steps without its copies, vectors as lists of JSON, and a wait for each request's refresh."""
        made = [Document(content=each["text"], meta={"id": each["id"], "title": each["title"]}) for each in documents]
        self.document_embedder.warm_up()  # makes its client, which otherwise asks for base64
        written = 0
        for batch in in_batches(self.splitter.run(documents=made)["documents"], EMBED_AT_ONCE):
            texts = [each.content or "" for each in batch]
            answer = self.document_embedder.client.embeddings.create(model=self.document_embedder.model, input=texts)
            pieces = [replace(each, embedding=row.embedding) for each, row in zip(batch, answer.data, strict=True)]
            written += self.store.write_documents(pieces, policy=DuplicatePolicy.OVERWRITE, refresh=False)
        self._client.indices.refresh(index=self._index_name)
        return written

    def write(self, documents: list[Document]) -> int:
        written: int = self._indexing.run({"splitter": {"documents": documents}})["writer"]["documents_written"]
        self._client.indices.refresh(index=self._index_name)
        return written

    def search(self, query: str, limit: int) -> list[str]:
        found = self.retrieve(query, CANDIDATES * limit)
        return best_documents([each.meta["id"] for each in found], limit)

    def retrieve(self, query: str, required: int) -> list[Document]:
        if self._join:
            run = self._retriever.run(query=query, top_k_bm25=required, top_k_embedding=required)
        else:
            asked = {"embedder": {"text": query}, "retriever": {"top_k": required}}
            run = self._querying.run(asked)["retriever"]
        found: list[Document] = run["documents"]
        return found

    def sync(self, folder: Path) -> int:
        paths = {path.relative_to(folder).as_posix(): path for path in sorted(folder.rglob("*.txt"))}
        if self._cleans:
            now = {name: path.read_bytes() for name, path in paths.items()}
            gone = [name for name, text in self._texts.items() if now.get(name) != text]
            paths = {name: path for name, path in paths.items() if self._texts.get(name) != now[name]}
            for name in gone:
                self.store.delete_by_filter({"field": "meta.path", "operator": "==", "value": name}, refresh=True)
            self._texts = now
        if not paths:
            return 0
        meta = [{"id": name, "title": name, "path": name} for name in paths]
        from haystack.components.converters import TextFileToDocument

        read = TextFileToDocument().run(sources=list(paths.values()), meta=meta)["documents"]
        return self.write(read)

    def hits(self, query: str, limit: int) -> list[dict[str, str]]:
        return [{"id": each.meta["id"], "text": each.content or ""} for each in self.retrieve(query, limit)[:limit]]

    def answer(self, question: str) -> dict[str, Any]:
        """What the builder makes of the reply: its text, and the documents that are referred to."""
        found = self.retrieve(question, SOURCES)[:SOURCES]
        prompt = self._prompts.run(documents=found, question=question)["prompt"]
        replies = self._generator.run(messages=prompt)["replies"]
        given = self._answers.run(query=question, replies=replies, documents=found)["answers"][0]
        return {"answer": given.data, "citations": [{"id": each.meta["id"]} for each in given.documents]}

    def served(self) -> tuple[Any, str]:
        from hayhooks import create_app
        from hayhooks.server.utils.deploy_utils import deploy_pipeline_files

        RUNNING.append(self)
        app = create_app()
        deploy_pipeline_files("search", {"pipeline_wrapper.py": WRAPPER}, app=app, save_files=False)
        return app, "/search/run"

    def shown(self, query: str, limit: int) -> list[dict[str, Any]]:
        """At most *limit* documents with text and score, best first, each once."""
        found = {each.meta["id"]: each for each in reversed(self.retrieve(query, CANDIDATES * limit))}
        best = sorted(found.values(), key=lambda each: -(each.score or 0.0))[:limit]
        return [{"id": each.meta["id"], "text": each.content, "score": each.score} for each in best]

    def close(self) -> None:
        self._client.indices.delete(index=self._index_name, ignore_unavailable=True)
        self._client.close()


if __name__ == "__main__":
    serve(Haystack())
