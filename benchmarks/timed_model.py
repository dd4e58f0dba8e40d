"""An embedding service whose time is known: each text takes the same, one at a time, and all is counted."""

from __future__ import annotations

import time
from collections.abc import Sequence
from threading import Lock

from benchmarks.peers.generated import GeneratedModel
from localstack.models.embedding_server import Embedded


class TimedModel(GeneratedModel):
    """Vectors made from digests, after *text_s* a text: as if one core computed them, however busy this machine is.

    `texts` counts texts, `calls` requests; `busy_s` is the time that they took.
    """

    def __init__(self, text_s: float) -> None:
        super().__init__()
        self._text_s, self._lock = text_s, Lock()
        self.texts, self.calls, self.busy_s = 0, 0, 0.0

    def embed(self, texts: Sequence[str]) -> Embedded:
        """One request after the other."""
        with self._lock:
            began = time.perf_counter()
            made = super().embed(texts)
            time.sleep(max(0.0, began + self._text_s * len(texts) - time.perf_counter()))
            self.texts, self.calls = self.texts + len(texts), self.calls + 1
            self.busy_s += time.perf_counter() - began
            return made

    def reset(self) -> None:
        """Count from nothing."""
        self.texts, self.calls, self.busy_s = 0, 0, 0.0
