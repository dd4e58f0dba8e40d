"""A planned reindex of 100 million chunks at 1,000 workers, simulated: the ledger's own code, a clock of events.

    python -m benchmarks.reindex_plan [--quick] [--write]

Real are the plan (`PlannedReindex`) and the ledger with its expressions (`DynamoDbWorkLedger`).  Simulated are time,
DynamoDB, SQS (a message that is not deleted is shown again, some are delivered twice) and death: a share of the calls
ends in the middle, without a word.  Copying is its measured time alone.  The ledger is exact if each item was counted
once and the sums are those of the documents.
"""

from __future__ import annotations

import heapq
import random
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from platform import python_version
from typing import Any, cast

from greenlet import getcurrent, greenlet

from benchmarks import records
from ragdrop.domain.deadlines import Deadline
from ragdrop.domain.documents import Head, Page, Status
from ragdrop.domain.keys import DocumentKey
from ragdrop.domain.models import EmbeddingSpace
from ragdrop.domain.tenants import ActiveIndex, ChunkingPlan, Tenant
from ragdrop.operate.planned_reindex import CHUNK_S, DOCUMENT_S, PlannedReindex, usd_of
from ragdrop.ports.message_queue import WorkRequest
from ragdrop.ports.work_ledger import WorkSummary
from ragdrop.stores.dynamodb.ledger_items import DynamoDbWorkLedger
from testing.memory_object_store import MemoryObjectStore
from tests.simulation.dynamodb import SimulatedDynamoDb

EMBED_S = 0.030  # a passage in a batch, on a function with one core: benchmarks/models_function.py
PAGE_S, WRITE_S = 0.3, 0.03  # a page of 2,000 documents from eight streams; a transaction and two batches of messages
INVOCATION_S, VISIBLE_S = 300.0, 1_860.0  # of the ingest function and its queue, as the template has them
POLL_S = 20.0  # a worker without a message looks again after this
DEATHS, TWICE = 0.01, 0.002  # shares of calls that end in the middle, and of messages that are delivered twice
INDEX = "bucket-v1-model-384-2"
SPACE = EmbeddingSpace("model", 384)


class Killed(BaseException):
    """The worker is gone."""


class Events:
    """Time: workers of which one runs, and the events that wake the others."""

    def __init__(self) -> None:
        self.now_s = 1_800_000_000.0
        self._waiting: list[tuple[float, int, greenlet]] = []
        self._number = 0

    def __call__(self) -> float:
        return self.now_s

    def start(self, work: Callable[[], None]) -> None:
        """Let *work* begin now."""
        self._wait(greenlet(work), 0.0)

    def sleep(self, seconds: float) -> None:
        """Let the others run until *seconds* are over."""
        worker = getcurrent()
        self._wait(worker, seconds)
        assert worker.parent is not None
        worker.parent.switch()

    def run(self, until: Callable[[], bool]) -> None:
        """Wake one after the other."""
        while self._waiting and not until():
            self.now_s, _, worker = heapq.heappop(self._waiting)
            worker.switch()

    def _wait(self, worker: greenlet, seconds: float) -> None:
        self._number += 1
        heapq.heappush(self._waiting, (self.now_s + seconds, self._number, worker))


class PlanQueue:
    """SQS: a message is shown again until it is deleted, and now and then twice."""

    def __init__(self, events: Events, chance: random.Random) -> None:
        self._events, self._chance = events, chance
        self._shown: list[tuple[float, int, WorkRequest, int]] = []
        self._number = self.sent = 0

    def work(self, requests: Sequence[WorkRequest]) -> None:
        for each in requests:
            self.sent += 1
            self.show(each, 0.0, 1)
            if self._chance.random() < TWICE:
                self.show(each, self._chance.uniform(0, 60), 1)

    def show(self, request: WorkRequest, after_s: float, receives: int) -> None:
        """Show a message to whoever asks in *after_s* seconds."""
        self._number += 1
        heapq.heappush(self._shown, (self._events.now_s + after_s, self._number, request, receives))

    def take(self) -> tuple[WorkRequest, int, int] | None:
        """A message that is shown now, with its number and how often it was received."""
        if not self._shown or self._shown[0][0] > self._events.now_s:
            return None
        _, number, request, receives = heapq.heappop(self._shown)
        return request, number, receives


@dataclass
class Documents:
    """The listing of a tenant whose documents have the chunks of a law, and what copies them: time."""

    count: int
    events: Events
    chance: random.Random
    tenant_item: Tenant
    ends_s: float = 0.0
    copied: int = 0

    def tenant(self, _name: str, *, consistent: bool = True) -> Tenant:
        return self.tenant_item

    def page(self, _tenant: str, *, limit: int, after: str, **_named: Any) -> Page:
        self.events.sleep(PAGE_S * limit / 2_000)
        first = int(after.rpartition("/")[2]) + 1 if after else 0
        heads = [self.head(number) for number in range(first, min(first + limit, self.count))]
        return Page(heads, "more" if first + limit < self.count else None)

    def head(self, number: int) -> Head:
        key = DocumentKey("acme", "team", f"{number:09d}")
        return Head(key, Status.INDEXED, 1, 1, chunk_count=chunks_of(number))

    def copy(self, heads: Sequence[Head], *_rest: Any) -> int:
        chunks = sum(head.chunk_count for head in heads)
        took_s = (len(heads) * DOCUMENT_S + chunks * (CHUNK_S + EMBED_S)) * self.chance.lognormvariate(0.0, 0.25)
        if self.chance.random() < DEATHS / 5:  # five of these calls are an item
            self.events.sleep(took_s * self.chance.random())
            raise Killed
        self.events.sleep(took_s)
        self.copied += len(heads)
        return len(heads)

    def current(self, listed: Sequence[Head]) -> Sequence[Head]:
        return listed

    def counts_of(self, heads: Sequence[Head], _building: ActiveIndex) -> tuple[int, int]:
        return len(heads), sum(head.chunk_count for head in heads)

    @property
    def registry(self) -> Documents:
        return self


def chunks_of(number: int) -> int:
    """1 to 19 chunks, 10 on average."""
    return 1 + number * 7 % 19


def simulated(documents: int, workers: int, *, seed: int = 1) -> dict[str, Any]:
    """Plan and work; what the ledger says, and what is true."""
    begun, chance, events = time.perf_counter(), random.Random(seed), Events()
    active = ActiveIndex("bucket-v1-model-384-1", SPACE, ChunkingPlan())
    tenant = Tenant("acme", active, building=ActiveIndex(INDEX, SPACE, ChunkingPlan(256, 0)))
    listing, queue = Documents(documents, events, chance, tenant), PlanQueue(events, chance)
    ledger = DynamoDbWorkLedger("registry", SimulatedDynamoDb(events))
    planned = PlannedReindex(
        reindex=cast("Any", listing),
        ledger=ledger,
        queue=cast("Any", queue),
        state=MemoryObjectStore("state"),
        embedder=cast("Any", None),
        copying=lambda _embedder: cast("Any", None),
        clock=events,
    )
    deaths = busy = 0

    def work() -> None:
        nonlocal deaths, busy
        while not over():
            taken = queue.take()
            if taken is None:
                events.sleep(POLL_S)
                continue
            request, number, receives = taken
            deadline = Deadline.after(INVOCATION_S - 5.0, clock=events)
            try:
                is_done = planned(request, f"{number}:{receives}", deadline)
            except Killed:
                deaths += 1
                queue.show(request, VISIBLE_S, receives + 1)
                continue
            events.sleep(WRITE_S)
            if not is_done:
                busy += 1
                queue.show(request, 120.0, receives + 1)

    def summary() -> WorkSummary:
        found = ledger.summary("acme", INDEX)
        assert found is not None
        return found

    checked, finished = 0, False

    def over() -> bool:
        nonlocal checked, finished
        checked += 1
        finished = finished or (checked % 64 == 0 and summary().is_done)
        return finished

    start_s = events.now_s
    ledger.begin("acme", INDEX, start_s)
    queue.work([WorkRequest("acme", INDEX)])
    for _ in range(workers):
        events.start(work)
    events.run(lambda: finished)
    now = summary()
    chunks = sum(map(chunks_of, range(documents)))
    return {
        "documents": documents,
        "chunks": chunks,
        "workers": workers,
        "items": now.planned,
        "seconds": round(now.ended_at_s - start_s),
        "deaths": deaths,
        "messages": queue.sent,
        "given_back": busy,
        "copied_again": listing.copied - documents,
        "ledger_is_exact": (now.done, now.counts.documents, now.counts.chunks) == (now.planned, documents, chunks)
        and not list(ledger.left("acme", INDEX)),
        "function_hours": round(now.counts.milliseconds / 3_600_000, 1),
        "usd_without_models": round(usd_of(now), 2),
        "took_s": round(time.perf_counter() - begun),
    }


def plan_table(found: dict[str, Any]) -> str:
    """The run, a line a figure."""
    rows = [
        ("documents, chunks, items", f"{found['documents']:,}, {found['chunks']:,}, {found['items']:,}"),
        ("workers", f"{found['workers']:,}"),
        ("time from the first message to the last item", f"{found['seconds'] / 3_600:.2f} hours"),
        ("workers that died in the middle", f"{found['deaths']:,}"),
        ("documents copied again after a death", f"{found['copied_again']:,}"),
        ("ledger", "exact: each item counted once, sums as the documents" if found["ledger_is_exact"] else "NOT EXACT"),
        ("time of functions", f"{found['function_hours']:,} hours"),
        ("list price without models", f"${found['usd_without_models']:,}"),
    ]
    return records.markdown(("what", "simulated"), rows)


def main() -> int:
    """Simulate, print, and keep if asked to; 1 if the ledger is not exact."""
    options = records.parser(__doc__, quick="100,000 chunks at 50 workers").parse_args()
    found = simulated(10_000, 50) if options.quick else simulated(10_000_000, 1_000)
    if options.write:
        records.keep("reindex_plan", found, {"python": python_version()}, quick=options.quick)
    print(plan_table(found))
    return int(not found["ledger_is_exact"])


if __name__ == "__main__":
    sys.exit(main())
