"""An index that is too large for one function: searched by shards of its segments, at once, and merged.

A shard is asked by one JSON object and answers with another, so that it may be this process or another function.  A
search asks twice: what each shard has of the words (while the question is embedded), then for its hits, ranked by the
statistics of all.
"""

from __future__ import annotations

import base64
import json
import logging
from array import array
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextvars import copy_context
from dataclasses import asdict, dataclass, replace
from functools import cache
from typing import TYPE_CHECKING, Any

from bucketindex.lexical import STOPS, WORDS, query_terms
from bucketindex.manifest import Manifest
from bucketindex.ranges import MISSING
from bucketindex.rows import RevisionKey, chunk_of, stored_document, stored_texts
from bucketindex.segment_view import AHEAD, Lost, SegmentView
from bucketindex.shared_words import WordStatistics, united
from ragdrop.domain.bounded_cache import BoundedCache
from ragdrop.domain.chunks import (
    CandidateQuery,
    Candidates,
    ChunkRange,
    Filters,
    HiddenFolder,
    Hit,
    IndexedRevision,
    RevisionPage,
    Vector,
    best_first,
    ranked_by,
)
from ragdrop.domain.deadlines import Deadline
from ragdrop.domain.keys import DocumentKey, chunk_id, order_of
from ragdrop.domain.tenants import IndexRef
from ragdrop.errors import DatabaseError, DeadlineError, DependencyError, IndexLostError

if TYPE_CHECKING:
    from pydantic import TypeAdapter

logger = logging.getLogger(__name__)
FAN_OUT_CHUNKS = 2_000_000  # of a shard, and of an index that is not divided
MAX_SHARDS_AT_ONCE = 128
RESERVED = 0.1  # of the time, for merging and for what comes after
LISTING_S = 20.0  # of a count, which has no deadline
Object = Mapping[str, Any]
AskShard = Callable[[Object, Deadline], Object]
"""Asks one shard.  Raises DependencyError: it did not answer."""


def shards_of(manifest: Manifest, chunks: int, size_bytes: int | None = None) -> list[Manifest]:
    """The segments of an index in shards of at most so many chunks, and bytes to fetch, in their order.

    A shard that is full stays as it is when the index grows.  A segment that is larger is one shard.

    Each has the removals that hide something of it, and no sequence, so that it is equal while its segments are.

    >>> from bucketindex.manifest import SegmentEntry
    >>> segments = tuple(SegmentEntry(str(n), n, n, size, 0, 0, "") for n, size in enumerate([3, 2, 4, 1]))
    >>> [[each.name for each in shard.segments] for shard in shards_of(Manifest(4, segments), 5)]
    [['0', '1'], ['2', '3']]
    """
    shards: list[Manifest] = []
    fetched = 0
    for entry in manifest.segments:
        full = bool(shards) and shards[-1].chunks + entry.chunks > chunks
        if not shards or full or (size_bytes is not None and fetched + entry.core_bytes > size_bytes):
            shards.append(Manifest())
            fetched = 0
        fetched += entry.core_bytes
        shards[-1] = replace(shards[-1], segments=(*shards[-1].segments, entry))
    return [_with_removals(each, manifest) for each in shards]


def one_shard(manifest: Manifest, names: Collection[str]) -> Manifest:
    """Some segments of an index, as one shard."""
    return _with_removals(Manifest(0, tuple(each for each in manifest.segments if each.name in names)), manifest)


def _with_removals(shard: Manifest, manifest: Manifest) -> Manifest:
    since = min((each.clean_until for each in shard.segments), default=0)
    return replace(shard, removals=tuple(each for each in manifest.removals if each.sequence > since))


def answer_of(view: SegmentView, request: Object, deadline: Deadline) -> Object:
    """What the segments of one shard answer to a request."""
    reply = _ANSWERS[request["what"]](view, request, deadline)
    return {**reply, "unread": len(view.lost.segments)}


@dataclass(frozen=True, slots=True)
class _Found:
    """A hit as a shard gives it, which is read once it is among the best."""

    score: float
    cosine: float | None
    document: str
    ordinal: int
    body: str

    def identity(self, tenant: str) -> tuple[DocumentKey, int, int]:
        document = stored_document(tenant, self.document.encode(errors="surrogatepass"))
        return document.key, document.revision, self.ordinal

    def hit(self, tenant: str) -> Hit:
        document = stored_document(tenant, self.document.encode(errors="surrogatepass"))
        chunk, links = chunk_of(self.body.encode(errors="surrogatepass"))
        id_ = chunk_id(document.key, document.revision, chunk.ordinal)
        return Hit(document.key, document.revision, chunk, document.facts, self.score, links, id_, self.cosine)


class ShardedView(SegmentView):
    """All live segments of an index at one moment, in shards that are searched as one.

    Args:
        index: Whose they are.
        manifest: Of all of them.
        shards: Its parts.
        ask: Asks one of them.
        pool: Asks several at once.
        layer: One more part, in this process; of two chunks of one id its own counts.
    """

    def __init__(
        self,
        index: IndexRef,
        manifest: Manifest,
        shards: Sequence[Manifest],
        ask: AskShard,
        pool: ThreadPoolExecutor,
        layer: SegmentView | None = None,
    ) -> None:
        super().__init__(index, manifest, (), lexical=None, lost=Lost((), len(manifest.segments), None))
        self._shards = shards
        self._ask = ask
        self._pool = pool
        self._layer = layer
        self._statistics: BoundedCache[tuple[tuple[str, tuple[str, ...]], ...], dict[str, WordStatistics]]
        self._statistics = BoundedCache(size=AHEAD)

    def over(self, layer: SegmentView) -> ShardedView:
        """The same with one part more."""
        return ShardedView(self.index, self.manifest, self._shards, self._ask, self._pool, layer)

    def look_ahead(self, queries: Sequence[CandidateQuery], deadline: Deadline) -> None:
        """Ask the shards what they have of the words of *queries*."""
        self._words_of_all(queries, deadline.share(2))

    def candidates(
        self, queries: Sequence[CandidateQuery], deadline: Deadline, whole: Mapping[str, WordStatistics] | None = None
    ) -> list[Candidates]:
        whole = self._words_of_all(queries, deadline.share(2))
        asked = {"what": "candidates", "queries": [_written(each) for each in queries]}
        answers = self._answers({**asked, "whole": {field: asdict(each) for field, each in whole.items()}}, deadline)
        return [
            Candidates(
                self._merged((reply["found"][place][0] for reply in answers.replies), query.limit),
                self._merged((reply["found"][place][1] for reply in answers.replies), query.limit),
                warning=answers.warning,
            )
            for place, query in enumerate(queries)
        ]

    def read(self, ranges: Sequence[ChunkRange], deadline: Deadline) -> list[list[Hit]]:
        written = [[each.key.vault, each.key.path, each.revision, each.first, each.last] for each in ranges]
        answers = self._answers({"what": "read", "ranges": written}, deadline)
        found = [self._unique(reply["found"][place] for reply in answers.replies) for place in range(len(ranges))]
        if not all(found):
            answers.raise_if_lost()
        read = [[each.hit(self.index.tenant) for each in hits] for hits in found]
        return [sorted(hits, key=lambda hit: hit.chunk.ordinal) for hits in read]

    def nearest_of(
        self, vector: Vector | None, revisions: Iterable[tuple[DocumentKey, int]], deadline: Deadline
    ) -> list[Hit]:
        asked = sorted({(key.vault, key.path, revision) for key, revision in revisions})
        request = {"what": "nearest", "vector": _packed(vector), "revisions": asked}
        answers = self._answers(request, deadline)
        nearest: dict[tuple[DocumentKey, int], Hit] = {}
        for hit in best_first(
            each.hit(self.index.tenant) for each in self._unique(reply["found"] for reply in answers.replies)
        ):
            first = nearest.setdefault((hit.key, hit.revision), hit)
            if hit.links and not first.links:  # a revision in several shards: the links stand with its first chunk
                nearest[hit.key, hit.revision] = replace(first, links=hit.links)
        if len(nearest) < len(asked):
            answers.raise_if_lost()
        return best_first(nearest.values())

    def count(self) -> int:
        answers = self._answers({"what": "count"}, Deadline.after(LISTING_S))
        answers.raise_if_lost()
        return sum(reply["found"] for reply in answers.replies)

    def revisions(self, cursor: str | None, limit: int) -> RevisionPage:
        request = {"what": "revisions", "cursor": cursor, "limit": limit}
        answers = self._answers(request, Deadline.after(LISTING_S))
        answers.raise_if_lost()
        found: dict[RevisionKey, str] = {}
        for reply in answers.replies:
            found |= {(vault, path, revision): at for vault, path, revision, at in reply["found"]}
        page = sorted(found)[:limit]
        more = len(found) > limit or any(reply["more"] for reply in answers.replies)
        tenant = self.index.tenant
        listed = [IndexedRevision(DocumentKey(tenant, order[0], order[1]), order[2], found[order]) for order in page]
        return RevisionPage(listed, json.dumps(page[-1]) if more and page else None)

    def chunks_in(self, key: DocumentKey, first: int, before: int) -> dict[str, list[int]]:
        request = {"what": "chunks_in", "vault": key.vault, "path": key.path, "first": first, "before": before}
        answers = self._answers(request, Deadline.after(LISTING_S))
        answers.raise_if_lost()
        return {name: numbers for reply in answers.replies for name, numbers in reply["found"].items()}

    def _words_of_all(self, queries: Sequence[CandidateQuery], deadline: Deadline) -> dict[str, WordStatistics]:
        """What all shards have of the words that are asked for, by field; what every one of them gave is cached."""
        terms: dict[str, dict[str, None]] = {}
        for query in queries:
            if query.text and query.match == "any":
                words, stops = query_terms(query.text)
                terms.setdefault(STOPS if stops else WORDS, {}).update(dict.fromkeys(words))
        key = tuple(sorted((field, tuple(words)) for field, words in terms.items()))
        cached = self._statistics.get(key, now_s=0.0)
        if cached is not None or not key:
            return cached or {}
        answers = self._answers({"what": "statistics", "terms": {field: list(words) for field, words in key}}, deadline)
        whole = {
            field: united(WordStatistics(**reply["found"][field]) for reply in answers.replies) for field, _ in key
        }
        if not answers.lost:
            self._statistics.put(key, whole, now_s=0.0)
        return whole

    def _answers(self, request: Object, deadline: Deadline) -> _Answers:
        """Ask all shards at once and wait for them for most of the time that is left.

        Raises:
            IndexLostError: A segment has left the bucket since the manifest was read.
            DatabaseError: None answered.
        """
        timeout_s = deadline.timeout_s(float("inf"), stage="index") * (1 - RESERVED)
        asked = Deadline.after(timeout_s)
        futures = [self._pool.submit(copy_context().run, self._one, shard, request, asked) for shard in self._shards]
        of_layer = [] if self._layer is None else [answer_of(self._layer, request, deadline)]
        wait(futures, timeout_s)
        for each in futures:
            each.cancel()
        replies = [reply for reply in map(_reply_of, reversed(futures)) if reply is not None]  # the latest count
        if any(reply.get("missing") for reply in replies):
            raise IndexLostError(MISSING)
        answers = _Answers([*of_layer, *replies], len(futures) - len(replies), len(futures), self.lost.of)
        if not replies:
            answers.raise_if_lost()
        if answers.lost:
            extra = {"tenant": self.index.tenant, "lost": answers.lost, "shards": len(futures)}
            logger.warning("shards of an index did not answer", extra=extra)
        return answers

    def _one(self, shard: Manifest, request: Object, deadline: Deadline) -> Object | None:
        """The answer of one shard, which is asked once more if it fails; None if it does not answer in time."""
        written = {**request, "index": asdict(self.index), "segments": shard.encoded()}
        for _ in range(2):
            try:
                return self._ask(written, deadline)
            except DeadlineError:
                return None
            except DependencyError as exc:
                logger.warning("a shard of an index failed", extra={"tenant": self.index.tenant, "code": exc.code})
        return None

    def _unique(self, lists: Iterable[Sequence[Sequence[Any]]]) -> list[_Found]:
        """What several shards gave, each chunk once: a chunk that two of them have was written twice."""
        unique: dict[tuple[DocumentKey, int, int], _Found] = {}
        for given in lists:
            for each in given:
                found = _Found(*each)
                unique.setdefault(found.identity(self.index.tenant), found)
        return list(unique.values())

    def _merged(self, lists: Iterable[Sequence[Sequence[Any]]], limit: int) -> list[Hit]:
        tenant = self.index.tenant
        best = ranked_by(self._unique(lists), lambda each: each.score, lambda each: order_of(*each.identity(tenant)))
        return [each.hit(tenant) for each in best[:limit]]


@dataclass(frozen=True, slots=True)
class _Answers:
    """The replies of shards; how many did not answer, of how many; and of how many segments."""

    replies: list[Object]
    lost: int
    shards: int
    segments: int

    @property
    def warning(self) -> str | None:
        """What is missing, if anything is."""
        unread = sum(reply["unread"] for reply in self.replies)
        found = [f"{self.lost} of {self.shards} shards of the index did not answer"] if self.lost else []
        found += [f"{unread} of {self.segments} segments of the index could not be read"] if unread else []
        return "; ".join(found) or None

    def raise_if_lost(self) -> None:
        """Raise DatabaseError if something is missing."""
        if self.warning is not None:
            raise DatabaseError(self.warning, service="index")


def _reply_of(future: Future[Object | None]) -> Object | None:
    return future.result() if future.done() and not future.cancelled() else None


def _statistics(view: SegmentView, request: Object, _deadline: Deadline) -> Object:
    found = {field: asdict(view.statistics(terms, field)) for field, terms in request["terms"].items()}
    return {"found": found}


def _candidates(view: SegmentView, request: Object, deadline: Deadline) -> Object:
    whole = {field: WordStatistics(**each) for field, each in request["whole"].items()}
    found = view.candidates(_queries_of(request["queries"]), deadline, whole)
    return {"found": [[list(map(_given, each.vector)), list(map(_given, each.lexical))] for each in found]}


def _read(view: SegmentView, request: Object, deadline: Deadline) -> Object:
    tenant = view.index.tenant
    ranges = [ChunkRange(DocumentKey(tenant, vault, path), *rest) for vault, path, *rest in request["ranges"]]
    return {"found": [list(map(_given, hits)) for hits in view.read(ranges, deadline)]}


def _nearest(view: SegmentView, request: Object, deadline: Deadline) -> Object:
    tenant = view.index.tenant
    revisions = [(DocumentKey(tenant, vault, path), revision) for vault, path, revision in request["revisions"]]
    return {"found": list(map(_given, view.nearest_of(_unpacked(request["vector"]), revisions, deadline)))}


def _revisions(view: SegmentView, request: Object, _deadline: Deadline) -> Object:
    page = view.revisions(request["cursor"], request["limit"])
    found = [[each.key.vault, each.key.path, each.revision, each.indexed_at] for each in page.revisions]
    return {"found": found, "more": page.cursor is not None}


def _chunks_in(view: SegmentView, request: Object, _deadline: Deadline) -> Object:
    key = DocumentKey(view.index.tenant, request["vault"], request["path"])
    return {"found": view.chunks_in(key, request["first"], request["before"])}


_ANSWERS: Mapping[str, Callable[[SegmentView, Object, Deadline], Object]] = {
    "statistics": _statistics,
    "candidates": _candidates,
    "read": _read,
    "nearest": _nearest,
    "revisions": _revisions,
    "chunks_in": _chunks_in,
    "count": lambda view, _request, _deadline: {"found": view.count()},
}


def _given(hit: Hit) -> list[Any]:
    document, body = (each.decode(errors="surrogatepass") for each in stored_texts(hit))
    return [hit.score, hit.cosine, document, hit.chunk.ordinal, body]


@cache
def _adapters() -> tuple[TypeAdapter[Filters], TypeAdapter[tuple[HiddenFolder, ...]]]:
    from pydantic import TypeAdapter  # an index that is not divided does without it

    return TypeAdapter(Filters), TypeAdapter(tuple[HiddenFolder, ...])


def _written(query: CandidateQuery) -> Object:
    filters, hidden = _adapters()
    return {
        "text": query.text,
        "vector": _packed(query.vector),
        "filters": filters.dump_python(query.filters, mode="json"),
        "limit": query.limit,
        "without": sorted([key.tenant, key.vault, key.path, revision] for key, revision in query.without),
        "hidden": hidden.dump_python(query.hidden, mode="json"),
        "groups": query.groups,
        "match": query.match,
    }


def _queries_of(written: Sequence[Object]) -> list[CandidateQuery]:
    filters, hidden = _adapters()
    vectors = {each["vector"]: _unpacked(each["vector"]) for each in written}  # one of all scopes is one here too
    return [
        CandidateQuery(
            each["text"],
            vectors[each["vector"]],
            filters.validate_python(each["filters"]),
            each["limit"],
            without=frozenset((DocumentKey(*names), revision) for *names, revision in each["without"]),
            hidden=hidden.validate_python(each["hidden"]),
            groups=None if each["groups"] is None else tuple(each["groups"]),
            match=each["match"],
        )
        for each in written
    ]


def _packed(vector: Vector | None) -> str | None:
    return None if vector is None else base64.b64encode(vector.tobytes()).decode()


def _unpacked(text: str | None) -> Vector | None:
    return None if text is None else array("f", base64.b64decode(text))
