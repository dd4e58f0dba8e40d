"""Build search, with everything that wraps it."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, cast

from ragdrop.app.ports import Ports
from ragdrop.app.tenant_parts import TenantParts
from ragdrop.domain.deadlines import REQUEST_ID, Deadline
from ragdrop.domain.retrieval import FoundDocument, Reranking
from ragdrop.errors import DependencyError
from ragdrop.operate.observe import ObserveQueries, QueryCounter
from ragdrop.past.as_of import PastViews, ResolveView
from ragdrop.query.cache import CachedSearch, QueryVectors, UsageCounter
from ragdrop.query.find import Find
from ragdrop.query.follow_links import FollowLinks
from ragdrop.query.pipeline import BucketSearch, FallbackSearch, ObservedSearch
from ragdrop.query.search import Search
from ragdrop.query.understand import RankFolders, UnderstandQuery
from ragdrop.query.view import LiveViews

if TYPE_CHECKING:
    from ragdrop.ports.indexes import LayeredIndex

logger = logging.getLogger(__name__)
SHARD_MARGIN_S = 1.0


@dataclass(slots=True)
class QueryParts:
    """Search from the outermost wrapper to the search itself; `query/pipeline.py` explains the order.

    Routes call `search`; ask calls `fallback` and reports once for both; golden questions call `uncached_search`.
    """

    search: ObservedSearch
    fallback: FallbackSearch
    cached: CachedSearch
    uncached_search: Search
    find: Find
    resolve_view: ResolveView
    observe_queries: ObserveQueries


def _order_by_reading(
    ports: Ports, question: str, documents: Sequence[FoundDocument], deadline: Deadline
) -> tuple[list[FoundDocument], Reranking]:
    return ports.read_question.rerank(question, documents, deadline)


def _answering(
    ports: Ports, question: str, documents: Sequence[FoundDocument], deadline: Deadline
) -> list[FoundDocument]:
    return ports.read_question.answering(question, documents, deadline)


def build_query(ports: Ports, tenants: TenantParts) -> QueryParts:
    """Build search over *ports*."""
    settings, directory, clock = ports.settings, tenants.directory, ports.clock
    permissions = tenants.permissions
    live = LiveViews(ports.guarded_registry, ports.guarded_index, clock=clock)
    past = PastViews(
        registry=ports.guarded_registry,
        index=cast("LayeredIndex", ports.guarded_index),
        revisions=ports.revisions,
        directory=directory,
        clock=clock,
    )
    resolve_view = ResolveView(live=live, past=past, directory=directory, permissions=permissions)
    query_vectors = QueryVectors(
        embedder=ports.guarded_embedder, store=ports.telemetry, size=settings.embedding_cache_size, clock=clock
    )
    understand = UnderstandQuery(directory=directory, environment=settings.tunables())
    # OpenSearch's chunks are in the bucket index too, which finds beginnings of words
    typed = ports.guarded_index if settings.engine == "bucket" else ports.guarded_bucket_index
    search = Search(
        resolve_view=resolve_view,
        query_vectors=query_vectors,
        understand=understand,
        rank_folders=RankFolders(registry=ports.guarded_registry, chat=ports.guarded_chat),
        reranker=ports.guarded_reranker,
        order_by_reading=partial(_order_by_reading, ports),
        answering=partial(_answering, ports),
        follow_links=FollowLinks(visited=ports.visited, clock=clock),
        tracer=ports.tracer,
    )
    cached = CachedSearch(
        search=search,
        breakers=ports.breakers,
        live_views=live,
        permissions=permissions,
        directory=directory,
        usage=UsageCounter(ports.telemetry, clock=clock),
        query_vectors=query_vectors,
        size=settings.cache_size,
        ttl_s=settings.cache_ttl_s,
        clock=clock,
    )
    bucket = BucketSearch(search=search, index=ports.guarded_bucket_index, directory=directory)
    fallback = FallbackSearch(cached, metrics=ports.metrics, bucket=bucket)
    observe_queries = ObserveQueries(
        QueryCounter(ports.telemetry, clock=clock),
        ports.telemetry,
        metrics=ports.metrics,
        clock=clock,
        prices=settings.chat_prices,
    )
    observed = ObservedSearch(fallback, observe_queries, prices=settings.chat_prices)
    find = Find(resolve_view=resolve_view, understand=understand, index=typed)
    return QueryParts(observed, fallback, cached, search, find, resolve_view, observe_queries)


def serve_shard(ports: Ports, event: Mapping[str, Any], left_s: float) -> dict[str, Any]:
    """Answer another function's search for one shard of a large index.

    Nearly all of the *left_s* seconds of this function may be used: a shard whose segments come too late for the one
    who asked is there for the next.
    """
    token = REQUEST_ID.set(event.get("request_id"))
    try:
        found = ports.bucket_index.answer_shard(event["body"], Deadline.after(left_s - SHARD_MARGIN_S))
        return {"status": 200, "body": found}
    except DependencyError as exc:
        logger.warning("a shard of an index could not answer", extra={"code": exc.code})
        return {"status": 503, "body": {"error": {"message": exc.message}}}
    finally:
        REQUEST_ID.reset(token)
