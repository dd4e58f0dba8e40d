"""List the revisions of an OpenSearch index page by page, for the sweep."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import opensearchpy

from ragdrop.domain.chunks import IndexedRevision, RevisionPage
from ragdrop.domain.deadlines import Deadline
from ragdrop.domain.keys import DocumentKey
from ragdrop.domain.tenants import IndexRef
from ragdrop_opensearch.admin import path_of
from ragdrop_opensearch.client import RepeatableCalls
from ragdrop_opensearch.errors import is_missing_index, readable, translated
from ragdrop_opensearch.queries import routing_values, tenant_clause

TIMEOUT_S = 30.0


def read_revisions(
    caller: RepeatableCalls, index: IndexRef, *, cursor: str | None, limit: int, deadline: Deadline
) -> RevisionPage:
    """Up to *limit* revisions of the tenant behind *cursor*, in the order of their terms.

    Raises:
        DatabaseError: The index did not answer whole.
    """
    params = {"routing": routing_values(index.tenant, index.routes), "allow_partial_search_results": "false"}
    try:
        answer = caller.raw(
            "POST",
            f"/{path_of(index.name)}/_search",
            body=revisions_search(index.tenant, cursor, limit),
            params=params,
            deadline=deadline,
            cap_s=TIMEOUT_S,
            stage="revisions",
        )
    except opensearchpy.OpenSearchException as exc:
        if is_missing_index(exc):
            return RevisionPage([], None)
        raise translated(exc, "revisions") from exc
    with readable("revisions"):
        buckets = answer["aggregations"]["revisions"]["buckets"]
        after = str(buckets[-1]["key"]["revision"]) if len(buckets) == limit else None
        return RevisionPage([_revision(bucket) for bucket in buckets], after)


def revisions_search(tenant: str, after: str | None, limit: int) -> dict[str, Any]:
    """The search: an aggregation that holds one page in memory, however many chunks there are.

    >>> revisions_search("acme", "x-1", 10)["aggregations"]["revisions"]["composite"]["after"]
    {'revision': 'x-1'}
    """
    source = {"revision": {"terms": {"field": "document_revision"}}}
    paged: dict[str, Any] = {"size": limit, "sources": [source]} | ({"after": {"revision": after}} if after else {})
    one = {"top_hits": {"size": 1, "_source": ["tenant", "vault", "path", "revision", "facts.indexed_at"]}}
    aggregations = {"revisions": {"composite": paged, "aggregations": {"chunk": one}}}
    return {"size": 0, "track_total_hits": False, "query": tenant_clause(tenant), "aggregations": aggregations}


def _revision(bucket: Mapping[str, Any]) -> IndexedRevision:
    source = bucket["chunk"]["hits"]["hits"][0]["_source"]
    key = DocumentKey(source["tenant"], source["vault"], source["path"])
    return IndexedRevision(key, source["revision"], source["facts"]["indexed_at"])
