"""What the reader adds to an answer of the laptop: each question of some vaults asked with it and without it, in turns.

    python -m benchmarks.ask_speed [--write]

ragdrop in memory, over HTTP to two model servers as `make up` starts one: both embed and answer, one reads too.
Search, prompt, answer and its check are those of `/ask`.  No question is asked twice; passages come again, as they do
in a vault.
"""

from __future__ import annotations

import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from statistics import median

from benchmarks import records
from benchmarks.embeddings import MODEL, PYTHON, READER, free_port, started
from benchmarks.live_stack import cpu_s_of
from benchmarks.own_words import documents_of, folder_of, questions_of
from benchmarks.pipeline import SETTINGS, TENANT, ingest, soon, stores_in_memory
from benchmarks.records import Grid, publish
from ragdrop.app import App, Ports, compose
from ragdrop.config import Settings
from ragdrop.domain.answers import Question
from ragdrop.domain.retrieval import Query
from ragdrop.domain.tenants import Caller
from testing.memory_object_store import MemoryObjectStore

VAULTS = ("fernseed", "workshop", "household")
GOAL_MS = 250.0
WARM = 3  # questions of each vault that do not count
COMMAND = (str(PYTHON), "-m", "localstack.models.server", "--embedding", MODEL, "--answerer")


class AnsweringStack:
    """An app over its own model server, with the reader or without; `ask` says what an answer took."""

    def __init__(self, app: App, server: subprocess.Popen[bytes]) -> None:
        self._app, self._server = app, server
        self.wall_ms: list[float] = []
        self.processor_ms: list[float] = []

    def fill(self, vault: str) -> None:
        documents = self._app.ports.documents
        ingest(self._app, documents, vault, documents_of(folder_of(vault) or Path()))
        self._app.tenants.directory.forget(TENANT)

    def ask(self, text: str, vault: str, *, counts: bool) -> None:
        began, used = time.perf_counter(), self._processor_s()
        self._app.generate.ask(Question(Query(text, vaults=(vault,))), Caller(TENANT, "admin"), soon())
        if counts:
            self.wall_ms.append((time.perf_counter() - began) * 1_000)
            self.processor_ms.append((self._processor_s() - used) * 1_000)

    def _processor_s(self) -> float:
        return time.process_time() + cpu_s_of(self._server.pid)


@contextmanager
def answering_stack(*, reads: bool) -> Iterator[AnsweringStack]:
    """An empty one, whose server ends with the block."""
    port = free_port()
    url = f"http://127.0.0.1:{port}/v1"
    settings = SETTINGS | {"EMBEDDING_URL": url, "CHAT_URL": url} | ({"READER_URL": url} if reads else {})
    command = [*COMMAND, "--port", str(port), *(("--reader", str(READER)) if reads else ())]
    server = started(command, f"http://127.0.0.1:{port}/health", stdout=subprocess.DEVNULL)
    try:
        with tempfile.TemporaryDirectory(prefix="ragdrop-ask-") as folder:
            ports = Ports(Settings.from_environment(settings)).replace(**stores_in_memory(Path(folder)))
            app = compose(ports.replace(documents=MemoryObjectStore("documents")))
            app.operate.operator.create_tenant(TENANT)
            yield AnsweringStack(app, server)
    finally:
        server.terminate()
        server.wait(timeout=30)


def row(name: str, wall_ms: Sequence[float], processor_ms: Sequence[float]) -> tuple[str, ...]:
    """A row of the table.

    >>> row("without the reader", [40.0, 60.0, 90.0], [20.0, 20.0, 50.0])
    ('without the reader', '3', '60', '30')
    """
    mean = sum(processor_ms) / len(processor_ms)
    return name, str(len(wall_ms)), f"{median(wall_ms):.0f}", f"{mean:.0f}"


def main() -> None:
    options = records.parser(__doc__).parse_args()
    with ExitStack() as stack:
        both = [stack.enter_context(answering_stack(reads=reads)) for reads in (False, True)]
        for vault in VAULTS:
            for each in both:
                each.fill(vault)
            kinds = (questions_of(vault, kind, final=False) for kind in ("own", "near"))
            for number, asked in enumerate(question for some in kinds for question in some):
                for each in both[:: 1 if number % 2 else -1]:
                    each.ask(asked.text, vault, counts=number >= WARM)
    without, reading = both
    added = [more - less for more, less in zip(reading.wall_ms, without.wall_ms, strict=True)]
    more = [one - other for one, other in zip(reading.processor_ms, without.processor_ms, strict=True)]
    rows = [
        row("without the reader", without.wall_ms, without.processor_ms),
        row("with the reader", reading.wall_ms, reading.processor_ms),
        row("what it adds", added, more),
    ]
    note = f"The goal is at most {GOAL_MS:.0f} ms more."
    columns = ("/ask", "questions", "p50, ms", "of processors, ms in the mean")
    publish("ask_speed", [Grid(columns, rows, note)], write=options.write)


if __name__ == "__main__":
    main()
