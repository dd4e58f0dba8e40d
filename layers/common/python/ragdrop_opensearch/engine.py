"""ChunkIndex on OpenSearch."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import opensearchpy
from opensearchpy.connection import Urllib3HttpConnection

from ragdrop.domain.chunks import CandidateQuery, Candidates, ChunkRange, Hit, IndexedChunk, RevisionPage, Vector
from ragdrop.domain.deadlines import Deadline
from ragdrop.domain.history import ChangeCounts
from ragdrop.domain.keys import DocumentKey
from ragdrop.domain.tenants import IndexRef
from ragdrop.errors import DatabaseError
from ragdrop.ports.breakers import RetryPolicy
from ragdrop.ports.chunk_index import SOME_BYTES, IndexFaults, Reading
from ragdrop_opensearch.admin import IndexAdmin, alias_of, dimension_error, path_of
from ragdrop_opensearch.bulk import BulkLine, batches, outcome
from ragdrop_opensearch.candidates import NOTHING, Part, answered, planned
from ragdrop_opensearch.client import Json, QuietConnection, RepeatableCalls, connect
from ragdrop_opensearch.errors import (
    DIMENSION,
    MISSING_INDEX,
    causes,
    is_missing_index,
    is_unknown_query,
    of_status,
    readable,
    translated,
)
from ragdrop_opensearch.known_ranges import KnownRanges
from ragdrop_opensearch.mapping import SHARDS, source_of
from ragdrop_opensearch.nearest import nearest_of
from ragdrop_opensearch.queries import (
    EF_SEARCH,
    Clause,
    multi_search,
    older_clause,
    routing_value,
    routing_values,
    tenant_clause,
)
from ragdrop_opensearch.revisions import read_revisions

SEARCH_TIMEOUT_S = 10.0
WRITE_TIMEOUT_S = 30.0
DELETE_TIMEOUT_S = 120.0
DELETE_ROUNDS = 10


class OpenSearchChunkIndex:
    """Chunks of all tenants side by side; the tenant is in every filter, and its routing value in every request."""

    def __init__(self, caller: RepeatableCalls, *, shards: int = SHARDS, ef_search: int = EF_SEARCH) -> None:
        self._caller = caller
        self._admin = IndexAdmin(caller, shards=shards)
        self._ef_search = ef_search
        self._ranges = KnownRanges()
        self._combined = True  # until a server says that it does not know that query

    @classmethod
    def from_url(
        cls,
        url: str,
        password: str | None = None,
        *,
        sigv4_region: str | None = None,
        shards: int = SHARDS,
        ef_search: int = EF_SEARCH,
        connection_class: type[Urllib3HttpConnection] = QuietConnection,
        retries: RetryPolicy | None = None,
    ) -> OpenSearchChunkIndex:
        """The index at *url*; nothing is sent yet.  See `connect` for the arguments.

        Raises:
            ConfigurationError: The URL cannot be used.
        """
        client = connect(url, password, sigv4_region=sigv4_region, connection_class=connection_class)
        return cls(RepeatableCalls(client, retries=retries), shards=shards, ef_search=ef_search)

    def drops_superseded(self, index: IndexRef) -> bool:  # noqa: ARG002 - the port names it
        return False

    def ready(
        self,
        index: IndexRef,
        deadline: Deadline,
        counts: ChangeCounts | None = None,
        queries: Sequence[CandidateQuery] = (),
    ) -> None:
        """Nothing to do."""

    def upsert(self, index: IndexRef, chunks: Sequence[IndexedChunk], deadline: Deadline) -> None:
        for chunk in chunks:
            if chunk.key.tenant != index.tenant:
                raise ValueError("a chunk of another tenant")
            if len(chunk.vector) != index.dimension:
                raise dimension_error(index, len(chunk.vector), index.dimension)
        self._ranges.forget()
        lines = (BulkLine.of(chunk.id, routing_value(chunk.key, index.routes), source_of(chunk)) for chunk in chunks)
        for batch in batches(lines):
            self._write(index, batch, deadline)

    def refresh(self, indexes: Iterable[IndexRef], deadline: Deadline) -> None:
        """Make all that was written visible: one request for all indexes.

        An explicit refresh, not `refresh=wait_for` on the last bulk: that waits for the next periodic one, half
        a second of billed Lambda time on average, and would need those to be frequent.  This takes some 10 ms a batch
        of SQS messages, and lets the periodic ones be rare.
        """
        names = ",".join(sorted({path_of(index.name) for index in indexes}))
        if names:
            params = {"ignore_unavailable": "true"}
            self._call("POST", f"/{names}/_refresh", "refresh", deadline, WRITE_TIMEOUT_S, params=params)

    def candidates(self, index: IndexRef, queries: Sequence[CandidateQuery], deadline: Deadline) -> list[Candidates]:
        """Vector and lexical hits of all queries by one `_msearch`; a query that fails alone says so itself."""
        searches, plan = planned(index, queries, ef_search=self._ef_search, combined=self._combined)
        try:
            answers = self._parts(index, searches, deadline)
        except _UnknownQueryError:
            self._combined = False
            return self.candidates(index, queries, deadline)
        with readable("search"):
            return answered(index, plan, answers)

    def read(self, index: IndexRef, ranges: Sequence[ChunkRange], deadline: Deadline) -> list[list[Hit]]:
        """The chunks of each range by one `_msearch` for those that are not kept; one more for every 1,000 chunks."""
        with readable("read"):
            return self._ranges.read(lambda searches: self._search(index, searches, deadline), index, ranges)

    def nearest_of(
        self, index: IndexRef, wanted: Vector | None, revisions: Sequence[tuple[DocumentKey, int]], deadline: Deadline
    ) -> list[Hit]:
        """Of each revision the chunk nearest to *wanted*, by one `_msearch`."""
        with readable("search"):
            return nearest_of(lambda searches: self._search(index, searches, deadline), index, wanted, revisions)

    def remove(
        self, index: IndexRef, key: DocumentKey, *, before_revision: int, deadline: Deadline, from_revision: int = 0
    ) -> int:
        """Remove revisions of a document: a refresh, so that nothing written is overlooked, and one deletion."""
        if key.tenant != index.tenant:
            return 0
        clause = older_clause(key, before_revision, from_revision)
        return self._delete(index, clause, deadline, routing_value(key, index.routes))

    def revisions(self, index: IndexRef, *, cursor: str | None, limit: int, deadline: Deadline) -> RevisionPage:
        return read_revisions(self._caller, index, cursor=cursor, limit=limit, deadline=deadline)

    def count(self, index: IndexRef, deadline: Deadline) -> int:
        try:
            answer = self._caller.raw(
                "POST",
                f"/{path_of(index.name)}/_count",
                body={"query": tenant_clause(index.tenant)},
                params={"routing": routing_values(index.tenant, index.routes)},
                deadline=deadline,
                cap_s=SEARCH_TIMEOUT_S,
                stage="count",
            )
        except opensearchpy.OpenSearchException as exc:
            if is_missing_index(exc):
                return 0
            raise translated(exc, "count") from exc
        with readable("count"):
            if answer["_shards"]["failed"]:
                raise DatabaseError("a shard of the index did not answer (count)", service="index")
            return int(answer["count"])

    def faults(self, index: IndexRef, deadline: Deadline) -> IndexFaults:  # noqa: ARG002 - the port names it
        return IndexFaults()

    def verify(self, index: IndexRef, deadline: Deadline, reading: Reading = SOME_BYTES) -> int | None:  # noqa: ARG002 - as above
        """Forget what was read: the server checks the files of its shards, and searches of a damaged one fail."""
        self._ranges.forget()
        return None

    def discard_damaged(self, index: IndexRef, deadline: Deadline) -> None:
        """Drop all: OpenSearch does not tell its parts apart."""
        self.drop(index, deadline)

    def damaged(self, index: IndexRef) -> tuple[str, ...]:  # noqa: ARG002 - the port names it
        return ()

    def drop(self, index: IndexRef, deadline: Deadline) -> int:
        """Remove all chunks of the tenant; on every shard, so that a wrong `routes` cannot leave any behind."""
        return self._delete(index, tenant_clause(index.tenant), deadline, None)

    def check(self, deadline: Deadline) -> None:
        self._admin.check(deadline)

    def _write(self, index: IndexRef, lines: list[BulkLine], deadline: Deadline) -> None:
        path = f"/{path_of(alias_of(index.name))}/_bulk"
        attempt, created = 1, False
        while lines:
            body = b"".join(line.content for line in lines)
            answer = self._call("POST", path, "write", deadline, WRITE_TIMEOUT_S, body=body)
            with readable("write"):
                result = outcome(lines, answer)
            if any(failure.wrong_dimension for failure in result.failed):
                raise self._admin.wrong_dimension(index, index.dimension, deadline)
            if result.failed:
                worst = max(result.failed, key=lambda failure: failure.status)
                raise of_status(worst.status, worst.kind, f"write, {len(result.failed)} of {len(lines)} chunks")
            lines = result.busy + result.missing_index
            if result.missing_index and not created:
                self._admin.create(index, deadline)
                created = True
            elif lines and not self._caller.pause(attempt, deadline):
                raise DatabaseError(f"the index was too busy to take {len(lines)} chunks", service="index", status=429)
            else:
                attempt += 1

    def _delete(self, index: IndexRef, clause: Clause, deadline: Deadline, routing: str | None) -> int:
        path = f"/{path_of(index.name)}"
        params = {"conflicts": "proceed", "refresh": "true"} | ({} if routing is None else {"routing": routing})
        removed = 0
        self._ranges.forget()
        for _ in range(DELETE_ROUNDS):
            try:
                self._caller.raw("POST", f"{path}/_refresh", deadline=deadline, cap_s=WRITE_TIMEOUT_S, stage="remove")
            except opensearchpy.OpenSearchException as exc:
                if is_missing_index(exc):
                    return removed
                raise translated(exc, "remove") from exc
            delete = f"{path}/_delete_by_query"
            answer = self._call(
                "POST", delete, "remove", deadline, DELETE_TIMEOUT_S, body={"query": clause}, params=params
            )
            with readable("remove"):
                removed += int(answer["deleted"])
                if answer.get("failures") or answer.get("timed_out"):
                    raise DatabaseError("the index could not remove all chunks", service="index", removed=removed)
                if not answer["version_conflicts"]:
                    return removed
        raise DatabaseError("chunks are written as fast as they are removed", service="index", removed=removed)

    def _search(
        self, index: IndexRef, searches: Sequence[tuple[str, str]], deadline: Deadline
    ) -> list[list[dict[str, Any]]]:
        return [_or_raise(part) for part in self._parts(index, searches, deadline)]

    def _parts(self, index: IndexRef, searches: Sequence[tuple[str, str]], deadline: Deadline) -> list[Part]:
        """The hits of every search, or why it failed; raises where all failed."""
        if not searches:
            return []
        path = f"/{path_of(index.name)}/_msearch"
        body = multi_search(searches)
        try:
            answer = self._caller.raw(
                "POST", path, body=body, deadline=deadline, cap_s=SEARCH_TIMEOUT_S, stage="search"
            )
        except opensearchpy.OpenSearchException as exc:
            if is_unknown_query(exc):
                raise _UnknownQueryError from exc
            raise translated(exc, "search") from exc
        with readable("search"):
            responses = answer["responses"]
            if len(responses) != len(searches):
                raise ValueError("another number of answers than of searches")
            parts = [self._hits(index, response, deadline) for response in responses]
        if all(error is not None for _, error in parts):
            _or_raise(parts[0])
        return parts

    def _hits(self, index: IndexRef, response: Mapping[str, Any], deadline: Deadline) -> Part:
        error = response.get("error")
        if error is None:
            return list(response["hits"]["hits"]), None
        if error.get("type") == MISSING_INDEX:
            return NOTHING
        reasons = causes(error)
        if DIMENSION.search(reasons):
            raise self._admin.wrong_dimension(index, index.dimension, deadline)
        return [], of_status(int(response["status"]), str(error.get("type", "")), "search")

    def _call(
        self,
        method: str,
        path: str,
        stage: str,
        deadline: Deadline,
        cap_s: float,
        *,
        body: Mapping[str, Any] | bytes | None = None,
        params: Mapping[str, str] | None = None,
    ) -> Json:
        return self._caller.call(method, path, deadline=deadline, cap_s=cap_s, stage=stage, body=body, params=params)


def _or_raise(part: Part) -> list[dict[str, Any]]:
    hits, error = part
    if error is not None:
        raise error
    return hits


class _UnknownQueryError(Exception):
    """The server does not know a query that newer ones have."""
