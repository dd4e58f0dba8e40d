"""The program for LlamaIndex behind FastAPI and uvicorn: one route over the retriever."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import Body, FastAPI

from benchmarks.peers.llama_index_peer import LlamaIndex
from benchmarks.peers.serving import CANDIDATES, serve


class ServedLlamaIndex(LlamaIndex):
    """The index of the other comparisons."""

    def served(self) -> tuple[Any, str]:
        """A plain function as route, which FastAPI calls in a thread: the retriever waits for the node."""
        api = FastAPI()

        @api.post("/search")
        def search(query: Annotated[str, Body()], limit: Annotated[int, Body()]) -> list[dict[str, Any]]:
            found = self.retriever(CANDIDATES * limit).retrieve(query)
            best = {each.node.ref_doc_id: each for each in reversed(found)}
            ranked = sorted(best.values(), key=lambda each: -(each.score or 0.0))[:limit]
            return [
                {"id": each.node.ref_doc_id, "text": each.node.get_content(), "score": each.score} for each in ranked
            ]

        return api, "/search"


if __name__ == "__main__":
    serve(ServedLlamaIndex())
