"""LlamaIndex under change: its ingestion pipeline with a document store and the strategy that also deletes."""

from __future__ import annotations

from pathlib import Path

from llama_index.core import SimpleDirectoryReader
from llama_index.core.ingestion import DocstoreStrategy, IngestionPipeline
from llama_index.core.storage.docstore import SimpleDocumentStore

from benchmarks.peers.llama_index_peer import LlamaIndex
from benchmarks.peers.serving import ServedDocument, serve


class LlamaIndexLife(LlamaIndex):
    """The vector store behind a pipeline."""

    def open(self, place: ServedDocument) -> str:
        """The same store, and an empty document store."""
        super().open(place)
        self._pipeline_of_files = IngestionPipeline(
            transformations=[self.splitter, self.embeddings],
            vector_store=self.store,
            docstore=SimpleDocumentStore(),
            docstore_strategy=DocstoreStrategy.UPSERTS_AND_DELETE,
        )
        return "IngestionPipeline with a docstore, UPSERTS_AND_DELETE"

    def sync(self, folder: Path) -> int:
        """Read the folder and run the pipeline; chunks made."""
        self._folder = folder
        read = SimpleDirectoryReader(str(folder), recursive=True, filename_as_id=True).load_data()
        return len(self._pipeline_of_files.run(documents=read))

    def hits(self, query: str, limit: int) -> list[dict[str, str]]:
        """The nodes of the index's retriever."""
        found = self.retriever(limit).retrieve(query)
        return [
            {
                "id": Path(each.node.metadata["file_path"]).relative_to(self._folder).as_posix(),
                "text": each.node.get_content(),
            }
            for each in found
        ]


if __name__ == "__main__":
    serve(LlamaIndexLife())
