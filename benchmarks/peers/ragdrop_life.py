"""ragdrop under the same requests: files that differ from the bucket are put, and their events arrive."""

from __future__ import annotations

import hashlib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from benchmarks.peers.ragdrop_peer import Ragdrop
from benchmarks.peers.serving import ServedDocument, serve
from benchmarks.quality_pipeline import TENANT, soon
from ragdrop.domain.keys import DocumentKey
from ragdrop.ports.message_queue import Change, Delivery
from ragdrop_opensearch.engine import OpenSearchChunkIndex

VAULT = "bench"
BATCH, CONCURRENCY = 5, 5  # messages of one invocation, and invocations at a time, as in the template


class RagdropPeerLife(Ragdrop):
    """The use cases of ingest, over OpenSearch."""

    index_type = OpenSearchChunkIndex

    def open(self, place: ServedDocument) -> str:
        """An empty tenant; what is made once in a function's life is made here."""
        super().open(place)
        self._messages = 0
        self._deliver([self._put("warm.txt", b"It is warm.")])
        return (
            "as ragdrop push: what differs from the bucket is put; events come in batches of 5, five batches at a time"
        )

    def sync(self, folder: Path) -> int:
        """Put what differs, remove what is gone, let the events arrive; chunks that there are then."""
        files = {path.relative_to(folder).as_posix(): path.read_bytes() for path in sorted(folder.rglob("*.txt"))}
        changed = [self._put(name, body) for name, body in files.items() if self._differs(name, body)]
        for listed in list(self._documents.entries(f"{TENANT}/{VAULT}/")):
            if not listed.deleted and listed.key.split("/", 2)[2] not in {*files, "warm.txt"}:
                self._documents.delete(listed.key)
                changed.append(listed.key)
        self._deliver(changed)
        return self._app.ports.index.count(self._index, soon()) if changed else 0

    def _differs(self, name: str, body: bytes) -> bool:
        held = self._documents.head(DocumentKey(TENANT, VAULT, name).s3_key)
        return held is None or held.etag != hashlib.md5(body, usedforsecurity=False).hexdigest()

    def _put(self, name: str, body: bytes) -> str:
        key = DocumentKey(TENANT, VAULT, name).s3_key
        self._documents.put(key, body, media_type="text/plain", metadata={})
        return key

    def _deliver(self, keys: list[str]) -> None:
        messages = [self._message(key) for key in keys]
        batches = [messages[at : at + BATCH] for at in range(0, len(messages), BATCH)]
        with ThreadPoolExecutor(CONCURRENCY) as functions:
            for failed in functions.map(lambda batch: self._app.ingest.reconcile(batch, soon()), batches):
                if failed:
                    raise RuntimeError(f"{len(failed)} messages failed")

    def _message(self, key: str) -> Delivery:
        self._messages += 1
        return Delivery(f"m{self._messages}", f"r{self._messages}", 1, (Change(key),))


if __name__ == "__main__":
    serve(RagdropPeerLife())
