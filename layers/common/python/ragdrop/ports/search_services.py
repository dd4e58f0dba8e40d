"""What a search uses: registry and index to read, a reranker, visited documents, metrics and traces."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol

from ragdrop.domain.chunks import CandidateQuery, Candidates, ChunkRange, Hit, Vector
from ragdrop.domain.deadlines import Deadline
from ragdrop.domain.documents import Detail, Heads, Name, Page, Promoted, Status
from ragdrop.domain.history import ChangeCounts
from ragdrop.domain.keys import DocumentKey
from ragdrop.domain.tenants import IndexRef, Tenant


class SearchableRegistry(Protocol):
    """What a search reads of the registry.  All methods raise DatabaseError when the registry does not answer."""

    def heads(self, keys: Sequence[DocumentKey], deadline: Deadline) -> Heads:
        """The heads of up to 100 documents in one batch read; raises only where none could be read."""

    def named_and_heads(
        self, names: Collection[Name], keys: Collection[DocumentKey], deadline: Deadline
    ) -> tuple[dict[Name, tuple[str, ...]], Heads]:
        """Paths, sorted, by name, and heads: up to 100 of both together in one batch read.

        A name that nothing has leads to nothing, one that was not read in time is left out; raises only where nothing
        could be read.
        """

    def promoted(self, tenant: str, deadline: Deadline) -> list[Promoted]:
        """The tenant's important and critical documents by vault and path, by one query."""

    def details(self, revisions: Collection[tuple[DocumentKey, int]], deadline: Deadline) -> list[Detail]:
        """The details of up to 100 revisions, by one batch read, without missing ones.

        Raises DatabaseError: some could not be read.
        """

    def change_counts(self, tenant: str, deadline: Deadline) -> ChangeCounts:
        """How often what answers changed: a reader's heads hold while the counts of their slots are the same."""

    def tenant(self, name: str, *, consistent: bool = True) -> Tenant | None:
        """The tenant's item; unless *consistent* one that may miss what was written a moment ago."""

    def page(
        self,
        tenant: str,
        *,
        vault: str | None,
        prefix: str,
        status: Status | None,
        cursor: str | None,
        limit: int,
        after: str = "",
    ) -> Page:
        """Documents by vault and path; without *status* all but the deleted.  Eventually consistent.

        The page begins behind that of *cursor*, or behind the vault and path *after*.

        Raises InvalidParamsError: the cursor is not one that was given out.
        """

    def folders(self, tenant: str) -> frozenset[str]:
        """The folders noted, as `vault/a/b`."""


class SearchableIndex(Protocol):
    """What a search asks of an index.  All methods raise DatabaseError."""

    def ready(
        self,
        index: IndexRef,
        deadline: Deadline,
        counts: ChangeCounts | None = None,
        queries: Sequence[CandidateQuery] = (),
    ) -> None:
        """Do what a search of *index* can do before its vector is known; a search that begins without it does it.

        *counts* are the change counts of the tenant as this search read them: what was read at the same ones is still
        true of all that answers, and need not be read again.  *queries* are those that it will ask, without their
        vectors: what words find may be looked for already, and what fails then fails when it asks.
        """

    def candidates(self, index: IndexRef, queries: Sequence[CandidateQuery], deadline: Deadline) -> list[Candidates]:
        """Vector and lexical hits of every query, in order, in one round trip; best first, ties by `Hit.order`.

        A lexical hit of a query that has a vector too carries its cosine, if its chunk has a vector.
        """

    def read(self, index: IndexRef, ranges: Sequence[ChunkRange], deadline: Deadline) -> list[list[Hit]]:
        """The chunks of each range in order of their ordinals, in one round trip."""

    def nearest_of(
        self, index: IndexRef, vector: Vector | None, revisions: Sequence[tuple[DocumentKey, int]], deadline: Deadline
    ) -> list[Hit]:
        """Of each of up to 100 revisions the chunk that is nearest to *vector*, in one round trip; best first.

        Each hit carries the links that stand with the revision's first chunk.  Without *vector*, and for a revision
        without any vector, that first chunk comes, its score 0.0.  A revision without chunks is left out.
        """

    def count(self, index: IndexRef, deadline: Deadline) -> int:
        """Chunks of the tenant in this index, those of superseded revisions too."""


class Reranker(Protocol):
    """Scores texts against a question.  Raises RerankError or DeadlineError."""

    def scores(self, query: str, texts: Sequence[str], deadline: Deadline) -> list[float]:
        """One score a text, in the order of *texts*: higher fits better, scales differ from model to model.

        No texts cost no call.
        """


class VisitedCache(Protocol):
    """What is in it may be lost: then a document's links are followed once more.  All methods raise DatabaseError."""

    def visited(self, tenant: str, session: str, now_s: float) -> frozenset[str]:
        """Digests of the documents that the session has expanded in the last hour; one read."""

    def note(self, tenant: str, session: str, digests: Collection[str], now_s: float) -> None:
        """Replace what the session has expanded, for an hour from *now_s* on; one write.

        At most 5,000 are stored.  Of two queries of one session at the same time the later write stands.
        """


class Metrics(Protocol):
    """Takes metrics; never raises, never waits."""

    def put(self, values: Mapping[str, float], *, dependency: str | None = None) -> None:
        """Emit *values* by the names of `ports.telemetry.UNITS`, of *dependency* if they are of one."""


SpanFields = Mapping[str, Any]
"""Attributes of a span by their names; None is left out.  None of them has text of a question, answer or document."""


class Tracer(Protocol):
    """Reports stages to a collector of traces; never fails a request."""

    def span(
        self, name: str, fields: SpanFields, *, client: bool = False, leaf: bool = False
    ) -> AbstractContextManager[Callable[[SpanFields], None]]:
        """A span around the block, below that of the block around it; yields what adds fields.

        *client* is true for a request to a service, *leaf* where no span is below it; a leaf may end in any order.  Of
        an error that ends it, `error.type` has the type alone.
        """

    def stage(self, name: str) -> AbstractContextManager[None]:
        """A span of the request's trace for as long as the block runs; one that ends by an error says its type."""
