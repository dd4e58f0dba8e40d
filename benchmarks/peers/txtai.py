"""txtai in process: an `Embeddings` index of vectors and words, its vectors from the shared server.

Which ids a file had is the caller's to know under change.
"""

from __future__ import annotations

import base64
import json
from http.client import HTTPConnection, HTTPResponse
from pathlib import Path
from threading import local
from urllib.parse import urlsplit

import numpy as np
from numpy.typing import NDArray
from txtai.embeddings import Embeddings

from benchmarks.peers.serving import Peer, PeerPlace, in_batches, serve

EMBED_AT_ONCE = 100


class Remote:
    """The transform of txtai's method `external`: one connection a thread to an OpenAI-compatible server."""

    def __init__(self, url: str, model: str) -> None:
        self._parts, self._model, self._of_thread = urlsplit(url), model, local()

    def __call__(self, texts: list[str]) -> NDArray[np.float32]:
        rows = [row for batch in in_batches(texts, EMBED_AT_ONCE) for row in self._asked(list(batch))]
        return np.stack(rows)

    def _asked(self, texts: list[str]) -> list[NDArray[np.float32]]:
        if not hasattr(self._of_thread, "http"):
            self._of_thread.http = HTTPConnection(self._parts.hostname or "", self._parts.port, timeout=600)
        body = json.dumps({"model": self._model, "input": texts, "encoding_format": "base64"})
        headers = {"content-type": "application/json"}
        try:
            answer = self._posted(body, headers)
        except ConnectionError:  # the server gave up a connection that was idle for some seconds
            self._of_thread.http.close()
            answer = self._posted(body, headers)
        content = answer.read()
        if answer.status != 200:
            raise RuntimeError(f"the embedding server answered {answer.status}")
        return [np.frombuffer(base64.b64decode(each["embedding"]), "<f4") for each in json.loads(content)["data"]]

    def _posted(self, body: str, headers: dict[str, str]) -> HTTPResponse:
        self._of_thread.http.request("POST", f"{self._parts.path}/embeddings", body, headers)
        answer: HTTPResponse = self._of_thread.http.getresponse()
        return answer


class Txtai(Peer):
    """The index, in memory."""

    distributions = ("txtai", "faiss-cpu")
    shared = False

    def open(self, place: PeerPlace) -> str:
        remote = Remote(place.embedding_url, place.embedding_model)

        def transform(texts: list[str]) -> NDArray[np.float32]:
            return remote(texts)

        hybrid = place.configuration != "vector"
        self.embeddings = Embeddings(method="external", transform=transform, hybrid=hybrid, content=bool(place.folder))
        self._started, self._texts = False, dict[str, str]()
        if place.folder:
            return "upsert and delete by id; ids and texts stored by the caller"
        mode = "hybrid" if hybrid else "vectors alone"
        return f"Embeddings, method external, a row a document as in its own benchmarks, Faiss; {mode}"

    def add(self, documents: list[dict[str, str]]) -> int:
        rows = [(each["id"], each["text"]) for each in documents]
        self.upsert(rows)
        return len(rows)

    def upsert(self, rows: list[tuple[str, str]]) -> None:
        (self.embeddings.upsert if self._started else self.embeddings.index)(rows)
        self._started = True

    def search(self, query: str, limit: int) -> list[str]:
        return [id_ for id_, _ in self.embeddings.search(query, limit)]

    def sync(self, folder: Path) -> int:
        """Upsert the rows that are new or changed, delete those that are no more; rows upserted."""
        files = {path.relative_to(folder).as_posix(): path.read_text("utf-8") for path in sorted(folder.rglob("*.txt"))}
        changed = [(name, text) for name, text in files.items() if self._texts.get(name) != text]
        gone = [name for name in self._texts if name not in files]
        if gone:
            self.embeddings.delete(gone)
        if changed:
            self.upsert(changed)
        self._texts = files
        return len(changed)

    def hits(self, query: str, limit: int) -> list[dict[str, str]]:
        found = self.embeddings.search(query, limit)
        return [{"id": each["id"], "text": each["text"]} for each in found]

    def close(self) -> None:
        self.embeddings.close()


if __name__ == "__main__":
    serve(Txtai())
