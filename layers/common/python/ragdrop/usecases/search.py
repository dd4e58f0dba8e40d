"""Search: candidates from the index, every hit checked against the registry, fused, grouped by document."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace

from ragdrop.domain.chunks import CandidateQuery, Candidates, Filters
from ragdrop.domain.deadlines import Deadline
from ragdrop.domain.documents import Heads
from ragdrop.domain.fusion import Fused, blend
from ragdrop.domain.retrieval import Query, Retrieval, candidate_limit, documents_of, group, superseded, verified
from ragdrop.domain.scopes import resolve
from ragdrop.domain.tenants import Caller, Tenant
from ragdrop.errors import InvalidParamsError, ProjectNotActivatedError
from ragdrop.ports import ChunkIndex, Embedder, Registry
from ragdrop.usecases.tenants import Directory


class Timer:
    """Milliseconds by stage, on a monotonic clock."""

    def __init__(self, clock: Callable[[], float] = time.perf_counter) -> None:
        self._clock = clock
        self.stages: dict[str, float] = dict.fromkeys(("embed", "retrieve", "registry", "links", "assemble"), 0.0)

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Add the time of the block to *name*."""
        start = self._clock()
        try:
            yield
        finally:
            self.stages[name] = round(self.stages.get(name, 0.0) + (self._clock() - start) * 1_000, 3)


class Search:
    """Find what answers a query among what the caller may see."""

    def __init__(self, *, registry: Registry, index: ChunkIndex, embedder: Embedder, directory: Directory) -> None:
        self._registry = registry
        self._index = index
        self._embedder = embedder
        self._directory = directory

    def __call__(self, query: Query, caller: Caller, deadline: Deadline) -> Retrieval:
        """Retrieve, verify, fuse, group.

        Raises:
            InvalidParamsError: A vault of the query does not exist.
            EmbeddingServiceError: The query could not be embedded.
            DatabaseError: The index did not answer, or no hit could be verified.
            DeadlineError: The time was used up.
        """
        timer = Timer()
        tenant, filters = self._scope(query, caller)
        with timer.stage("embed"):
            vector = self._embedder.query(query.text, tenant.active.space, deadline)
        question = CandidateQuery(query.text, vector, filters, candidate_limit(query.limit))
        live, heads = self._live(question, tenant, query.limit, deadline, timer)
        with timer.stage("assemble"):
            documents = group(live)
        return Retrieval(
            documents=documents[: query.limit],
            total_matches=len(documents),
            total_indexed=tenant.documents,
            timings_ms=timer.stages,
            warnings=[f"{len(heads.unread)} documents could not be verified and are left out"] if heads.unread else [],
        )

    def _scope(self, query: Query, caller: Caller) -> tuple[Tenant, Filters]:
        tenant = self._directory.tenant(caller.tenant)
        if tenant is None:
            raise ProjectNotActivatedError("the project of this API key is not active")
        try:
            return tenant, self._resolved(query, tenant, caller)
        except InvalidParamsError:  # the vault may be younger than the tenant's item that we hold
            tenant = self._directory.tenant(caller.tenant, fresh=True) or tenant
            return tenant, self._resolved(query, tenant, caller)

    @staticmethod
    def _resolved(query: Query, tenant: Tenant, caller: Caller) -> Filters:
        return resolve(vaults=query.vaults, folders=query.folders, known=tenant.vaults, allowed=caller.vaults)

    def _live(
        self, question: CandidateQuery, tenant: Tenant, wanted: int, deadline: Deadline, timer: Timer
    ) -> tuple[list[Fused], Heads]:
        """Verified candidates, fused; a second round, never a third, where superseded revisions took the room."""
        found, heads = self._round(question, tenant, deadline, timer)
        hits = [*found.vector, *found.lexical]
        dropped = superseded(hits, heads.found)
        was_full = question.limit in {len(found.vector), len(found.lexical)}
        if dropped and was_full and len({hit.key for hit in verified(hits, heads.found)}) < wanted:
            again = replace(question, without=frozenset(dropped))
            found, heads = self._round(again, tenant, deadline, timer)
        return blend(verified(found.vector, heads.found), verified(found.lexical, heads.found)), heads

    def _round(
        self, question: CandidateQuery, tenant: Tenant, deadline: Deadline, timer: Timer
    ) -> tuple[Candidates, Heads]:
        with timer.stage("retrieve"):
            found = self._index.candidates(tenant.index, [question], deadline)[0]
        with timer.stage("registry"):
            keys = documents_of([found])
            return found, self._registry.heads(keys, deadline) if keys else Heads({})
