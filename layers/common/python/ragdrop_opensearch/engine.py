"""ChunkIndex on OpenSearch."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote

import opensearchpy
from opensearchpy.connection import Urllib3HttpConnection

from ragdrop.domain.chunks import (
    CandidateQuery,
    Candidates,
    ChunkRange,
    Hit,
    IndexedChunk,
    IndexedRevision,
    RevisionPage,
    Vector,
)
from ragdrop.domain.deadlines import Deadline
from ragdrop.domain.history import ChangeCounts
from ragdrop.domain.keys import DocumentKey
from ragdrop.domain.tenants import IndexRef
from ragdrop.errors import ConfigurationError, DatabaseError
from ragdrop.ports.indexes import SOME_BYTES, BytesToRead, IndexFaults
from ragdrop.ports.shared_state import RetryPolicy
from ragdrop_opensearch.client import (
    BLOCKED,
    BUSY_STATUS,
    DIMENSION,
    MISSING,
    MISSING_INDEX,
    Json,
    QuietConnection,
    RepeatableCalls,
    causes,
    connect,
    is_unknown_query,
    of_status,
    ragdrop_error,
    readable,
)
from ragdrop_opensearch.hits import NOTHING, KnownRanges, Part, answered, nearest_hits, planned
from ragdrop_opensearch.mapping import SHARDS, dimension_error, index_body, source_of, utf8
from ragdrop_opensearch.searches import (
    EF_SEARCH,
    Clause,
    multi_search,
    older_clause,
    revisions_search,
    routing_value,
    routing_values,
    tenant_clause,
)

SEARCH_TIMEOUT_S = 10.0
WRITE_TIMEOUT_S = 30.0
ADMIN_TIMEOUT_S = 30.0  # making an index waits for its primary shards
DELETE_TIMEOUT_S = 120.0
DELETE_ROUNDS = 10
MAX_CHUNKS = 100  # of a bulk request
MAX_BYTES = 5_000_000  # AWS's smallest domains take 10 MB a request; half of it leaves room
OLDEST = (2, 19)  # the oldest release that the contract suite runs against
EXISTS = "resource_already_exists_exception"


class OpenSearchChunkIndex:
    """Chunks of all tenants side by side; the tenant is in every filter, and its routing value in every request."""

    def __init__(self, caller: RepeatableCalls, *, shards: int = SHARDS, ef_search: int = EF_SEARCH) -> None:
        self._caller = caller
        self._shards = shards
        self._ef_search = ef_search
        self._ranges = KnownRanges()
        self._combined = True  # until a server refuses that query as unknown

    @classmethod
    def from_url(
        cls,
        url: str,
        password: str | Callable[..., str | None] | None = None,
        *,
        sigv4_region: str | None = None,
        shards: int = SHARDS,
        ef_search: int = EF_SEARCH,
        connection_class: type[Urllib3HttpConnection] = QuietConnection,
        retries: RetryPolicy | None = None,
    ) -> OpenSearchChunkIndex:
        """The index at *url*; nothing is sent yet.  See `connect` for the arguments.

        Raises ConfigurationError: the URL cannot be used.
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
        for batch in batches(bulk_line(chunk, index) for chunk in chunks):
            self._write(index, batch, deadline)

    def refresh(self, indexes: Iterable[IndexRef], deadline: Deadline) -> None:
        """Make all that was written visible: one request for all indexes.

        An explicit refresh, not `refresh=wait_for` on the last bulk: that waits for the next periodic one, half
        a second of billed Lambda time on average, and would need those to be frequent.  This takes some 10 ms a batch
        of SQS messages, and lets the periodic ones be rare.
        """
        names = ",".join(sorted({path_of(index) for index in indexes}))
        if names:
            params = {"ignore_unavailable": "true"}
            self._caller.call("POST", f"/{names}/_refresh", "refresh", deadline, WRITE_TIMEOUT_S, params=params)

    def candidates(self, index: IndexRef, queries: Sequence[CandidateQuery], deadline: Deadline) -> list[Candidates]:
        """Search for all queries by one `_msearch`; a query that fails alone carries its error."""
        searches, plan = planned(index, queries, ef_search=self._ef_search, combined=self._combined)
        try:
            answers = self._parts(index, searches, deadline)
        except _UnknownQueryError:
            self._combined = False
            return self.candidates(index, queries, deadline)
        with readable("search"):
            return answered(index, plan, answers)

    def read(self, index: IndexRef, ranges: Sequence[ChunkRange], deadline: Deadline) -> list[list[Hit]]:
        """Read ranges that are not cached by one `_msearch`, and one more for every 1,000 chunks."""
        with readable("read"):
            return self._ranges.read(lambda searches: self._search(index, searches, deadline), index, ranges)

    def nearest_of(
        self, index: IndexRef, vector: Vector | None, revisions: Sequence[tuple[DocumentKey, int]], deadline: Deadline
    ) -> list[Hit]:
        """Search by one `_msearch`."""
        with readable("search"):
            return nearest_hits(lambda searches: self._search(index, searches, deadline), index, vector, revisions)

    def remove(
        self, index: IndexRef, key: DocumentKey, *, before_revision: int, deadline: Deadline, from_revision: int = 0
    ) -> int:
        """Refresh, so that nothing written is overlooked, and delete by query."""
        if key.tenant != index.tenant:
            return 0
        clause = older_clause(key, before_revision, from_revision)
        return self._delete(index, clause, deadline, routing_value(key, index.routes))

    def revisions(self, index: IndexRef, *, cursor: str | None, limit: int, deadline: Deadline) -> RevisionPage:
        """Search once; revisions come in the order of their terms."""
        params = {"routing": routing_values(index.tenant, index.routes), "allow_partial_search_results": "false"}
        body = revisions_search(index.tenant, cursor, limit)
        path = f"/{path_of(index)}/_search"
        answer = self._caller.call(
            "POST", path, "revisions", deadline, WRITE_TIMEOUT_S, body=body, params=params, may_be_missing=True
        )
        if answer is MISSING:
            return RevisionPage([], None)
        with readable("revisions"):
            buckets = answer["aggregations"]["revisions"]["buckets"]
            after = str(buckets[-1]["key"]["revision"]) if len(buckets) == limit else None
            return RevisionPage([_revision(bucket) for bucket in buckets], after)

    def count(self, index: IndexRef, deadline: Deadline) -> int:
        body = {"query": tenant_clause(index.tenant)}
        params = {"routing": routing_values(index.tenant, index.routes)}
        path = f"/{path_of(index)}/_count"
        answer = self._caller.call(
            "POST", path, "count", deadline, SEARCH_TIMEOUT_S, body=body, params=params, may_be_missing=True
        )
        if answer is MISSING:
            return 0
        with readable("count"):
            if answer["_shards"]["failed"]:
                raise DatabaseError("a shard of the index did not answer (count)", service="index")
            return int(answer["count"])

    def faults(self, index: IndexRef, deadline: Deadline) -> IndexFaults:  # noqa: ARG002 - the port names it
        return IndexFaults()  # a client sees none: the server checks its files

    def verify(self, index: IndexRef, deadline: Deadline, reading: BytesToRead = SOME_BYTES) -> int | None:  # noqa: ARG002 - as above
        """Forget what was read: the server checks the files of its shards, and searches of a damaged one fail."""
        self._ranges.forget()
        return None

    def discard_damaged(self, index: IndexRef, deadline: Deadline) -> None:
        self.drop(index, deadline)

    def damaged(self, index: IndexRef) -> tuple[str, ...]:  # noqa: ARG002 - the port names it
        return ()

    def drop(self, index: IndexRef, deadline: Deadline) -> int:
        """Delete on every shard, so that a wrong `routes` cannot leave any chunk behind."""
        return self._delete(index, tenant_clause(index.tenant), deadline, None)

    def check(self, deadline: Deadline) -> None:
        problem = server_problem(self._caller.call("GET", "/", "check", deadline, ADMIN_TIMEOUT_S))
        if problem is None:
            params = {"format": "json", "h": "component"}
            rows = self._caller.call("GET", "/_cat/plugins", "check", deadline, ADMIN_TIMEOUT_S, params=params)
            if not any(row["component"] == "opensearch-knn" for row in rows):
                problem = "the server has no k-NN plugin (opensearch-knn), without which it cannot search vectors"
        if problem is not None:
            raise ConfigurationError(f"INDEX_URL: {problem}")

    def _create(self, index: IndexRef, deadline: Deadline) -> None:
        """Make the index with its alias; another process may have been quicker."""
        self.check(deadline)
        alias, stage = alias_of(index.name), "create index"
        body = index_body(index.dimension, alias=alias, shards=self._shards)
        try:
            self._caller.raw("PUT", f"/{path_of(index)}", stage, deadline, ADMIN_TIMEOUT_S, body=body)
        except opensearchpy.OpenSearchException as exc:
            if not isinstance(exc, opensearchpy.RequestError) or exc.error != EXISTS:
                raise ragdrop_error(exc, stage) from exc
            if alias not in self._described(index, deadline)["aliases"]:
                message = f"index {index.name} was not made by ragdrop: it has no alias {alias}"
                raise ConfigurationError(message) from exc

    def _wrong_dimension(self, index: IndexRef, deadline: Deadline) -> ConfigurationError:
        """The error for vectors that do not fit, which names both dimensions."""
        fields = self._described(index, deadline)["mappings"].get("properties", {})
        return dimension_error(index, index.dimension, fields.get("vector", {}).get("dimension", "no"))

    def _described(self, index: IndexRef, deadline: Deadline) -> Json:
        answer = self._caller.call("GET", f"/{path_of(index)}", "describe index", deadline, ADMIN_TIMEOUT_S)
        return next(iter(answer.values()))

    def _write(self, index: IndexRef, lines: list[bytes], deadline: Deadline) -> None:
        path = f"/{quote(alias_of(index.name), safe='')}/_bulk"
        attempt, created = 1, False
        while lines:
            answer = self._caller.call("POST", path, "write", deadline, WRITE_TIMEOUT_S, body=b"".join(lines))
            with readable("write"):
                result = outcome(lines, answer)
            if result.wrong_dimension:
                raise self._wrong_dimension(index, deadline)
            if result.refused:
                status, kind = max(result.refused, key=lambda refused: refused[0])
                raise of_status(status, kind, f"write, {len(result.refused)} of {len(lines)} chunks")
            lines = result.busy + result.missing_index
            if result.missing_index and not created:
                self._create(index, deadline)
                created = True
            elif lines and not self._caller.pause(attempt, deadline):
                raise DatabaseError(f"the index was too busy to take {len(lines)} chunks", service="index", status=429)
            else:
                attempt += 1

    def _delete(self, index: IndexRef, clause: Clause, deadline: Deadline, routing: str | None) -> int:
        path, stage, call = f"/{path_of(index)}", "remove", self._caller.call
        params = {"conflicts": "proceed", "refresh": "true"} | ({} if routing is None else {"routing": routing})
        body, removed = {"query": clause}, 0
        self._ranges.forget()
        for _ in range(DELETE_ROUNDS):
            if call("POST", f"{path}/_refresh", stage, deadline, WRITE_TIMEOUT_S, may_be_missing=True) is MISSING:
                return removed
            answer = call(
                "POST", f"{path}/_delete_by_query", stage, deadline, DELETE_TIMEOUT_S, body=body, params=params
            )
            with readable(stage):
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
        path, body = f"/{path_of(index)}/_msearch", multi_search(searches)
        try:
            answer = self._caller.raw("POST", path, "search", deadline, SEARCH_TIMEOUT_S, body=body)
        except opensearchpy.OpenSearchException as exc:
            if is_unknown_query(exc):
                raise _UnknownQueryError from exc
            raise ragdrop_error(exc, "search") from exc
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
        if DIMENSION.search(causes(error)):
            raise self._wrong_dimension(index, deadline)
        return [], of_status(int(response["status"]), str(error.get("type", "")), "search")


@dataclass(frozen=True, slots=True)
class BulkOutcome:
    """Lines of a bulk request that were not written; `refused` for good, by HTTP status and the server's error type."""

    busy: list[bytes] = field(default_factory=list)
    missing_index: list[bytes] = field(default_factory=list)
    refused: list[tuple[int, str]] = field(default_factory=list)
    wrong_dimension: list[bytes] = field(default_factory=list)


def bulk_line(chunk: IndexedChunk, index: IndexRef) -> bytes:
    """The two lines that write *chunk* under its id, to an alias only: a write never makes an index."""
    routing = routing_value(chunk.key, index.routes)
    action = json.dumps({"index": {"_id": chunk.id, "routing": routing, "require_alias": True}})
    return utf8(f"{action}\n{source_of(chunk)}\n")


def batches(
    lines: Iterable[bytes], *, max_chunks: int = MAX_CHUNKS, max_bytes: int = MAX_BYTES
) -> Iterator[list[bytes]]:
    """Cut *lines* into requests of at most *max_chunks* chunks and *max_bytes* bytes; a larger one goes alone.

    >>> [len(batch) for batch in batches([b"x" * 40] * 5, max_chunks=3, max_bytes=100)]
    [2, 2, 1]
    """
    batch: list[bytes] = []
    size_bytes = 0
    for line in lines:
        if batch and (len(batch) == max_chunks or size_bytes + len(line) > max_bytes):
            yield batch
            batch, size_bytes = [], 0
        batch.append(line)
        size_bytes += len(line)
    if batch:
        yield batch


def outcome(lines: Sequence[bytes], answer: dict[str, Any]) -> BulkOutcome:
    """Sort *lines* of a bulk request by what the server answered for each."""
    found = BulkOutcome()
    for line, item in zip(lines, answer["items"], strict=True) if answer["errors"] else ():
        result = item["index"]
        error = result.get("error")
        if not error:
            continue
        kind = str(error.get("type", ""))
        if kind == MISSING_INDEX:
            found.missing_index.append(line)
        elif result["status"] in BUSY_STATUS or kind == BLOCKED:
            found.busy.append(line)
        elif DIMENSION.search(causes(error)):
            found.wrong_dimension.append(line)
        else:
            found.refused.append((result["status"], kind))
    return found


def path_of(index: IndexRef) -> str:
    """The name of an index as a segment of a URL's path."""
    return quote(index.name, safe="")


def alias_of(name: str) -> str:
    """The alias that chunks are written to: a write to an alias never makes an index, whatever the cluster allows.

    >>> alias_of("ragdrop-v1-minilm-384-1")
    'ragdrop-v1-minilm-384-1.write'
    """
    return f"{name}.write"


def server_problem(root: Mapping[str, Any]) -> str | None:
    """Why the server that describes itself as *root* cannot be used; None where it can.

    >>> server_problem({"version": {"distribution": "opensearch", "number": "2.11.0"}})
    'OpenSearch 2.11.0 is too old, 2.19 is the oldest that works'
    >>> server_problem({"version": {"distribution": "opensearch", "number": "3.6.0"}})
    """
    version = root.get("version", {})
    if version.get("distribution") != "opensearch":
        return "the server is not OpenSearch"
    number = str(version.get("number"))
    match = re.match(r"(\d+)\.(\d+)", number)
    if match is None or (int(match[1]), int(match[2])) < OLDEST:
        return f"OpenSearch {number} is too old, {OLDEST[0]}.{OLDEST[1]} is the oldest that works"
    return None


def _revision(bucket: Mapping[str, Any]) -> IndexedRevision:
    source = bucket["chunk"]["hits"]["hits"][0]["_source"]
    key = DocumentKey(source["tenant"], source["vault"], source["path"])
    return IndexedRevision(key, source["revision"], source["facts"]["indexed_at"])


def _or_raise(part: Part) -> list[dict[str, Any]]:
    hits, error = part
    if error is not None:
        raise error
    return hits


class _UnknownQueryError(Exception):
    """The server does not know a query that newer ones have."""
