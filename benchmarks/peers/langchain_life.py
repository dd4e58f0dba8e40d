"""LangChain under change: its indexing API with a record manager and `cleanup="full"`, over the folder as it is."""

from __future__ import annotations

from pathlib import Path

from langchain_classic.indexes import SQLRecordManager
from langchain_community.document_loaders import DirectoryLoader, TextLoader
from langchain_core.indexing import index

from benchmarks.peers.langchain_peer import HNSW, LangChain
from benchmarks.peers.serving import ServedDocument, serve


class LangChainLife(LangChain):
    """The vector store, and records of what is in it."""

    def open(self, place: ServedDocument) -> str:
        """The same store, and an empty record file."""
        super().open(place)
        url = f"sqlite:///{place.folder}/langchain-records.db"
        self._records = SQLRecordManager(f"opensearch/{place.index}", db_url=url)
        self._records.create_schema()
        return 'index(..., cleanup="full") with SQLRecordManager'

    def sync(self, folder: Path) -> int:
        """Load the folder, split, and let the indexing API compare; chunks added."""
        loaded = DirectoryLoader(str(folder), glob="**/*.txt", loader_cls=TextLoader).load()
        for document in loaded:
            document.metadata["id"] = Path(document.metadata["source"]).relative_to(folder).as_posix()
        pieces = self.splitter.split_documents(loaded)
        done = index(
            pieces,
            self._records,
            self.store,
            cleanup="full",
            source_id_key="source",
            key_encoder="blake2b",
            upsert_kwargs=HNSW,
        )
        return int(done["num_added"])

    def hits(self, query: str, limit: int) -> list[dict[str, str]]:
        """The chunks of the store's own search."""
        found = self.store.similarity_search(query, k=limit, **self.search_options(query))
        return [{"id": each.metadata["id"], "text": each.page_content} for each in found]


if __name__ == "__main__":
    serve(LangChainLife())
