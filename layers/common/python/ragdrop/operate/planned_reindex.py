"""A reindex as a plan: a ledger of ranges of documents, which the ingest functions work through side by side.

A worker that dies leaves its item to another one: copying twice changes nothing, an item counts once, and vectors are
in a journal before anything uses them, so that they are not computed again.
"""

from __future__ import annotations

import hashlib
import json
import logging
import time
from array import array
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from ragdrop.domain.chunks import Vector
from ragdrop.domain.deadlines import Deadline
from ragdrop.domain.documents import Head, Page, searched_revisions
from ragdrop.domain.models import EmbeddingSpace
from ragdrop.domain.tenants import ActiveIndex, Tenant
from ragdrop.errors import DatabaseError, DeadlineError
from ragdrop.ingest.write_chunks import CopyRevision
from ragdrop.operate.costs import LAMBDA_CALL, LAMBDA_GB_S, SQS_CALL, requests_usd
from ragdrop.operate.reindex import LISTING_S, Progress, Reindex, ReindexReport
from ragdrop.ports.message_queue import MessageQueue, WorkRequest
from ragdrop.ports.model_services import Embedder
from ragdrop.ports.object_store import ObjectStore
from ragdrop.ports.work_ledger import WorkCounts, WorkLedger, WorkRange, WorkSummary

logger = logging.getLogger(__name__)

ITEM_DOCUMENTS = 100  # of an item
ITEMS_AT_ONCE = 20  # of one page of the listing, which is as dear for a hundred documents as for thousands
TOGETHER = 20  # documents of an item that are read and written together
JOURNALED = 64  # texts that are embedded together: at most so many are embedded again after a crash
LEASE_S = 360.0  # of an item: longer than a function runs
RESERVE_S = 30.0  # with less time left the item is handed over
POLL_S = 2.0
QUIET_S = 600.0  # without progress for so long items are sent again, whatever the queue holds
MAX_SENT = 3  # times that items are sent again without any progress


GB = 1_769 / 1_024  # of the ingest function
CHUNK_S, DOCUMENT_S = 0.001, 0.03  # measured over fakes; and eight requests of about 20 ms, of eight documents at once
DOCUMENT_REQUESTS = (6.0, 0.0, 2.0, 5.0)  # units read and written, PUTs and GETs of one document
ITEM_REQUESTS = (4.0, 8.0, 1.0, 1.0)  # the ledger's, and the segments' share


@dataclass(frozen=True, slots=True)
class ReindexEstimate:
    """What a reindex will take: `tokens` at most are embedded, 0 where all vectors are stored; USD without models."""

    documents: int
    chunks: int
    items: int
    tokens: int
    usd: float


def estimated(tenant: Tenant, target: ActiveIndex) -> ReindexEstimate:
    """Estimate a reindex of *tenant* to *target* by its counters and list prices."""
    size, before = target.chunking.max_tokens, tenant.active.chunking.max_tokens
    chunks = round(tenant.chunks * max(1.0, before / size))
    items = -(-tenant.documents // ITEM_DOCUMENTS)
    same = target.make[:-1] == tenant.active.make[:-1] and target.chunking == tenant.active.chunking
    work_s = chunks * CHUNK_S + tenant.documents * DOCUMENT_S
    requests = tenant.documents * requests_usd(*DOCUMENT_REQUESTS) + items * requests_usd(*ITEM_REQUESTS)
    usd = work_s * GB * LAMBDA_GB_S + items * (LAMBDA_CALL + 3 * SQS_CALL) + requests
    return ReindexEstimate(tenant.documents, chunks, items, 0 if same else chunks * size, round(usd, 2))


def usd_of(plan: WorkSummary) -> float:
    """What a plan has cost so far by list price, without models."""
    documents, items = plan.counts.documents, plan.done
    requests = documents * requests_usd(*DOCUMENT_REQUESTS) + items * requests_usd(*ITEM_REQUESTS)
    return plan.counts.milliseconds / 1_000 * GB * LAMBDA_GB_S + items * (LAMBDA_CALL + 3 * SQS_CALL) + requests


class JournaledEmbedder:
    """An Embedder of one space whose vectors are stored under *prefix* before they are used.

    What an earlier worker stored there is not embedded again.  `texts` counts all that is stored.
    """

    def __init__(self, embedder: Embedder, space: EmbeddingSpace, state: ObjectStore, prefix: str) -> None:
        self._embedder = embedder
        self._space = space
        self._state = state
        self._prefix = prefix
        self._known: dict[str, Vector] = {}
        for entry in state.entries(prefix):
            self._known |= _read_journal(state.get(entry.key) or b"")

    @property
    def texts(self) -> int:
        """How many texts were embedded for this item, by all its workers."""
        return len(self._known)

    def query(self, text: str, space: EmbeddingSpace, deadline: Deadline) -> Vector:
        """The vector of a question; a reindex asks none."""
        return self._embedder.query(text, space, deadline)

    def passages(self, texts: Sequence[str], space: EmbeddingSpace, deadline: Deadline) -> list[Vector]:
        """The vectors of passages, some at a time, each time stored."""
        if space != self._space:
            return self._embedder.passages(texts, space, deadline)
        digests = [hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest() for text in texts]
        missing = {digest: text for digest, text in zip(digests, texts, strict=True) if digest not in self._known}
        left = list(missing.items())
        for first in range(0, len(left), JOURNALED):
            some = left[first : first + JOURNALED]
            made = self._embedder.passages([text for _, text in some], space, deadline)
            found = {digest: vector for (digest, _), vector in zip(some, made, strict=True)}
            self._state.put(f"{self._prefix}{some[0][0]}", _journal(found), media_type="application/octet-stream")
            self._known |= found
        return [self._known[digest] for digest in digests]

    def forget(self) -> None:
        """Remove what is stored, once the item is done."""
        self._state.delete_prefix(self._prefix)


def _journal(vectors: dict[str, Vector]) -> bytes:
    return json.dumps(list(vectors)).encode() + b"\n" + b"".join(each.tobytes() for each in vectors.values())


def _read_journal(body: bytes) -> dict[str, Vector]:
    """Read what `_journal` wrote.

    >>> _read_journal(_journal({"ab": array("f", [1.0, 0.0]), "cd": array("f", [0.0, 1.0])}))["cd"]
    array('f', [0.0, 1.0])
    """
    named, _, numbers = body.partition(b"\n")
    names: list[str] = json.loads(named or b"[]")
    size = len(numbers) // max(1, len(names))
    return {name: array("f", numbers[place * size : (place + 1) * size]) for place, name in enumerate(names)}


@dataclass(frozen=True, kw_only=True)
class PlannedReindex:
    """Plans a reindex, works on its items, and lets the new index answer once all are done.

    *copying* makes what copies revisions with a given embedder; *wait* lets seconds pass; *clock* reads the time.
    """

    reindex: Reindex
    ledger: WorkLedger
    queue: MessageQueue
    state: ObjectStore
    embedder: Embedder
    copying: Callable[[Embedder], CopyRevision]
    clock: Callable[[], float] = time.time
    wait: Callable[[float], None] = time.sleep
    item_documents: int = ITEM_DOCUMENTS
    lease_s: float = LEASE_S

    # An operator's command

    def run(
        self, name: str, requested: ActiveIndex, progress: Progress, *, again: bool = False
    ) -> ReindexReport | None:
        """Plan the reindex of a tenant, wait for its workers, then let the new index answer; None if it is there.

        One that was cut off continues: the plan is the registry's.  *progress* takes documents done and their total.

        Raises what `Reindex.run` raises; DatabaseError: items could not be done.
        """
        tenant = self.reindex.begin(name, requested, again=again)
        if tenant is None or tenant.building is None:
            return None
        building = tenant.building.name
        if self.ledger.summary(name, building) is None:
            self.wait(LISTING_S)
            self.ledger.begin(name, building, self.clock())
            self.queue.work([WorkRequest(name, building)])
        done = self._until_done(tenant, building, progress)
        known = done.counts.documents, done.counts.chunks
        report = self.reindex.switch(tenant, tenant.building, done.counts.documents, known)
        self._forget(name, building)
        return report

    def status(self, tenant: Tenant) -> WorkSummary | None:
        """How far the plan of a tenant is; None if there is none."""
        return None if tenant.building is None else self.ledger.summary(tenant.name, tenant.building.name)

    def abort(self, tenant: Tenant) -> None:
        """Forget the plan of an index that is given up."""
        if tenant.building is not None:
            self._forget(tenant.name, tenant.building.name)

    def _forget(self, name: str, building: str) -> None:
        self.ledger.forget(name, building)
        self.state.delete_prefix(_prefix(name, building))  # journals of workers that died behind their last write

    def _until_done(self, tenant: Tenant, building: str, progress: Progress) -> WorkSummary:
        before, quiet_s, sent = WorkSummary(), 0.0, 0
        while True:
            now = self.ledger.summary(tenant.name, building)
            if now is None:
                raise DatabaseError(f"the plan of {building!r} was removed", service="registry")
            progress(now.counts.documents, max(tenant.documents, now.counts.documents))
            if now.is_done:
                return now
            moved = now != before
            quiet_s, sent = (0.0, 0) if moved else (quiet_s + POLL_S, sent)
            if not moved and (quiet_s >= QUIET_S or self._queue_is_empty()):
                if sent == MAX_SENT:
                    left = now.planned - now.done
                    message = f"{left} items of the plan of {building!r} could not be done: the log of ingest says why"
                    raise DatabaseError(message, service="registry")
                self._send_again(tenant.name, building, now)
                quiet_s, sent = 0.0, sent + 1
            before = now
            self.wait(POLL_S)

    def _queue_is_empty(self) -> bool:
        depth = self.queue.depth()
        return not (depth.waiting or depth.in_flight or depth.delayed)

    def _send_again(self, name: str, building: str, now: WorkSummary) -> None:
        if now.after is not None:
            self.queue.work([WorkRequest(name, building)])
        self.queue.work([WorkRequest(name, building, number) for number in self.ledger.left(name, building)])

    # A worker

    def __call__(self, request: WorkRequest, worker: str, deadline: Deadline) -> bool:
        """Do an item, or list documents into items; False if another worker has the item, so that it must come again.

        Raises DependencyError: a service failed; the same item continues.
        """
        tenant = self.reindex.registry.tenant(request.tenant)
        if tenant is None or tenant.building is None or tenant.building.name != request.index:
            return True  # given up, or over
        if request.number is None:
            self._list(request, deadline)
            return True
        item = self.ledger.claim(
            *(request.tenant, request.index, request.number, worker),
            now_s=self.clock(),
            until_s=self.clock() + self.lease_s,
        )
        if item is None:
            return self.ledger.is_done(request.tenant, request.index, request.number)
        self._do(item, request, worker, tenant, tenant.building, deadline)
        return True

    def _list(self, request: WorkRequest, deadline: Deadline) -> None:
        """Add the documents that are not in any item yet, page by page."""
        name, building = request.tenant, request.index
        begun = self.ledger.summary(name, building)
        if begun is None:
            return
        last = range(max(0, begun.planned - ITEMS_AT_ONCE), begun.planned)  # a worker that died may not have sent them
        self.queue.work([WorkRequest(name, building, number) for number in last])
        before: WorkSummary | None = begun
        while before is not None and before.after is not None:
            if deadline.remaining_s() < RESERVE_S:
                self.queue.work([request])
                return
            items, after = self._ranges(name, before)
            if not self.ledger.add(name, building, before, items, after):
                return  # another worker lists
            self.queue.work([WorkRequest(name, building, each.number) for each in items])
            before = self.ledger.summary(name, building)

    def _ranges(self, name: str, before: WorkSummary) -> tuple[list[WorkRange], str | None]:
        """Some items of the documents that are in none yet, and the vault path behind which the others are."""
        after, size = before.after or "", self.item_documents
        page = self._page(name, after, ITEMS_AT_ONCE * size)
        items: list[WorkRange] = []
        for first in range(0, len(page.heads), size):
            some = page.heads[first : first + size]
            items.append(WorkRange(before.planned + len(items), after, some[-1].key.vault_path, len(some)))
            after = items[-1].until
        return items, None if page.cursor is None else after

    def _page(self, name: str, after: str, limit: int) -> Page:
        registry = self.reindex.registry
        return registry.page(name, vault=None, prefix="", status=None, cursor=None, limit=limit, after=after)

    def _do(
        self,
        item: WorkRange,
        request: WorkRequest,
        worker: str,
        tenant: Tenant,
        building: ActiveIndex,
        deadline: Deadline,
    ) -> None:
        begun_s = self.clock()
        prefix = f"{_prefix(tenant.name, building.name)}{item.number:08d}/"
        journal = JournaledEmbedder(self.embedder, building.space, self.state, prefix)
        copy_revision = self.copying(journal)
        documents = chunks = 0
        for heads in self._heads(item, tenant.name):
            if deadline.remaining_s() < RESERVE_S:
                self._hand_over(item, request, worker)
                return
            try:
                self.reindex.copy(heads, tenant, building, copy_revision, deadline)
            except DeadlineError:
                self._hand_over(item, request, worker)
                return
            counted = self.reindex.counts_of(heads, building)
            documents, chunks = documents + counted[0], chunks + counted[1]
        spent_ms = int((self.clock() - begun_s) * 1_000)
        counts = WorkCounts(documents, chunks, journal.texts, spent_ms)
        self.ledger.finish(tenant.name, building.name, item.number, worker, counts, self.clock())
        journal.forget()

    def _hand_over(self, item: WorkRange, request: WorkRequest, worker: str) -> None:
        """Let another worker continue."""
        now_s = self.clock()
        self.ledger.claim(request.tenant, request.index, item.number, worker, now_s=now_s, until_s=now_s)
        self.queue.work([request])

    def _heads(self, item: WorkRange, name: str) -> Iterator[list[Head]]:
        """The documents of an item as they are now, some at a time: what was added behind it is written by ingest."""
        after: str | None = item.after
        while after is not None:
            page = self._page(name, after, self.item_documents)
            listed = [head for head in page.heads if head.key.vault_path <= item.until]
            for first in range(0, len(listed), TOGETHER):
                found = self.reindex.current(listed[first : first + TOGETHER])
                yield [head for head in found if searched_revisions(head)]
            after = listed[-1].key.vault_path if page.cursor and listed and len(listed) == len(page.heads) else None


def _prefix(tenant: str, index: str) -> str:
    """What the names of all journals of a plan begin with: they go with the index."""
    return f"index/{tenant}/{index}/work/"
