"""An embedding service of the tests' own: it counts the texts it is given, and goes away when it is told to."""

from __future__ import annotations

import threading
import time
from array import array
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import uvicorn

from localstack.models.serving import application, embedding_routes
from localstack.processes import HOST, choose_port
from ragdrop.models.model_protocol import Embedded
from testing.models import word_vector

DIMENSION = 64
START_TIMEOUT_S = 10


class CountingModel:
    """An EmbeddingModel in which equal words give near vectors; `texts` counts what it was given, `given` has it."""

    name = "counting"
    dimension = DIMENSION

    def __init__(self) -> None:
        self.texts = 0
        self.given: list[str] = []
        self._counting = threading.Lock()

    def embed(self, texts: Sequence[str]) -> Embedded:
        with self._counting:
            self.texts += len(texts)
            self.given += texts
        vectors = [array("f", word_vector(text, DIMENSION)).tobytes() for text in texts]
        return Embedded(vectors, sum(len(text.split()) for text in texts))


class StubEmbeddings:
    """The service on one loopback port, which it keeps over a stop: as a service that is down and comes back."""

    def __init__(self) -> None:
        self.model = CountingModel()
        self.port = choose_port()
        self._server: uvicorn.Server | None = None
        self._thread: threading.Thread | None = None

    @property
    def url(self) -> str:
        return f"http://{HOST}:{self.port}/v1"

    @property
    def texts(self) -> int:
        """Texts that were embedded so far, questions too."""
        return self.model.texts

    def start(self) -> None:
        config = uvicorn.Config(
            application(embedding_routes(self.model)),
            host=HOST,
            port=self.port,
            log_level="error",
            access_log=False,
            timeout_graceful_shutdown=1,
        )
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(target=self._server.run, name="stub-embeddings", daemon=True)
        self._thread.start()
        until = time.monotonic() + START_TIMEOUT_S
        while not self._server.started:
            assert time.monotonic() < until, "the stub embedding service did not start"
            time.sleep(0.01)

    def stop(self) -> None:
        """From here on connections are refused."""
        if self._server is not None and self._thread is not None:
            self._server.should_exit = True
            self._thread.join(START_TIMEOUT_S)
        self._server = self._thread = None

    @contextmanager
    def down(self) -> Iterator[None]:
        """Nobody answers within the block."""
        self.stop()
        try:
            yield
        finally:
            self.start()
