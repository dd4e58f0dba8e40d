"""Reindex: build a new index beside the old one, tenant by tenant, and switch without a gap.

From `begin` until `drop_previous` ingest writes every revision to both indexes, and catches up after the activation if
the reindex began meanwhile.  So what a copy reads after `begin` is live or waits in a stage, or another worker writes
it.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

from ragdrop.domain.chunks import CandidateQuery, Filters
from ragdrop.domain.deadlines import Deadline
from ragdrop.domain.documents import Detail, Head, Heads, Status, searched_revisions
from ragdrop.domain.keys import DocumentKey
from ragdrop.domain.tenants import ActiveIndex, Tenant, index_name, routes_for
from ragdrop.errors import ConflictError, DatabaseError, InvalidParamsError
from ragdrop.ingest.reconcile_rules import obsolete_before
from ragdrop.ingest.revision_store import RevisionStore, StoredRevision
from ragdrop.ingest.write_chunks import CopyRevision
from ragdrop.ports.indexes import ChunkIndex
from ragdrop.ports.registry import Registry, head_pages

MAX_PASSES = 10  # each pass copies what changed during the one before: under writes the last ones are short
SAMPLE = 20  # documents whose own vectors must find them before the switch
MIN_SELF_COSINE = 0.999  # a chunk's own vector finds a chunk this near, or the copy is not whole
STEP_S = 300.0  # the longest that one page of documents may take
LISTING_S = 2.0  # the listing may be a second behind, for what changed just before the reindex began, or it ends
IN_USE_S = 40.0  # a search takes 29 s at most, and a tenant's item is 6 s old at most when it begins
PAGE = 100  # documents of a listing, which are read and written together
ROUTE_CHUNKS = 2_000_000
AT_ONCE = 8  # documents that are looked at at once

Progress = Callable[[int, int], None]


def _silent(_done: int, _total: int) -> None:
    """Tell nobody."""


@dataclass(frozen=True, slots=True)
class ReindexReport:
    """What a reindex of one tenant came to."""

    tenant: str
    from_index: str
    to_index: str
    documents: int
    chunks: int
    copied: int


@dataclass(kw_only=True)
class Reindex:
    """Moves tenants from one index to another: begin, copy, verify, switch; then roll back or drop the old one.

    `page_size` documents, 1 to 100, are read and written together; *wait* lets seconds pass.  A tenant gets a routing
    value for each `route_chunks`, so that a large one lies in several shards of OpenSearch.
    """

    registry: Registry
    revisions: RevisionStore
    index: ChunkIndex
    copy_revision: CopyRevision
    page_size: int = PAGE
    route_chunks: int = ROUTE_CHUNKS
    wait: Callable[[float], None] = time.sleep

    def run(
        self, name: str, requested: ActiveIndex, progress: Progress = _silent, *, again: bool = False
    ) -> ReindexReport | None:
        """Bring *name* to an index with the space and chunking of *requested*; None where it is there already.

        One that was cut off continues where it was.  *progress* takes documents done and their total.  *again* builds
        also where it is there already: documents cut by older settings files then come along.

        Raises:
            InvalidParamsError: No such tenant.
            ConflictError: Another reindex is under way, or the index before the last switch is not dropped yet.
            DatabaseError: The copy is not whole; the old index continues to answer.
        """
        tenant = self.begin(name, requested, again=again)
        if tenant is None:
            return None
        if tenant.building is None:
            raise AssertionError("begin gives a tenant that builds")
        self.wait(LISTING_S)
        copied = 0
        for _ in range(MAX_PASSES):
            changed = self._copy_all(tenant, tenant.building, progress)
            copied += changed
            if not changed:
                break
        return self.switch(tenant, tenant.building, copied)

    def switch(
        self, tenant: Tenant, building: ActiveIndex, copied: int, known: tuple[int, int] | None = None
    ) -> ReindexReport:
        """Verify the new index and let it answer.

        *known* are its documents and chunks where a ledger has them: if the index holds fewer, as documents became
        smaller since, all of them are counted.

        Raises:
            ConflictError: The indexes were changed by someone else.
            DatabaseError: The copy is not whole; the old index continues to answer.
        """
        self.wait(LISTING_S)
        copied += self._copy_moved(tenant, building)
        documents, chunks = self._verify(tenant, building, known)
        self._move(self._tenant(tenant.name), active=building, building=None, previous=tenant.active)
        return ReindexReport(tenant.name, tenant.active.name, building.name, documents, chunks, copied)

    def begin(self, name: str, requested: ActiveIndex, *, again: bool = False) -> Tenant | None:
        """Name the new index in the tenant's item: from here on ingest writes to both."""
        tenant = self._tenant(name)
        if tenant.building is not None:
            if tenant.building.make == requested.make:
                return tenant
            raise ConflictError(
                f"a reindex of {name!r} to {tenant.building.name!r} is under way: let it end, or abort it", tenant=name
            )
        if tenant.active.make == requested.make and not again:
            return None
        if tenant.previous is not None:
            raise ConflictError(
                f"{name!r} still keeps {tenant.previous.name!r}, which answered before: drop it, or roll back to it",
                tenant=name,
            )
        fresh = index_name(requested.space, requested.engine, build=tenant.moves + 2)
        routes = routes_for(tenant.chunks, self.route_chunks, tenant.active.routes)
        self._move(tenant, active=tenant.active, building=replace(requested, name=fresh, routes=routes), previous=None)
        return self._tenant(name)

    def rollback(self, name: str) -> Tenant:
        """Let the index before the last switch answer again; the other is stored up to date until it is dropped.

        Raises ConflictError: there is none.
        """
        tenant = self._tenant(name)
        if tenant.previous is None:
            raise ConflictError(f"{name!r} has no index to go back to", tenant=name)
        self._move(tenant, active=tenant.previous, building=tenant.building, previous=tenant.active)
        return self._tenant(name)

    def drop_previous(self, name: str) -> int:
        """End the time in which a rollback is possible; chunks removed.

        It begins with a wait of forty seconds: until then a search may be at work on the index, and it stays current.
        """
        tenant = self._tenant(name)
        if tenant.previous is None:
            raise ConflictError(f"{name!r} has no index to drop", tenant=name)
        self.wait(IN_USE_S)
        self._move(tenant, active=tenant.active, building=tenant.building, previous=None)
        return self.index.drop(tenant.part_of(tenant.previous), Deadline.after(STEP_S))

    def abort(self, name: str) -> int:
        """Give up the index that is being built; chunks removed."""
        tenant = self._tenant(name)
        if tenant.building is None:
            raise ConflictError(f"no reindex of {name!r} is under way", tenant=name)
        self._move(tenant, active=tenant.active, building=None, previous=tenant.previous)
        return self.index.drop(tenant.part_of(tenant.building), Deadline.after(STEP_S))

    def _tenant(self, name: str) -> Tenant:
        tenant = self.registry.tenant(name)
        if tenant is None:
            raise InvalidParamsError(f"there is no tenant named {name!r}", field="tenant", value=name)
        return tenant

    def _move(
        self, before: Tenant, *, active: ActiveIndex, building: ActiveIndex | None, previous: ActiveIndex | None
    ) -> None:
        if not self.registry.move_indexes(before, active=active, building=building, previous=previous):
            raise ConflictError(f"the indexes of {before.name!r} were changed by someone else", tenant=before.name)

    def _live(self, tenant: str) -> Iterator[list[Head]]:
        """The heads of what is live or waits in a stage, each read consistently: the listing may lag behind."""
        for listed in head_pages(self.registry, tenant, size=self.page_size):
            yield [head for head in self.current(listed) if searched_revisions(head)]

    def current(self, listed: Sequence[Head]) -> list[Head]:
        """Up to 100 documents of a listing, each read consistently.

        Raises DatabaseError: one could not be read.
        """
        keys = [head.key for head in listed if not head.key.is_settings]
        heads = self.registry.heads(keys, Deadline.after(STEP_S)) if keys else Heads({})
        if heads.unread:
            raise DatabaseError(f"{len(heads.unread)} documents could not be read", service="registry")
        return [heads.found[key] for key in keys if key in heads.found]

    def _copy_all(self, tenant: Tenant, building: ActiveIndex, progress: Progress) -> int:
        total = self._tenant(tenant.name).documents
        copied = done = 0
        for heads in self._live(tenant.name):
            copied += self._copy(heads, tenant, building)
            done += len(heads)
            progress(done, max(total, done))
        return copied

    def _copy_moved(self, tenant: Tenant, building: ActiveIndex) -> int:
        """Copy what no list showed, as it moved to a state that was read already, and is there still; how many."""
        copied = 0
        for status in (Status.PENDING, Status.STAGED, Status.FAILED):
            for listed in head_pages(self.registry, tenant.name, status=status, size=self.page_size):
                copied += self._copy(self.current(listed), tenant, building)
        return copied

    def _copy(self, heads: Sequence[Head], tenant: Tenant, building: ActiveIndex) -> int:
        return self.copy(heads, tenant, building, self.copy_revision, Deadline.after(STEP_S))

    def copy(
        self,
        heads: Sequence[Head],
        tenant: Tenant,
        building: ActiveIndex,
        copy_revision: CopyRevision,
        deadline: Deadline,
    ) -> int:
        """Copy the revisions that the new index does not have yet; how many.

        Raises DatabaseError, or what the services raise: what was copied stays, and the same call copies the rest.
        """
        with ThreadPoolExecutor(AT_ONCE, thread_name_prefix="reindex") as pool:
            places = [(head.key, revision) for head in heads for revision in searched_revisions(head)]
            missing = [
                each for each in pool.map(lambda place: self._missing(place, building), places) if each is not None
            ]
        found = [(stored, detail.facts) for *_, stored, detail in missing if stored is not None and detail is not None]
        written = copy_revision.several(found, tenant=tenant, target=building, deadline=deadline)
        for key, revision, _, _ in missing:
            now = self.registry.head(key)
            if (key, revision) not in written:
                if now is not None and revision in searched_revisions(now):
                    raise DatabaseError(
                        f"the parsed text of {key.vault_path!r} is not stored: put the object again",
                        service="object_store",
                    )
                continue  # it was replaced or deleted while we looked
            before = obsolete_before(now)
            part = tenant.part_of(building)
            if before > revision and not self.index.drops_superseded(part):  # what was just written would be a stray
                self.index.remove(part, key, before_revision=before, deadline=deadline)
        return len(missing)

    def _missing(
        self, place: tuple[DocumentKey, int], building: ActiveIndex
    ) -> tuple[DocumentKey, int, StoredRevision | None, Detail | None] | None:
        """A revision that the new index does not have yet, with what is stored of it."""
        key, revision = place
        if self.revisions.chunk_count(key, revision, building.name) is not None:
            return None
        return key, revision, self.revisions.open(key, revision), self.registry.detail(key, revision)

    def counts_of(self, heads: Sequence[Head], building: ActiveIndex) -> tuple[int, int]:
        """How many of *heads* have chunks in the new index, and how many chunks."""
        with ThreadPoolExecutor(AT_ONCE, thread_name_prefix="reindex") as pool:
            chunks = list(pool.map(lambda head: self._chunks_of(head, building), heads))
        return sum(1 for each in chunks if each), sum(chunks)

    def _verify(self, tenant: Tenant, building: ActiveIndex, known: tuple[int, int] | None = None) -> tuple[int, int]:
        """Compare counts, and let a sample of chunks find themselves; documents and chunks of the new index."""
        part, deadline = tenant.part_of(building), Deadline.after(STEP_S)
        self.index.refresh([part], deadline)
        found = self.index.count(part, deadline)
        is_enough = known is not None and found >= known[1]
        documents = chunks = 0
        sample: list[DocumentKey] = []
        for heads in self._live(tenant.name):
            documents += len(heads)
            sample += [head.key for head in heads[: SAMPLE - len(sample)]]
            if is_enough and len(sample) == SAMPLE:
                break
            chunks += self.counts_of(heads, building)[1]
        if known is not None and is_enough:
            documents, chunks = known
        if found < chunks:
            message = f"{building.name!r} holds {found} chunks of {tenant.name!r}, {chunks} were written"
            raise DatabaseError(message, service="index")
        for key in sample:
            self._find_itself(key, tenant, building, deadline)
        return documents, chunks

    def _chunks_of(self, head: Head, building: ActiveIndex) -> int:
        return sum(self.revisions.chunk_count(head.key, each, building.name) or 0 for each in searched_revisions(head))

    def _find_itself(self, key: DocumentKey, tenant: Tenant, building: ActiveIndex, deadline: Deadline) -> None:
        head = self.registry.head(key)
        if head is None or head.live_revision is None:
            return
        stored = self.revisions.open(key, head.live_revision)
        chunks = stored.chunks(building.name, 0) if stored else None
        if not chunks or not any(chunks[0][1]):
            return
        question = CandidateQuery(None, chunks[0][1], Filters(vaults=(key.vault,)), 10)
        [found] = self.index.candidates(tenant.part_of(building), [question], deadline)
        if not found.vector or found.vector[0].score < MIN_SELF_COSINE:
            message = f"{building.name!r} does not find {key.vault_path!r} by its own vector"
            raise DatabaseError(message, service="index")
